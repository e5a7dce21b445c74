"""Who is there: signing in and out, forms that no other site can send, and pages made from templates."""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import parse_qsl

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from maskwell.collection.accounts import AccessError, Accounts, Session
from maskwell.collection.application import LARGEST_BODY, Service, address_of, bearer_of, status_of
from maskwell.collection.page_templates import POLICY, page_templates
from maskwell.collection.survey import LARGEST
from maskwell.core.documents import version_text
from maskwell.errors import MaskwellError

NOT_KEPT = {"Cache-Control": "no-store"}
LARGEST_FORM = 3 * LARGEST + LARGEST_BODY  # bytes: a survey file, each of whose bytes may be written as three
Handler = Callable[[Request], Awaitable[Response]]


class Entrance:
    """Sessions of people, and what all their pages need."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self.accounts = Accounts(service.store, hours=service.settings.session_hours)
        self._pages = page_templates()

    @property
    def _cookie(self) -> str:
        return "__Host-maskwell" if self.service.settings.is_https else "maskwell"

    def signed_in(self, handler: Callable[[Request, Session], Awaitable[Response]]) -> Handler:
        """Only for somebody with a session; a change also needs the token of the session."""

        async def guarded(request: Request) -> Response:
            session = await run_in_threadpool(self.accounts.session, self.token_of(request))
            if session is None:
                if request.method == "GET" and "application/json" not in request.headers.get("accept", ""):
                    return RedirectResponse("/studio/login", 303)
                raise AccessError("nobody-is-signed", status=401)
            if session.scope is not None:
                raise AccessError("the-studio-takes-no-keys", status=403)
            if request.method == "POST":
                await self._check_form(request, session)
            try:
                return await handler(request, session)
            except MaskwellError as error:
                if "text/html" not in request.headers.get("accept", ""):
                    raise
                return self.problem(error, session)

        return guarded

    def token_of(self, request: Request) -> str | None:
        """The token of a session: a key for programs, or what the cookie holds."""
        bearer = bearer_of(request)
        return request.cookies.get(self._cookie) if bearer is None else bearer

    async def fields_of(self, request: Request, largest: int = LARGEST_FORM) -> dict[str, str]:
        """The fields of a form, no larger than allowed; one that a page of another site sends is refused."""
        if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
            raise AccessError("this-form-is-from-another-site", status=403)
        if not hasattr(request.state, "form"):
            content = bytearray()
            async for chunk in request.stream():
                content += chunk
                if len(content) > largest:
                    raise AccessError("the-form-has-more-than-kb", largest=largest >> 10, status=413)
            request.state.form = dict(parse_qsl(content.decode(errors="replace"), keep_blank_values=True))
        fields: dict[str, str] = request.state.form
        return fields

    async def _check_form(self, request: Request, session: Session) -> None:
        if bearer_of(request) is not None:
            return  # a program with a key of its own: no browser sends that by itself (it does send user and password)
        sent = request.headers.get("x-csrf-token") or (await self.fields_of(request)).get("csrf", "")
        if not secrets.compare_digest(sent.encode(), session.csrf.encode()):
            raise AccessError("this-form-is-not-from-your", status=403)

    def page(self, name: str, session: Session | None, *, status: int = 200, **values: Any) -> Response:
        """A page from its template; a client that has to wait also gets the waiting time in a header."""
        html = self._pages.get_template(name).render(session=session, version=version_text(), status=status, **values)
        error: MaskwellError | None = values.get("error")
        waits = {} if error is None or "wait" not in error.objects else {"Retry-After": str(error.objects["wait"])}
        return HTMLResponse(html, status, {"Content-Security-Policy": POLICY, **NOT_KEPT, **waits})

    def problem(self, error: MaskwellError, session: Session | None) -> Response:
        """The page that reports a failed request."""
        return self.page("problem.html", session, status=status_of(error), error=error, is_studio=True)

    def _entered(self, token: str) -> Response:
        response = RedirectResponse("/studio", 303)
        response.set_cookie(
            self._cookie,
            token,
            max_age=3600 * self.service.settings.session_hours,
            httponly=True,
            samesite="strict",
            secure=self.service.settings.is_https,
        )
        return response

    async def set_up(self, request: Request) -> Response:
        """The first account, with the link that the service printed when it started."""
        is_sent = request.method == "POST"
        form = await self.fields_of(request, LARGEST_BODY) if is_sent else dict(request.query_params)
        token, error = form.get("token", ""), None
        if is_sent:
            try:
                name, password = form.get("name", ""), form.get("password", "")
                account = await self.service.passwords.run(self.accounts.set_up, token, name, password)
                return self._entered(await run_in_threadpool(self.accounts.begin_session, account))
            except AccessError as refused:
                error = refused
        is_first = await run_in_threadpool(self.accounts.is_empty)
        values = {"token": token, "error": error, "is_first": is_first}
        return self.page("setup.html", None, status=422 if error else 200, **values)

    async def enter(self, request: Request) -> Response:
        """Sign in with a link that the service printed on the screen when it started; it works once."""
        try:
            return self._entered(await run_in_threadpool(self.accounts.enter, request.query_params.get("key", "")))
        except AccessError as error:
            return self.problem(error, None)

    async def login(self, request: Request) -> Response:
        """Sign in, by name and password, or by a link that the service printed on this machine."""
        error = None
        if request.method == "POST":
            try:
                form = await self.fields_of(request, LARGEST_BODY)
                name, password = form.get("name", ""), form.get("password", "")
                address = address_of(request, self.service.settings)
                token = await self.service.passwords.run(self.accounts.sign_in, name, password, address)
                return self._entered(token)
            except AccessError as refused:
                error = refused
        is_empty = await run_in_threadpool(self.accounts.is_empty)
        return self.page("login.html", None, error=error, is_empty=is_empty, status=status_of(error) if error else 200)

    async def logout(self, request: Request, _: Session) -> Response:
        """Sign out."""
        await run_in_threadpool(self.accounts.sign_out, self.token_of(request) or "")
        response = RedirectResponse("/studio/login", 303)
        response.delete_cookie(self._cookie)
        return response


def attached(name: str) -> dict[str, str]:
    """The header with which an answer becomes a file of this name."""
    return {"Content-Disposition": f'attachment; filename="{name}"'}
