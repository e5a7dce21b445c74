"""The OpenAPI document of the service: every address for programs, what it takes and what it answers."""

from __future__ import annotations

from typing import Any

from maskwell.core.documents import version_text

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
_CODE = {"name": "code", "in": "path", "required": True, "schema": {"type": "string"}}


def document(address: str) -> dict[str, Any]:
    """All of it."""
    one = "/api/admin/surveys/{code}"
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
        "paths": {
            "/health": {
                "get": _operation(
                    "Whether the service and its database answer.",
                    {"200": _content({}), "503": _refusal("The database is away.")},
                )
            },
            "/s/{code}/survey.json": {
                "parameters": [_CODE],
                "get": _operation(
                    "The survey document: questions, designs and fingerprint.",
                    {"200": _content({}), "404": _refusal("No such survey.")},
                ),
            },
            "/api/surveys/{code}/reports": {
                "parameters": [_CODE],
                "post": _operation(
                    "Send the reports of one person; sending the same again changes nothing.",
                    {
                        "200": _content({"type": "object", "properties": {"received": {"const": True}}}),
                        **_refusals(400, 403, 404, 408, 409, 413, 415, 422, 503),
                    },
                    body={"$ref": "#/components/schemas/Submission"},
                ),
            },
            "/api/surveys/{code}/invitation": {
                "parameters": [_CODE],
                "post": _operation(
                    "Whether an invitation can still be used.",
                    {
                        "200": _content({"type": "object", "properties": {"usable": {"type": "boolean"}}}),
                        **_refusals(400, 404, 413, 415, 422),
                    },
                    body={
                        "type": "object",
                        "required": ["invitation"],
                        "properties": {"invitation": {"type": "string"}},
                    },
                ),
            },
            "/api/admin/surveys": {
                "get": _operation("Your surveys.", {"200": _content({}), **_refusals(401)}, key=True),
                "post": _operation(
                    "Keep a survey file as a draft.",
                    {"201": _content(_ref("Survey")), **_refusals(400, 401, 413, 415, 422)},
                    body={"type": "object", "required": ["survey"], "properties": {"survey": {"type": "string"}}},
                    key=True,
                ),
            },
            one: {
                "parameters": [_CODE],
                "get": _operation("One survey.", {"200": _content(_ref("Survey")), **_refusals(401, 404)}, key=True),
                "delete": _operation(
                    "Delete it for good.", {"200": _content(_ref("Survey")), **_refusals(401, 403, 404)}, key=True
                ),
            },
            f"{one}/state": {
                "parameters": [_CODE],
                "put": _operation(
                    "Open or close it.",
                    {"200": _content(_ref("Survey")), **_refusals(400, 401, 403, 404, 413, 415, 422)},
                    body={
                        "type": "object",
                        "required": ["state"],
                        "properties": {"state": {"enum": ["open", "closed"]}},
                    },
                    key=True,
                ),
            },
            f"{one}/invitations": {
                "parameters": [_CODE],
                "post": _operation(
                    "Make single-use tokens.",
                    {"200": _content({}), **_refusals(400, 401, 403, 404, 413, 415, 422)},
                    body={
                        "type": "object",
                        "required": ["count"],
                        "properties": {"count": {"type": "integer", "minimum": 1, "maximum": 100000}},
                    },
                    key=True,
                ),
            },
            f"{one}/results": {
                "parameters": [_CODE],
                "get": _operation("Shares so far.", {"200": _content({}), **_refusals(401, 404, 422)}, key=True),
            },
            f"{one}/table": {
                "parameters": [
                    _CODE,
                    *(
                        {"name": name, "in": "query", "required": True, "schema": {"type": "string"}}
                        for name in ("first", "second")
                    ),
                ],
                "get": _operation(
                    "Two questions together.", {"200": _content({}), **_refusals(401, 404, 422)}, key=True
                ),
            },
            f"{one}/export": {
                "parameters": [
                    _CODE,
                    {"name": "format", "in": "query", "schema": {"enum": ["csv", "parquet", "sav", "dta"]}},
                ],
                "get": _operation(
                    "Everything as an archive.",
                    {
                        "200": {"description": "A zip file.", "content": {"application/zip": {}}},
                        **_refusals(401, 404, 422),
                    },
                    key=True,
                ),
            },
        },
    }


def _ref(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{name}"}


def _content(schema: dict[str, Any]) -> dict[str, Any]:
    return {"description": "Done.", "content": {"application/json": {"schema": schema}}}


def _refusal(description: str) -> dict[str, Any]:
    return {"description": description, "content": {"application/json": {"schema": _ref("Error")}}}


_REASONS = {
    400: "The body is not JSON.",
    401: "A key is needed.",
    403: "Not allowed.",
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
