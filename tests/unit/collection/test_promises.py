"""What respondents read is true for every design that it is printed for: each sentence against a simulated intruder."""

import itertools
import json
import re
import shutil
import subprocess
import tomllib
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient
from tests.support.collecting import SURVEY, opened, served, submission
from tests.support.command_line import run

import maskwell
from maskwell import Categories, Design
from maskwell.collection import page_templates
from maskwell.collection.accounts import Accounts
from maskwell.collection.check_page import check_words
from maskwell.collection.drafts import form_of, survey_text
from maskwell.collection.embeds import embed_text, offline_page
from maskwell.collection.page_texts import factor_in, package_texts, static_text, text_table
from maskwell.collection.store import Store
from maskwell.collection.survey import Survey
from maskwell.core.languages import direction_of
from maskwell.designs import Dense
from maskwell.errors import ParameterError, PlanError
from maskwell.privacy.strength import LIMITS, strength_of
from maskwell.procedures.registry import make_design

STEPS = (*LIMITS, "none")
INFINITE = float("inf")
EVEN = {"strong": Fraction(4, 5), "moderate": Fraction(20, 21), "weak": Fraction(100, 101)}
"""How sure somebody can become at most who thought a statement as likely as not, by the step of the texts."""


def survey_with(*designs, more="", demand="demand = { gamma = 1e30 }", languages='["en"]') -> str:
    head = f'[survey]\ntitle = "Work"\nlanguages = {languages}\n{demand}\n{more}\n'
    one = '[[question]]\nname = "q{}"\nask = "Paid in cash?"\nanswers = ["yes", "no"]\ndesign = {{ {} }}\n'
    return head + "".join(one.format(i, design) for i, design in enumerate(designs))


def joint_rows(designs: Sequence[Design]) -> list[list[Fraction]]:
    """Chances of all reports of one person (rows) for all combinations of truths (columns)."""
    rows: list[list[Fraction]] = [[Fraction(1)]]
    for design in designs:
        rows = [[a * b for a in row for b in other] for row in rows for other in design.exact_matrix()]
    return rows


def surest(rows: list[list[Fraction]]) -> Fraction:
    """The largest posterior of a statement, for an intruder to whom it and its opposite were equally likely."""
    beliefs = (
        row[j] / (row[j] + row[other])
        for row in rows
        for j, other in itertools.permutations(range(len(row)), 2)
        if row[j] + row[other]
    )
    return max(beliefs)


def largest_gain(rows: list[list[Fraction]], priors: list[Fraction]) -> Fraction:
    """The most by which a report makes a statement about the truth more likely, or less likely, than before."""
    most = Fraction(1)
    truths = range(len(priors))
    for row in rows:
        whole = sum(p * c for p, c in zip(priors, row, strict=True))
        for size in truths[1:]:
            for chosen in itertools.combinations(truths, size):
                before = sum(priors[j] for j in chosen)
                after = sum(priors[j] * row[j] for j in chosen) / whole if whole else before
                most = max(most, after / before, *((before / after,) if after else ()))
    return most


THREE, YES_NO = Categories.of(["never", "once", "often"]), Categories.of(["yes", "no"])
GAMMAS = ("1.001", "2", "4", "4.0001", "7.39", "20", "20.001", "60", "99.5", "100", "100.0001", "1e6", "1e30")


def k_ary(gamma: str, times: int = 1, categories: Categories = THREE) -> list[Design]:
    return [make_design("k-ary", categories=categories, gamma=gamma)] * times


PERSONS: dict[str, Callable[[], list[Design]]] = {
    "coin": lambda: [Dense.of([["1/2", "1/2"], ["1/2", "1/2"]])],
    **{gamma: partial(k_ary, gamma) for gamma in GAMMAS},
    **{f"{gamma} twice": partial(k_ary, gamma, 2, YES_NO) for gamma in ("2", "3", "4.4", "10", "10.01")},
    "3 five times": partial(k_ary, "3", 5, YES_NO),
    "skewed": lambda: [Dense.of([["9/10", "1/30"], ["1/10", "29/30"]])],
    "mangat": lambda: [make_design("mangat", p="0.7")],
    "warner and mangat": lambda: [make_design("warner", p="0.7"), make_design("mangat", p="0.7")],
}
"""The designs of one person's questions, from one that reveals nothing to some that reveal everything."""


