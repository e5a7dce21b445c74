"""A respondent in a real browser: what is sent is the report, drawn once, and the truth is nowhere else."""

import json
import os
import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import chi2

pytest.importorskip("sqlalchemy", reason="the service is not installed: pip install 'maskwell[serve]'")

from tests.support.collecting import BY_INVITATION, SURVEY
from tests.support.kept_on_device import KEPT, kept_by
from tests.support.running_service import RunningService, answer, press

from maskwell.collection.page_texts import text_table
from maskwell.collection.store import Store
from maskwell.collection.stored_survey import StoredSurvey
from maskwell.collection.survey import Survey

FALSE_ALARM = 1e-10
"""The browser draws anew in every run."""

ANSWERS = ["aardvark", "bumblebee", "cormorant"]
MANY = 100
RUNS = 5 * int(os.environ.get("MASKWELL_FUZZ", "1"))
"""100 questions in each of 5 runs: 500 random answers; MASKWELL_FUZZ=4 gives 2,000."""


def opened(store: Store, text: str) -> StoredSurvey:
    return store.open(store.add_survey(Survey.from_toml(text), text))


def many_questions(service_folder: Path) -> str:
    """Sensitive questions whose answers are words that no report has: if such a word is seen, a truth was seen."""
    from maskwell.core import Categories
    from maskwell.designs import Dense

    design = Dense.of(
        [["5/10", "3/10", "2/10"], ["3/10", "4/10", "3/10"], ["1/10", "2/10", "3/10"], ["1/10", "1/10", "2/10"]],
        Categories.of(ANSWERS),
        Categories.of(["red", "green", "blue", "black"]),
    )
    (service_folder / "design.json").unlink(missing_ok=True)
    design.save(service_folder / "design.json")
    one = '[[question]]\nname = "q{}"\nask = "Question {}"\ndesign = "design.json"\n'
    return (
        '[survey]\ntitle = "Many"\npractice = false\ndemand = { epsilon = 700 }\naccept_no_protection = true\n'
        + "".join(one.format(i, i) for i in range(MANY))
    )


ANSWER_ALL = """async (truths) => {
  const until = (ready) => new Promise((done) => {
    const check = () => { if (ready()) { watcher.disconnect(); done(); } };
    const watcher = new MutationObserver(check);
    watcher.observe(document.body, { subtree: true, childList: true });
    check();
  });
  const button = (text) => [...document.querySelectorAll("button")].find((one) => one.textContent === text);
  button("Begin").click();
  for (let i = 0; i < truths.length; i++) {
    const step = `Question ${i + 1} of ${truths.length}`;
    await until(() => document.querySelector(".step")?.textContent === step && button("Draw my report"));
    document.querySelectorAll("input[type=radio]")[truths[i]].click();
    button("Draw my report").click();
    await until(() => document.querySelector(".report"));
    button("Next").click();
  }
  await until(() => button("Send"));
  const everything = async () => JSON.stringify([await (KEPT)(), { ...localStorage }, { ...sessionStorage }]);
  const kept = await everything() + document.cookie + location.href;
  button("Send").click();
  await until(() => document.querySelector("h1")?.textContent === "Thank you");
  return kept + await everything() + document.body.innerText;
}""".replace("KEPT", KEPT)


