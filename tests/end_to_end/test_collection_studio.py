"""The studio in a real browser: from the first account to a deleted survey; no page breaks its own rules."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("sqlalchemy", reason="the service is not installed: pip install 'maskwell[serve]'")

from tests.support.collecting import BY_INVITATION, SURVEY, submission
from tests.support.kept_on_device import kept_by
from tests.support.running_service import RunningService, answer, press

from maskwell.collection.accounts import Accounts
from maskwell.collection.store import Store
from maskwell.collection.stored_survey import StoredSurvey
from maskwell.collection.survey import Survey

PASSWORD = "a long password"
SESSIONS: dict[str, Any] = {}
OPEN_QUESTION, SENSITIVE = "Are you in a union?", "Were you paid in cash?"


@pytest.fixture(scope="module")
def store(service_folder: Path) -> Iterator[Store]:
    made = Store(f"sqlite:///{service_folder / 'surveys.db'}")
    made.create()
    accounts = Accounts(made)
    for name in ("ada", "ben"):
        accounts.add(name, PASSWORD)
    yield made
    made.close()


class Watch:
    """Pages of one person; whatever the console complains about, and every request to elsewhere, is a failure."""

    def __init__(self, browser: Any, service: RunningService, **options: Any) -> None:
        self.address = service.address
        self.context = browser.new_context(locale="en-GB", **options)
        self.faults: list[str] = []
        self.page = self.new_page()

    def new_page(self) -> Any:
        page = self.context.new_page()
        page.set_default_timeout(60_000)
        page.on("console", self._said)
        page.on("pageerror", lambda error: self.faults.append(str(error)))
        page.on("request", self._request)
        return page

    def _said(self, message: Any) -> None:
        """The browser writes a line for every page with an error, also where one is asked for: that is no fault."""
        is_refusal = re.match(r"Failed to load resource: .* status of (404|422)", message.text)
        if message.type in ("error", "warning") and not is_refusal:
            self.faults.append(message.text)

    def _request(self, request: Any) -> None:
        if not request.url.startswith((self.address, "data:", "blob:")):
            self.faults.append(f"asked elsewhere: {request.url}")

    def sign_in(self, name: str = "ada") -> Any:
        """With the session of an earlier test, while it is good; a password takes long to check, as it should."""
        self.context.add_cookies(SESSIONS.get(name, []))
        self.page.goto(f"{self.address}/studio")
        if not self.page.url.endswith("/studio"):
            self.type_password(name)
            SESSIONS[name] = self.context.cookies()
        return self.page

    def type_password(self, name: str) -> None:
        self.page.goto(f"{self.address}/studio/login")
        self.page.get_by_label("Name").fill(name)
        self.page.get_by_label("Password").fill(PASSWORD)
        press(self.page, "Sign in")
        self.page.wait_for_url("**/studio")


@pytest.fixture
def people(browser: Any, service: RunningService) -> Iterator[Any]:
    """Make somebody with a browser; nobody's console may complain."""
    made: list[Watch] = []

    def one(**options: Any) -> Watch:
        made.append(Watch(browser, service, **options))
        return made[-1]

    yield one
    for watch in made:
        watch.context.close()
    assert [fault for watch in made for fault in watch.faults] == []


def owned(store: Store, text: str, *, n: int = 0, state: str = "open") -> StoredSurvey:
    account = Accounts(store).find("ada")
    code = store.add_survey(Survey.from_toml(text), text, owner=account)
    if state == "draft":
        return store.survey(code)
    stored = store.open(code)
    if n:
        store.accept([submission(stored) for _ in range(n)])
    return store.close_survey(code) if state == "closed" else stored


