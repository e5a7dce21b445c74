"""The service as an ASGI application: what respondents load and send, and what watches over it.

The respondent's part knows no session, no cookie and no type for a true answer; nothing that could identify is logged.
"""

from __future__ import annotations

import asyncio
import gzip
import hashlib
import json
import re
import secrets
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from ipaddress import ip_address, ip_network
from typing import Any, TypeVar
from urllib.parse import quote

from anyio import CapacityLimiter, to_thread
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Match, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from maskwell.collection.database import AWAY
from maskwell.collection.intake import TOKEN, BusyError, Intake, read_submission
from maskwell.collection.settings import Settings
from maskwell.collection.store import Store
from maskwell.collection.stored_survey import NoSurveyError, StoredSurvey, Verdict
from maskwell.core.documents import from_json, from_small_json
from maskwell.errors import MaskwellError, ReportError

T = TypeVar("T")
KINDS = {
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "svg": "image/svg+xml",
    "json": "application/json",
}


@dataclass(frozen=True)
class Asset:
    """One file."""

    name: str
    content: bytes

    @cached_property
    def sha256(self) -> str:
        """Its hash, as ``sha256sum`` prints it."""
        return hashlib.sha256(self.content).hexdigest()

    @cached_property
    def packed(self) -> bytes:
        """Compressed; the same bytes every time."""
        return gzip.compress(self.content, 9, mtime=0)

    def response(self, request: Request, headers: dict[str, str] | None = None) -> Response:
        """The file, packed where the browser takes that, or "not modified"."""
        tag = f'"{self.sha256[:32]}"'
        common = {"ETag": tag, "Cache-Control": "no-cache", "Vary": "Accept-Encoding", **(headers or {})}
        if request.headers.get("if-none-match") == tag:
            return Response(status_code=304, headers=common)
        kind = KINDS[self.name.rsplit(".", 1)[-1]]
        if "gzip" in request.headers.get("accept-encoding", ""):
            return Response(self.packed, media_type=kind, headers={**common, "Content-Encoding": "gzip"})
        return Response(self.content, media_type=kind, headers=common)


LARGEST_BODY = 64 << 10
# How long somebody may take to send a body: whoever sends a byte now and then would hold the connection for ever.
BODY_SECONDS = 20
# Headers by which a proxy says that a request is not of this machine.
FORWARDED = ("forwarded", "via", "x-forwarded-for", "x-forwarded-host", "x-real-ip")
LONGEST_ADDRESS = 64
WAIT_SECONDS = 5  # after which those who were told that the service is busy or its database away may try again
REFUSALS: Mapping[Verdict, tuple[int, str, str]] = {
    "closed": (409, "the survey takes no reports now", "ask those who sent you the link"),
    "invitation": (403, "this invitation is unknown or was used", "use the link that was sent to you, once"),
    "conflict": (409, "another report of this id was received before", "each person sends one report"),
}
RESPONDENT_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"
)
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}

# Where respondents come over https: their browsers take no other way for a year.
HTTPS_HEADERS = {"Strict-Transport-Security": "max-age=31536000"}
WELL_SECONDS = 1.0  # for which the service counts as well after something was written


class Few:
    """Threads for work that takes long or much memory: few at once, and not those of respondents."""

    def __init__(self, most: int = 2) -> None:
        self._most = most
        self._limiter: CapacityLimiter | None = None

    async def run(self, work: Callable[..., T], *words: Any) -> T:
        """Do the work when its turn comes."""
        if self._limiter is None:  # made inside the loop that it belongs to
            self._limiter = CapacityLimiter(self._most)
        return await to_thread.run_sync(work, *words, limiter=self._limiter)


