"""What programs ask of the service: surveys and results as JSON, with a key, and the OpenAPI document.

A key is a session without a browser: ``Authorization: Bearer KEY``. Cookies are not taken here, so that no other site
can make a browser call these addresses.

The OpenAPI document names every such address, what it takes and what it answers.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from maskwell.collection.accounts import AccessError, Accounts, Role, Scope, Session
from maskwell.collection.application import LARGEST_BODY, Service, bearer_of, read_body
from maskwell.collection.exports import EXPORTS, export_bytes
from maskwell.collection.results import question_result, table_result
from maskwell.collection.stored_survey import StoredSurvey
from maskwell.collection.survey import LARGEST, Survey
from maskwell.core.documents import json_form, version_text
from maskwell.errors import ParameterError

MOST_INVITATIONS = 100_000
_ALL = "/api/admin/surveys"
_ONE = f"{_ALL}/{{code}}"
_RESPONDENTS = "/api/surveys/{code}"
_TEXT: dict[str, Any] = {"type": "string"}
_CODE = {"name": "code", "in": "path", "required": True, "schema": _TEXT}


def _object(properties: dict[str, Any], *, all_needed: bool = True, **more: Any) -> dict[str, Any]:
    return {"type": "object", **({"required": [*properties]} if all_needed else {}), **more, "properties": properties}


def _query(name: str, schema: dict[str, Any], *, required: bool) -> dict[str, Any]:
    return {"name": name, "in": "query", "required": required, "schema": schema}


def _ref(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{name}"}


def _answered(description: str, schema: dict[str, Any], kind: str = "application/json") -> dict[str, Any]:
    return {"description": description, "content": {kind: schema}}


_REPORT = {"oneOf": [{"type": "integer", "minimum": 0}, {"type": "string", "pattern": "^[01]+$"}]}
_SCHEMAS = {
    "Error": _object({"error": _object(dict.fromkeys(("code", "message", "hint"), _TEXT))}),
    "Submission": {
        "type": "object",
        "required": ["id", "survey", "reports"],
        "additionalProperties": False,
        "properties": {
            "id": {**_TEXT, "pattern": "^[0-9a-f]{32}$", "description": "Random, made by the respondent's page."},
            "survey": {**_TEXT, "pattern": "^sha256:[0-9a-f]{64}$", "description": "Fingerprint of the survey."},
            "invitation": {**_TEXT, "pattern": "^[A-Za-z0-9_-]{1,64}$"},
            "reports": {
                "type": "object",
                "additionalProperties": _REPORT,
                "description": "A report for each question that is asked: a code, or a text of 0 and 1 for sets.",
            },
        },
    },
    "Survey": _object(
        {
            "code": _TEXT,
            "title": _TEXT,
            "state": {"enum": ["draft", "open", "closed"]},
            "reports": {"type": "integer", "minimum": 0},
            "fingerprint": _TEXT,
            "address": _TEXT,
        }
    ),
}
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
_BODY = (400, 408, 413, 415, 422)
_KEY = (401, 403)
_FOUND = (*_KEY, 404)
_TOLD = (*_FOUND, 422)
_CHANGED = (*_FOUND, *_BODY)


@dataclass(frozen=True)
class _Operation:
    """What can be asked at one address, and what it answers."""

    address: str
    method: str
    summary: str
    refusals: Sequence[int]
    answer: dict[str, Any] = field(default_factory=dict)
    body: dict[str, Any] | None = None
    status: int = 200
    query: Sequence[dict[str, Any]] = ()

    def to_dict(self) -> dict[str, Any]:
        """In the words of OpenAPI; every address for those who run surveys needs a key."""
        body = None if self.body is None else {"application/json": {"schema": self.body}}
        refused = {str(one): _answered(_REASONS[one], {"schema": _ref("Error")}) for one in sorted(self.refusals)}
        if self.address == "/health":
            refused["503"]["description"] = "The database is away."
        done = _answered("Done.", {"schema": self.answer})
        done = _answered("A zip file.", {}, "application/zip") if self.address.endswith("/export") else done
        return {
            "summary": self.summary,
            **({} if body is None else {"requestBody": {"required": True, "content": body}}),
            "responses": {str(self.status): done, **refused},
            **({"security": [{"key": []}]} if self.address.startswith(_ALL) else {}),
        }


_RECEIVED = _object({"received": {"const": True}}, all_needed=False)
_USABLE = _object({"usable": {"type": "boolean"}}, all_needed=False)
_TWO = [_query(name, _TEXT, required=True) for name in ("first", "second")]
_OPERATIONS = (
    _Operation("/health", "get", "Whether the service and its database answer.", (503,)),
    _Operation("/s/{code}/survey.json", "get", "The survey document: questions, designs and fingerprint.", (404,)),
    _Operation(
        f"{_RESPONDENTS}/reports",
        "post",
        "Send the reports of one person; sending the same again changes nothing.",
        (*_BODY, 403, 404, 409, 503),
        _RECEIVED,
        _ref("Submission"),
    ),
    _Operation(
        f"{_RESPONDENTS}/invitation",
        "post",
        "Whether an invitation can still be used.",
        (*_BODY, 404),
        _USABLE,
        _object({"invitation": _TEXT}),
    ),
    _Operation(_ALL, "get", "Your surveys.", _KEY),
    _Operation(
        _ALL, "post", "Keep a survey file as a draft.", (*_KEY, *_BODY), _ref("Survey"), _object({"survey": _TEXT}), 201
    ),
    _Operation(_ONE, "get", "One survey.", _FOUND, _ref("Survey")),
    _Operation(_ONE, "delete", "Delete it for good.", _FOUND, _ref("Survey")),
    _Operation(
        f"{_ONE}/state",
        "put",
        "Open or close it.",
        _CHANGED,
        _ref("Survey"),
        _object({"state": {"enum": ["open", "closed"]}}),
    ),
    _Operation(
        f"{_ONE}/invitations",
        "post",
        "Make single-use tokens.",
        _CHANGED,
        body=_object({"count": {"type": "integer", "minimum": 1, "maximum": MOST_INVITATIONS}}),
    ),
    _Operation(f"{_ONE}/results", "get", "Shares so far.", _TOLD),
    _Operation(f"{_ONE}/table", "get", "Two questions together.", _TOLD, query=_TWO),
    _Operation(
        f"{_ONE}/export",
        "get",
        "Everything as an archive.",
        _TOLD,
        query=[_query("format", {"enum": list(EXPORTS)}, required=False)],
    ),
)


def document(address: str) -> dict[str, Any]:
    """The OpenAPI document."""
    paths: dict[str, Any] = {}
    for one in _OPERATIONS:
        given = [*([_CODE] if "{code}" in one.address else []), *one.query]
        path = paths.setdefault(one.address, {"parameters": given} if given else {})
        path[one.method] = one.to_dict()
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "maskwell",
            "version": version_text(),
            "description": "Surveys whose answers are randomized on the respondent's device. Only reports travel.",
        },
        "servers": [{"url": address}],
        "components": {"schemas": _SCHEMAS, "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}}},
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
        """Delete for good."""

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
        """Single-use tokens, told once."""
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
        survey = stored.survey
        return {
            "code": stored.code,
            "title": survey.title[survey.languages[0]],
            "state": stored.state,
            "reports": self.service.store.size(stored),
            "fingerprint": survey.fingerprint,
            "address": f"{self.service.settings.address}/s/{stored.code}",
        }


async def _field(request: Request, name: str, largest: int = LARGEST_BODY) -> Any:
    body = await read_body(request, largest)
    return body.get(name) if isinstance(body, dict) else None


def _json(content: Any, status: int = 200) -> Response:
    return JSONResponse(json_form(content), status, headers={"Cache-Control": "no-store"})