def test_the_truth_is_nowhere_but_on_the_screen(
    browser: Any, service: RunningService, store: Store, service_folder: Path
) -> None:
    text = many_questions(service_folder)
    stored = store.open(store.add_survey(Survey.from_toml(text, folder=service_folder), text))
    chance = random.Random(20261116)
    seen: list[str] = []
    bodies: list[dict[str, Any]] = []
    pairs: Counter[tuple[int, int]] = Counter()
    for _ in range(RUNS):
        truths = [chance.randrange(3) for _ in range(MANY)]
        context = browser.new_context()
        page = context.new_page()
        page.on("request", lambda request: seen.append(f"{request.url} {json.dumps(request.headers)}"))
        page.on("request", lambda request: bodies.append(request.post_data_json) if request.post_data else None)
        page.goto(f"{service.address}/s/{stored.code}")
        page.get_by_role("button", name="Begin").wait_for()
        seen.append(page.evaluate(ANSWER_ALL, truths))
        pairs.update((bodies[-1]["reports"][f"q{i}"], truth) for i, truth in enumerate(truths))
        context.close()
    store.compact()
    everything = "\n".join([*seen, json.dumps(bodies), service.log.read_text()])
    kept = b"".join(path.read_bytes() for path in service_folder.glob("surveys.db*"))
    document = json.dumps(stored.survey.to_dict()).encode()
    assert len(bodies) == RUNS
    assert all(set(body) == {"id", "survey", "reports"} for body in bodies)
    for word in ANSWERS:
        assert word not in everything
        assert word not in "".join(content for _, content in store.records(stored))
        assert kept.count(word.encode()) <= document.count(word.encode())  # in the survey, where no page cuts it
    assert sum(pairs.values()) == MANY * RUNS
    check_fit(pairs, stored.survey.questions[0].design.matrix())


def check_fit(pairs: Counter[tuple[int, int]], P: np.ndarray) -> None:
    """Reports follow the design, given the truth: a request tells what the design lets it tell, and no more."""
    n = np.array([[pairs[i, j] for j in range(P.shape[1])] for i in range(P.shape[0])])
    expected = P * n.sum(axis=0)
    statistic = float(((n - expected) ** 2 / expected).sum())
    assert statistic < chi2.isf(FALSE_ALARM, P.shape[1] * (P.shape[0] - 1))


def first_report(page: Any) -> str:
    """Answer up to the first sensitive question and draw."""
    press(page, "Begin")
    answer(page, "north")
    answer(page, "once", "Draw my report")
    return str(page.locator(".report").inner_text())


@pytest.fixture
def page(browser: Any, service: RunningService, store: Store) -> Iterator[Any]:
    stored = opened(store, SURVEY)
    context = browser.new_context(locale="en-GB")
    made = context.new_page()
    made.set_default_timeout(60_000)
    made.goto(f"{service.address}/s/{stored.code}")
    made.get_by_role("button", name="Begin").wait_for()
    yield made
    context.close()


def test_loading_again_and_going_back_draw_no_second_report(page: Any) -> None:
    hosts: set[str] = set()
    page.on("request", lambda request: hosts.add(request.url.split("/")[2]))
    report = first_report(page)
    before = kept_by(page)
    for _ in range(5):
        page.reload()
        press(page, "Begin")
        press(page, "Next")
        assert page.locator(".report").inner_text() == report
        assert page.get_by_role("button", name="Draw my report").count() == 0
    page.go_back()
    page.go_forward()
    assert page.locator(".report").inner_text() == report
    assert kept_by(page) == before
    assert hosts == {page.url.split("/")[2]}  # it asks only its own server


def test_a_double_click_draws_once(page: Any) -> None:
    press(page, "Begin")
    answer(page, "north")
    page.get_by_label("once").check()
    drawn = page.evaluate("""async () => {
      const button = [...document.querySelectorAll("button")].find((one) => one.textContent === "Draw my report");
      const states = [];
      const write = IDBObjectStore.prototype.put;
      IDBObjectStore.prototype.put = function (value, key) {
        states.push(value.reports.cash);
        return write.call(this, value, key);
      };
      for (let i = 0; i < 20; i++) button.click();
      await new Promise((done) => setTimeout(done, 300));
      IDBObjectStore.prototype.put = write;
      return states;
    }""")
    assert len(drawn) >= 1 and len(set(drawn)) == 1


def test_two_tabs_share_one_draw(page: Any) -> None:
    other = page.context.new_page()
    other.goto(page.url)
    for tab in (page, other):
        press(tab, "Begin")
        answer(tab, "north")
    answer(page, "once", "Draw my report")
    report = page.locator(".report").inner_text()
    other.locator(".report").wait_for()  # the other tab has heard of it
    assert other.locator(".report").inner_text() == report


