"""A real browser answers inside pages that imitate Qualtrics, LimeSurvey and SurveyJS, and in the file for tablets.

The pages offer what the platforms document, and every way out of them is watched: what is written into the platform's
field, what forms would send, what storage holds, what is requested. True answers and reports have different texts here,
so that a true answer would be seen wherever it went.
"""

import csv
import json
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pytest

pytest.importorskip("sqlalchemy", reason="the service is not installed: pip install 'maskwell[serve]'")


from tests.support.kept_on_device import KEPT, kept_by

from maskwell import Categories
from maskwell.collection.desk import Desk
from maskwell.collection.embeds import embed_text, offline_page
from maskwell.collection.survey import Survey
from maskwell.designs import Dense
from maskwell.designs.wire import dumps

TRUTHS, REPORTS = ["alpha truth", "beta truth", "gamma truth"], ["red", "green", "blue"]
ANSWERS = {"qualtrics": 9, "limesurvey": 9, "surveyjs": 120}
"""People on each platform. What draws is the same everywhere; only what stands around it differs."""

SURVEY = """
[survey]
title = "Pages of others"
languages = ["en", "de"]
demand = { gamma = 100 }
[[question]]
name = "region"
ask = "Where do you live?"
answers = ["north", "south"]
open = true
[[question]]
name = "secret"
ask = "Which is yours?"
design = "colours.json"
[[question]]
name = "many"
ask = "Which of these?"
answers = ["alpha truth", "beta truth", "gamma truth"]
design = { family = "oue", epsilon = 1 }
[wording.de]
title = "Seiten anderer"
[wording.de.question.region]
ask = "Wo wohnen Sie?"
answers = ["Norden", "Süden"]
[wording.de.question.secret]
ask = "Was ist Ihres?"
answers = ["alpha wahr", "beta wahr", "gamma wahr"]
[wording.de.question.many]
ask = "Was davon?"
answers = ["alpha wahr", "beta wahr", "gamma wahr"]
"""

WATCH = """
window.watched = { written: [], stored: [], draws: 0 };
const setItem = Storage.prototype.setItem;
Storage.prototype.setItem = function (key, value) {
  watched.stored.push([key, value]);
  return setItem.call(this, key, value);
};
const put = IDBObjectStore.prototype.put;
IDBObjectStore.prototype.put = function (value, key) {
  watched.stored.push([key, value]);
  return put.call(this, value, key);
};
const fill = Crypto.prototype.getRandomValues;
Crypto.prototype.getRandomValues = function (words) {
  watched.draws += words instanceof Uint32Array;
  return fill.call(this, words);
};
"""
OPENED = """
const attach = Element.prototype.attachShadow;
Element.prototype.attachShadow = function () { return attach.call(this, { mode: "open" }); };
"""
"""The buttons stand in a closed shadow tree; a test must reach them."""

QUALTRICS = """<!doctype html><html lang="en"><meta charset="utf-8"><title>Q</title>
<form id="form" method="post" action="/submit"><div id="QID1"><div class="QuestionText">One question</div></div>
<input type="hidden" name="__js_secret"><button id="next">Next</button></form>
<script>
const ready = [], field = document.querySelector("[name=__js_secret]");
field.value = KEPT;
window.question = {
  getQuestionContainer: () => document.getElementById("QID1"),
  disableNextButton: () => { document.getElementById("next").disabled = true; },
  enableNextButton: () => { document.getElementById("next").disabled = false; },
};
window.Qualtrics = { SurveyEngine: {
  addOnload: (f) => f.call(question), addOnReady: (f) => ready.push(f),
  setJSEmbeddedData: (name, value) => { watched.written.push([name, value]); field.value = value; },
  getJSEmbeddedData: () => field.value || null,
} };
</script><script>SNIPPET</script><script>ready.forEach((f) => f.call(question));</script></html>"""