class Service:
    """What all requests share: the store, the thread that writes, the files."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.store = Store(settings.database)
        self.intake = Intake(self.store)
        folder = files("maskwell.collection").joinpath("static")
        self.assets = {one.name: Asset(one.name, one.read_bytes()) for one in folder.iterdir() if one.is_file()}
        # Few threads for each: a hash of a password takes 64 MB, and a survey file may make many designs.
        self.passwords, self.drafts, self.exports = Few(), Few(), Few()
        self._known: dict[str, StoredSurvey] = {}
        self._well_until = 0.0

    def check(self) -> None:
        """Raise where the database does not answer, takes nothing, or took no report a moment ago."""
        self.intake.check()
        if time.monotonic() >= self._well_until:
            self.store.check()
            self._well_until = time.monotonic() + WELL_SECONDS

    def open_survey(self, code: str) -> StoredSurvey:
        """A survey that respondents may see; whether it still takes reports is asked when they are written."""
        stored = self._known.get(code)
        if stored is None:
            stored = self._known[code] = self.shown_survey(code)  # frozen once it was opened
        return stored

    def shown_survey(self, code: str) -> StoredSurvey:
        """The same as it is now; the error is for respondents, who have no command line."""
        with suppress(NoSurveyError):
            stored = self.store.survey(code)
            if stored.state != "draft":
                return stored
        raise NoSurveyError("there-is-no-survey-of-this", code=code)

    def known(self, code: str) -> StoredSurvey | None:
        """A survey that was asked for before: no need to look into the database."""
        return self._known.get(code)

    def forget(self, code: str) -> None:
        """A survey was deleted."""
        self._known.pop(code, None)


def create_app(settings: Settings, *, more: Callable[[Service], list[BaseRoute]] | None = None) -> Starlette:
    """The application."""
    service = Service(settings)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        await run_in_threadpool(service.store.create)
        service.intake.start()
        yield
        await run_in_threadpool(service.intake.stop)
        service.store.close()

    routes = [
        Route("/health", _health),
        Route("/metrics", _metrics),
        Route("/static/{name}", _static),
        Route("/s/{code}", _page),
        Route("/s/{code}/survey.json", _document),
        Route("/api/surveys/{code}/reports", _take, methods=["POST"]),
        Route("/api/surveys/{code}/invitation", _invitation, methods=["POST"]),
        *(more(service) if more is not None else []),
    ]
    app = Starlette(
        routes=routes,
        lifespan=lifespan,
        middleware=[Middleware(SafeHeaders, is_https=settings.is_https), Middleware(Submissions, service=service)],
        exception_handlers=HANDLERS,
    )
    app.state.service = service
    app.router.redirect_slashes = False  # it would tell a browser the address that the browser sent, without https
    app.router.default = WithoutSlash(app.router.default)
    return app


class WithoutSlash:
    """An address that ends in a slash, and has a page without it: the browser is sent there, at the same server."""

    def __init__(self, not_found: ASGIApp) -> None:
        self.not_found = not_found

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer what no address of the service matches."""
        path = "/" + scope["path"].strip("/")
        there = {**scope, "path": path}
        is_slashed = scope["type"] == "http" and scope["path"].endswith("/") and path != "/"
        if not is_slashed or all(route.matches(there)[0] == Match.NONE for route in scope["app"].router.routes):
            await self.not_found(scope, receive, send)
            return
        query = scope["query_string"].decode("latin-1")
        response = RedirectResponse(quote(path) + (f"?{query}" if query else ""), 307)
        await response(scope, receive, send)


class SafeHeaders:
    """The headers that every answer has."""

    def __init__(self, app: ASGIApp, *, is_https: bool = False) -> None:
        self.app = app
        headers = {**HEADERS, **(HTTPS_HEADERS if is_https else {})}
        self._headers = [(name.lower().encode(), value.encode()) for name, value in headers.items()]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, and add to the answer."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", []), *self._headers]
            await send(message)

        await self.app(scope, receive, with_headers)