def build(page: Any, title: str) -> None:
    """A survey with an open and a sensitive question, with the form."""
    page.get_by_role("link", name="New survey").first.click()
    page.get_by_label("Title").fill(title)
    page.get_by_label("What is asked").fill(OPEN_QUESTION)
    page.get_by_label("Answers, one in each line").fill("yes\nno")
    page.get_by_label("sensitive: randomized").uncheck()
    press(page, "Add a question")
    second = page.locator("fieldset.question").nth(1)
    second.get_by_label("What is asked").fill(SENSITIVE)
    second.get_by_label("Help below").fill("Ever.")


def respond(page: Any, address: str, label: str) -> None:
    """One respondent, all the way."""
    page.goto(address)
    press(page, "Begin")
    answer(page, label)
    page.get_by_role("button", name="Draw my report").wait_for()  # else the first question has its own "yes" still
    answer(page, "yes", "Draw my report")
    press(page, "Next")
    press(page, "Send")
    page.get_by_role("heading", name="Thank you").wait_for()


def test_from_the_form_to_live_estimates_and_away(people: Any, service: RunningService, store: Store) -> None:
    page = people().sign_in()
    build(page, "Pay")
    page.get_by_text(f"2. {SENSITIVE}").wait_for()
    follows = page.locator("#consequences")
    assert "a factor of 7.39 at most" in follows.inner_text()
    page.get_by_label("True share").fill("10")
    page.get_by_text("for a share of 10 %").first.wait_for()
    second = page.locator("fieldset.question").nth(1)
    second.get_by_label("Answers, one in each line").fill("yes\nno\nperhaps")
    press(page, "Save the draft")  # at once: what was typed last is saved
    page.get_by_text("This survey is a draft.").wait_for()
    assert "yes · no · perhaps" in page.locator("ol.questions").inner_text()
    code = page.url.rsplit("/", 1)[-1]
    assert store.survey(code).survey.questions[1].help == {"en": "Ever."}
    live = store.survey(code).source.replace("[survey]", '[survey]\nresults = "live"')
    store.replace_survey(code, Survey.from_toml(live), live)
    press(page, "Open the survey")
    page.get_by_text("Nobody has answered yet.").wait_for()
    page.evaluate("window.same = true")
    respond(people().page, f"{service.address}/s/{code}", "yes")
    arrive(store, code, 1, 0)
    page.locator("#count", has_text="3").wait_for()
    page.locator("#card-1 .figure-number", has_text="66.7 %").wait_for()
    page.locator("#figures-1 summary").click()
    page.locator("#figures-1 summary").focus()
    page.locator("#two select").nth(1).select_option(label=OPEN_QUESTION)
    page.get_by_text("A table needs two different questions.").wait_for()
    page.locator("#two select").first.select_option(label=SENSITIVE)
    page.locator("#table-body td").first.wait_for()
    page.locator("#margin").fill("2")
    page.locator("#margin").press("Tab")
    page.get_by_text("Needed for ±2.0").first.wait_for()
    assert page.evaluate("window.same")  # never loaded again
    arrive(store, code, 1)
    page.locator("#count", has_text="4").wait_for()
    assert page.locator("#figures-1").get_attribute("open") is not None
    delete(page, code)


def arrive(store: Store, code: str, *unions: int) -> None:
    """Further respondents, as the service keeps them."""
    stored = store.survey(code)
    names = list(stored.survey.by_name)
    store.accept([submission(stored, {names[0]: union, names[1]: 0}) for union in unions])


def delete(page: Any, code: str) -> None:
    """Only with the title, typed."""
    page.get_by_text("Delete permanently").first.click()
    page.get_by_label("Type the title").fill("pay")
    press(page, "Delete permanently")
    page.get_by_text("The title does not match.").wait_for()
    page.go_back()
    page.get_by_text("Delete permanently").first.click()
    page.get_by_label("Type the title").fill("Pay")
    press(page, "Delete permanently")
    page.wait_for_url("**/studio")
    assert page.locator(f'a[href="/studio/s/{code}"]').count() == 0


