"""The report for a disclosure board, and the same in a terminal: from a small release, as it would be made."""

import math
import re
from dataclasses import replace

import numpy as np
import pytest
from tests.support.drawings import overlapping, texts_outside
from tests.support.outline import Outline
from tests.support.quiet import refused
from tests.support.releases import assessed, changed

from maskwell.core.cells import CellTable
from maskwell.engines.labelled_columns import ColumnLabels, Labels
from maskwell.errors import InputError
from maskwell.microdata.folder.receipt_contents import advice_of, public_receipt
from maskwell.microdata.folder.release_metadata import processing
from maskwell.microdata.plans.release_plan import ReleasePlan
from maskwell.microdata.release_values import Draw, Release, ReleasedColumn
from maskwell.microdata.risk.unit_risk import UnitFigures, UnitRisk
from maskwell.microdata.risk_utility import RiskUtilityPoint
from maskwell.microdata.true_file import Changes, TrueFile
from maskwell.plots import Picture
from maskwell.reports.pages.release_page import _stage_facts, lead, release_page
from maskwell.reports.pictures.risk_curves import plot_release_risk
from maskwell.reports.report import WIDTH
from maskwell.reports.text.release_report import dry_run_report, release_report
from maskwell.reports.text.release_words import bound_value, promises, riskiest, rule_in_words

ODD = "<script>alert(1)</script>"


def counts() -> dict[tuple[object, ...], int]:
    rng = np.random.default_rng(4)
    jobs = ["clerk", "baker", "law & order", ODD]
    cells = [(r, s, j, i) for r in ("north", "south") for s in "fm" for j in jobs for i in ("low", "high")]
    return dict(zip(cells, rng.geometric(0.15, len(cells)).tolist(), strict=True))


FILE = CellTable.of(["region", "sex", "job", "income"], counts())  # type: ignore[arg-type]
JOINT = {"variables": ["sex", "job"], "within": ["region"], "method": "inverse-frequency", "theta": "0.6"}
INCOME = {"variables": ["income"], "method": "optimal", "posterior_own": "0.9", "changed_at_most": "0.5"}


def planned(**more: object) -> ReleasePlan:
    told = {"keys": ["region", "sex", "job"], "sensitive": ["income"], "match": "0.9", **more}
    return ReleasePlan.of([JOINT, INCOME], **told)


def release_of(plan: ReleasePlan | None = None, **more: object) -> Release:
    plan = plan or planned()
    columns = [ReleasedColumn(name, "text") for name in (*FILE.columns, "diary")]
    made = assessed(FILE, plan)
    draw = Draw(assessment=made, released_tables={}, columns=columns, risk=made.risk, utility=made.utility)
    return changed(Release.of(draw), **more)


class _Lacking(TrueFile):
    """A file in which two records have no income."""

    @property
    def missing(self) -> dict[str, int]:
        return {"income": 2}


@pytest.fixture(scope="module", name="release")
def fixture_release() -> Release:
    made = release_of(changed={"income": 12, "sex": 3, "job": 5})
    return changed(made, file=_Lacking(tables=made.file.tables, path=made.file.path))


@pytest.fixture(scope="module", name="text")
def fixture_text(release: Release) -> str:
    return release_page(release)


