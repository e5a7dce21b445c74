"""What a plan asks for in numbers is kept by every record it covers, or the release is refused."""

from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tests.support import releases
from tests.support.quiet import refused
from tests.support.together import together

import maskwell as mw
from maskwell import Release, ReleasePlan, SeededRandom
from maskwell.core.cells import CellTable
from maskwell.errors import InfeasibleError
from maskwell.microdata.assessment import Judge, assess_tables
from maskwell.microdata.kept_bounds import (
    bound_is_kept,
    bounds_kept,
    check_bounds,
    check_kept,
    check_match,
    exempted,
    is_kept_as_drawn,
)
from maskwell.microdata.publication import release_table
from maskwell.microdata.risk.intruders import INTRUDERS
from maskwell.microdata.true_file import tables_of
from maskwell.reports.pages.release_page import release_page
from maskwell.reports.text.release_report import dry_run_report, refusal, release_report
from maskwell.reports.text.release_words import promises

CELLS = {("n", "a"): 30, ("n", "b"): 20, ("s", "a"): 25, ("s", "b"): 25, ("w", "a"): 3}
"""The west has one value only."""


def assessed(protect: dict[str, Any], cells: dict[Any, int] | None = None, **release: Any) -> Release:
    return planned(ReleasePlan.of([{"variables": "x", **protect}], **release), cells or CELLS)


def planned(plan: ReleasePlan, cells: dict[Any, int]) -> Release:
    return releases.assessed(CellTable.of(["region", "x"], cells), plan)


BOUNDS = [
    {"posterior": "0.6"},
    {"posterior_own": "0.6"},
    {"odds": "3/2"},
    {"guess": "0.6"},
    {"changed_at_least": "0.2", "posterior": "0.75"},
]


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize("bounds", BOUNDS, ids=lambda bounds: next(iter(bounds)))
def test_a_cell_with_one_value_breaks_what_is_asked_of_released_values(bounds: dict[str, str]) -> None:
    optimal = {"method": "optimal", "within": ["region"], **bounds}
    release = assessed(optimal)
    caught = refused(InfeasibleError, "3 records are alone in their cell", check_bounds, release)
    assert 'exempt = ["alone"]' in caught.hint and "[[protect]] number 1" in caught.message
    assert any(one.kept is False for one in promises(release))
    allowed = assessed({**optimal, "exempt": ["alone"]})
    check_kept(allowed)
    assert all(one.kept for one in promises(allowed))
    assert exempted(allowed) == [
        "the bounds of x within region do not cover 3 records with the only value of their cell"
    ]
    assert any(
        "do not cover 3 records" in " ".join(line.split()) for line in [" ".join(release_report(allowed, "out"))]
    )
    assert "do not cover 3 records with the only value of their cell" in release_page(allowed)


@pytest.mark.parametrize("bounds", [{"factor": "3"}, {"parity": "3"}, {"least_kept": "0.3", "posterior": "0.9"}])
def test_bounds_that_a_single_value_does_not_break(bounds: dict[str, str]) -> None:
    """Within its cell a single value tells nothing that was not known."""
    cells = {key: n for key, n in CELLS.items() if key[0] != "w" or "posterior" not in bounds}
    check_kept(assessed({"method": "optimal", "within": ["region"], **bounds}, cells))


def test_a_refused_plan_is_told_in_the_first_line_and_caps_take_the_place_of_a_bound() -> None:
    release = assessed({"method": "optimal", "within": ["region"], "posterior": "0.6"})
    lines = dry_run_report(release, [], source="a", plan="b")
    first = " ".join(" ".join(lines[:2]).split())
    assert first.startswith("The plan would be refused: [[protect]] number 1: posterior = 0.6 is broken (1): 3 records")
    assert refusal(release) is not None and lines[-1].startswith("Next: change the plan")
    cells = {("n", "a"): 40, ("n", "b"): 30, ("n", "c"): 30}
    release = assessed({"method": "optimal", "posterior_own": "0.6", "caps": {"a": "0.9", "b": "0.5"}}, cells)
    check_kept(release)
    found = {(one.name, one.label): one for one in bounds_kept(release)}
    assert {label for _, label in found} == {None, "a", "b"} and all(one.kept for one in found.values())
    assert found["posterior_own", None].value <= 0.6 + 1e-9 and found["posterior_own", "b"].value <= 0.5 + 1e-9