def test_the_form_has_conditions_and_languages(people: Any, store: Store) -> None:
    page = people().sign_in()
    build(page, "Skip")
    second = page.locator("fieldset.question").nth(1)
    second.get_by_label("Asked of").select_option(label=f"people by their answer to “{OPEN_QUESTION}”")
    second.get_by_label("yes", exact=True).check()
    second.get_by_label("Help below").fill("")
    page.get_by_text("Languages", exact=True).click()
    page.get_by_label("Codes of the languages").fill("en de")
    page.get_by_text("German (de)").click()
    german = page.locator("#translations")
    for original, text in (("Skip", "Springen"), (OPEN_QUESTION, "Gewerkschaft?"), (SENSITIVE, "Bar?")):
        german.get_by_label(original).fill(text)
    for i in range(2):
        german.locator("textarea").nth(i).fill("ja\nnein")
    press(page, "Save the draft")
    page.get_by_text("This survey is a draft.").wait_for()
    survey = store.survey(page.url.rsplit("/", 1)[-1]).survey
    assert survey.languages == ("en", "de")
    assert survey.questions[1].show_if == {survey.questions[0].name: ("yes",)}
    assert survey.questions[1].ask == {"en": SENSITIVE, "de": "Bar?"}
    page.get_by_role("link", name="Change it").click()  # everything comes back into the form
    assert page.locator("fieldset.question").nth(1).get_by_label("yes", exact=True).is_checked()
    page.get_by_text("Languages", exact=True).click()
    page.get_by_text("German (de)").click()
    assert page.locator("#translations").get_by_label(SENSITIVE).input_value() == "Bar?"


def test_the_preview_sends_and_keeps_nothing(people: Any, service: RunningService, store: Store) -> None:
    stored = owned(store, BY_INVITATION, state="draft")
    page = people().sign_in()
    sent: list[str] = []
    page.on("request", lambda request: sent.append(request.method) if request.method != "GET" else None)
    page.goto(f"{service.address}/studio/s/{stored.code}")
    page.get_by_role("link", name="Preview").click()
    page.get_by_text("nothing is sent, and nothing is stored").wait_for()
    press(page, "Begin")
    answer(page, "south")
    for label in ("yes", "rent"):
        answer(page, label, "Draw my report")
        press(page, "Next")
    press(page, "Send")
    page.get_by_text("This was the preview").wait_for()
    plain = people_storage(page)
    press(page, "Begin again")
    page.get_by_role("button", name="Begin").wait_for()
    assert sent == []
    assert plain == {}
    assert store.size(store.survey(stored.code)) == 0


def people_storage(page: Any) -> Any:
    """What the browser itself keeps: seen from another page of the same place."""
    other = page.context.new_page()
    other.goto(page.url.split("/studio")[0] + "/health")
    kept = other.evaluate("({...localStorage, ...sessionStorage})") | kept_by(other)
    other.close()
    return kept


def test_results_without_a_script_and_wrong_addresses_help(people: Any, service: RunningService, store: Store) -> None:
    stored = owned(store, SURVEY, n=40, state="closed")
    watch = people(java_script_enabled=False)
    page = watch.sign_in()
    page.goto(f"{service.address}/studio/s/{stored.code}")
    assert page.locator("#card-2 .figure-number").count() == 5  # four answers and the scale
    page.locator("#table-form select").first.select_option("tax")
    page.locator("#table-go").click()
    page.wait_for_url("**first=tax**")
    assert page.locator("#table-body tbody th").first.inner_text() == "yes"
    page.goto(f"{service.address}/studio/new")
    assert page.locator("#text").is_visible()
    page = people().page
    for path in ("/s/0000000000", "/nowhere", "/studio/nowhere"):
        answered = page.goto(service.address + path)
        assert answered.status == 404 and "text/html" in answered.headers["content-type"]
        assert "default-src 'none'" in answered.headers["content-security-policy"]
        page.get_by_role("heading", name="This address does not exist").wait_for()
    refused = page.request.get(f"{service.address}/nowhere", headers={"Accept": "application/json"})
    assert refused.json()["error"]["code"] == "not-found"
    assert page.request.get(f"{service.address}/favicon.ico").headers["content-type"] == "image/svg+xml"


