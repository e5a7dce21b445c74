"""The studio: pages for the people who run surveys, rendered here; a script of our own only redraws live figures.

Everybody sees only the surveys that are theirs or were shared with them; for others a survey does not exist. Every
change is a form with the token of the session.
"""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import parse_qsl

from anyio import CapacityLimiter, to_thread
from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from maskwell.collection.accounts import AccessError, Accounts, Role, Session
from maskwell.collection.application import LARGEST_BODY, Service, read_body, status_of
from maskwell.collection.desk import check_elsewhere
from maskwell.collection.drafts import consequences, survey_text
from maskwell.collection.embeds import embed_text, field_name
from maskwell.collection.exports import EXPORTS, export_bytes
from maskwell.collection.forms import form_bytes
from maskwell.collection.offline import offline_page
from maskwell.collection.programs import Programs
from maskwell.collection.results import question_result, table_result
from maskwell.collection.store import NoSurveyError, StoredSurvey
from maskwell.collection.survey import LARGEST, Survey
from maskwell.core.documents import json_form, version_text
from maskwell.core.phrases import Printed
from maskwell.errors import MaskwellError
from maskwell.procedures.realisation import make_device
from maskwell.reports.device.device_sheets import SheetOptions, device_page

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'"
)
SHEET_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
PLATFORM_NAMES = {"qualtrics": "Qualtrics", "limesurvey": "LimeSurvey", "surveyjs": "SurveyJS"}
MOST_INVITATIONS = 100_000
LARGEST_FORM = 3 * LARGEST + LARGEST_BODY
"""Bytes: a survey file, each of whose bytes may be written as three."""

PASSWORDS_AT_ONCE = 2
KEY_HOURS = 24 * 365
Handler = Callable[[Request], Awaitable[Response]]


