"""Taking reports: a body is checked, then written to disk together with the others that came at the same time.

One thread of each process writes, and an acknowledgement follows the transaction. Another removes traces of the order.
"""

from __future__ import annotations

import asyncio
import queue
import re
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from maskwell.collection.database import AWAY
from maskwell.collection.report_cells import content_of
from maskwell.collection.store import Store
from maskwell.collection.stored_survey import StoredSurvey, Submission, Verdict, token_hash
from maskwell.collection.tables import ID_BYTES
from maskwell.errors import ReportError

MOST_AT_ONCE = 500
FIRST_REST = 0.25
TIDY_SHARE = 20  # how many times longer than it tidies the thread that tidies rests
# Seconds for which the database counts as away after a report could not be written, unless one is written sooner.
STILL_AWAY = 5.0
_ID = re.compile(r"[0-9a-f]{32}")
TOKEN = re.compile(r"[A-Za-z0-9_-]{1,64}")
_KEYS = {"id", "survey", "reports", "invitation"}


class BusyError(ReportError):
    """More reports wait than are written in a few seconds."""

    code = "busy"


def read_submission(stored: StoredSurvey, body: Any) -> Submission:
    """A checked submission; ReportError where it is none of this survey. Messages hold no value that was sent."""
    if not isinstance(body, Mapping) or not set(body) <= _KEYS or not {"id", "survey", "reports"} <= set(body):
        raise _refused("a submission holds id, survey and reports, and an invitation where one is needed")
    if body["survey"] != stored.survey.fingerprint:
        raise _refused("the page was made for another version of this survey", "reload the page")
    if not isinstance(body["id"], str) or not _ID.fullmatch(body["id"]):
        raise _refused(f"id is not {2 * ID_BYTES} hexadecimal digits")
    token = body.get("invitation")
    if token is not None and not (isinstance(token, str) and TOKEN.fullmatch(token)):
        raise _refused("the invitation is not a token of this service", "use the link exactly as you received it")
    content = content_of(stored.survey, _checked_reports(stored, body["reports"]))
    return Submission(stored.id, bytes.fromhex(body["id"]), content, None if token is None else token_hash(token))


def _checked_reports(stored: StoredSurvey, reports: Any) -> Mapping[str, Any]:
    if not isinstance(reports, Mapping):
        raise _refused("reports is not a list of questions with a report each")
    asked = {question.name: question for question in stored.survey.asked(reports)}
    if set(reports) != set(asked):
        raise _refused("the reports are not those of the questions that are asked after these open answers")
    for name, question in asked.items():
        if not question.check_report(reports[name]):
            raise _refused(f"question {name!r}: this is not a report of its design")
    return reports


def _refused(message: str, hint: str = "send what the respondent's page sends") -> ReportError:
    return ReportError(message, hint=hint)


class Intake:
    """The thread that writes, and the queue before it."""

    def __init__(self, store: Store, *, most_waiting: int = 20_000) -> None:
        self._store = store
        self._most_waiting = most_waiting
        self._waiting: queue.SimpleQueue[tuple[Submission, asyncio.Future[Verdict], asyncio.AbstractEventLoop] | None]
        self._waiting = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="maskwell-intake", daemon=True)
        self._tidying = threading.Thread(target=self._keep_tidy, name="maskwell-tidying", daemon=True)
        self._wrote, self._ended = threading.Event(), threading.Event()
        self._failed: tuple[float, BaseException] | None = None
        self.accepted = 0
        self.batches = 0

    def start(self) -> None:
        """Begin to write."""
        self._wrote.set()  # the process before this one may have left something
        self._thread.start()
        self._tidying.start()

    def stop(self) -> None:
        """Write what is waiting, then end."""
        self._waiting.put(None)
        self._thread.join()
        self._ended.set()
        self._wrote.set()
        self._tidying.join()

    def check(self) -> None:
        """Raise where the last reports could not be written a moment ago: on a full disk there may be room for less."""
        failed = self._failed
        if failed is None:
            return
        until, error = failed
        if time.monotonic() < until:
            raise error

    async def submit(self, submission: Submission) -> Verdict:
        """What became of a submission, once it is on disk; BusyError where too many wait."""
        if self._waiting.qsize() >= self._most_waiting:
            raise BusyError("too-many-reports-are-waiting")
        loop = asyncio.get_running_loop()
        verdict: asyncio.Future[Verdict] = loop.create_future()
        self._waiting.put((submission, verdict, loop))
        return await verdict

    def _run(self) -> None:
        running = True
        while running:
            first = self._waiting.get()
            batch = [] if first is None else [first]
            running = first is not None
            while running and len(batch) < MOST_AT_ONCE and not self._waiting.empty():
                following = self._waiting.get()
                running = following is not None
                batch += [] if following is None else [following]
            if batch:
                self._write(batch)

    def _write(self, batch: list[tuple[Submission, asyncio.Future[Verdict], asyncio.AbstractEventLoop]]) -> None:
        try:
            verdicts: list[Any] = list(self._store.accept([submission for submission, _, _ in batch]))
            self.accepted += verdicts.count("accepted")
            self.batches += 1
            self._wrote.set()
            self._failed = None
        except Exception as error:  # noqa: BLE001 (the database is away: everybody who waits must hear of it)
            verdicts = [error] * len(batch)
            self._failed = (time.monotonic() + STILL_AWAY, error) if isinstance(error, AWAY) else self._failed
        by_loop: dict[asyncio.AbstractEventLoop, list[tuple[asyncio.Future[Verdict], Any]]] = {}
        for (_, future, loop), verdict in zip(batch, verdicts, strict=True):
            by_loop.setdefault(loop, []).append((future, verdict))
        for loop, settled in by_loop.items():
            loop.call_soon_threadsafe(_settle, settled)

    def _keep_tidy(self) -> None:
        """Tidy up after reports were written, again and again, and rest for much longer than it took."""
        with suppress(Exception):
            self._store.suspect()
        rest = FIRST_REST
        while self._wrote.wait() and not self._ended.wait(rest):
            self._wrote.clear()
            began = time.monotonic()
            is_tidy = False
            with suppress(Exception):  # the database is away: reports on their way hear of it
                is_tidy = self._store.tidy()
            rest = max(self._store.rest, TIDY_SHARE * (time.monotonic() - began))
            if not is_tidy:
                self._wrote.set()


def _settle(settled: list[tuple[asyncio.Future[Verdict], Any]]) -> None:
    for future, verdict in settled:
        if future.done():  # the respondent has gone away
            continue
        if isinstance(verdict, Exception):
            future.set_exception(verdict)
        else:
            future.set_result(verdict)