@pytest.mark.parametrize("person", PERSONS)
def test_every_step_is_true_for_an_intruder(person: str) -> None:
    asked = PERSONS[person]()
    parity: Any = Fraction(1)
    for design in asked:
        parity = parity * design.parity_exact()
    rows, strength = joint_rows(asked), strength_of(parity)
    certain = surest(rows)
    assert certain == (1 if parity == INFINITE else parity / (1 + parity))
    if strength == "none":
        assert certain > Fraction(100, 101)  # "can show what your true answers are", "possibly", "more than 99"
    else:
        assert certain <= EVEN[strength]
        assert all(all(row) or not any(row) for row in rows)  # "any answer can lead to any report"
    if strength == "weak":
        assert certain > EVEN["moderate"]  # "a strong hint", "can become nearly sure"
    factor = Fraction(factor_in(parity, {"group": "", "decimal": "."})) if parity < 10**9 else None
    if factor is not None and len(rows[0]) <= 4:
        k = len(rows[0])
        for priors in ([Fraction(1, k)] * k, [Fraction(1, 2), *[Fraction(1, 2 * (k - 1))] * (k - 1)]):
            assert largest_gain(rows, priors) <= factor  # "at most {factor} times as likely, or as unlikely"


GRID = [Fraction(n) for n in (1, 2, 4, 20, 99, 100, 101, 999, 1000, 1234567, 485165196, 10**14, 10**15, 10**60)]
GRID += [limit + sign * Fraction(1, 10**20) for limit in (4, 20, 100) for sign in (1, -1)]
GRID += [Fraction(8, 3), Fraction(199, 2), Fraction(10001, 10000), Fraction(999999, 1000), Fraction(9995, 10)]


def in_node(program: str, given: Any) -> Any:
    node = shutil.which("node")
    if node is None:
        pytest.skip("no Node here")
    text = static_text("pieces.js").replace("export ", "")
    script = f"{text}\nconst given = {json.dumps(given)};\n{program}\nchannel.close();"
    done = subprocess.run([node, "--eval", script], capture_output=True, text=True, timeout=60, check=True)
    return json.loads(done.stdout)


def test_numbers_are_told_alike_here_and_in_the_browser() -> None:
    numbers = {one: factor_in(Fraction(485165196), texts) for one, texts in package_texts("page").items()}
    spaced = "486\u202f000\u202f000"
    assert numbers == {"en": "486,000,000", "de": spaced, "fr": spaced, "es": spaced}
    words = package_texts("page")["en"]
    given = [[str(one.numerator), str(one.denominator)] for one in GRID] + [["1", "0"]]
    said = in_node(
        f"const words = {json.dumps(words)};"
        "const read = given.map((pair) => pair.map(BigInt));"
        "console.log(JSON.stringify(read.map((factor) => [strengthOf(factor), promised(factor, words),"
        " beliefsOf(factor, ['', ''], words)[1][2]])));",
        given,
    )
    for factor, (step, number, belief) in zip([*GRID, INFINITE], said, strict=True):
        assert step == strength_of(factor) and number == factor_in(factor, words)
        share = Fraction(100) if factor == INFINITE else 100 * Fraction(factor) / (1 + Fraction(factor))
        if belief.startswith(">"):
            assert step == "none" and share > 99
        else:
            assert share <= Fraction(belief) < share + 1
    given = [["0", "1"], ["1", "1"], ["1", "1000000"], ["999999", "1000000"], ["1", "3"], ["995", "1000"], ["1", "80"]]
    shown = in_node(
        "console.log(JSON.stringify(given.map((pair) => ofHundred(pair.map(BigInt), { decimal: ',', group: '.' }))));",
        given,
    )
    assert shown == ["0", "100", "<0,01", ">99,99", "33", "99,50", "1,3"]


STEPPED = ("how_title", "how_draw", "how_sent", "how_protects", "belief_after", "promise_joint", "sensitive_note")
STEPPED += ("differs", "reveals_factor")
SOOTHING = {
    "en": r"nobody|no one|never|cannot|safe|stays? |any answer can lead|do not give|uncertain|leave doubt",
    "de": r"niemand|\bnie\b|sicher nicht|bleibt|bleiben|jede Antwort kann|nicht verraten|ungewiss",
    "fr": r"personne ne|jamais|reste|toute vraie réponse peut|ne révèlent pas|doute sur|laissent un doute",
    "es": r"nadie|nunca|queda|siguen|cualquier respuesta verdadera puede|no revelan|dejan? dudas",
}
"""Words that reassure: no text for weak protection has them, but for "any answer can lead to any report"."""


@pytest.mark.parametrize("language", SOOTHING)
def test_texts_for_little_protection_reassure_nobody(language: str) -> None:
    for group in ("page", "offline"):
        texts = package_texts(group)[language]
        for key in [key for key in STEPPED if any(name.startswith(key) for name in texts)]:
            for step in ("weak", "none"):
                text = texts.get(f"{key}_{step}", texts.get(key, ""))
                if (key, step) == ("how_draw", "weak"):
                    continue  # it says what every design of finite parity does
                assert not re.search(SOOTHING[language], text, re.IGNORECASE), (group, key, step, text)
    strong = package_texts("page")[language]
    assert re.search(SOOTHING[language], strong["how_protects_strong"], re.IGNORECASE)  # the words would be noticed


