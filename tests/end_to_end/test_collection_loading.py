"""The respondent's page comes in two round trips, and what it drew is there after the browser was killed."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("sqlalchemy", reason="the service is not installed: pip install 'maskwell[serve]'")

from tests.support.browser import browser as browser_path
from tests.support.collecting import SURVEY, opened
from tests.support.running_service import FLAGS, RunningService

from maskwell.collection.store import Store

MOST_BYTES = 30_000
KILLS = 3
ANSWERS = [f"answer {i}" for i in range(50)]
"""A second draw would give the same report once in fifty times at most, all of them once in 125,000 times."""

MANY_ANSWERS = (
    '[survey]\ntitle = "Kill"\npractice = false\ndemand = { epsilon = 10 }\naccept_no_protection = true\n'
    + "".join(
        f'[[question]]\nname = "q{i}"\nask = "Question {i}"\nanswers = {ANSWERS}\ndesign = {{ gamma = "1.1" }}\n'
        for i in range(KILLS)
    )
)


def test_everything_after_the_page_itself_is_asked_for_at_once(
    browser: Any, service: RunningService, store: Store
) -> None:
    """No file waits for another: all are asked for while none has been answered, and then nothing more is."""
    address = f"{service.address}/s/{opened(store, SURVEY).code}"
    context = browser.new_context(locale="en-GB")
    page = context.new_page()
    page.set_default_timeout(60_000)
    held: list[Any] = []
    finished: list[Any] = []
    page.on("requestfinished", lambda request: finished.append(request))  # noqa: PLW0108 (Playwright marks it)
    page.route("**/*", lambda route: route.continue_() if route.request.url == address else held.append(route))
    page.goto(address, wait_until="commit")
    expected = {"survey.json", "respond.css", "respond.js", "pieces.js", "maskwell.js", "wording.json"}
    end = time.monotonic() + 20
    while {one.request.url.rsplit("/", 1)[1] for one in held} < expected and time.monotonic() < end:
        page.wait_for_timeout(10)
    assert sorted(one.request.url.rsplit("/", 1)[1] for one in held) == sorted(expected)  # each once
    for route in held:
        route.continue_()
    page.get_by_role("button", name="Begin").click()
    page.locator(".step").wait_for()
    needed = [request for request in finished if not request.url.endswith("favicon.svg")]
    assert len(needed) == 1 + len(expected)
    assert sum(request.sizes()["responseBodySize"] for request in needed) < MOST_BYTES
    context.close()


class KillableBrowser:
    """Chromium with a profile on disk, in a process group of its own."""

    def __init__(self, profile: Path, kind: Any) -> None:
        port = profile / "DevToolsActivePort"
        port.unlink(missing_ok=True)
        self.process = subprocess.Popen(
            [browser_path(), *FLAGS, "--headless", "--remote-debugging-port=0", f"--user-data-dir={profile}"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            end = time.monotonic() + 60
            while not (port.exists() and port.read_text().count("\n")):
                assert self.process.poll() is None and time.monotonic() < end, "Chromium did not start"
                time.sleep(0.02)
            self.connection = kind.connect_over_cdp(f"http://127.0.0.1:{port.read_text().split()[0]}", timeout=10_000)
            self.page = self.connection.contexts[0].new_page()
        except BaseException:
            self.kill()
            raise
        self.page.set_default_timeout(60_000)

    def kill(self) -> None:
        """At once, with all its processes, as a crash or an empty battery does."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(30)


@contextmanager
def browser_until_killed(profile: Path, kind: Any) -> Iterator[KillableBrowser]:
    for last in (False, False, True):  # a Chromium that was killed before does not always answer when it starts
        try:
            started = KillableBrowser(profile, kind)
            break
        except Exception:
            if last:
                raise
    try:
        yield started
    finally:
        if started.process.poll() is None:
            started.kill()


def test_a_report_is_there_after_the_browser_was_killed(
    browser: Any, service: RunningService, store: Store, tmp_path: Path
) -> None:
    """Killed as soon as a report is on the screen, several times: the page comes back with what it has shown."""
    address = f"{service.address}/s/{opened(store, MANY_ANSWERS).code}"
    reports: list[str] = []
    for number in range(KILLS + 1):
        with browser_until_killed(tmp_path / "profile", browser.browser_type) as killable:
            page = killable.page
            page.goto(address)
            page.get_by_role("button", name="Begin").click()
            for report in reports:
                assert page.locator(".report").inner_text() == report
                page.get_by_role("button", name="Next").click()
            if number < KILLS:
                page.locator("input").nth(number).check()
                page.get_by_role("button", name="Draw my report").click()
                reports.append(page.locator(".report").inner_text())
    assert len(reports) == KILLS