def test_missing_values_that_stay_break_a_bound_unless_they_are_exempt() -> None:
    cells = {("n", "a"): 30, ("n", "b"): 20, ("n", None): 2}
    for method in ({"method": "optimal", "posterior": "0.7"}, {"method": "uniform", "gamma": "3"}):
        release = assessed(method, cells)
        refused(InfeasibleError, "2 records have no value", check_bounds, release)
        check_kept(assessed({**method, "exempt": ["missing"]}, cells))
        check_kept(assessed(method, cells, missing="category"))
    told = exempted(assessed({"method": "uniform", "gamma": "3", "exempt": ["missing"]}, cells))
    assert told == ["the bounds of x do not cover 2 records without a value"]
    release = assessed({"method": "optimal", "posterior": "0.6", "exclude": ["c"]}, {**CELLS, ("n", "c"): 4})
    check_kept(release)
    assert exempted(release) == ["the bounds of x do not cover 4 records with an excluded label"]
    # Larger bounds and merged labels, which it named before, would not help.
    table = {"x": ["a"] * 9 + ["b"] * 9 + ["c"] * 9 + [None], "y": ["u"] * 28}
    protect = {"variables": "x", "method": "lowered", "match": "0.4"}
    with pytest.raises(InfeasibleError, match="1 record has no value") as caught:
        release_table(table, ReleasePlan.of([protect], missing="unchanged"))
    assert 'exempt = ["missing"]' in caught.value.hint
    release_table(table, ReleasePlan.of([{**protect, "exempt": ["missing"]}], missing="unchanged"))


def test_a_bound_on_the_match_of_one_protection_is_measured_or_refused() -> None:
    """The west has one cell of three: whoever knows the region finds its records with one chance in three."""
    for given in ({"xi": "0.3"}, {"match": "0.3"}):
        method = {"method": "inverse-frequency", "within": ["region"], **given}
        release = assessed(method)
        (one,) = bounds_kept(release)
        assert (one.name, one.value) == ("match", pytest.approx(1 / 3))
        refused(InfeasibleError, r"is broken \(0\.334\): 3 records are alone", check_bounds, release)
        check_kept(assessed({**method, "exempt": ["alone"]}))
    check_kept(assessed({"method": "inverse-frequency", "within": ["region"], "xi": "0.4"}))
    cells = {("n", "a"): 1, ("n", "b"): 40}
    with pytest.raises(InfeasibleError, match=r"xi = 0.5 is broken \(0\.\d+\)"):
        check_bounds(assessed({"method": "inverse-frequency", "xi": "0.5"}, cells))