LIMESURVEY = """<!doctype html><html lang="de-easy"><meta charset="utf-8"><title>L</title>
<form id="form" method="post" action="/submit"><div id="question77" class="text-short mandatory">
<div class="ls-question-text">SNIPPET</div>
<div class="answer-container">
<input class="form-control" type="text" name="11X22X77" id="answer11X22X77" value="KEPT"></div>
</div><button id="next">Weiter</button></form>
<script>
const field = document.getElementById("answer11X22X77");
for (const name of ["keyup", "change"])
  document.addEventListener(name, (e) => watched.written.push([name, e.target.value]));
</script></html>"""

SURVEYJS = """<!doctype html><html lang="en"><meta charset="utf-8"><title>S</title>
<form id="form" method="post" action="/submit"><div id="q"><input type="text"></div><input type="hidden" name="secret">
<button id="next">Complete</button></form>
<script>SNIPPET</script>
<script>
class Event { list = []; add(f) { this.list.push(f); } fire(options) { this.list.forEach((f) => f(survey, options)); } }
const field = document.querySelector("[name=secret]");
field.value = KEPT;
window.survey = { locale: "", onAfterRenderQuestion: new Event(), onComplete: new Event() };
window.question = { name: "secret", get value() { return field.value || undefined; },
  set value(value) { watched.written.push(["value", value]); field.value = value; } };
attachMaskwell(survey);
survey.onAfterRenderQuestion.fire({ question: { name: "other" }, htmlElement: document.createElement("div") });
survey.onAfterRenderQuestion.fire({ question, htmlElement: document.getElementById("q") });
document.getElementById("form").addEventListener("submit", () => survey.onComplete.fire({}));
</script></html>"""
MANY = """async ([count, name]) => {
  const kept = KEPT;
  const until = async (find) => { while (!find()) await new Promise((done) => setTimeout(done, 5)); };
  const people = [];
  for (let person = 0; person < count; person++) {
    sessionStorage.clear();
    const frame = document.createElement("iframe");
    frame.src = `/page?${person}`;
    const loaded = new Promise((done) => { frame.onload = done; });
    document.body.append(frame);
    await loaded;
    const inside = frame.contentDocument, form = () => [...new FormData(inside.getElementById("form"))];
    const tree = () => inside.querySelector(".maskwell")?.shadowRoot;
    await until(() => tree()?.querySelector("button"));
    const truth = (person * 7) % 3;
    tree().querySelectorAll("input")[truth].click();
    tree().querySelector("button").click();
    await until(() => tree().querySelector(".report"));
    const view = frame.contentWindow, stores = [{ ...localStorage }, { ...sessionStorage }, inside.cookie];
    const held = JSON.stringify([await kept(), ...stores, view.history.state, form()]);
    people.push({ truth, report: Object.fromEntries(form())[name], held, watched: view.watched });
    frame.remove();
  }
  return people;
}""".replace("KEPT", KEPT)
PAGES = {"qualtrics": QUALTRICS, "limesurvey": LIMESURVEY, "surveyjs": SURVEYJS}
FIELDS = {"qualtrics": "__js_secret", "limesurvey": "11X22X77", "surveyjs": "secret"}


@pytest.fixture(scope="module")
def survey(tmp_path_factory: pytest.TempPathFactory) -> Survey:
    folder = tmp_path_factory.mktemp("survey")
    matrix = [["1/2", "1/4", "1/4"], ["1/4", "1/2", "1/4"], ["1/4", "1/4", "1/2"]]
    design = Dense.of(matrix, Categories.of(TRUTHS), Categories.of(REPORTS))
    (folder / "colours.json").write_text(dumps(design))
    return Survey.from_toml(SURVEY, folder=folder)