class Studio:
    """Pages and what they need."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self.accounts = Accounts(service.store, hours=service.settings.session_hours)
        self._passwords: CapacityLimiter | None = None
        self._pages = Environment(
            loader=PackageLoader("maskwell.collection", "templates"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._pages.filters["percent"] = lambda share: f"{Printed(100 * share):.1f}"
        self._pages.filters["thousands"] = lambda number: f"{number:,}"

    def routes(self) -> list[BaseRoute]:
        """All addresses of the studio."""
        form = ["GET", "POST"]
        return [
            Route("/", lambda _: RedirectResponse("/studio", 303)),
            Route("/s/{code}/check", self.check),
            Route("/studio", self.signed_in(self.list)),
            Route("/studio/setup", self.set_up, methods=form),
            Route("/studio/enter", self.enter),
            Route("/studio/login", self.login, methods=form),
            Route("/studio/logout", self.signed_in(self.logout), methods=["POST"]),
            Route("/studio/new", self.signed_in(self.edit), methods=form),
            Route("/studio/consequences", self.signed_in(self.consequences), methods=["POST"]),
            Route("/studio/s/{code}", self.signed_in(self.survey)),
            Route("/studio/s/{code}/edit", self.signed_in(self.edit), methods=form),
            Route("/studio/s/{code}/results.json", self.signed_in(self.results)),
            Route("/studio/s/{code}/table.json", self.signed_in(self.table)),
            Route("/studio/s/{code}/device/{name}", self.signed_in(self.device)),
            Route("/studio/s/{code}/export.{kind}", self.signed_in(self.export)),
            Route("/studio/s/{code}/embed/{platform}/{name:path}", self.signed_in(self.embed)),
            Route("/studio/s/{code}/offline.html", self.signed_in(self.offline)),
            Route("/studio/s/{code}/form-{device}.xlsx", self.signed_in(self.form)),
            Route("/studio/key", self.signed_in(self.key), methods=["POST"]),
            Route("/studio/s/{code}/{change}", self.signed_in(self.change), methods=["POST"]),
        ]

    # ---- who is there

    @property
    def _cookie(self) -> str:
        return "__Host-maskwell" if self.service.settings.is_https else "maskwell"

    def signed_in(self, handler: Callable[[Request, Session], Awaitable[Response]]) -> Handler:
        """Only for somebody with a session; a change also needs the token of the session."""

        async def guarded(request: Request) -> Response:
            session = await run_in_threadpool(self.accounts.session, self._token(request))
            if session is None:
                if request.method == "GET" and "application/json" not in request.headers.get("accept", ""):
                    return RedirectResponse("/studio/login", 303)
                raise AccessError("nobody is signed in", hint="sign in at /studio/login", status=401)
            if request.method == "POST":
                await self._check_form(request, session)
            try:
                return await handler(request, session)
            except MaskwellError as error:
                if "text/html" not in request.headers.get("accept", ""):
                    raise
                return self.page("problem.html", session, status=status_of(error), error=error)

        return guarded

    def _bearer(self, request: Request) -> str | None:
        scheme, _, bearer = request.headers.get("authorization", "").partition(" ")
        return bearer if scheme.lower() == "bearer" else None

    def _token(self, request: Request) -> str | None:
        bearer = self._bearer(request)
        return request.cookies.get(self._cookie) if bearer is None else bearer

    async def _form(self, request: Request, largest: int = LARGEST_FORM) -> dict[str, str]:
        """The fields of a form, no larger than allowed; one that a page of another site sends is refused."""
        if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
            raise AccessError("this form is from another site", hint="load the page again", status=403)
        if not hasattr(request.state, "form"):
            request.state.form = await _read_form(request, largest)
        fields: dict[str, str] = request.state.form
        return fields

    async def _with_password(self, work: Callable[..., Any], *words: str) -> Any:
        """Work that hashes a password: few at once, for each takes 64 MB, and not in the threads of respondents."""
        if self._passwords is None:
            self._passwords = CapacityLimiter(PASSWORDS_AT_ONCE)
        return await to_thread.run_sync(work, *words, limiter=self._passwords)

    async def _check_form(self, request: Request, session: Session) -> None:
        if self._bearer(request) is not None:
            return  # a program with a key of its own: no browser sends that by itself (it does send user and password)
        sent = request.headers.get("x-csrf-token") or (await self._form(request)).get("csrf", "")
        if not secrets.compare_digest(sent.encode(), session.csrf.encode()):
            raise AccessError("this form is not from your session", hint="load the page again", status=403)

    def page(self, name: str, session: Session | None, *, status: int = 200, **values: Any) -> Response:
        """A page from its template."""
        html = self._pages.get_template(name).render(session=session, version=version_text(), **values)
        headers = {"Content-Security-Policy": POLICY, "Cache-Control": "no-store"}
        return HTMLResponse(html, status, headers)

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
        form = await self._form(request, LARGEST_BODY) if is_sent else dict(request.query_params)
        token, error = form.get("token", ""), None
        if is_sent:
            try:
                name, password = form.get("name", ""), form.get("password", "")
                account = await self._with_password(self.accounts.set_up, token, name, password)
                return self._entered(await run_in_threadpool(self.accounts.begin_session, account))
            except AccessError as refused:
                error = refused
        return self.page("setup.html", None, token=token, error=error, status=422 if error else 200)

    async def enter(self, request: Request) -> Response:
        """Sign in with a link that the service printed on the screen of whoever started it; it works once."""
        try:
            return self._entered(await run_in_threadpool(self.accounts.enter, request.query_params.get("key", "")))
        except AccessError as error:
            return self.page("problem.html", None, status=403, error=error)

    async def login(self, request: Request) -> Response:
        """Sign in, by name and password, or by a link that the service printed on this machine."""
        error = None
        if request.method == "POST":
            try:
                form = await self._form(request, LARGEST_BODY)
                name, password = form.get("name", ""), form.get("password", "")
                token = await self._with_password(self.accounts.sign_in, name, password)
                return self._entered(token)
            except AccessError as refused:
                error = refused
        return self.page("login.html", None, error=error, status=status_of(error) if error else 200)

    async def logout(self, request: Request, _: Session) -> Response:
        """Sign out."""
        await run_in_threadpool(self.accounts.sign_out, self._token(request) or "")
        response = RedirectResponse("/studio/login", 303)
        response.delete_cookie(self._cookie)
        return response

    def _seen(self, request: Request, session: Session, *roles: Role) -> tuple[StoredSurvey, Role]:
        return self.accounts.visible(session, request.path_params["code"], *roles)

    # ---- pages

    async def list(self, _: Request, session: Session) -> Response:
        """All surveys of somebody."""

        def read() -> list[dict[str, Any]]:
            store = self.service.store
            return [{"stored": one, "reports": store.size(one)} for one in store.surveys(session.account)]

        return self.page("surveys.html", session, surveys=await run_in_threadpool(read))

    async def survey(self, request: Request, session: Session) -> Response:
        """One survey: its state, what to do next, and what its reports say."""

        def read() -> dict[str, Any]:
            stored, role = self._seen(request, session)
            return {
                "stored": stored,
                "role": role,
                "reports": self.service.store.size(stored),
                "names": self.accounts.names(stored),
                "unused": self.service.store.unused_invitations(stored.code),
                "address": f"{self.service.settings.address}/s/{stored.code}",
                "exports": EXPORTS,
                "platforms": PLATFORM_NAMES,
                "elsewhere": stored.state != "draft" and stored.survey.access == "open",
                "factor": f"{Printed(stored.survey.parity):.3g}",
            }

        return self.page("survey.html", session, **await run_in_threadpool(read))

    async def edit(self, request: Request, session: Session) -> Response:
        """The builder: questions and a demand, with what follows from them; a draft is replaced, never added to."""
        code = request.path_params.get("code")
        stored = None
        if code is not None:
            stored, _ = await run_in_threadpool(self._seen, request, session, "owner")
        if request.method == "GET":
            text = stored.source if stored is not None else ""
            return self.page("edit.html", session, code=code, text=text, error=None)
        text = (await self._form(request)).get("text", "").replace("\r\n", "\n")
        try:
            survey = await run_in_threadpool(Survey.from_toml, text)
            store = self.service.store
            if code is None:
                code = await run_in_threadpool(lambda: store.add_survey(survey, text, owner=session.account))
            else:
                await run_in_threadpool(store.replace_survey, code, survey, text)
        except MaskwellError as error:
            return self.page("edit.html", session, code=code, text=text, error=error, status=422)
        return RedirectResponse(f"/studio/s/{code}", 303)

    async def consequences(self, request: Request, _: Session) -> Response:
        """What follows from a draft, as JSON: for the builder while somebody types."""
        body = await read_body(request)
        if not isinstance(body, dict):
            raise AccessError("a draft is an object", hint="send what the builder sends", status=400)
        typed = body.get("text")
        text = typed if isinstance(typed, str) else await run_in_threadpool(survey_text, body)
        return JSONResponse(await run_in_threadpool(consequences, text, body.get("n")))

    async def key(self, _: Request, session: Session) -> Response:
        """A key for programs, shown once."""
        key = await run_in_threadpool(lambda: self.accounts.begin_session(session.account, hours=KEY_HOURS))
        return self.page("key.html", session, key=key)

    async def change(self, request: Request, session: Session) -> Response:
        """Open, close, delete, invite, share."""
        form, name = await self._form(request), request.path_params["change"]
        stored, _ = await run_in_threadpool(self._seen, request, session, "owner")
        store, code = self.service.store, stored.code
        if name == "open":
            await run_in_threadpool(store.open, code)
        elif name == "close":
            await run_in_threadpool(store.close_survey, code)
        elif name == "delete":
            if form.get("title", "").strip() != stored.survey.title[stored.survey.languages[0]].strip():
                raise AccessError("the title does not match", hint="type the title of the survey to delete it")
            await run_in_threadpool(store.delete, code)
            self.service.forget(code)
            return RedirectResponse("/studio", 303)
        elif name == "invite":
            return await self._invite(form, stored)
        elif name == "share":
            role: Role = "owner" if form.get("role") == "owner" else "analyst"
            await run_in_threadpool(self.accounts.share, stored, form.get("name", ""), role)
        else:
            raise NoSurveyError("there is nothing here", hint="check the address")
        return RedirectResponse(f"/studio/s/{code}", 303)

    async def _invite(self, form: dict[str, str], stored: StoredSurvey) -> Response:
        try:
            count = int(form.get("count", "")[:10])
        except ValueError:
            count = 0
        if not 1 <= count <= MOST_INVITATIONS:
            raise AccessError("this is no number of invitations", hint=f"give a number from 1 to {MOST_INVITATIONS}")
        tokens = await run_in_threadpool(self.service.store.invite, stored.code, count)
        lines = [f"{self.service.settings.address}/s/{stored.code}#{token}" for token in tokens]
        headers = {"Content-Disposition": f'attachment; filename="invitations-{stored.code}.txt"'}
        return Response("\n".join(lines) + "\n", media_type="text/plain", headers=headers)

    # ---- what was collected

    async def results(self, request: Request, session: Session) -> Response:
        """The live shares of all questions."""

        def read() -> dict[str, Any]:
            stored, _ = self._seen(request, session)
            questions = [question_result(self.service.store, stored, one.name) for one in stored.survey.questions]
            return {
                "state": stored.state,
                "reports": self.service.store.size(stored),
                "questions": json_form([q.to_dict() for q in questions]),
            }

        return JSONResponse(await run_in_threadpool(read), headers={"Cache-Control": "no-store"})

    async def table(self, request: Request, session: Session) -> Response:
        """The live table of two questions."""

        def read() -> Any:
            stored, _ = self._seen(request, session)
            first, second = (request.query_params.get(key, "") for key in ("first", "second"))
            table = table_result(self.service.store, stored, first, second)
            return None if table is None else json_form(table.to_dict())

        return JSONResponse(await run_in_threadpool(read), headers={"Cache-Control": "no-store"})

    async def device(self, request: Request, session: Session) -> Response:
        """The sheets to print for one question, for those who are asked on paper."""

        def read() -> str:
            stored, _ = self._seen(request, session)
            question = stored.survey.by_name.get(request.path_params["name"])
            if question is None or question.design is None:
                raise NoSurveyError("there is no sensitive question of this name", hint="see the survey")
            ask = question.ask[stored.survey.languages[0]]
            return device_page(make_device(question.design), SheetOptions(question=ask))

        html = await run_in_threadpool(read)
        return HTMLResponse(html, headers={"Content-Security-Policy": SHEET_POLICY, "Cache-Control": "no-store"})

    async def export(self, request: Request, session: Session) -> Response:
        """All reports, with the survey and its designs, in one archive."""

        def read() -> tuple[str, bytes]:
            stored, _ = self._seen(request, session)
            kind = request.path_params["kind"]
            if kind not in EXPORTS:
                raise NoSurveyError("there is no export of this kind", hint=f"one of {', '.join(EXPORTS)}")
            return f"survey-{stored.code}-{kind}.zip", export_bytes(self.service.store, stored, kind)

        name, content = await run_in_threadpool(read)
        headers = {"Content-Disposition": f'attachment; filename="{name}"', "Cache-Control": "no-store"}
        return Response(content, media_type="application/zip", headers=headers)

    # ---- where people already ask

    async def embed(self, request: Request, session: Session) -> Response:
        """The snippet of one question for another survey program."""
        name, platform = (request.path_params[key] for key in ("name", "platform"))
        kind = "html" if platform == "limesurvey" else "js"
        file = f"{field_name(name)}-{platform}.{kind}.txt"
        return await self._file(request, session, file, lambda survey: embed_text(survey, name, platform).encode())

    async def offline(self, request: Request, session: Session) -> Response:
        """The survey as one page for tablets; always a file, so that it never runs at the studio's address."""
        file = f"survey-{request.path_params['code']}.html"
        return await self._file(request, session, file, lambda survey: offline_page(survey).encode())

    async def form(self, request: Request, session: Session) -> Response:
        """The survey as a form for ODK and KoBo."""
        device = request.path_params["device"]
        file = f"survey-{request.path_params['code']}-{device}.xlsx"
        return await self._file(request, session, file, lambda survey: form_bytes(survey, device))

    async def _file(self, request: Request, session: Session, name: str, make: Callable[[Survey], bytes]) -> Response:
        def read() -> bytes:
            stored, _ = self._seen(request, session)
            check_elsewhere(stored)
            return make(stored.survey)

        headers = {"Content-Disposition": f'attachment; filename="{name}"', "Cache-Control": "no-store"}
        return Response(await run_in_threadpool(read), media_type="application/octet-stream", headers=headers)

    async def check(self, request: Request) -> Response:
        """What a sceptic can check, and how."""
        stored = await run_in_threadpool(self.service.open_survey, request.path_params["code"])
        files = [self.service.assets[name] for name in ("respond.html", "respond.js", "maskwell.js")]
        return self.page("check.html", None, stored=stored, files=files, address=self.service.settings.address)


async def _read_form(request: Request, largest: int) -> dict[str, str]:
    content = bytearray()
    async for chunk in request.stream():
        content += chunk
        if len(content) > largest:
            raise AccessError(f"the form has more than {largest >> 10} kB", hint="send a shorter text", status=413)
    return dict(parse_qsl(content.decode(errors="replace"), keep_blank_values=True))


def studio_routes(service: Service) -> list[BaseRoute]:
    """The routes of the studio, and those for programs."""
    studio = Studio(service)
    return [*Programs(service, studio.accounts).routes(), *studio.routes()]