def test_bounds_within_a_randomized_column_are_for_records_that_come_there_caps_too() -> None:
    """Records change their region first: those that a cell then holds are others, some with a value it never had. A
    record of the south that comes to the north keeps its value there, and nobody else has it.
    """
    region = {"variables": "region", "method": "method1", "theta": "0.8"}
    within = {"variables": "x", "within": ["region"], "method": "optimal", "posterior": "0.95"}
    cells = {("n", "a"): 40, ("n", "b"): 10, ("s", "a"): 20, ("s", "b"): 70}

    def two(cells: dict[Any, int], first: dict[str, Any]) -> Release:
        return planned(ReleasePlan.of([first, within]), cells)

    (one,) = bounds_kept(two(cells, region))
    P = np.asarray(two(cells, region).stages[1].design.matrix())
    first, true = np.array([[1 / 5, 4 / 9], [4 / 5, 5 / 9]]), np.array([[40, 10], [20, 70]])  # forty each way
    flows = P * (first @ true).ravel()
    assert one.value == pytest.approx((flows / flows.sum(axis=1, keepdims=True)).max()) and not one.kept
    refused(InfeasibleError, r"posterior = 0.95 is broken \(0\.97\)", check_bounds, two(cells, region))
    with pytest.raises(InfeasibleError, match="move to cells of region without them") as caught:
        check_bounds(two({**cells, ("s", "c"): 30}, region))
    assert "jointly" in caught.value.hint
    check_kept(two({**cells, ("s", "c"): 30}, {**region, "within": ["x"]}))  # both tables are kept on average
    first = {"variables": "x", "within": ["region"], "method": "optimal", "posterior": "0.9"}
    later = {"variables": "region", "method": "method1", "theta": "0.5"}
    even = {("n", "a"): 20, ("n", "b"): 20, ("s", "a"): 20, ("s", "b"): 20}
    said = exempted(planned(ReleasePlan.of([first, later]), even))
    assert any("are for region as before a later [[protect]]" in one for one in said)
    assert not exempted(planned(ReleasePlan.of([later, first]), even))
    cells = {("n", "a"): 10, ("n", "b"): 10, ("s", "a"): 10, ("s", "c"): 10}
    moved = {"variables": "region", "method": "method1", "theta": "0.5"}
    capped = {"variables": "x", "within": "region", "method": "optimal", "caps": {"a": "0.5", "c": "0.5"}}
    a, c = bounds_kept(planned(ReleasePlan.of([moved, capped]), cells))
    assert (a.label, a.arriving, c.label, c.arriving) == ("a", 0, "c", pytest.approx(5))
    assert c.value == 1 and not c.kept
    only = ReleasePlan.of([moved, {**capped, "caps": {"c": "0.5"}}])
    refused(InfeasibleError, "move to cells of region without them", check_bounds, planned(only, cells))


# ---- the intruder that a limit is for

EASY = {
    "method": "fixed",
    "orientation": "columns",
    "categories": ["a", "b", "c"],
    "matrix": [["1/5", "1/10", "0"], ["0", "9/10", "1/2"], ["4/5", "0", "1/2"]],
}
"""The only a mostly becomes a c."""
PEOPLE = {("n", "a"): 1, ("n", "b"): 40, ("n", "c"): 3}


def test_a_limit_is_for_whoever_looks_where_it_is_easiest_unless_the_plan_says_otherwise() -> None:
    default = assessed(EASY, PEOPLE, keys=["x"], match="0.35")
    assert default.risk.after.max_risk == default.risk.after.max_risk_any_release > 0.35
    assert default.risk.after.max_risk_strict <= 0.35
    caught = refused(InfeasibleError, r"above 0\.35", check_match, default)
    assert 'intruder = "own-key"' in caught.hint
    milder = assessed(EASY, PEOPLE, keys=["x"], match="0.35", intruder="own-key")
    check_match(milder)
    first = " ".join(" ".join(release_report(milder, "out")[:4]).split())
    assert "an intruder who knows x and considers only records released with the person's own key values" in first
    assert "(limit 35 %);" in first and "% for an intruder who uses the most revealing released value." in first


def test_a_file_is_drawn_until_it_keeps_the_limit_against_all_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = {"x": ["a"] + ["b"] * 2 + ["c"] * 2 + ["d"] * 3}
    protect = {"variables": "x", "method": "inverse-frequency", "xi": "0.51"}
    open_ = release_table(rows, ReleasePlan.of([protect], keys=["x"], match="0.51")).release
    assert open_.risk is not None and open_.risk.after is not None and open_.attempts == 1
    for _ in range(3):
        plan = ReleasePlan.of([protect], keys=["x"], match="0.51", intruder="released-counts")
        found = release_table(rows, plan).release
        assert found.risk is not None and found.risk.after is not None
        assert (found.risk.after.max_risk_released_counts or 1) <= 0.51 + 1e-9
        assert all(one.kept for one in promises(found))
        assert (found.attempts > 1) == any(f"drawn {found.attempts} times" in note for note in found.notes)
    never = ReleasePlan.of([{**protect, "xi": "0.5"}], keys=["x"], match="0.5", intruder="released-counts")
    table = CellTable.of(["x"], {("a",): 1, ("b",): 2, ("c",): 2, ("d",): 3})
    release = assess_tables(dict.fromkeys(tables_of(never), table), never)
    risk = Judge(never, release.stages, release.file, released=release.tables).risk()
    assert not is_kept_as_drawn(never, risk, 1, last=False)
    with pytest.raises(
        InfeasibleError,
        match=r"after 3 draws, an intruder comparing all counts is right with probability 0\.61",
    ):
        is_kept_as_drawn(never, risk, 3, last=True)
    refused(InfeasibleError, "in the drawn file, an intruder", is_kept_as_drawn, never, risk, 1, last=True)