class Platform:
    """One page of a platform, its server, and what came to it."""

    def __init__(self, context: Any, kind: str, snippet: str) -> None:
        self.context, self.kind, self.snippet = context, kind, snippet
        self.requests: list[str] = []
        self.posted: list[dict[str, list[str]]] = []
        self.kept, self.respondent = "", "R_1"
        context.add_init_script(WATCH)
        context.route("**/*", self._serve)
        self.page = context.new_page()
        self.faults: list[str] = []
        self.page.on("pageerror", lambda error: self.faults.append(str(error)))

    def _serve(self, route: Any) -> None:
        request = route.request
        self.requests.append(f"{request.method} {request.url} {request.post_data or ''}")
        if request.method == "POST":
            self.posted.append(parse_qs(request.post_data or "", keep_blank_values=True))
        route.fulfill(
            body=self._html(request.url.partition("?")[2] or self.respondent), content_type="text/html; charset=utf-8"
        )

    def _html(self, respondent: str) -> str:
        """The page with the platform's own fields filled in."""
        fields = {"${e://Field/ResponseID}": respondent, "${e://Field/Q_Language}": "EN"}
        fields |= {"{QID}": "77", "{SGQ}": "11X22X77", "{SAVEDID}": respondent, "{TOKEN}": ""}
        snippet = self.snippet
        for name, value in fields.items():
            snippet = snippet.replace(name, value)
        if self.kind == "limesurvey":  # what else has braces without spaces would be read as an expression
            assert not re.search(r"\{\S|\S\}", snippet)
        kept = self.kept if self.kind == "limesurvey" else json.dumps(self.kept)
        return PAGES[self.kind].replace("SNIPPET", snippet).replace("KEPT", kept)

    def load(self) -> None:
        self.page.goto("https://survey.test/page")
        self.page.wait_for_selector(".maskwell button, .maskwell .report")

    def answer(self, truth: int, *, clicks: int = 1) -> str:
        """Tick and draw; the report that the field holds."""
        self.page.locator(".maskwell input").nth(truth).check()
        self.page.locator(".maskwell button").click(click_count=clicks)
        self.page.wait_for_selector(".maskwell .report")
        return self.field()

    def field(self) -> str:
        return self.page.evaluate("name => new FormData(document.getElementById('form')).get(name)", FIELDS[self.kind])

    def watched(self) -> dict[str, Any]:
        return self.page.evaluate("() => watched")

    def many(self, count: int) -> list[dict[str, Any]]:
        """Many respondents, each in a frame of the page: the true answer, the report, and all that was held then."""
        self.page.goto("https://survey.test/page")
        return self.page.evaluate(MANY, [count, FIELDS[self.kind]])


@pytest.fixture
def opened(browser: Any, survey: Survey, request: pytest.FixtureRequest) -> Iterator[Platform]:
    kind = request.param
    with browser.new_context() as context:
        context.add_init_script(OPENED)
        platform = Platform(context, kind, embed_text(survey, "secret", kind))
        yield platform
        assert platform.faults == []


every_platform = pytest.mark.parametrize("opened", list(PAGES), indirect=True)
on_qualtrics, on_limesurvey = (
    pytest.mark.parametrize("opened", [kind], indirect=True) for kind in ("qualtrics", "limesurvey")
)


def leaks(person: dict[str, Any]) -> list[str]:
    """Where something else than the report got to, or more than one draw was made."""
    watched, report = person["watched"], person["report"]
    stored = [value for _, value in watched["stored"]]
    found = {
        "truth": re.search("truth|alpha|beta|gamma", person["held"] + json.dumps(watched)) is not None,
        "field": report not in REPORTS or {value for _, value in watched["written"]} != {report},
        "storage": stored != [report],
        "draws": watched["draws"] != 1,
    }
    return [where for where, is_found in found.items() if is_found]


def strangers(requests: list[str]) -> list[str]:
    """Requests other than those for the page itself; a request with a body is one."""
    return [one for one in requests if not re.fullmatch(r"GET https://survey\.test/page(\?\d+)? ", one)]


@every_platform
def test_only_the_report_gets_out_and_it_follows_the_design(opened: Platform) -> None:
    """The share of "red" is within 7 standard errors for each answer: false alarms below 1e-10."""
    count = ANSWERS[opened.kind]
    people = opened.many(count)
    assert [leaks(one) for one in people] == [[]] * count
    assert strangers(opened.requests) == []
    for truth, chance in enumerate((3 / 4, 1 / 4, 1 / 2)):
        reports = [one["report"] for one in people if one["truth"] == truth]
        error = math.sqrt(len(reports) * chance * (1 - chance))
        assert abs(reports.count("red") - len(reports) * chance) < 7 * error


