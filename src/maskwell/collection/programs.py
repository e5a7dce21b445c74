"""What programs ask of the service: surveys and results as JSON, with a key, and the OpenAPI document.

A key is a session without a browser: ``Authorization: Bearer KEY``. Cookies are not taken here, so that no other site
can make a browser call these addresses.
"""

from __future__ import annotations

import tomllib
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from maskwell.collection.accounts import AccessError, Accounts, Role, Scope, Session
from maskwell.collection.application import LARGEST_BODY, Service, bearer_of, read_body
from maskwell.collection.exports import EXPORTS, export_bytes
from maskwell.collection.page_texts import package_text
from maskwell.collection.results import question_result, table_result
from maskwell.collection.stored_survey import StoredSurvey
from maskwell.collection.survey import LARGEST, Survey
from maskwell.core.documents import json_form, version_text
from maskwell.errors import ParameterError

MOST_INVITATIONS = 100_000
_ALL = "/api/admin/surveys"
_ONE = f"{_ALL}/{{code}}"
_CODE = {"name": "code", "in": "path", "required": True, "schema": {"type": "string"}}


def _json_of(schema: Mapping[str, Any]) -> dict[str, Any]:
    return {"content": {"application/json": {"schema": schema}}}


def _operation(one: Mapping[str, Any], reasons: Mapping[str, str]) -> dict[str, Any]:
    """In the words of OpenAPI; every address for those who run surveys needs a key."""
    error = {"$ref": "#/components/schemas/Error"}
    refused = {str(status): {"description": reasons[str(status)], **_json_of(error)} for status in one["refusals"]}
    if one["address"] == "/health":
        refused["503"]["description"] = "The database is away."
    done = {"description": "Done.", **_json_of(one.get("ok", {}))}
    if one["address"].endswith("/export"):
        done = {"description": "A zip file.", "content": {"application/zip": {}}}
    return {
        "summary": one["summary"],
        **({"requestBody": {"required": True, **_json_of(one["body"])}} if "body" in one else {}),
        "responses": {str(one.get("status", 200)): done, **refused},
        **({"security": [{"key": []}]} if one["address"].startswith(_ALL) else {}),
    }


def document(address: str) -> dict[str, Any]:
    """The OpenAPI document."""
    told = tomllib.loads(package_text("openapi.toml"))
    paths: dict[str, Any] = {}
    for one in told["operations"]:
        given = [*([_CODE] if "{code}" in one["address"] else []), *one.get("query", ())]
        path = paths.setdefault(one["address"], {"parameters": given} if given else {})
        path[one["method"]] = _operation(one, told["reasons"])
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "maskwell",
            "version": version_text(),
            "description": "Surveys whose answers are randomized on the respondent's device. Only reports travel.",
        },
        "servers": [{"url": address}],
        "components": {"schemas": told["schemas"], "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}}},
        "paths": paths,
    }


