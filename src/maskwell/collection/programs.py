"""What programs ask of the service: surveys and results as JSON, with a key, and the OpenAPI document.

A key is a session without a browser: ``Authorization: Bearer KEY``. Cookies are not taken here, so that no other site
can make a browser call these addresses.

The OpenAPI document names every such address, what it takes and what it answers.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from maskwell.collection.accounts import AccessError, Accounts, Role, Scope, Session
from maskwell.collection.application import Service, read_body
from maskwell.collection.exports import EXPORTS, export_bytes
from maskwell.collection.results import question_result, table_result
from maskwell.collection.store import StoredSurvey
from maskwell.collection.survey import LARGEST, Survey
from maskwell.core.documents import json_form, version_text
from maskwell.errors import ParameterError

_ERROR = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["code", "message", "hint"],
            "properties": {key: {"type": "string"} for key in ("code", "message", "hint")},
        }
    },
}
_SUBMISSION = {
    "type": "object",
    "required": ["id", "survey", "reports"],
    "additionalProperties": False,
    "properties": {
        "id": {"type": "string", "pattern": "^[0-9a-f]{32}$", "description": "Random, made by the respondent's page."},
        "survey": {"type": "string", "pattern": "^sha256:[0-9a-f]{64}$", "description": "Fingerprint of the survey."},
        "invitation": {"type": "string", "pattern": "^[A-Za-z0-9_-]{1,64}$"},
        "reports": {
            "type": "object",
            "additionalProperties": {
                "oneOf": [{"type": "integer", "minimum": 0}, {"type": "string", "pattern": "^[01]+$"}]
            },
            "description": "A report for each question that is asked: a code, or a text of 0 and 1 for sets.",
        },
    },
}
_SURVEY = {
    "type": "object",
    "required": ["code", "title", "state", "reports", "fingerprint", "address"],
    "properties": {
        "code": {"type": "string"},
        "title": {"type": "string"},
        "state": {"enum": ["draft", "open", "closed"]},
        "reports": {"type": "integer", "minimum": 0},
        "fingerprint": {"type": "string"},
        "address": {"type": "string"},
    },
}
MOST_INVITATIONS = 100_000
_ALL = "/api/admin/surveys"
_ONE = f"{_ALL}/{{code}}"
_CODE = {"name": "code", "in": "path", "required": True, "schema": {"type": "string"}}


def document(address: str) -> dict[str, Any]:
    """All of it."""
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "maskwell",
            "version": version_text(),
            "description": "Surveys whose answers are randomized on the respondent's device. Only reports travel.",
        },
        "servers": [{"url": address}],
        "components": {
            "schemas": {"Error": _ERROR, "Submission": _SUBMISSION, "Survey": _SURVEY},
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
        },
        "paths": {**_for_respondents(), **_for_surveys(), **_for_states(), **_for_results()},
    }


def _for_respondents() -> dict[str, Any]:
    """What everybody may ask."""
    well = {"200": _content({}), "503": _refusal("The database is away.")}
    found = {"200": _content({}), "404": _refusal("No such survey.")}
    received = {
        "200": _content(_object(received={"const": True})),
        **_refusals(400, 403, 404, 408, 409, 413, 415, 422, 503),
    }
    usable = {"200": _content(_object(usable={"type": "boolean"})), **_refusals(400, 404, 408, 413, 415, 422)}
    return {
        "/health": {"get": _operation("Whether the service and its database answer.", well)},
        "/s/{code}/survey.json": {
            "parameters": [_CODE],
            "get": _operation("The survey document: questions, designs and fingerprint.", found),
        },
        "/api/surveys/{code}/reports": {
            "parameters": [_CODE],
            "post": _operation(
                "Send the reports of one person; sending the same again changes nothing.",
                received,
                body=_ref("Submission"),
            ),
        },
        "/api/surveys/{code}/invitation": {
            "parameters": [_CODE],
            "post": _operation(
                "Whether an invitation can still be used.", usable, body=_needs(invitation={"type": "string"})
            ),
        },
    }


def _for_surveys() -> dict[str, Any]:
    """Surveys: list, add, see, delete."""
    survey = _content(_ref("Survey"))
    return {
        _ALL: {
            "get": _operation("Your surveys.", {"200": _content({}), **_refusals(401, 403)}, key=True),
            "post": _operation(
                "Keep a survey file as a draft.",
                {"201": survey, **_refusals(400, 401, 403, 408, 413, 415, 422)},
                body=_needs(survey={"type": "string"}),
                key=True,
            ),
        },
        _ONE: {
            "parameters": [_CODE],
            "get": _operation("One survey.", {"200": survey, **_refusals(401, 403, 404)}, key=True),
            "delete": _operation("Delete it for good.", {"200": survey, **_refusals(401, 403, 404)}, key=True),
        },
    }


def _for_states() -> dict[str, Any]:
    """What changes an open survey."""
    refused = _refusals(400, 401, 403, 404, 408, 413, 415, 422)
    count = {"type": "integer", "minimum": 1, "maximum": MOST_INVITATIONS}
    return {
        f"{_ONE}/state": {
            "parameters": [_CODE],
            "put": _operation(
                "Open or close it.",
                {"200": _content(_ref("Survey")), **refused},
                body=_needs(state={"enum": ["open", "closed"]}),
                key=True,
            ),
        },
        f"{_ONE}/invitations": {
            "parameters": [_CODE],
            "post": _operation(
                "Make single-use tokens.", {"200": _content({}), **refused}, body=_needs(count=count), key=True
            ),
        },
    }


def _for_results() -> dict[str, Any]:
    """What was collected, as far as the survey shows it."""
    told, refused = {"200": _content({})}, _refusals(401, 403, 404, 422)
    archive = {"200": {"description": "A zip file.", "content": {"application/zip": {}}}}
    two = [_query(name, {"type": "string"}, required=True) for name in ("first", "second")]
    return {
        f"{_ONE}/results": {
            "parameters": [_CODE],
            "get": _operation("Shares so far.", {**told, **refused}, key=True),
        },
        f"{_ONE}/table": {
            "parameters": [_CODE, *two],
            "get": _operation("Two questions together.", {**told, **refused}, key=True),
        },
        f"{_ONE}/export": {
            "parameters": [_CODE, _query("format", {"enum": list(EXPORTS)})],
            "get": _operation("Everything as an archive.", {**archive, **refused}, key=True),
        },
    }


def _object(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def _needs(**properties: Any) -> dict[str, Any]:
    return {**_object(**properties), "required": [*properties]}


def _query(name: str, schema: dict[str, Any], *, required: bool = False) -> dict[str, Any]:
    return {"name": name, "in": "query", "required": required, "schema": schema}


def _ref(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{name}"}


def _content(schema: dict[str, Any]) -> dict[str, Any]:
    return {"description": "Done.", "content": {"application/json": {"schema": schema}}}


def _refusal(description: str) -> dict[str, Any]:
    return {"description": description, "content": {"application/json": {"schema": _ref("Error")}}}


_REASONS = {
    400: "The body is not JSON.",
    401: "A key is needed.",
    403: "Not allowed: the key has a narrower scope, or the account another role.",
    404: "No such survey.",
    408: "The body did not come in time.",
    409: "The survey takes no reports now, or the id was used for others.",
    413: "The body is too large.",
    415: "The body is not application/json.",
    422: "Something given is not allowed.",
    503: "Too many reports are waiting, or the database is away: send it again later.",
}


def _refusals(*statuses: int) -> dict[str, Any]:
    return {str(status): _refusal(_REASONS[status]) for status in statuses}


def _operation(
    summary: str, responses: dict[str, Any], *, body: dict[str, Any] | None = None, key: bool = False
) -> dict[str, Any]:
    sent = (
        {} if body is None else {"requestBody": {"required": True, "content": {"application/json": {"schema": body}}}}
    )
    return {"summary": summary, **sent, "responses": responses, **({"security": [{"key": []}]} if key else {})}


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
            scheme, _, key = request.headers.get("authorization", "").partition(" ")
            session = await run_in_threadpool(self.accounts.session, key if scheme.lower() == "bearer" else None)
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
        body = await read_body(request, LARGEST)
        source = body.get("survey") if isinstance(body, dict) else None
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
        """Delete for good."""

        def remove(stored: StoredSurvey) -> Any:
            about = self._about(stored)
            self.service.store.delete(stored.code)
            self.service.forget(stored.code)
            return about

        return await self._answer(request, session, remove, "owner")

    async def move(self, request: Request, session: Session) -> Response:
        """Open or close."""
        body = await read_body(request)
        state = body.get("state") if isinstance(body, dict) else None
        if state not in ("open", "closed"):
            raise ParameterError("state-is-neither-open-nor-closed")
        store = self.service.store
        change = store.open if state == "open" else store.close_survey
        return await self._answer(request, session, lambda stored: self._about(change(stored.code)), "owner")

    async def invite(self, request: Request, session: Session) -> Response:
        """Single-use tokens, told once."""
        body = await read_body(request)
        count = body.get("count") if isinstance(body, dict) else None
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
        survey = stored.survey
        return {
            "code": stored.code,
            "title": survey.title[survey.languages[0]],
            "state": stored.state,
            "reports": self.service.store.size(stored),
            "fingerprint": survey.fingerprint,
            "address": f"{self.service.settings.address}/s/{stored.code}",
        }


def _json(content: Any, status: int = 200) -> Response:
    return JSONResponse(json_form(content), status, headers={"Cache-Control": "no-store"})
