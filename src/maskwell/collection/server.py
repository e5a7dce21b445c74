"""Running the service: one process or several, started and stopped together, without a log of requests."""

from __future__ import annotations

import json
import logging
import os
import secrets
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle

from maskwell.collection.accounts import Accounts
from maskwell.collection.application import create_app
from maskwell.collection.opening import open_store
from maskwell.collection.page_templates import PagesForPeople
from maskwell.collection.page_texts import package_text
from maskwell.collection.report_cells import content_of
from maskwell.collection.settings import Settings
from maskwell.collection.store import Store
from maskwell.collection.stored_survey import StoredSurvey, Submission
from maskwell.collection.studio import studio_routes
from maskwell.collection.survey import Survey
from maskwell.collection.tables import ID_BYTES
from maskwell.core.phrases import masked
from maskwell.core.report_data import Reports

SWITCH_SECONDS = 0.001  # the thread that writes waits so long for the other, several times for each transaction

MADE_UP = 400  # respondents that the example begins with


LARGEST_HEAD = 64 << 10
MOST_HEADERS = 100


class TooLargeError(Exception):
    """The headers of a request are too many or too long."""


class BoundedProtocol(HttpToolsProtocol):
    """One connection: too many headers, or too long ones, which the parser would keep, are answered with 431."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._besides = 0
        self._status = 400

    def data_received(self, data: bytes) -> None:
        """Take bytes; those that are not of a body are bounded."""
        self._besides += len(data)
        super().data_received(data)
        if self._besides > LARGEST_HEAD and not self.transport.is_closing():
            self._status = 431
            cycle: RequestResponseCycle | None = self.cycle
            if cycle is not None and not cycle.response_complete:
                self.transport.close()  # an answer is on its way: nothing may be written into it
            else:
                self.send_400_response("The headers of the request are too large.")

    def on_headers_complete(self) -> None:
        """Begin to answer, unless there are too many headers, or they came too large at once."""
        size = len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.headers)
        if len(self.headers) > MOST_HEADERS or size > LARGEST_HEAD:
            self._status = 431
            raise TooLargeError
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Part of a body, which has a bound of its own."""
        self._besides -= len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        """The next request begins."""
        self._besides = 0
        super().on_message_complete()

    def send_400_response(self, msg: str) -> None:
        """Refuse, with the status that says why."""
        if self._status == 400:
            super().send_400_response(msg)
            return
        self.transport.write(STATUS_LINE[self._status] + b"content-length: 0\r\nconnection: close\r\n\r\n")
        self.transport.close()


class MaskedFormatter(logging.Formatter):
    """Lines of the log, without passwords of databases."""

    def format(self, record: logging.LogRecord) -> str:
        """One record, with its traceback where it has one."""
        return masked(super().format(record))


_LOG: Mapping[str, Any] = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"plain": {"()": MaskedFormatter, "format": "%(levelname)s: %(message)s"}},
    "handlers": {"error": {"class": "logging.StreamHandler", "formatter": "plain"}},
    "loggers": {"uvicorn": {"handlers": ["error"], "propagate": False}},
}
# Of uvicorn: no log of requests, no trust in what a client says about its address.
OPTIONS: Mapping[str, Any] = {
    "http": BoundedProtocol,
    "ws": "none",
    "log_config": _LOG,
    "access_log": False,
    "server_header": False,
    "log_level": "warning",
    "timeout_graceful_shutdown": 10,
    "proxy_headers": False,
    "timeout_worker_healthcheck": 60,  # on a busy machine, loading the libraries takes longer than the usual 5
}
_SETTINGS = "MASKWELL_SERVICE_SETTINGS"
_SHARES = {"hours": [0.7, 0.3], "cash": [0.62, 0.2, 0.12, 0.06], "declared": [0.25, 0.75]}


@dataclass(frozen=True)
class Ready:
    """What the service prints when it starts: addresses, and the link for the first account."""

    address: str  # of the service
    database: str
    setup: str | None = None  # the one-time link to make the first account; None where there is one
    # respond, watch: the example survey as a respondent sees it, and its live results, signed in once; None without
    # the example
    respond: str | None = None
    watch: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """In JSON."""
        return asdict(self)

    def lines(self) -> list[str]:
        """For people."""
        lines = [f"maskwell is ready: {self.address}"]
        if self.respond is not None:
            lines += [
                "",
                f"  answer the example survey   {self.respond}",
                f"  watch its estimates move    {self.watch}",
                "",
                "The second link signs you in, once. Answer in another window, and see what arrives: reports only.",
                f"The survey starts with {MADE_UP} simulated respondents.",
            ]
        if self.setup is not None:
            lines += ["", f"Make the first account, with this link, which works once:  {self.setup}"]
        return [*lines, "", f"Data: {self.database}. Stop with Ctrl-C."]


def prepare(settings: Settings, *, with_example: bool = False) -> Ready:
    """Bring the database up to date, and make the links that are shown once."""
    store = open_store(settings.database, new=True)
    accounts = Accounts(store)
    respond = watch = None
    if with_example:
        stored, account = _example(store, accounts)
        respond = f"{settings.address}/s/{stored.code}"
        watch = f"{settings.address}/studio/enter?key={accounts.entry_link(account)}"
    token = None if with_example else accounts.setup_link()
    store.close()
    setup = None if token is None else f"{settings.address}/studio/setup?token={token}"
    return Ready(settings.address, masked(settings.database), setup, respond, watch)


def _example(store: Store, accounts: Accounts) -> tuple[StoredSurvey, int]:
    """The example survey, open, with made-up respondents; the one that is there where it was made before."""
    source = package_text("example.toml")
    survey = Survey.from_toml(source)
    account = accounts.find("example")
    account = accounts.add("example", secrets.token_urlsafe(24)) if account is None else account
    for stored in store.surveys(account):
        if stored.survey.fingerprint == survey.fingerprint and stored.state == "open":
            return stored, account
    code = store.add_survey(survey, source, owner=account)
    stored = store.open(code)
    store.accept(_made_up(stored))
    return stored, account


def _made_up(stored: StoredSurvey) -> list[Submission]:
    chance = np.random.default_rng(1)
    columns: dict[str, list[Any]] = {}
    for question in stored.survey.questions:
        truths = chance.choice(len(question.labels), MADE_UP, p=_SHARES[question.name])
        drawn: Reports | None = None if question.design is None else question.design.sample(truths)
        columns[question.name] = (truths if drawn is None else drawn.data).tolist()
    rows = [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
    return [Submission(stored.id, secrets.token_bytes(ID_BYTES), content_of(stored.survey, row)) for row in rows]


def serve(settings: Settings) -> None:
    """Serve until a signal ends it; reports on their way are written first."""
    common = {"host": settings.host, "port": settings.port, **OPTIONS}
    if settings.workers == 1:
        sys.setswitchinterval(SWITCH_SECONDS)
        uvicorn.run(_application(settings), **common)
        return
    os.environ[_SETTINGS] = json.dumps(asdict(settings))
    uvicorn.run("maskwell.collection.server:worker", factory=True, workers=settings.workers, **common)


def worker() -> ASGIApp:
    """The application of one of several processes."""
    sys.setswitchinterval(SWITCH_SECONDS)
    settings = Settings(**json.loads(os.environ[_SETTINGS]))
    return _application(settings)


def _application(settings: Settings) -> ASGIApp:
    """All of the service; who meets an error in a browser reads a page."""
    return PagesForPeople(create_app(settings, more=studio_routes))
