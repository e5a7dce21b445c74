"""The templates of the studio's pages, and errors as pages for browsers."""

from __future__ import annotations

from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from maskwell.collection.results import place
from maskwell.core.documents import from_json, version_text
from maskwell.core.phrases import Printed

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'"
)


def page_templates() -> Environment:
    """The templates of all pages; what they print is escaped."""
    pages = Environment(
        loader=PackageLoader("maskwell.collection", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    pages.filters["percent"] = lambda share, digits=1: f"{Printed(100 * share):.{digits}f}".replace("-", "−")
    pages.filters["thousands"] = lambda number: f"{number:,}"
    pages.filters["sentence"] = lambda words: f"{words[:1].upper()}{words[1:].rstrip('.')}." if words else ""
    pages.filters["filled"] = _filled
    pages.globals["place"] = place
    return pages


def _filled(text: str, **values: Any) -> Markup:
    """A text with its places filled in; a value that is markup stays so, everything else is escaped."""
    whole = escape(text)
    for name, value in values.items():
        whole = whole.replace(f"{{{name}}}", escape(value))
    return whole


class PagesForPeople:
    """Errors as pages: browsers get a page, programs get JSON as before."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self._pages = page_templates()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, and turn an error in JSON into a page where a browser asked for one."""
        wants_page = scope["type"] == "http" and scope["method"] == "GET" and not scope["path"].startswith("/api/")
        if not wants_page or b"text/html" not in dict(scope["headers"]).get(b"accept", b""):
            await self.app(scope, receive, send)
            return
        start: Message | None = None
        content = b""

        async def turned(message: Message) -> None:
            nonlocal start, content
            if message["type"] == "http.response.start":
                kind: bytes = dict(message.get("headers", [])).get(b"content-type", b"")
                if int(message["status"]) >= 400 and kind.startswith(b"application/json"):
                    start = message
                    return
            if start is None:
                await send(message)
                return
            content += message.get("body", b"")
            if not message.get("more_body"):
                await self._send_page(start, content, scope["path"], send)

        await self.app(scope, receive, turned)

    async def _send_page(self, start: Message, content: bytes, path: str, send: Send) -> None:
        error = from_json(content.decode())["error"]
        values = {"error": error, "status": start["status"], "is_studio": path.startswith("/studio")}
        html = self._pages.get_template("problem.html").render(session=None, version=version_text(), **values).encode()
        dropped = (b"content-type", b"content-length", b"content-security-policy")
        headers = [pair for pair in start["headers"] if pair[0].lower() not in dropped]
        headers += [
            (b"content-type", b"text/html; charset=utf-8"),
            (b"content-length", str(len(html)).encode()),
            (b"content-security-policy", POLICY.encode()),
        ]
        await send({**start, "headers": headers})
        await send({"type": "http.response.body", "body": html})