class Submissions:
    """Takes reports before the other layers see the request: nearly all requests are these, and each layer costs."""

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self.app = app
        self.service = service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a submission; pass on everything else."""
        is_post = scope["type"] == "http" and scope["method"] == "POST"
        address = _REPORTS.fullmatch(scope["path"]) if is_post else None
        if address is None:
            await self.app(scope, receive, send)
            return
        try:
            answer = await _taken(self.service, address[1], scope, receive)
        except (MaskwellError, ClientDisconnect, *AWAY) as error:
            answer = await _handled(error)
        with suppress(RuntimeError):  # whoever sent it has gone away, and the connection is closed
            await answer(scope, receive, send)


def service_of(request: Request) -> Service:
    """What the application holds."""
    service: Service = request.app.state.service
    return service


def bearer_of(request: Request) -> str | None:
    """The token or key that a request brings in its header, if any."""
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    return token if scheme.lower() == "bearer" else None


async def _page(request: Request) -> Response:
    service, code = service_of(request), request.path_params["code"]
    await run_in_threadpool(service.open_survey, code)
    page: Asset = service.assets["respond.html"]
    ahead = f"</s/{code}/survey.json>; rel=preload; as=fetch; crossorigin"  # asked for before the script runs
    return page.response(request, {"Content-Security-Policy": RESPONDENT_POLICY, "Link": ahead})


async def _document(request: Request) -> Response:
    service = service_of(request)
    stored = await run_in_threadpool(service.shown_survey, request.path_params["code"])
    content = {"state": stored.state, "survey": stored.survey.to_dict()}
    return JSONResponse(content, headers={"Cache-Control": "no-cache"})


async def _static(request: Request) -> Response:
    asset = service_of(request).assets.get(request.path_params["name"])
    return await _not_found(request, None) if asset is None else asset.response(request)


async def _take(request: Request) -> Response:
    """As :class:`Submissions` does it, for addresses that differ from the usual ones."""
    return await _taken(service_of(request), request.path_params["code"], request.scope, request.receive)


async def _taken(service: Service, code: str, scope: Scope, receive: Receive) -> Response:
    """Reports of one person: acknowledged when they are on disk; the same ones sent again are acknowledged again."""
    body = _parsed(await _content(scope, receive, LARGEST_BODY), from_small_json)
    stored = service.known(code)
    if stored is None:
        stored = await run_in_threadpool(service.open_survey, code)
    verdict = await service.intake.submit(read_submission(stored, body))
    if verdict == "accepted":
        return _RECEIVED
    status, message, hint = REFUSALS[verdict]
    return _error(status, verdict, message, hint)


async def _invitation(request: Request) -> Response:
    """Whether an invitation can still be used; the token comes in the body, never in an address."""
    service = service_of(request)
    body = await read_body(request)
    token = body.get("invitation") if isinstance(body, Mapping) else None
    if not isinstance(token, str) or not TOKEN.fullmatch(token):
        raise ReportError("the-invitation-is-no-token")
    stored = await run_in_threadpool(service.open_survey, request.path_params["code"])
    return JSONResponse({"usable": await run_in_threadpool(service.store.is_invited, stored, token)})


async def read_body(request: Request, largest: int = LARGEST_BODY) -> Any:
    """The JSON of a request, no larger than allowed; ReportError otherwise."""
    return _parsed(await _content(request.scope, request.receive, largest), from_json)


def _parsed(content: bytes, parse: Callable[[str], Any]) -> Any:
    try:
        return parse(content.decode())
    except (ValueError, RecursionError) as error:
        raise ReportError("the-body-is-not-json", status=400) from error


async def _content(scope: Scope, receive: Receive, largest: int) -> bytes:
    """The body of a request, which says that it is JSON."""
    kind = next((value for name, value in scope["headers"] if name == b"content-type"), b"")
    if kind.partition(b";")[0].strip().lower() != b"application/json":
        raise ReportError("the-body-is-not-application-json", status=415)
    try:
        async with asyncio.timeout(BODY_SECONDS):
            content = bytearray()
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise ClientDisconnect
                content += message.get("body", b"")
                if len(content) > largest:
                    raise ReportError("the-body-has-more-than-kb", largest=largest >> 10, status=413)
                if not message.get("more_body", False):
                    return bytes(content)
    except TimeoutError as error:
        raise ReportError("the-body-was-not-there-after", body_seconds=BODY_SECONDS, status=408) from error


async def _health(request: Request) -> Response:
    try:
        await run_in_threadpool(service_of(request).check)
    except Exception as error:  # noqa: BLE001 (whatever it is, the answer is: not well)
        return await _away(request, error)
    return JSONResponse({"status": "ok"})


def address_of(request: Request, settings: Settings) -> str:
    """Whom a request comes from: a proxy that is believed says so; of an IPv6 address the half that is a network's."""
    address = "" if request.client is None else request.client.host
    if settings.proxy and address == settings.proxy:
        address = request.headers.get("x-forwarded-for", "").rpartition(",")[2].strip() or address
    with suppress(ValueError):
        parsed = ip_address(address)
        return str(ip_network(f"{address}/64", strict=False)) if parsed.version == 6 else str(parsed)
    return address[:LONGEST_ADDRESS]