LEAKY = {
    "truth": "sessionStorage.setItem('x', question.answers[Number(ticked.value)].label);",
    "field": "host.write(question.answers[Number(ticked.value)].label);",
    "storage": "sessionStorage.setItem('x', ticked.value);",
    "draws": "design.draw(Number(ticked.value));",
    "server": "await fetch(`/x?${ticked.value}`);",
}


@pytest.mark.parametrize("where", LEAKY)
def test_a_leaky_snippet_would_be_noticed(where: str, browser: Any, survey: Survey) -> None:
    line = "return showReport(await settle(Number(ticked.value)), true);"
    snippet = embed_text(survey, "secret", "surveyjs")
    assert line in snippet
    with browser.new_context() as context:
        context.add_init_script(OPENED)
        platform = Platform(context, "surveyjs", snippet.replace(line, LEAKY[where] + line))
        people = platform.many(3)
        assert all(where in leaks(one) for one in people) or where == "server"
        assert len(strangers(platform.requests)) == (3 if where == "server" else 0)


@every_platform
def test_nobody_draws_twice(opened: Platform) -> None:
    """Double click, reload, a page that lost its field, going back: one draw; the form sends the report alone."""
    opened.load()
    opened.page.locator(".maskwell input").first.check()
    names = opened.page.evaluate("() => [...new FormData(document.getElementById('form')).keys()]")
    assert names == [FIELDS[opened.kind]]  # a ticked answer belongs to no form
    report = opened.answer(0, clicks=2)
    assert opened.watched()["draws"] == 1
    for kept in ("", report, "nonsense"):
        opened.kept = kept
        opened.load()
        assert opened.page.locator(".maskwell input").count() == 0
        assert opened.field() == report
        assert opened.watched()["draws"] == 0
    opened.page.goto("about:blank")
    opened.page.go_back()
    opened.page.wait_for_selector(".maskwell .report")
    assert opened.field() == report
    opened.page.locator("#next").click()
    opened.page.wait_for_load_state()
    assert opened.posted == [{FIELDS[opened.kind]: [report]}]


@every_platform
def test_a_report_that_the_platform_kept_is_not_drawn_again(opened: Platform) -> None:
    opened.kept = "green"
    opened.load()
    assert opened.page.locator(".maskwell .report").inner_text() == "green"
    assert (opened.watched()["draws"], opened.field()) == (0, "green")


@on_qualtrics
def test_nothing_is_written_before_a_draw_and_one_must_choose(opened: Platform) -> None:
    opened.load()
    assert opened.page.locator("#next").is_disabled()
    opened.page.locator(".maskwell button").click()
    assert "choose an answer" in opened.page.locator(".maskwell [role=status]").inner_text()
    assert opened.watched()["written"] == [] and opened.watched()["draws"] == 0
    opened.answer(2)
    assert opened.page.locator("#next").is_enabled()


def test_the_page_cannot_look_at_the_buttons(browser: Any, survey: Survey) -> None:
    """Without the help of the test the tree is closed, and an event tells the page only that we were clicked."""
    with browser.new_context() as context:
        platform = Platform(context, "surveyjs", embed_text(survey, "secret", "surveyjs"))
        platform.page.goto("https://survey.test/page")
        platform.page.wait_for_selector(".maskwell")
        platform.page.wait_for_timeout(300)
        listen = "document.addEventListener('click', (e) => seen.push(e.composedPath()[0].className), true)"
        platform.page.evaluate(f"window.seen = []; {listen}")
        box = platform.page.locator(".maskwell").bounding_box()
        platform.page.mouse.click(box["x"] + 60, box["y"] + 90)
        assert set(platform.page.evaluate("() => seen")) == {"maskwell"}
        assert platform.page.evaluate("() => document.querySelector('.maskwell').shadowRoot") is None