def test_every_step_has_its_texts_and_too_strong_ones_would_be_noticed() -> None:
    rows = joint_rows(k_ary("4.0001", 1, YES_NO))
    assert surest(rows) > EVEN["strong"]
    assert largest_gain(rows, [Fraction(1, 1000), Fraction(999, 1000)]) > Fraction("3.98")
    scripts = static_text("respond.js") + static_text("embed.js")
    used = set(re.findall(r'sayTrue\("(\w+)"', scripts)) | set(re.findall(r'stepped\(words, "(\w+)"', scripts))
    assert used == set(STEPPED)
    for texts in package_texts("page").values():
        assert all(f"{key}_{step}" in texts or key in texts for key in STEPPED for step in STEPS)
        assert {f"{key}_none" in texts for key in STEPPED} == {True}


@pytest.mark.parametrize(
    "asked",
    [
        ["epsilon = 20"],
        ["gamma = 1e6"],
        ['gamma = "100.000000000001"'],
        ["gamma = 3"] * 5,
        ['family = "mangat", p = "0.7"'],
    ],
)
def test_a_survey_that_reveals_answers_must_say_so(asked: list[str]) -> None:
    with pytest.raises(PlanError, match="the reports of one person can reveal the answers") as caught:
        Survey.from_toml(survey_with(*asked))
    assert len(caught.value.message) <= 93  # longer ones are cut on the terminal
    assert "accept_no_protection = true" in (caught.value.hint or "")
    demand = "" if "mangat" in asked[0] else "demand = { gamma = 1e30 }"
    accepted = Survey.from_toml(survey_with(*asked, more="accept_no_protection = true", demand=demand))
    assert accepted.strength == "none" and Survey.from_dict(accepted.to_dict()) == accepted
    assert "Take part only if you would also answer openly." in check_words(accepted, ["en"])["promises"][0]
    snippet = embed_text(accepted, "q0", "surveyjs")
    assert '"strength":"none"' in snippet and "Take part only if you would also answer openly." in snippet


def test_a_demand_is_kept_and_the_form_of_the_studio_holds_the_setting() -> None:
    survey = Survey.from_toml(survey_with("gamma = 10", "gamma = 10"))
    assert survey.parity == 100 and survey.strength == "weak"
    assert not {"accept_no_protection", "texts"} & set(survey.to_dict())
    more = "accept_no_protection = true"
    with pytest.raises(PlanError, match="all questions together have parity"):
        Survey.from_toml(survey_with("gamma = 900", more=more, demand="demand = { gamma = 5 }"))
    with pytest.raises(PlanError, match="all questions together have parity") as caught:
        Survey.from_toml(survey_with('family = "mangat", p = "0.7"', more=more))
    assert "leave the demand out" in (caught.value.hint or "")
    form = {"title": "Work", "demand": {"word": "gamma", "value": "400"}, "accept": True}
    text = survey_text({**form, "questions": [{"ask": "Paid?", "answers": ["yes", "no"], "sensitive": True}]})
    read = form_of(text)
    assert read is not None and read["accept"] is True


def arabic(change: Callable[[dict[str, Any]], None] = lambda _: None) -> str:
    """A survey in Arabic alone, with texts of the page that stand in for a translation."""
    texts = tomllib.loads(text_table("ar"))["wording"]["ar"]["page"]
    texts = {key: [f"ع {x}" for x in one] if isinstance(one, list) else f"ع {one}" for key, one in texts.items()}
    change(texts)
    table = "\n".join(f"{key} = {json.dumps(text, ensure_ascii=False)}" for key, text in texts.items())
    return survey_with("gamma = 3", languages='["ar"]') + f"[wording.ar.page]\n{table}\n"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda texts: texts.pop("begin"), r"\[wording.ar.page\]: begin is missing"),
        (lambda texts: texts.update(begin=3), "begin must be a string"),
        (lambda texts: texts.update(practice_answers=["a", "b"]), "must be a list of 3 strings"),
        (lambda texts: texts.update(promise_joint="ع"), "must keep the words in braces of the English text"),
        (lambda texts: texts.update(begni="ع"), "unknown text 'begni'"),
    ],
)
def test_a_language_that_is_not_complete_is_refused(change: Callable[[dict[str, Any]], None], message: str) -> None:
    with pytest.raises(PlanError, match=message):
        Survey.from_toml(arabic(change))


