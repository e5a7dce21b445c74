"""The respondent's page against attacks and accidents: no second draw, no truth left, nothing lost with the browser."""

import json
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
from tests.support.kept_on_device import change_kept, kept_by
from tests.support.running_service import FLAGS, RunningService, answer, press

from maskwell.collection.store import Store

CHAIN = """
[survey]
title = "<img src=x onerror=document.title='broken'>"
demand = { gamma = 9 }

[[question]]
name = "__proto__"
ask = "Do you work?"
answers = ["yes", "no"]
open = true

[[question]]
name = "constructor"
ask = "Since when? <script>document.title='broken'</script>"
answers = ["long ago", "recently"]
open = true
show_if = { __proto__ = "yes" }

[[question]]
name = "toString"
ask = "Paid in cash?"
answers = ["cash-yes", "cash-no"]
design = { gamma = 3 }
show_if = { constructor = "recently" }

[[question]]
name = "tax"
ask = "Declared?"
answers = ["tax-yes", "tax-no"]
design = { gamma = 3 }
"""


@pytest.fixture
def page(browser: Any, service: RunningService, store: Store) -> Iterator[Any]:
    stored = opened(store, CHAIN)
    context = browser.new_context(locale="en-GB")
    made = context.new_page()
    made.set_default_timeout(10_000)
    made.goto(f"{service.address}/s/{stored.code}")
    press(made, "Begin")
    yield made
    context.close()


def to_review(page: Any) -> None:
    """Everything is asked and answered."""
    answer(page, "yes")
    answer(page, "recently")
    for label in ("cash-yes", "tax-no"):
        answer(page, label, "Draw my report")
        page.locator(".report").wait_for()
        press(page, "Next")
    page.get_by_role("button", name="Send").wait_for()


def code_of(page: Any) -> str:
    return str(page.url.rsplit("/", 1)[1])


def test_names_and_texts_of_a_survey_do_no_harm(page: Any, store: Store) -> None:
    to_review(page)
    with page.expect_request("**/reports") as sent:
        press(page, "Send")
    page.get_by_text("Thank you").wait_for()
    assert set(json.loads(sent.value.post_data)["reports"]) == {"__proto__", "constructor", "toString", "tax"}
    assert page.title() != "broken" and page.locator("img, main script").count() == 0
    assert store.size(store.survey(code_of(page))) == 1
    assert list(kept_by(page).values()) == [{"reports": {}, "sent": True}]  # nothing stays on the device
    page.reload()
    page.get_by_text("Thank you").wait_for()


def test_an_answer_that_was_hidden_later_does_not_count(page: Any, store: Store) -> None:
    """Two open questions in a chain: what follows from the second is not asked once the first hides it."""
    answer(page, "yes")
    answer(page, "recently")
    answer(page, "cash-yes", "Draw my report")
    for _ in range(2):
        press(page, "Back")
    answer(page, "no")
    answer(page, "tax-no", "Draw my report")
    press(page, "Next")
    press(page, "Send")
    page.get_by_text("Thank you").wait_for()
    assert store.size(store.survey(code_of(page))) == 1


def test_a_report_that_cannot_be_kept_is_not_shown(page: Any) -> None:
    answer(page, "no")
    page.get_by_label("tax-no", exact=True).wait_for()
    page.evaluate("IDBObjectStore.prototype.put = () => { throw new DOMException('', 'QuotaExceededError'); }; 0")
    answer(page, "tax-no", "Draw my report")
    page.get_by_text("does not let the page keep your report").wait_for()
    assert page.locator(".report").count() == 0


def test_a_tab_left_open_draws_and_sends_nothing_after_another_has_sent(page: Any, store: Store) -> None:
    other = page.context.new_page()
    other.add_init_script("BroadcastChannel.prototype.addEventListener = () => {};")  # it hears of nothing
    other.goto(page.url)
    press(other, "Begin")
    other.get_by_label("no", exact=True).check()
    page.bring_to_front()  # a page behind another is drawn seldom, and clicks wait for that
    answer(page, "no")
    answer(page, "tax-no", "Draw my report")
    press(page, "Next")
    press(page, "Send")
    page.get_by_text("Thank you").wait_for()
    bodies: list[Any] = []
    other.on("request", lambda request: bodies.append(request.post_data))
    other.bring_to_front()
    if other.get_by_role("button", name="Next").count():
        press(other, "Next")
    other.get_by_text("Thank you").wait_for()
    assert not bodies
    assert list(kept_by(page).values()) == [{"reports": {}, "sent": True}]


def test_what_another_tab_has_changed_is_seen_before_it_is_sent(page: Any) -> None:
    to_review(page)
    bodies: list[Any] = []
    page.on("request", lambda request: bodies.append(request.post_data) if request.post_data else None)
    change_kept(page, "constructor", 0)
    press(page, "Send")
    page.locator("main", has_text="recently").wait_for(state="detached")
    assert not bodies


def test_a_changed_answer_after_a_lost_acknowledgement_does_not_claim_that_the_survey_is_closed(
    page: Any, store: Store
) -> None:
    answer(page, "no")
    answer(page, "tax-no", "Draw my report")
    press(page, "Next")

    def lose(route: Any) -> None:
        route.fetch()
        route.abort()

    page.route("**/reports", lose)
    press(page, "Send")
    page.get_by_text("did not arrive").wait_for()
    page.unroute("**/reports")
    for _ in range(2):
        press(page, "Back")
    answer(page, "yes")
    answer(page, "long ago")
    press(page, "Next")
    press(page, "Send")
    page.get_by_text("Thank you").wait_for()
    assert store.size(store.survey(code_of(page))) == 1


def test_no_ticked_answer_comes_back_with_the_page(page: Any) -> None:
    """Neither the browser's own restoring of forms nor its cache of whole pages brings a drawn truth back."""
    answer(page, "no")
    page.get_by_label("tax-no", exact=True).check()
    page.reload()
    press(page, "Begin")
    press(page, "Next")
    page.get_by_label("tax-no", exact=True).wait_for()
    assert page.locator("input:checked").count() == 0
    answer(page, "tax-no", "Draw my report")
    page.locator(".report").wait_for()
    page.goto("about:blank")
    page.go_back()
    page.locator("h1").wait_for()
    assert page.locator("input:checked").count() == 0
    traces = page.evaluate(
        "JSON.stringify([history.state, performance.getEntries(), {...sessionStorage}, document.cookie])"
    )
    assert "tax-no" not in traces


def test_a_forged_step_draws_nothing(page: Any) -> None:
    answer(page, "no")
    for forged in ('"practice"', "99", "-1", '"constructor"', "{}", "1.5"):
        page.evaluate(f"dispatchEvent(new PopStateEvent('popstate', {{ state: {{ step: {forged} }} }}))")
    (kept,) = kept_by(page).values()
    assert "tax" not in kept["reports"]


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


def test_everything_after_the_page_itself_is_asked_for_at_once(browser: Any, service: RunningService, store: Store):
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
    press(page, "Begin")
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
            press(page, "Begin")
            for report in reports:
                assert page.locator(".report").inner_text() == report
                press(page, "Next")
            if number < KILLS:
                page.locator("input").nth(number).check()
                press(page, "Draw my report")
                reports.append(page.locator(".report").inner_text())
    assert len(reports) == KILLS