@on_limesurvey
def test_sets_are_handed_over_as_bits_and_people_read_their_language(opened: Platform, survey: Survey) -> None:
    opened.snippet = embed_text(survey, "many", "limesurvey")
    opened.load()
    assert opened.page.locator(".maskwell legend").inner_text() == "Was davon?"
    assert re.fullmatch("[01]{3}", opened.answer(0))


def test_a_design_that_was_changed_is_not_asked_with(browser: Any, survey: Survey) -> None:
    with browser.new_context() as context:
        context.add_init_script(OPENED)
        snippet = embed_text(survey, "secret", "surveyjs")
        changed = snippet.replace('["2","1","1"]', '["3","1","0"]')
        assert changed != snippet
        platform = Platform(context, "surveyjs", changed)
        platform.page.goto("https://survey.test/page")
        platform.page.wait_for_selector(".maskwell [role=alert]")
        assert platform.page.locator(".maskwell input").count() == 0


@pytest.fixture
def tablet(browser: Any, survey: Survey, tmp_path: Path) -> Iterator[Any]:
    file = tmp_path / "survey.html"
    file.write_text(offline_page(survey), encoding="utf-8")
    with browser.new_context(locale="en", accept_downloads=True) as context:
        context.add_init_script(WATCH)
        page = context.new_page()
        page.requested = []
        page.on("request", lambda request: page.requested.append(request.url))
        faults: list[str] = []
        page.on("console", lambda message: faults.append(message.text))
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.goto(file.as_uri())
        page.wait_for_selector("h1")
        yield page
        assert faults == []


INTERVIEW = """async ([region, truth]) => {
  const until = (find) => new Promise((done) => {
    const check = () => { if (find()) { watcher.disconnect(); done(find()); } };
    const watcher = new MutationObserver(check);
    watcher.observe(document.body, { subtree: true, childList: true });
    check();
  });
  const buttons = () => [...document.querySelectorAll("main button")];
  const button = (text) => until(() => buttons().find((one) => one.textContent === text));
  const press = async (text) => (await button(text)).click();
  await press("Begin");
  for (const [step, ticked] of [[1, region], [2, truth], [3, truth]]) {
    await until(() => document.querySelector(".step")?.textContent === `Question ${step} of 3`);
    document.querySelectorAll("main input")[ticked].click();
    if (step > 1) await press("Draw my report");
    if (step > 1) await until(() => document.querySelector(".report"));
    await press("Next");
  }
  await press("Keep these lines");
  await button("Ready for the next person");
}"""


def interview(page: Any, region: int, truth: int) -> None:
    page.evaluate(INTERVIEW, [region, truth])


def begin(page: Any, region: int) -> None:
    page.get_by_role("button", name="Begin").click()
    page.locator("main input").nth(region).check()
    page.get_by_role("button", name="Next", exact=True).click()
    page.get_by_text("Question 2 of 3").wait_for()


def save(page: Any, name: str) -> Path:
    with page.expect_download() as download:
        page.get_by_role("button", name=name).click()
    return Path(download.value.path())


def test_one_tablet_many_people(tablet: Any, survey: Survey, tmp_path: Path) -> None:
    """What is saved comes back into the survey: as JSON and as CSV the same rows, counted once."""
    for person in range(12):
        interview(tablet, person % 2, person % 3)
        tablet.get_by_role("button", name="Ready for the next person").click()
    held = tablet.evaluate(
        "() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, watched.stored])"
    ) + json.dumps(kept_by(tablet))
    assert not re.search("truth|alpha|beta", held)
    assert tablet.requested == [tablet.url]
    tablet.get_by_text("For the interviewer").click()
    assert "12 people" in tablet.locator("#kept").inner_text()
    table = save(tablet, "Save as CSV").read_text(encoding="utf-8")
    rows = list(csv.DictReader(table.splitlines()))
    assert [row["maskwell_id"] for row in rows] == sorted(row["maskwell_id"] for row in rows)
    assert [row["region"] for row in rows].count("north") == 6
    assert {row["secret"] for row in rows} <= set(REPORTS) and all(re.fullmatch("[01]{3}", row["many"]) for row in rows)
    whole = save(tablet, "Save as JSON").read_text(encoding="utf-8")
    document = json.loads(whole)
    assert [one["id"] for one in document["reports"]] == [row["maskwell_id"] for row in rows]
    assert set(document) == {"maskwell", "version", "survey", "reports"}
    desk = Desk.open(f"sqlite:///{tmp_path / 'surveys.db'}")
    code = desk.store.add_survey(survey)
    desk.open_survey(code)
    (tmp_path / "reports.json").write_text(whole, encoding="utf-8")
    (tmp_path / "reports.csv").write_text(table, encoding="utf-8")
    assert desk.import_file(code, tmp_path / "reports.json")["imported"] == 12
    assert desk.import_file(code, tmp_path / "reports.csv")["known"] == 12
    assert desk.store.size(desk.store.survey(code)) == 12