def finish(page: Any) -> None:
    """Answer the rest, up to what will be sent."""
    press(page, "Next")
    for label in ("yes", "rent"):
        answer(page, label, "Draw my report")
        page.locator(".report").wait_for()
        press(page, "Next")
    page.get_by_role("button", name="Send").wait_for()


def test_a_lost_connection_loses_and_doubles_nothing(page: Any, store: Store) -> None:
    """The first request does not arrive, the second arrives and its answer is lost, the third is answered."""
    first_report(page)
    finish(page)
    shown = page.locator("dl.sent dd").all_inner_texts()
    code = page.url.rsplit("/", 1)[1]
    tries: list[Any] = []

    def lose(route: Any) -> None:
        tries.append(route.request.post_data_json)
        if len(tries) == 1:
            route.abort()
        elif len(tries) == 2:
            route.fetch()
            route.abort()
        else:
            route.continue_()

    page.route("**/reports", lose)
    for name in ("Send", "Send again"):
        with page.expect_event("requestfailed"):
            press(page, name)
        page.get_by_text("did not arrive").wait_for()
    press(page, "Send again")
    page.get_by_text("Thank you").wait_for()
    assert tries[0] == tries[1] == tries[2]
    body = tries[0]["reports"]  # what was shown before sending is what is sent
    cash = ["never", "once", "often", "prefer not to say"][body["cash"]]
    names = [name for name, bit in zip(["job", "trade", "rent", "other"], body["sources"], strict=True) if bit == "1"]
    assert shown == [
        "north (as you gave it)",
        f"{cash} (drawn by chance)",
        f"{['yes', 'no'][body['tax']]} (drawn by chance)",
        f"{', '.join(names)} (drawn by chance)",
    ]
    assert store.size(store.survey(code)) == 1
    page.reload()
    page.get_by_text("Thank you").wait_for()


def test_all_submissions_of_a_survey_have_the_same_length(browser: Any, service: RunningService, store: Store) -> None:
    """Whichever codes were drawn or given, and whatever was not asked: a length is seen in spite of https."""
    text = SURVEY.replace('"north", "south"]', ", ".join(['"north"', '"south"', *(f'"w{i}"' for i in range(9))]) + "]")
    text = text.replace('"Nord", "Süd"]', '"Nord", "Süd", ' + ", ".join(f'"w{i}"' for i in range(9)) + "]")
    stored, bodies = opened(store, text), []
    for region in ("north", "w8"):
        page = browser.new_context().new_page()
        page.goto(f"{service.address}/s/{stored.code}")
        press(page, "Begin")
        page.get_by_label(region).check()
        if region == "north":
            press(page, "Next")
            answer(page, "once", "Draw my report")
        finish(page)
        with page.expect_request("**/reports") as sent:
            press(page, "Send")
        page.get_by_text("Thank you").wait_for()
        bodies.append(sent.value.post_data)
        page.context.close()
    assert len(set(map(len, bodies))) == 1
    assert len({len(body.rstrip()) for body in bodies}) == 2
    assert store.size(stored) == 2


def test_an_invitation_can_be_used_once(browser: Any, service: RunningService, store: Store) -> None:
    stored = opened(store, BY_INVITATION)
    (token,) = store.invite(stored.code, 1)
    requests: list[str] = []
    for expected in ("Thank you", "was used already"):
        context = browser.new_context(locale="en-GB")
        page = context.new_page()
        page.on("request", lambda request: requests.append(request.url))
        page.goto(f"{service.address}/s/{stored.code}#{token}")
        if expected == "Thank you":
            first_report(page)
            finish(page)
            press(page, "Send")
        page.get_by_text(expected).wait_for()
        context.close()
    assert not any(token in url for url in requests)  # it travels in a body, never in an address


def test_a_survey_that_promises_more_than_it_keeps_is_refused(page: Any) -> None:
    def weaken(route: Any) -> None:
        content = route.fetch().json()
        content["survey"]["joint"]["parity"] = "2"
        route.fulfill(json=content)

    page.route("**/survey.json", weaken)
    page.reload()
    page.get_by_text("does not match its fingerprint").wait_for()


ONE = '[survey]\ntitle = "One"\n{}\n[[question]]\nname = "q"\nask = "?"\nanswers = ["yes", "no"]\ndesign = {{ {} }}\n'