def test_languages_are_complete_regional_or_refused() -> None:
    with pytest.raises(
        PlanError, match="languages: the pages are not available in 'ar', only in en, de, fr, es"
    ) as caught:
        Survey.from_toml(survey_with("gamma = 3", languages='["ar"]'))
    line = (caught.value.hint or "").partition("output of: ")[2]
    printed = run(*line.split()[1:])
    assert printed.status == 0 and printed.out == text_table("ar")
    text = survey_with("gamma = 3") + '[wording.en.page]\nbegin = "Go"\n'
    with pytest.raises(PlanError, match="the pages already have texts in 'en'"):
        Survey.from_toml(text)
    with pytest.raises(PlanError, match="belongs to the survey in its first language"):
        Survey.from_toml(survey_with("gamma = 3") + '[wording.en]\ntitle = "x"\n')
    survey = Survey.from_toml(arabic())
    assert survey.texts["ar"]["page"]["direction"] == "rtl" and Survey.from_dict(survey.to_dict()) == survey
    assert json.dumps("ع Draw my report")[1:-1] in embed_text(survey, "q0", "surveyjs")
    assert check_words(survey, ["ar"])["language"] == "en"  # texts that it does not bring are in English, and say so
    with pytest.raises(ParameterError, match="these texts are not available in 'ar'") as caught:
        offline_page(survey)
    assert "maskwell survey texts ar --for offline" in (caught.value.hint or "")
    survey = Survey.from_toml(survey_with("gamma = 3", languages='["de-AT"]'))
    assert check_words(survey, [])["say"]["title"] == "Selbst nachprüfen"
    assert [direction_of(one) for one in ("ar", "he", "fa-IR", "ur", "de", "pt-BR")] == ["rtl"] * 4 + ["ltr"] * 2


@pytest.fixture
def client(tmp_path: Path) -> Iterator[TestClient]:
    app = served(tmp_path)
    with TestClient(app) as made:
        yield made


def store_of(client: TestClient) -> Store:
    store: Store = client.app.state.service.store  # type: ignore[attr-defined]
    return store


def test_the_page_for_sceptics_and_for_who_is_lost(client: TestClient) -> None:
    code = opened(store_of(client), SURVEY).code
    german = client.get(f"/s/{code}/check", headers={"Accept-Language": "de-AT,fr;q=0.5"}).text
    assert '<html lang="de" dir="ltr">' in german and "<h1>Selbst nachprüfen</h1>" in german
    assert "Es bleiben Zweifel." in german and "höchstens 19,1-mal so wahrscheinlich" in german
    assert "Check us" in client.get(f"/s/{code}/check", headers={"Accept-Language": "fr"}).text
    assert "Check us" in client.get(f"/s/{code}/check?language=en", headers={"Accept-Language": "de"}).text
    people = TestClient(page_templates.PagesForPeople(client.app))
    page = people.get("/s/nothing", headers={"Accept": "text/html"})
    assert page.status_code == 404 and "copy all of it" in page.text
    for text in (page.text, client.get("/s/nothing").text, client.get("/s/nothing/survey.json").text):
        assert "maskwell survey" not in text


def test_the_studio_says_when_figures_change(client: TestClient) -> None:
    store = store_of(client)
    accounts = Accounts(store)
    ann = accounts.add("ann", "a long password")
    key = {"Authorization": f"Bearer {accounts.begin_session(ann)}"}

    def page(results: str, reports: int) -> str:
        stored = opened(store, SURVEY.replace('results = "live"', results), owner=ann)
        store.accept([submission(stored) for _ in range(reports)])
        return re.sub(r"\s+", " ", client.get(f"/studio/s/{stored.code}", headers=key).text)

    live, early, late = page('results = "live"', 0), page("", 19), page("", 20)
    assert "are updated as reports arrive" in live and "Estimates appear with the second one" in live
    for text in (early, late):
        assert "as they come" not in text and "with the second one" not in text
        assert "in steps of 10 reports or more" in text
    assert "The first figures appear with report 20" in early and "0 of 19 respondents" in early
    assert "No report is in the figures yet." in early
    assert "10 of 20 respondents" in late and "No report is in the figures yet." not in late
    assert "Protection: <b>moderate</b>" in live


def test_texts_promise_no_more_than_is_kept_and_say_it_well() -> None:
    folder = Path(maskwell.__file__).parent / "collection"
    texts = [one.read_text() for one in folder.rglob("*") if one.suffix in (".json", ".toml", ".html", ".js")]
    assert len(texts) > 15
    for text in texts:
        assert not re.search(r"nobody will learn|nobody can tell which|niemand erfährt", text)
    # For surveys, an open question is one that is answered in the respondent's own words.
    words = {"en": "open question", "de": "offene Frage", "fr": "questions ouvertes", "es": "preguntas abiertas"}
    for group in ("page", "check", "form", "offline"):
        for language, word in words.items():
            assert word.lower() not in json.dumps(package_texts(group)[language], ensure_ascii=False).lower(), group
    # A line that begins with a colon or a question mark is an error in French: the space before it does not break.
    for group in ("page", "check", "form", "offline"):
        assert not re.findall(r" [:;?!»]|« ", json.dumps(package_texts(group)["fr"], ensure_ascii=False)), group