def test_only_what_was_saved_is_deleted_and_only_when_sure(tablet: Any) -> None:
    interview(tablet, 0, 0)
    tablet.get_by_text("For the interviewer").click()
    assert tablet.get_by_role("button", name="Delete what was saved").count() == 0  # nothing was saved yet
    save(tablet, "Save as CSV")
    tablet.get_by_role("button", name="Ready for the next person").click()
    interview(tablet, 1, 1)
    tablet.get_by_role("button", name="Delete what was saved").click()
    tablet.get_by_role("button", name="Keep everything").click()
    assert "2 people" in tablet.locator("#kept").inner_text()
    tablet.get_by_role("button", name="Delete what was saved").click()
    tablet.get_by_role("button", name="Delete them").click()
    tablet.get_by_text("One person").wait_for()


def test_the_next_person_begins_anew_and_sees_nothing_of_the_last(tablet: Any) -> None:
    interview(tablet, 0, 0)
    tablet.reload()
    tablet.get_by_role("button", name="Ready for the next person").click()
    begin(tablet, 0)
    assert tablet.locator("main input:checked").count() == 0
    tablet.locator("main input").nth(0).check()
    tablet.get_by_role("button", name="Draw my report").click()
    report = tablet.locator(".report").inner_text()
    tablet.reload()
    for _ in range(2):
        tablet.get_by_role("button", name=re.compile("^(Begin|Next)$")).first.click()
    assert tablet.locator(".report").inner_text() == report  # drawn once, also after a reload
    tablet.get_by_text("For the interviewer").click()
    tablet.get_by_role("button", name="Start over for the next person").click()
    tablet.get_by_role("button", name="Start over", exact=True).click()
    tablet.get_by_role("button", name="Begin").click()
    assert tablet.locator("main input:checked").count() == 0


def test_a_browser_without_storage_says_so_and_the_policy_lets_nothing_else_run(
    browser: Any, survey: Survey, tmp_path: Path
) -> None:
    (tmp_path / "survey.html").write_text(offline_page(survey), encoding="utf-8")
    refuse = "Object.defineProperty(window, 'indexedDB', { get() { throw new DOMException('no', 'SecurityError'); } })"
    with browser.new_context() as context:
        context.add_init_script(refuse)
        page = context.new_page()
        page.goto((tmp_path / "survey.html").as_uri())
        assert "does not let the file keep reports" in page.locator("[role=alert]").inner_text()
        assert page.locator("main button, #interviewer button").count() == 0
    page_text = offline_page(survey).replace(
        "</body>", "<script>window.stranger = 1</script><img src='https://elsewhere.test/x.png'></body>"
    )
    (tmp_path / "survey.html").write_text(page_text, encoding="utf-8")
    with browser.new_context() as context:
        page = context.new_page()
        page.goto((tmp_path / "survey.html").as_uri())
        page.wait_for_selector("h1")
        assert page.evaluate("() => window.stranger") is None
        outcome = page.evaluate("() => fetch('https://elsewhere.test/').then(() => 'sent', () => 'refused')")
        assert outcome == "refused"