WEIGHED = {"x": ["a"] * 10 + ["b"] * 90 + ["c"] * 50, "w": [100] * 10 + [1] * 90 + [10] * 50}


@pytest.mark.parametrize("bound", [{"posterior": "0.7"}, {"posterior_own": "0.7"}, {"guess": "0.7"}, {"odds": "2"}])
def test_bounds_are_for_records_whatever_they_weigh(bound: dict[str, str]) -> None:
    """Worked out with sums of weights, a bound of 70 % was called kept where 99 % of the released b were true."""
    protect = {"variables": "x", "method": "optimal", **bound}
    release = release_table(WEIGHED, ReleasePlan.of([protect], weights="w", accept=["w"])).release
    (stage,), (one,) = release.stages, bounds_kept(release)
    flows = stage.design.matrix() * stage.counts
    if "posterior" in bound:
        assert (flows / flows.sum(axis=1, keepdims=True)).max() <= 0.7 + 1e-9
        assert release.to_dict()["variables"]["x"]["max_posterior"] == pytest.approx(one.value)
    assert one.kept and stage.invariance == "counts"
    weights = ReleasePlan.of([{**protect, "invariance": "weights"}], weights="w", accept=["w"])
    if "guess" in bound:  # of the matrices for weights that are best, the one that is taken keeps it for records, too
        (stage,) = release_table(WEIGHED, weights).release.stages
        records = stage.design.matrix() * np.array([10, 90, 50])
        assert records.max(axis=1).sum() / 150 <= 0.7
        return
    caught = refused(InfeasibleError, "is broken", release_table, WEIGHED, weights)
    assert 'invariance = "counts"' in caught.hint


@together("n", [47, 48, 49, 50, 98, 99, 103, 107])
def test_cells_as_large_as_the_limit_asks_need_no_simulation(n: int) -> None:
    """49 times the float 1/49 is below one."""
    frame = {"x": ["a"] * n + ["b"] * 3 * n, "y": ["u", "v"] * 2 * n}

    def publish(match: object) -> None:
        swap = {"variables": "x", "method": "swap", "base": "method1", "theta": "1/2"}
        asked = {"keys": ["x"], "match": match, "intruder": "all-columns", "demonstration": True}
        mw.release(frame, ReleasePlan.of([swap], **asked), random=SeededRandom(1))

    publish(f"1/{n}")
    publish(1 / n)
    refused(InfeasibleError, r"cannot be simulated|correct match above", publish, f"1/{n + 1}")


@together(("bound", "asked", "kept"), [("match", "1/49", True), ("match", "1/50", False), ("least_kept", "1/49", True)])
def test_a_bound_that_is_met_exactly_is_kept_whatever_the_last_bits(bound: str, asked: str, kept: bool) -> None:
    for steps in range(-4, 5):
        value = 1 / 49 + steps * np.spacing(1 / 49)
        assert bound_is_kept(bound, Fraction(asked), value) is kept
        assert bound_is_kept(bound, float(Fraction(asked)), value) is kept


def test_an_intruder_who_is_right_exactly_as_often_as_allowed_is_allowed() -> None:
    """Shares of right picks are simulated: 0.3 is three of ten, or three tenths and a bit."""

    def checked(share: float) -> None:
        plain = SimpleNamespace(joined=SimpleNamespace(to_spare=share), risk=None, stages=())
        plain.plan, plain.file = SimpleNamespace(keys=()), SimpleNamespace(others=())
        INTRUDERS["all-columns"].check_assessed(plain, Fraction(3, 10))

    checked(0.1 + 0.2)
    checked(0.3)
    refused(InfeasibleError, r"re-identifies 0\.3", checked, 0.3 + 1e-6)