LONG = SURVEY.replace("Working life", f"A title {'withoutanyspace' * 8}").replace('"north"', f'"{"north " * 10}"')


WIDE, NARROW = 1200, 360
ALL_RULES: dict[str, Any] = {}
OF_COLOUR = {"runOnly": ["color-contrast", "link-in-text-block"]}
OF_SIZE = {"runOnly": ["target-size", "scrollable-region-focusable", "meta-viewport"]}
"""The rules of axe whose outcome the colour scheme, or the width, can change."""

VIOLATIONS = """async (options) => {
  const { violations } = await axe.run(document, { resultTypes: ["violations"], ...options });
  return violations.map(({ id, nodes }) => [id, nodes[0].target]);
}"""


def test_every_page_is_accessible_and_fits(people: Any, service: RunningService, store: Store) -> None:
    """Each page is loaded once: all rules on a wide light one, then what may change when it is dark, or narrow."""
    pytest.importorskip("axe_playwright_python", reason="no axe-playwright-python")
    codes = {
        "draft": owned(store, SURVEY, state="draft").code,
        "empty": owned(store, BY_INVITATION).code,
        "closed": owned(store, SURVEY, n=25, state="closed").code,
        "long": owned(store, LONG.replace('show_if = { region = "north" }\n', ""), n=3).code,
    }
    watch = people()
    watch.page.goto(f"{service.address}/studio/login")
    check_page(watch.page, "login")
    page = watch.sign_in()
    paths = ["", "/new", "/account", "/nowhere", f"/s/{codes['draft']}/edit", f"/s/{codes['draft']}/preview"]
    for path in [*paths, *(f"/s/{code}" for code in codes.values())]:
        page.goto(f"{service.address}/studio{path}")
        if path in ("/new", *paths[4:]):
            page.wait_for_load_state("networkidle")
        page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
        check_page(page, path)


def check_page(page: Any, name: str) -> None:
    from axe_playwright_python.base import AXE_SCRIPT

    page.evaluate(AXE_SCRIPT)
    looks = [(WIDE, "light", ALL_RULES), (WIDE, "dark", OF_COLOUR), (NARROW, "dark", OF_SIZE)]
    for width, scheme, rules in looks:
        page.set_viewport_size({"width": width, "height": 800})
        page.emulate_media(color_scheme=scheme)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, (name, width)
        assert page.evaluate(VIOLATIONS, rules) == [], (name, width, scheme)
    assert page.locator("[style]").count() == 0, name


FOCUS = """() => {
  const one = document.activeElement;
  const at = [...document.querySelectorAll("*")].indexOf(one);
  return [at, one.outerHTML.slice(0, 90), getComputedStyle(one).outlineStyle];
}"""


def test_everything_is_reached_with_the_keyboard(people: Any, service: RunningService, store: Store) -> None:
    stored = owned(store, SURVEY, n=25, state="closed")
    page = people().sign_in()
    page.goto(f"{service.address}/studio/s/{stored.code}")
    reached: dict[int, str] = {}
    for _ in range(80):
        page.keyboard.press("Tab")
        at, html, outline = page.evaluate(FOCUS)
        if at in reached or html.startswith("<body"):
            break
        reached[at] = html
        assert outline != "none", html
    text = "\n".join(reached.values())
    for part in ("Skip to", 'id="margin"', "figures-1-head", 'name="first"', "results.csv", "Open it again", "risk"):
        assert part in text, part
    assert list(reached) == sorted(reached)  # in the order of the page
    page.locator("#figures-1-head").press("Enter")
    page.get_by_role("region", name="Figures of Where do you work?").wait_for()
