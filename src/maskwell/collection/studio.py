"""The studio: pages for the people who run surveys, who see only surveys that are theirs or shared with them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from maskwell.collection.accounts import SCOPES, AccessError, Role, Session
from maskwell.collection.application import RESPONDENT_POLICY, Service, bearer_of, read_body, status_of
from maskwell.collection.check_page import accepted_languages, check_words
from maskwell.collection.desk import check_elsewhere
from maskwell.collection.drafts import consequences, expected, form_of, survey_text
from maskwell.collection.embeds import PLATFORM_NAMES, embed_text, field_name, offline_page
from maskwell.collection.entrance import NOT_KEPT, Entrance, attached
from maskwell.collection.exports import EXPORTS, export_bytes
from maskwell.collection.forms import form_bytes
from maskwell.collection.page_texts import factor_in, package_text, package_texts
from maskwell.collection.programs import MOST_INVITATIONS, Programs
from maskwell.collection.results import (
    QuestionResult,
    card_of,
    question_result,
    read_margin,
    results_csv,
    table_of,
    table_result,
)
from maskwell.collection.stored_survey import NoSurveyError, StoredSurvey
from maskwell.collection.survey import Survey
from maskwell.core.documents import json_form
from maskwell.errors import MaskwellError
from maskwell.procedures.realisation import make_device
from maskwell.reports.device.device_sheets import SheetOptions, device_page

# The respondent's page and its scripts, whose hashes are shown.
PAGE_FILES = ("respond.html", "respond.js", "pieces.js", "maskwell.js")
SHEET_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


class Studio(Entrance):
    """Pages and what they need."""

    def routes(self) -> list[BaseRoute]:
        """All addresses of the studio."""
        form = ["GET", "POST"]
        return [
            Route("/", lambda _: RedirectResponse("/studio", 303)),
            Route("/favicon.ico", self.icon),
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
            Route("/studio/s/{code}/preview", self.signed_in(self.preview)),
            Route("/studio/s/{code}/survey.json", self.signed_in(self.document)),
            Route("/studio/s/{code}/results.json", self.signed_in(self.results)),
            Route("/studio/s/{code}/results.csv", self.signed_in(self.results_table)),
            Route("/studio/s/{code}/table.json", self.signed_in(self.table)),
            Route("/studio/s/{code}/device/{name}", self.signed_in(self.device)),
            Route("/studio/s/{code}/export.{kind}", self.signed_in(self.export)),
            Route("/studio/s/{code}/embed/{platform}/{name:path}", self.signed_in(self.embed)),
            Route("/studio/s/{code}/offline.html", self.signed_in(self.offline)),
            Route("/studio/s/{code}/form-{device}.xlsx", self.signed_in(self.form)),
            Route("/studio/account", self.signed_in(self.account), methods=form),
            Route("/studio/key", self.signed_in(self.key), methods=["POST"]),
            Route("/studio/s/{code}/{change}", self.signed_in(self.change), methods=["POST"]),
        ]

    async def icon(self, request: Request) -> Response:
        """The sign in the tab of a browser."""
        return self.service.assets["favicon.svg"].response(request)

    def _seen(self, request: Request, session: Session, *roles: Role) -> tuple[StoredSurvey, Role]:
        return self.accounts.visible(session, request.path_params["code"], *roles)

    async def list(self, _: Request, session: Session) -> Response:
        """All surveys of somebody."""

        def read() -> list[dict[str, Any]]:
            store = self.service.store
            return [{"stored": one, "reports": store.size(one)} for one in store.surveys(session.account)]

        return self.page("surveys.html", session, surveys=await run_in_threadpool(read))

    async def survey(self, request: Request, session: Session) -> Response:
        """One survey: its state, what to do next, and what its reports say; the script asks for it again and again."""

        def read() -> dict[str, Any]:
            stored, role = self._seen(request, session)
            return {
                "stored": stored,
                "role": role,
                "reports": self.service.store.size(stored),
                "counted": self.service.store.counted(stored),
                "names": self.accounts.names(stored),
                "unused": self.service.store.unused_invitations(stored.code),
                "address": f"{self.service.settings.address}/s/{stored.code}",
                "exports": EXPORTS,
                "platforms": PLATFORM_NAMES,
                "elsewhere": stored.state != "draft" and stored.survey.access == "open",
                "factor": factor_in(stored.survey.parity, package_texts("page")["en"]),
                "protects": package_texts("page")["en"][f"how_protects_{stored.survey.strength}"],
                "expected": [expected(one) for one in stored.survey.questions if stored.state == "draft"],
                **self._findings(stored, request),
            }

        return self.page("survey.html", session, **await run_in_threadpool(read))

    def _findings(self, stored: StoredSurvey, request: Request) -> dict[str, Any]:
        """What the reports say: a card for each question, and the table that was chosen."""
        asked, first = request.query_params, stored.survey.languages[0]
        margin = read_margin(asked.get("margin", ""))
        if stored.state == "draft" or not stored.is_told:
            return {"cards": [], "table": None, "margin": margin}
        cards = [card_of(result, first, margin) for result in self._results(stored)]
        return {"cards": cards, "table": self._table(stored, asked.get("first"), asked.get("second")), "margin": margin}

    def _results(self, stored: StoredSurvey) -> Sequence[QuestionResult]:
        return [question_result(self.service.store, stored, one.name) for one in stored.survey.questions]

    def _table(self, stored: StoredSurvey, first: str | None, second: str | None) -> dict[str, Any] | None:
        """The table of two questions, or what is wrong with it; None where there is only one question."""
        names = [question.name for question in stored.survey.questions]
        if len(names) < 2:
            return None
        rows = first if first in names else names[0]
        columns = second if second in names else next(name for name in names if name != rows)
        chosen: dict[str, Any] = {"first": rows, "second": columns, "error": None}
        by_name = stored.survey.by_name
        try:
            result = table_result(self.service.store, stored, rows, columns)
        except MaskwellError as error:
            return {**chosen, "error": error}
        content = None if result is None else json_form(result.to_dict())
        return {**chosen, **table_of(content, by_name[rows], by_name[columns], stored.survey.languages[0])}

    async def preview(self, request: Request, session: Session) -> Response:
        """The survey as a respondent sees it: reports are drawn, and neither sent nor kept."""
        stored, _ = await run_in_threadpool(self._seen, request, session, "owner")
        banner = bytes(self.page("preview.html", session, stored=stored).body)
        page = self.service.assets["respond.html"].content
        page = page.replace(b"/static/respond.js", b"/static/preview.js").replace(b"<main", banner + b"<main")
        return HTMLResponse(page, headers={"Content-Security-Policy": RESPONDENT_POLICY, **NOT_KEPT})

    async def document(self, request: Request, session: Session) -> Response:
        """The document of a survey, also of a draft, for its preview."""
        stored, _ = await run_in_threadpool(self._seen, request, session, "owner")
        return JSONResponse({"state": "open", "survey": stored.survey.to_dict()}, headers=NOT_KEPT)

    async def edit(self, request: Request, session: Session) -> Response:
        """The builder: questions and a demand, with what follows from them; a draft is replaced, never added to."""
        code = request.path_params.get("code")
        stored = None
        if code is not None:
            stored, _ = await run_in_threadpool(self._seen, request, session, "owner")
        if request.method == "GET":
            text = stored.source if stored is not None else ""
            return await self._builder(session, code, text, None, as_file="as" in request.query_params)
        text = (await self.fields_of(request)).get("text", "").replace("\r\n", "\n")
        try:
            survey = await self.service.drafts.run(Survey.from_toml, text)
            store = self.service.store
            if code is None:
                code = await run_in_threadpool(lambda: store.add_survey(survey, text, owner=session.account))
            else:
                await run_in_threadpool(store.replace_survey, code, survey, text)
        except MaskwellError as error:
            return await self._builder(session, code, text, error)
        return RedirectResponse(f"/studio/s/{code}", 303)

    async def _builder(
        self, session: Session, code: str | None, text: str, error: MaskwellError | None, *, as_file: bool = False
    ) -> Response:
        """The page of the builder: a form where the file fits into one, else the file, with a worked example."""
        form = FIRST_FORM if not text else None if as_file else await self.service.drafts.run(form_of, text)
        values = {"code": code, "text": text, "form": form, "error": error, "example": package_text("example.toml")}
        return self.page("edit.html", session, status=422 if error else 200, **values)

    async def consequences(self, request: Request, _: Session) -> Response:
        """What follows from a draft, as JSON: for the builder while somebody types."""
        body = await read_body(request)
        if not isinstance(body, dict):
            raise AccessError("a-draft-is-an-object", status=400)
        typed = body.get("text")
        try:
            text = typed if isinstance(typed, str) else await self.service.drafts.run(survey_text, body)
        except MaskwellError as error:
            return JSONResponse({"error": {"message": error.message, "hint": error.hint or ""}})
        planned = [body.get(key) for key in ("n", "share", "margin")]
        return JSONResponse(await self.service.drafts.run(consequences, text, *planned))

    async def account(self, request: Request, session: Session) -> Response:
        """Keys for programs, the password, other sessions, and links with which others make accounts."""
        told: dict[str, Any] = {"link": None, "ended": None, "revoked": None, "error": None}
        if request.method == "POST":
            try:
                told |= await self._granted(await self.fields_of(request), session, self.token_of(request) or "")
            except AccessError as error:
                told["error"] = error
        runs = await run_in_threadpool(self.accounts.runs_service, session)
        keys = await run_in_threadpool(self.accounts.list_keys, session.account)
        status = 200 if told["error"] is None else status_of(told["error"])
        return self.page("account.html", session, status=status, runs=runs, keys=keys, scopes=SCOPES, **told)

    async def _granted(self, form: Mapping[str, str], session: Session, token: str) -> dict[str, Any]:
        wish = form.get("wish", "")
        if wish == "link":
            link = await run_in_threadpool(self.accounts.account_link, session)
            return {"link": f"{self.service.settings.address}/studio/setup?token={link}"}
        if wish == "end":
            return {"ended": await run_in_threadpool(self.accounts.end_others, session, token)}
        if wish == "revoke":
            return {"revoked": await run_in_threadpool(self.accounts.revoke, form.get("handle", ""), session.account)}
        if wish == "password":
            words = form.get("before", ""), form.get("after", "")
            change = self.accounts.change_password
            return {"ended": await self.service.passwords.run(change, session, token, *words)}
        return {}

    async def key(self, request: Request, session: Session) -> Response:
        """A key for programs, shown once."""
        form = {} if bearer_of(request) is not None else await self.fields_of(request)
        scope = form.get("scope", SCOPES[0])
        key = await run_in_threadpool(self.accounts.make_key, session.account, form.get("name", ""), scope)
        return self.page("key.html", session, key=key, scope=scope)

    async def change(self, request: Request, session: Session) -> Response:
        """Open, close, delete, invite, share."""
        form, name = await self.fields_of(request), request.path_params["change"]
        stored, _ = await run_in_threadpool(self._seen, request, session, "owner")
        store, code = self.service.store, stored.code
        if name == "open":
            await run_in_threadpool(store.open, code)
        elif name == "close":
            await run_in_threadpool(store.close_survey, code)
        elif name == "delete":
            if form.get("title", "").strip() != stored.survey.title[stored.survey.languages[0]].strip():
                raise AccessError("the-title-does-not-match")
            await run_in_threadpool(store.delete, code)
            self.service.forget(code)
            return RedirectResponse("/studio", 303)
        elif name == "invite":
            return await self._invite(form, stored)
        elif name == "unshare":
            await run_in_threadpool(self.accounts.unshare, stored, str(form.get("name", "")))
        elif name == "share":
            role: Role = "owner" if form.get("role") == "owner" else "analyst"
            await run_in_threadpool(self.accounts.share, stored, form.get("name", ""), role)
        else:
            raise NoSurveyError("there-is-nothing-here")
        return RedirectResponse(f"/studio/s/{code}", 303)

    async def _invite(self, form: dict[str, str], stored: StoredSurvey) -> Response:
        try:
            count = int(form.get("count", "")[:10])
        except ValueError:
            count = 0
        if not 1 <= count <= MOST_INVITATIONS:
            raise AccessError("this-is-no-number-of-invitations", most_invitations=MOST_INVITATIONS)
        tokens = await run_in_threadpool(self.service.store.invite, stored.code, count)
        lines = [f"{self.service.settings.address}/s/{stored.code}#{token}" for token in tokens]
        headers = attached(f"invitations-{stored.code}.txt")
        return Response("\n".join(lines) + "\n", media_type="text/plain", headers=headers)

    async def results(self, request: Request, session: Session) -> Response:
        """The live shares of all questions."""

        def read() -> dict[str, Any]:
            stored, _ = self._seen(request, session)
            return {
                "state": stored.state,
                "reports": self.service.store.size(stored),
                "counted": self.service.store.counted(stored),
                "questions": json_form([result.to_dict() for result in self._results(stored)]),
            }

        name = f"results-{request.path_params['code']}.json"
        headers = {**NOT_KEPT, **(attached(name) if "download" in request.query_params else {})}
        return JSONResponse(await run_in_threadpool(read), headers=headers)

    async def results_table(self, request: Request, session: Session) -> Response:
        """The same shares as one table in CSV."""

        def read() -> tuple[str, str]:
            stored, _ = self._seen(request, session)
            return f"results-{stored.code}.csv", results_csv(self._results(stored), stored.survey.languages[0])

        name, content = await run_in_threadpool(read)
        return Response(content, media_type="text/csv; charset=utf-8", headers={**attached(name), **NOT_KEPT})

    async def table(self, request: Request, session: Session) -> Response:
        """The live table of two questions."""

        def read() -> Any:
            stored, _ = self._seen(request, session)
            first, second = (request.query_params.get(key, "") for key in ("first", "second"))
            table = table_result(self.service.store, stored, first, second)
            return None if table is None else json_form(table.to_dict())

        return JSONResponse(await run_in_threadpool(read), headers=NOT_KEPT)

    async def device(self, request: Request, session: Session) -> Response:
        """The sheets to print for one question, for those who are asked on paper."""

        def read() -> str:
            stored, _ = self._seen(request, session)
            question = stored.survey.by_name.get(request.path_params["name"])
            if question is None or question.design is None:
                raise NoSurveyError("there-is-no-sensitive-question")
            ask = question.ask[stored.survey.languages[0]]
            options = SheetOptions(question=ask, all_reports=stored.survey.parity)
            return device_page(make_device(question.design), options)

        html = await run_in_threadpool(read)
        return HTMLResponse(html, headers={"Content-Security-Policy": SHEET_POLICY, **NOT_KEPT})

    async def export(self, request: Request, session: Session) -> Response:
        """All reports, with the survey and its designs, in one archive."""

        def read() -> tuple[str, bytes]:
            stored, _ = self._seen(request, session)
            kind = request.path_params["kind"]
            if kind not in EXPORTS:
                raise NoSurveyError("there-is-no-export-of-this", exports=", ".join(EXPORTS))
            return f"survey-{stored.code}-{kind}.zip", export_bytes(self.service.store, stored, kind)

        name, content = await self.service.exports.run(read)
        return Response(content, media_type="application/zip", headers={**attached(name), **NOT_KEPT})

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

        headers = {**attached(name), **NOT_KEPT}
        return Response(await run_in_threadpool(read), media_type="application/octet-stream", headers=headers)

    async def check(self, request: Request) -> Response:
        """What a sceptic can check, and how."""
        stored = await run_in_threadpool(self.service.open_survey, request.path_params["code"])
        files = [self.service.assets[name] for name in PAGE_FILES]
        accepted = accepted_languages(request.headers.get("accept-language", ""))
        words = check_words(stored.survey, [request.query_params.get("language", ""), *accepted])
        return self.page("check.html", None, stored=stored, files=files, address=self.service.settings.address, **words)


FIRST_FORM: dict[str, Any] = {
    "title": "Working life",
    "demand": {"word": "epsilon", "value": "2"},
    "questions": [
        {"ask": "Were you paid in cash last month?", "answers": ["never", "once", "more often"], "sensitive": True}
    ],
}


def studio_routes(service: Service) -> list[BaseRoute]:
    """The routes of the studio, and those for programs."""
    studio = Studio(service)
    return [*Programs(service, studio.accounts).routes(), *studio.routes()]