@pytest.fixture(autouse=True)
def words_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is drawn on the pages that a test makes for their words; those of ``text`` are drawn before."""
    monkeypatch.setattr(Picture, "inline_svg", lambda *_, **__: "<svg></svg>")


def test_the_page_is_whole_with_escaped_labels_and_needs_nothing_from_elsewhere(text: str) -> None:
    outline = Outline(text)
    assert outline.stack == []
    assert [tag for tag, _ in outline.opened if tag in ("h1", "h2")] == ["h1"] + ["h2"] * 12
    identifiers = [attributes["id"] for _, attributes in outline.opened if "id" in attributes]
    assert len(identifiers) == len(set(identifiers))
    used = set(re.findall(r'href="#([^"]+)"', text)) | set(re.findall(r"url\(#([^)]+)\)", text))
    named = {name for _, a in outline.opened for name in (a.get("aria-labelledby") or "").split()}
    assert used | named <= set(identifiers)
    assert "http" not in text and "@import" not in text
    assert not {"script", "link", "img", "iframe"} & {tag for tag, _ in Outline(text).opened}
    assert ODD not in text and "&lt;script&gt;" in text and "law &amp; order" in text


def test_the_page_says_what_a_board_must_know(release: Release, text: str) -> None:
    words = Outline(text).words
    for said in (
        "Internal.",
        "Highest probability that an intruder who knows region, sex and job identifies the right record:",
        "(limit 90 %)",
        "of a person, and that the person is in the file",
        "The matrices, the true counts, and the errors of tables that the receipt states.",
        "Key variables that are not randomized: region.",
        "Other columns that are not randomized: diary.",
        "Missing values stay missing: income (2 records).",
        "withheld from users",
        "Decision of the board",
        "The matrices of sex, job within region and income",
        "maskwell estimate public/data.csv --receipt public/receipt.json",
    ):
        assert said in words, said
    assert all(stage.design.fingerprint in words for stage in release.stages)
    assert all(one.what in words and one.asked.replace("\u00a0", " ") in words for one in promises(release))


def test_the_answers_count_who_is_found_and_name_all_that_is_done_to_columns(release: Release) -> None:
    risk, plan = release.risk, planned(drop=["name"], unit="house", recode={"diary": {"top": 3}})
    assert risk is not None and risk.after is not None
    before, after = UnitFigures(1.0, 1.0, 9.0, 20.0), UnitFigures(0.75, 0.9, 7.4, 20.0, worst_risk=0.9, worst_bound=1.0)
    units = UnitRisk("house", 40, 6, before, after, alone=3, known_together=1.0)
    found = replace(
        risk, units=units, after=replace(risk.after, max_risk_by={**risk.after.max_risk_by, "released_counts": 0.999})
    )
    words = Outline(release_page(changed(release, plan=plan, risk=found, changes=Changes({"diary": (9, 4)})))).words
    most = risk.risk.max()
    nearly = sum(n for n, chance in zip(risk.table.counts.tolist(), risk.risk, strict=True) if chance > 0.99 * most)
    for said in (
        "diary: 3 means 3 or more (9 values became 4)",
        "name and house",
        f"{nearly} record{'s' * (nearly > 1)} with {bound_value('match', float(most))} or nearly that",
        f"{math.ceil(risk.after.expected_matches):,} of 289 matches are expected to be correct",
        "in 8 of 40 groups at least one record is expected to be matched correctly",
        f"up to {bound_value('match', 0.75)} by an intruder who attacks each of them once, if they are matched"
        " independently; "
        f"{bound_value('match', 0.9)} for an intruder who also compares all released counts",
    ):
        assert said.replace("\u00a0", " ") in words, said


def test_long_names_are_not_cut_and_fit_a_terminal_and_a_picture() -> None:
    """Long names of columns and labels stand whole in the answers."""
    long = "highest_level_of_education_that_was_completed_before_the_interview"
    table = CellTable.of(["sex", long], {("f", "x" * 70): 3, ("m", "x" * 70): 9, ("f", "y"): 8, ("m", "y"): 2})
    plan = ReleasePlan.of([{"variables": ["sex", long], "method": "method1", "theta": "0.5"}], keys=["sex", long])
    made = assessed(table, plan)
    words = Outline(release_page(made)).words
    assert f"an intruder who knows sex and {long}" in words and "x" * 70 in lead(made) + words
    names = [f"{'a_long_name_of_a_column_' * 3}{i}" for i in range(4)]
    file = CellTable.of(names, counts())  # type: ignore[arg-type]
    joint = {"variables": names[:3], "within": names[3:], "method": "inverse-frequency", "theta": "0.6"}
    plan = ReleasePlan.of([joint], keys=names, match="0.9")
    release = assessed(file, plan)
    lines = [*release_report(release, "out"), *dry_run_report(release, [], source="people.csv", plan="p.toml")]
    assert max(map(len, lines)) <= WIDTH
    figure = plot_release_risk(release).figure()
    assert overlapping(figure) == [] and texts_outside(figure) == []


def test_a_bound_that_is_not_kept_is_not_hidden() -> None:
    release = release_of(planned(match="0.01"))
    words = Outline(release_page(release)).words
    assert "is NOT met" in words and "A limit is not met." in words and "not met" in words
    assert "NOT met" in lead(release)
    dry = dry_run_report(release, [], source="a", plan="b")
    assert release.risk is not None and release.risk.after is not None
    above = f"{release.risk.after.records_above} of {FILE.n} records"
    told = f"The plan would be refused: {above} have a probability of a correct match of up to "
    assert dry[0].startswith(told) and " ".join(dry[:2]).split("Highest risk")[0].rstrip().endswith("(limit 1 %).")
    assert "Highest risk: region = " in " ".join(dry) and "k-anonymity" not in " ".join(dry)
    assert dry[-1] == "Next: change the plan, then: maskwell release a --plan b --dry-run"


def test_a_demonstration_and_what_could_undo_the_protection_are_told_above_all() -> None:
    release = release_of(planned(demonstration=True), private=False)
    assert "A demonstration." in release_page(release)
    assert any("protects nothing" in line for line in release_report(release, "out"))
    release = release_of(told_by_order=("ten weights tell the region",), lost=("value labels",))
    words = Outline(release_page(release)).words
    assert "Something could undo the protection. Ten weights tell the region." in words
    assert words.index("Ten weights") < words.index("What is released") and "value labels" in words


def test_values_are_named_by_the_labels_of_the_file() -> None:
    labels = Labels(".sav", {"sex": ColumnLabels(values={"f": "a woman", "m": "a man"})})
    release = release_of(labels=labels)
    assert any("a woman" in row[0] for row in riskiest(release))
    words = Outline(release_page(release)).words
    assert "north · a man · clerk" in words and "north · m · clerk" not in words


def test_without_keys_there_is_no_risk_to_show() -> None:
    release = release_of(ReleasePlan.of([JOINT]))
    words = Outline(release_page(release)).words
    assert "The plan names no key variables" in words and "The plan sets no limit" in words
    assert riskiest(release) == []
    refused(InputError, "no risk", plot_release_risk, release)
    assert "The plan names no key variables" in release_report(release, "out")[0]


@pytest.mark.parametrize(
    ("cells", "drawn"),
    [
        ({("f", "x"): 30, ("m", "x"): 12}, True),  # a constant column has no association
        ({("f", "x"): 1}, True),
        ({("f", None): 30, ("m", None): 12}, False),
    ],
)
def test_a_picture_with_nothing_to_show_is_left_out(cells: dict[tuple[object, ...], int], drawn: bool) -> None:
    variables = ["sex", "constant"] if drawn else ["sex"]
    plan = ReleasePlan.of(
        [{"variables": [name], "method": "method1", "theta": "0.5"} for name in variables], keys=["sex", "constant"]
    )
    table = CellTable.of(["sex", "constant"], cells)
    release = assessed(table, plan)
    words = Outline(release_page(release)).words
    assert "What goes with what" not in words and "Where the records of sex go" in words
    assert re.findall(r"Figure (\d)\.", words) == [str(1 + i) for i in range(2 + len(variables))]


def test_records_with_the_same_keys_that_are_randomized_differently_are_told_apart() -> None:
    """Nobody else of the same keys stays: the poor are found more easily than before."""
    cells = {("a", "low"): 1, ("a", "high"): 1, ("b", "low"): 60, ("b", "high"): 60}
    table = CellTable.of(["job", "income"], cells)
    fixed = {
        "variables": ["job"],
        "within": ["income"],
        "method": "fixed",
        "orientation": "columns",
        "categories": ["a", "b"],
        "matrix": {"low": [["1", "0"], ["0", "1"]], "high": [["1/10", "0"], ["9/10", "1"]]},
    }
    plan = ReleasePlan.of([fixed], keys=["job"])
    release = assessed(table, plan)
    first = [cell.replace("\u00a0", " ") for cell in riskiest(release)[0]]
    assert first[:5] == ["a", "low", "1", "2", "50 %"] and first[5] == "100 %"
    words = Outline(release_page(release)).words
    assert "1 record can be re-identified with certainty by an intruder who knows job." in words
    assert (
        "depending on income" in words
        and "1 record has a higher probability than before, by up to 50.0 percentage points." in words
    )
    assert "With the same key values" in words


@pytest.mark.parametrize("mixed", [False, True])
def test_a_swap_is_told_as_what_it_is(mixed: bool) -> None:
    swap = {"variables": ["job"], "method": "swap", "base": "method1", "theta": "0.6"}
    release = release_of(ReleasePlan.of([swap, INCOME] if mixed else [swap], keys=["job"]))
    words = Outline(release_page(release)).words
    assert "Labels of job were exchanged" in words and "exactly that of the original file" in words
    assert ("In income each record was randomized independently" in words) is mixed
    assert "Each record was randomized" not in words


def test_the_terminal_answers_first_and_fits(release: Release) -> None:
    point = RiskUtilityPoint(label="match 0.9", risk=0.8, changed=0.1, matches=3.0, above=0, chosen=True)
    never = RiskUtilityPoint(label="match 0.1", risk=np.nan, changed=np.nan, matches=np.nan, above=0, note="too much")
    done = release_report(release, "out")
    dry = dry_run_report(release, [point, never], source="people.csv", plan="my plan.toml")
    assert "people" not in done[0] and done[0].startswith(
        f"Released {FILE.n:,} records to out/. Highest probability that"
    )
    assert done[-1] == "Next: maskwell verify out"
    assert dry[0].startswith("Nothing is written yet.") and "match 0.1: too much" in "\n".join(dry)
    assert dry[-1] == "Next: maskwell release people.csv --plan 'my plan.toml' -o released"
    assert max(map(len, [*done, *dry])) <= WIDTH


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ({"forbid": {"a": ["x"], "b": ["y", "z"]}}, "No record has a x with b y or z."),
        ({"variable": "a", "steps": 1}, "a moves by at most one step of its order."),
        ({"variable": "a", "steps": 2}, "a moves by at most 2 steps of its order."),
        ({"variable": "a", "never": [["x", "y"]]}, "a never moves from x to y."),
        ({"variable": "a", "only": [["x", "y"]]}, "a moves only from x to y."),
    ],
)
def test_rules_are_sentences(rule: dict[str, object], words: str) -> None:
    from maskwell.microdata.plans.edit_rules import read_rule

    assert rule_in_words(read_rule(rule, "a rule")) == words


# ---- what stays right, after all stages


APART = [
    {"variables": ["region", "sex"], "method": "method1", "theta": "0.5"},
    {"variables": ["income"], "within": ["region"], "method": "method1", "theta": "0.5"},
]


def test_page_terminal_and_documents_agree_on_what_stays_right() -> None:
    """Income is randomized within a region that was moved without it: the true expected counts of it are others."""
    release = release_of(ReleasePlan.of(APART))
    first, second = (dict(_stage_facts(release, stage)) for stage in release.stages)
    assert first["Preserved"] == "counts of region and sex are preserved on average"
    assert second["Preserved"].startswith("counts are not preserved: region was randomized earlier, separately from")
    text = " ".join(" ".join(release_report(release, "out")).split())
    assert "Preserved on average: counts of region, sex. Not preserved, users need the matrix: income" in text
    groups = public_receipt(release)["groups"]
    done, advice = processing(groups), advice_of(groups, None)
    assert "counts of region and sex are preserved on average" in done[0] and "counts are not preserved" in done[1]
    assert "biased" in advice[1]
    assert {name: about["invariant"] for name, about in release.to_dict()["variables"].items()} == {
        "region": True,
        "sex": True,
        "income": False,
    }