def _may_watch(request: Request, settings: Settings) -> bool:
    """Whether somebody may read the counts: with the token, from this machine and past no proxy, or by the settings."""
    token = bearer_of(request)
    if settings.metrics_token and token is not None:
        return secrets.compare_digest(token.encode(), settings.metrics_token.encode())
    if settings.metrics == "open":
        return True
    is_forwarded = settings.public_url or any(name in request.headers for name in FORWARDED)
    with suppress(ValueError):
        return not is_forwarded and request.client is not None and ip_address(request.client.host).is_loopback
    return False


async def _metrics(request: Request) -> Response:
    """Counts since the process began, in the text form that Prometheus reads; nothing about anybody."""
    if not _may_watch(request, service_of(request).settings):
        hint = "send the token of the setting metrics_token"
        return _error(403, "not-allowed", "these counts are not for everybody", hint)
    intake = service_of(request).intake
    counts = {"maskwell_reports_accepted_total": intake.accepted, "maskwell_writes_total": intake.batches}
    return PlainTextResponse("".join(f"# TYPE {name} counter\n{name} {n}\n" for name, n in counts.items()))


def _error(status: int, code: str, message: str, hint: str) -> Response:
    content = json.dumps({"error": {"code": code, "message": message, "hint": hint}}, ensure_ascii=False)
    return Response(content, status_code=status, media_type="application/json")


def _answering(*words: Any) -> Callable[[Any, Any], Awaitable[Response]]:
    """A handler with one answer: status, code, message and hint, and the headers that an error brings along."""

    async def handler(_: Request | None, error: Exception | None) -> Response:
        response = _error(*words)
        if response.status_code == 503:
            response.headers["Retry-After"] = str(WAIT_SECONDS)
        response.headers.update(error.headers or {} if isinstance(error, HTTPException) else {})
        return response

    return handler


def status_of(error: MaskwellError) -> int:
    """The status that an answer with this error has."""
    status = 404 if isinstance(error, NoSurveyError) else error.objects.get("status", 422)
    assert isinstance(status, int)
    return status


async def _refused(_: Request | None, error: Exception) -> Response:
    assert isinstance(error, MaskwellError)
    response = _error(status_of(error), error.code, error.message, error.hint or "")
    if "wait" in error.objects:
        response.headers["Retry-After"] = str(error.objects["wait"])
    return response


async def _gone(_: Request | None, __: Exception) -> Response:
    """Nobody reads this: the sender of the request has disconnected."""
    return Response(status_code=400)


_not_found = _answering(404, "not-found", "this address does not exist", "check the address")
_away = _answering(
    503, "database", "the database does not answer", "send it again in a few seconds; nothing was taken twice"
)
HANDLERS: Mapping[Any, Callable[[Request, Any], Awaitable[Response]]] = {
    BusyError: _answering(503, "busy", "too many reports are waiting to be stored", "send it again in a few seconds"),
    MaskwellError: _refused,
    ClientDisconnect: _gone,
    **dict.fromkeys(AWAY, _away),
    404: _not_found,
    405: _answering(405, "wrong-method", "this address does not support that method", "see /openapi.json"),
    Exception: _answering(
        500, "fault", "the service has a fault", "inform the people who run it; your report was not accepted"
    ),
}


async def _handled(error: Exception) -> Response:
    """The answer to an error, as the layers of Starlette find it: by the nearest class that is listed."""
    handler = next(HANDLERS[kind] for kind in type(error).__mro__ if kind in HANDLERS)
    return await handler(None, error)  # type: ignore[arg-type]


_REPORTS = re.compile(r"/api/surveys/([^/]+)/reports")
_RECEIVED = Response(b'{"received":true}', media_type="application/json")
