"""The service as an ASGI application: what respondents load and send, and what watches over it.

The respondent's part knows no session, no cookie and no type for a true answer. It hands out the page and the survey
document, and takes reports. Nothing that could identify anybody is logged.
"""

from __future__ import annotations

import json
import queue
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from maskwell.collection.assets import Asset, load_assets
from maskwell.collection.intake import TOKEN, Intake, read_submission
from maskwell.collection.settings import Settings
from maskwell.collection.store import NoSurveyError, Store, StoredSurvey, Verdict
from maskwell.core.documents import from_json
from maskwell.errors import MaskwellError, ReportError

LARGEST_BODY = 64 << 10
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


class Service:
    """What all requests share: the store, the thread that writes, the files."""

    def __init__(self, settings: Settings, *, shard: int = 0) -> None:
        self.settings = settings
        self.store = Store(settings.database, shard=shard)
        self.intake = Intake(self.store)
        self.assets = load_assets()
        self._known: dict[str, StoredSurvey] = {}

    def open_survey(self, code: str) -> StoredSurvey:
        """A survey that respondents may see; whether it still takes reports is asked when they are written."""
        stored = self._known.get(code)
        if stored is None:
            stored = self.store.survey(code)
            if stored.state == "draft":
                raise NoSurveyError("there is no survey of this code", hint="check the address", code=code)
            self._known[code] = stored  # frozen once it was opened
        return stored

    def known(self, code: str) -> StoredSurvey | None:
        """A survey that was asked for before: no need to look into the database."""
        return self._known.get(code)

    def forget(self, code: str) -> None:
        """A survey was deleted."""
        self._known.pop(code, None)


def create_app(
    settings: Settings, *, shard: int = 0, more: Callable[[Service], list[BaseRoute]] | None = None
) -> Starlette:
    """The application."""
    service = Service(settings, shard=shard)

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
        middleware=[Middleware(SafeHeaders)],
        exception_handlers={MaskwellError: _refused, 404: _not_found, 405: _wrong_method, Exception: _fault},
    )
    app.state.service = service
    return app


class SafeHeaders:
    """The headers that every answer has."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self._headers = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]

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


def service_of(request: Request) -> Service:
    """What the application holds."""
    service: Service = request.app.state.service
    return service


# ---- what respondents load


async def _page(request: Request) -> Response:
    service = service_of(request)
    await run_in_threadpool(service.open_survey, request.path_params["code"])
    page: Asset = service.assets["respond.html"]
    return page.response(request, {"Content-Security-Policy": RESPONDENT_POLICY})


async def _document(request: Request) -> Response:
    service = service_of(request)
    stored = await run_in_threadpool(service.store.survey, request.path_params["code"])
    if stored.state == "draft":
        raise NoSurveyError("there is no survey of this code", hint="check the address")
    content = {"state": stored.state, "survey": stored.survey.to_dict()}
    return JSONResponse(content, headers={"Cache-Control": "no-cache"})


async def _static(request: Request) -> Response:
    asset = service_of(request).assets.get(request.path_params["name"])
    return (
        _error(404, "not-found", "there is nothing here", "check the address")
        if asset is None
        else asset.response(request)
    )


# ---- what respondents send


async def _take(request: Request) -> Response:
    """Reports of one person: acknowledged when they are on disk; the same ones sent again are acknowledged again."""
    service = service_of(request)
    body = await read_body(request)
    stored = service.known(request.path_params["code"])
    if stored is None:
        stored = await run_in_threadpool(service.open_survey, request.path_params["code"])
    try:
        verdict = await service.intake.submit(read_submission(stored, body))
    except queue.Full:
        return _error(503, "busy", "too many reports are waiting", "send it again in a few seconds")
    if verdict == "accepted":
        return Response(b'{"received":true}', media_type="application/json")
    status, message, hint = REFUSALS[verdict]
    return _error(status, verdict, message, hint)


async def _invitation(request: Request) -> Response:
    """Whether an invitation can still be used; the token comes in the body, never in an address."""
    service = service_of(request)
    body = await read_body(request)
    token = body.get("invitation") if isinstance(body, Mapping) else None
    if not isinstance(token, str) or not TOKEN.fullmatch(token):
        raise ReportError("the invitation is no token of this service", hint="use the link as it was sent to you")
    stored = await run_in_threadpool(service.open_survey, request.path_params["code"])
    return JSONResponse({"usable": await run_in_threadpool(service.store.is_invited, stored, token)})


async def read_body(request: Request, largest: int = LARGEST_BODY) -> Any:
    """The JSON of a request, no larger than allowed; ReportError otherwise."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise _BodyError("the body is not application/json", hint="set the header Content-Type", status=415)
    content = b""
    async for chunk in request.stream():
        content += chunk
        if len(content) > largest:
            raise _BodyError(f"the body has more than {largest >> 10} kB", hint="send one report", status=413)
    try:
        return from_json(content.decode())
    except (ValueError, RecursionError) as error:
        raise _BodyError("the body is not JSON", hint="send what the respondent's page sends", status=400) from error


class _BodyError(ReportError):
    """A body that cannot be read."""


# ---- watching over it


async def _health(request: Request) -> Response:
    try:
        await run_in_threadpool(service_of(request).store.check)
    except Exception:  # noqa: BLE001 (whatever it is, the answer is: not well)
        return _error(503, "database", "the database does not answer", "look at the log of the database")
    return JSONResponse({"status": "ok"})


async def _metrics(request: Request) -> Response:
    """Counts since the process began, in the text form that Prometheus reads; nothing about anybody."""
    intake = service_of(request).intake
    lines = [
        "# TYPE maskwell_reports_accepted_total counter",
        f"maskwell_reports_accepted_total {intake.accepted}",
        "# TYPE maskwell_writes_total counter",
        f"maskwell_writes_total {intake.batches}",
    ]
    return PlainTextResponse("\n".join(lines) + "\n")


# ---- errors


def _error(status: int, code: str, message: str, hint: str) -> Response:
    return Response(
        json.dumps({"error": {"code": code, "message": message, "hint": hint}}, ensure_ascii=False),
        status_code=status,
        media_type="application/json",
    )


def status_of(error: MaskwellError) -> int:
    """The status that an answer with this error has."""
    status = 404 if isinstance(error, NoSurveyError) else error.objects.get("status", 422)
    assert isinstance(status, int)
    return status


async def _refused(_: Request, error: Exception) -> Response:
    assert isinstance(error, MaskwellError)
    return _error(status_of(error), error.code, error.message, error.hint or "")


async def _not_found(_: Request, __: Exception) -> Response:
    return _error(404, "not-found", "there is nothing here", "check the address")


async def _wrong_method(_: Request, error: Exception) -> Response:
    response = _error(405, "wrong-method", "this address does not take that method", "see /openapi.json")
    response.headers.update(getattr(error, "headers", None) or {})
    return response


async def _fault(_: Request, __: Exception) -> Response:
    return _error(500, "fault", "the service has a fault", "tell those who run it; your report was not taken")