class Programs:
    """Handlers of ``/api``, for those who hold a key."""

    def __init__(self, service: Service, accounts: Accounts) -> None:
        self.service = service
        self.accounts = accounts

    def routes(self) -> list[BaseRoute]:
        """All addresses."""
        return [
            Route("/openapi.json", self.openapi),
            Route(_ALL, self.with_key(self.list, "results"), methods=["GET"]),
            Route(_ALL, self.with_key(self.add, "manage"), methods=["POST"]),
            Route(_ONE, self.with_key(self.show, "results"), methods=["GET"]),
            Route(_ONE, self.with_key(self.delete, "manage"), methods=["DELETE"]),
            Route(f"{_ONE}/state", self.with_key(self.move, "manage"), methods=["PUT"]),
            Route(f"{_ONE}/invitations", self.with_key(self.invite, "manage"), methods=["POST"]),
            Route(f"{_ONE}/results", self.with_key(self.results, "results"), methods=["GET"]),
            Route(f"{_ONE}/table", self.with_key(self.table, "results"), methods=["GET"]),
            Route(f"{_ONE}/export", self.with_key(self.export, "export"), methods=["GET"]),
        ]

    def with_key(
        self, handler: Callable[[Request, Session], Awaitable[Response]], scope: Scope
    ) -> Callable[[Request], Awaitable[Response]]:
        """Only for who holds a key of this scope or a wider one."""

        async def guarded(request: Request) -> Response:
            session = await run_in_threadpool(self.accounts.session, bearer_of(request))
            if session is None:
                raise AccessError("a-key-is-needed", status=401)
            if not session.may(scope):
                raise AccessError("this-key-has-the-scope", scope=session.scope, scope_shown=scope, status=403)
            return await handler(request, session)

        return guarded

    async def openapi(self, _: Request) -> Response:
        """What can be asked."""
        return JSONResponse(document(self.service.settings.address))

    async def list(self, _: Request, session: Session) -> Response:
        """The surveys of the key's account."""

        def read() -> Any:
            return [self._about(stored) for stored in self.service.store.surveys(session.account)]

        return _json({"surveys": await run_in_threadpool(read)})

    async def add(self, request: Request, session: Session) -> Response:
        """A draft from the text of a survey file."""
        source = await _field(request, "survey", LARGEST)
        if not isinstance(source, str):
            raise ParameterError("survey-is-not-the-text")

        def make() -> Any:
            store, survey = self.service.store, Survey.from_toml(source)
            return self._about(store.survey(store.add_survey(survey, source, owner=session.account)))

        return _json(await self.service.drafts.run(make), 201)

    async def show(self, request: Request, session: Session) -> Response:
        """One survey."""
        return await self._answer(request, session, self._about)

    async def delete(self, request: Request, session: Session) -> Response:
        """Delete permanently."""

        def remove(stored: StoredSurvey) -> Any:
            about = self._about(stored)
            self.service.store.delete(stored.code)
            self.service.forget(stored.code)
            return about

        return await self._answer(request, session, remove, "owner")

    async def move(self, request: Request, session: Session) -> Response:
        """Open or close."""
        state = await _field(request, "state")
        if state not in ("open", "closed"):
            raise ParameterError("state-is-neither-open-nor-closed")
        store = self.service.store
        change = store.open if state == "open" else store.close_survey
        return await self._answer(request, session, lambda stored: self._about(change(stored.code)), "owner")

    async def invite(self, request: Request, session: Session) -> Response:
        """Single-use tokens, shown once."""
        count = await _field(request, "count")
        if type(count) is not int or not 1 <= count <= MOST_INVITATIONS:
            raise ParameterError("count-is-not-a-whole-number", most_invitations=MOST_INVITATIONS)
        store = self.service.store
        return await self._answer(
            request, session, lambda stored: {"invitations": store.invite(stored.code, count)}, "owner"
        )

    async def results(self, request: Request, session: Session) -> Response:
        """The shares of all questions so far."""

        def read(stored: StoredSurvey) -> Any:
            store = self.service.store
            questions = [question_result(store, stored, one.name).to_dict() for one in stored.survey.questions]
            return {**self._about(stored), "counted": store.counted(stored), "questions": questions}

        return await self._answer(request, session, read)

    async def table(self, request: Request, session: Session) -> Response:
        """Two questions together."""

        def read(stored: StoredSurvey) -> Any:
            names = [request.query_params.get(key, "") for key in ("first", "second")]
            table = table_result(self.service.store, stored, *names)
            return {"table": None if table is None else table.to_dict()}

        return await self._answer(request, session, read)

    async def export(self, request: Request, session: Session) -> Response:
        """Everything as an archive."""
        kind = request.query_params.get("format", "csv")
        if kind not in EXPORTS:
            raise ParameterError("there-is-no-export", exports=", ".join(EXPORTS))

        def read() -> bytes:
            return export_bytes(self.service.store, self._seen(request, session), kind)

        return Response(await self.service.exports.run(read), media_type="application/zip")

    async def _answer(
        self, request: Request, session: Session, read: Callable[[StoredSurvey], Any], *roles: Role
    ) -> Response:
        return _json(await run_in_threadpool(lambda: read(self._seen(request, session, *roles))))

    def _seen(self, request: Request, session: Session, *roles: Role) -> StoredSurvey:
        return self.accounts.visible(session, request.path_params["code"], *roles)[0]

    def _about(self, stored: StoredSurvey) -> dict[str, Any]:
        service = self.service
        return {**service.store.about(stored), "address": f"{service.settings.address}/s/{stored.code}"}


async def _field(request: Request, name: str, largest: int = LARGEST_BODY) -> Any:
    body = await read_body(request, largest)
    return body.get(name) if isinstance(body, dict) else None


def _json(content: Any, status: int = 200) -> Response:
    return JSONResponse(json_form(content), status, headers={"Cache-Control": "no-store"})