@pytest.mark.parametrize("reveals", [False, True])
def test_the_page_reassures_as_far_as_the_design_protects(reveals, browser: Any, service: RunningService, store: Store):
    design, head = ('family = "mangat", p = "0.7"', "accept_no_protection = true") if reveals else ("gamma = 4", "")
    page = browser.new_context(locale="en-GB").new_page()
    text = ONE.format(head or "demand = { gamma = 100 }", design)
    page.goto(f"{service.address}/s/{opened(store, text).code}")
    page.get_by_role("button", name="Begin").wait_for()
    shown = " ".join(page.locator("main").inner_text().split())
    assert ("if you would also answer openly" if reveals else "Your answers stay uncertain") in shown
    assert ("after, possibly 100" if reveals else "after, at most 80") in shown
    assert ("any answer can lead to any report" in shown) is not reveals
    press(page, "Begin")
    answer(page, "yes", "Draw my report")
    page.locator(".report").wait_for()
    drawn = page.locator("main").inner_text()
    assert "If the report is not your true answer, nothing has gone wrong." in drawn
    assert ("it can show what your true answer is" in drawn) is reveals
    page.context.close()


def test_a_language_of_the_survey_itself_is_set_from_right_to_left(browser: Any, service: RunningService, store: Store):
    text = ONE.format('languages = ["ar"]\ndemand = { gamma = 3 }', "gamma = 3") + text_table("ar")
    page = browser.new_context(locale="en-GB").new_page()
    page.goto(f"{service.address}/s/{opened(store, text).code}")
    page.get_by_role("button", name="Begin").wait_for()
    assert page.evaluate("[document.documentElement.lang, document.documentElement.dir]") == ["ar", "rtl"]
    box = page.evaluate("document.querySelector('.bars .number').getBoundingClientRect().left")
    assert box < page.evaluate("document.querySelector('.bars .label').getBoundingClientRect().left")
    page.context.close()


def test_the_page_does_not_jump(page: Any) -> None:
    page.add_init_script(
        "globalThis.shift = 0;"
        "new PerformanceObserver((list) => { for (const one of list.getEntries()) shift += one.value; })"
        ".observe({ type: 'layout-shift', buffered: true });"
    )
    page.reload()
    page.get_by_role("button", name="Begin").wait_for()
    assert page.evaluate("shift") == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_accessibility_checks_find_nothing(page: Any, scheme: str) -> None:
    axe = pytest.importorskip(
        "axe_playwright_python.sync_playwright", reason="no axe: pip install axe-playwright-python"
    )
    page.emulate_media(color_scheme=scheme)

    def check() -> None:
        found = axe.Axe().run(page)
        assert found.response["violations"] == []

    check()
    press(page, "Try it first")
    check()
    page.go_back()
    first_report(page)
    check()
    finish(page)
    check()


def test_the_browser_draws_the_golden_reports(page: Any) -> None:
    """The words of ``tests/golden`` give the same reports in Chromium as in Python."""
    golden = json.loads((Path(__file__).parents[1] / "golden" / "draws.json").read_text(encoding="utf-8"))
    drawn = page.evaluate(
        """async (designs) => {
          const { readDesign, Words } = await import("/static/maskwell.js");
          return Promise.all(designs.map(async ({ design: content, rows }) => {
            const design = await readDesign(content);
            return rows.codes.map((code, i) => design.draw(code, new Words(rows.words[i], () => [])));
          }));
        }""",
        golden["designs"],
    )
    for entry, reports in zip(golden["designs"], drawn, strict=True):
        k = len(reports[0]) if entry["encoding"] == "bits" else 0
        stored = [bits_of(mask, k) if k else mask for mask in entry["rows"]["reports"]]
        assert reports == stored, entry["name"]


def bits_of(mask: str, k: int) -> str:
    """A stored mask, bytes in hexadecimal with the lowest bit first, as a text of 0 and 1."""
    return "".join(str(bytes.fromhex(mask)[j // 8] >> j % 8 & 1) for j in range(k))
