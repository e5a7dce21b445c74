"""Which tables of a release may be counted as they stand; checked against the expected table of every small release."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.releases import COLUMNS, ROWS, Row, group_of, plan_of, release_of, stage_within

from maskwell.errors import ParameterError
from maskwell.microdata import Receipt
from maskwell.microdata.analysis.matrix_estimates import composed
from maskwell.microdata.analysis.table_routes import assigned, route_of
from maskwell.microdata.folder.receipt import Group, receipt_from_dict
from maskwell.microdata.folder.receipt_contents import public_receipt
from maskwell.microdata.stages.stage import is_kept

NAMES = ("a", "b", "c")
CELLS = [*product("xy", "uv", "st")]


def expected_tables(rows: Sequence[Row], groups: Sequence[Group]) -> dict[tuple[str, ...], bool]:
    """For each set of columns whether its expected released table is the true one."""
    counts = Counter(rows)
    cells = sorted(counts)
    P, released = composed(groups, NAMES, cells)
    after = dict(zip(released, P @ np.array([counts[c] for c in cells], dtype=float), strict=True))
    found = {}
    for size in (1, 2, 3):
        for places in combinations(range(3), size):
            change: Counter[Row] = Counter()
            for cell in {*counts, *after}:
                change[tuple(cell[i] for i in places)] += after.get(cell, 0.0) - counts[cell]
            found[tuple(NAMES[i] for i in places)] = max(map(abs, change.values())) < 1e-9
    return found


@st.composite
def releases(draw: st.DrawFn) -> tuple[list[Row], list[Group]]:
    counts = draw(st.lists(st.integers(1, 9), min_size=8, max_size=8))
    rows = [cell for cell, n in zip(CELLS, counts, strict=True) for _ in range(n)]
    order = draw(st.permutations(NAMES))
    cut = draw(st.integers(1, 3))
    variables = [order[:cut], *([[name] for name in order[cut:]])]
    groups = []
    for own in variables[: draw(st.integers(1, len(variables)))]:
        others = [name for name in NAMES if name not in own]
        within = draw(st.lists(st.sampled_from(others), unique=True)) if others else []
        groups.append(group_of(stage_within(rows, NAMES, own, within)))
    return rows, groups


@settings(max_examples=30)
@given(releases())
def test_a_table_that_is_said_to_be_kept_is_kept(made: tuple[list[Row], list[Group]]) -> None:
    rows, groups = made
    for columns, unbiased in expected_tables(rows, groups).items():
        if is_kept(groups, columns):
            assert unbiased, (columns, [(g.variables, g.within) for g in groups])


@pytest.mark.parametrize(
    ("groups", "kept", "not_kept"),
    [
        ([("a", "")], ["a", "b", "c", "bc"], ["ab", "ac", "abc"]),
        ([("a", "b")], ["a", "ab", "c"], ["ac", "abc"]),
        ([("ab", "")], ["a", "ab"], ["ac", "abc"]),
        ([("ab", "c")], ["a", "ab", "ac", "abc"], []),
        ([("a", ""), ("b", "")], ["a", "b"], ["ab"]),
        ([("a", "b"), ("b", "a")], ["a", "b", "ab"], ["ac"]),  # one within the other: Theorem 4.2
        ([("a", ""), ("b", "a")], ["a"], ["b", "ab"]),  # b within an a that was moved without b
        ([("b", "a"), ("a", "")], ["a", "b"], ["ab"]),
    ],
)
def test_which_tables_are_kept(groups: list[tuple[str, str]], kept: list[str], not_kept: list[str]) -> None:
    rng = np.random.default_rng(5)
    rows = [cell for cell in CELLS for _ in range(int(rng.integers(2, 30)))]
    made = [group_of(stage_within(rows, NAMES, [*variables], [*within])) for variables, within in groups]
    truth = expected_tables(rows, made)
    for columns in kept:
        assert is_kept(made, [*columns]) and truth[tuple(columns)], columns
    for columns in not_kept:
        assert not is_kept(made, [*columns]) and not truth[tuple(columns)], columns


def receipt(*groups: tuple[str, str]) -> Receipt:
    stages = [stage_within(ROWS, COLUMNS, v.split("+"), w.split("+") if w else []) for v, w in groups]
    return receipt_from_dict(public_receipt(release_of(stages, plan_of(stages))))


def test_the_route_of_each_kind_of_table() -> None:
    found = receipt(("roof", "region"), ("sex", ""))
    assert route_of(found, ["region"]).kind == "open"
    assert route_of(found, ["region", "roof"]).kind == "kept"
    assert route_of(found, ["sex"]).kind == "kept"
    assert route_of(found, ["roof", "sex"]).kind == "bounded"
    few = replace(found, groups=tuple(replace(group, most_changed=1.0) for group in found.groups))
    with pytest.raises(
        ParameterError, match="roof and sex is not kept, and the receipt does not tell how much of roof"
    ):
        route_of(few, ["roof", "sex"])


def test_no_table_of_columns_with_one_draw_for_a_unit() -> None:
    """Neither a survey of a known matrix nor a sampling plan knows that the draws of a unit are one.

    The published inflation of a single column does.
    """
    made = receipt(("roof", "region"), ("sex", ""))
    units = replace(made, groups=tuple(replace(group, each="unit") for group in made.groups))
    assert route_of(units, ["roof"]).by_unit
    unknown = replace(units, groups=tuple(replace(group, inflation={}) for group in units.groups))
    refused = [(units, ["region", "sex"], False), (units, ["roof"], True), (unknown, ["roof"], False)]
    for told, columns, weighted in refused:
        with pytest.raises(ParameterError, match="one draw for all records of a unit"):
            route_of(told, columns, weighted=weighted)
    assert route_of(units, ["region"]).kind == "open"


def test_swaps_are_exact_and_biased_counts_are_not_direct() -> None:
    swap = Group(variables=("roof",), within=(), linked=(), method="swap", invariance="counts")
    fixed = Group(variables=("sex",), within=(), linked=(), method="pram", invariance="none")
    found = Receipt(audience="public", groups=(swap, fixed), rows=9, weights=None, demonstration=False)
    assert route_of(found, ["roof"]).kind == "exact"
    with pytest.raises(ParameterError, match="does not tell how much of sex was changed"):
        route_of(found, ["sex"])
    group = Group(variables=("roof",), within=(), linked=("roof_group",), method="pram", invariance="counts")
    assert is_kept([group], ["roof", "roof_group"]) and is_kept([group], ["roof_group"])
    assert not is_kept([group], ["roof_group", "sex"])
    roof = Group(variables=("roof",), within=("sex",), linked=(), method="pram", invariance="counts")
    sex = Group(variables=("sex",), within=("roof",), linked=(), method="pram", invariance="weights")
    assert not is_kept([roof, sex], ["roof", "sex"])


def test_designs_of_whole_columns_are_estimated_as_those_of_a_survey() -> None:
    rows = [cell for cell in CELLS for _ in range(5)]
    made = tuple(group_of(stage_within(rows, NAMES, names)) for names in (["a"], ["b", "c"]))
    found = Receipt(audience="internal", groups=made, rows=40, weights=None, demonstration=False)
    assert assigned(route_of(found, ["a", "b", "c"])) is None  # worked out from the file
    found = replace(found, groups=tuple(replace(group, invariance="none") for group in made))
    both = assigned(route_of(found, ["a", "b", "c"]))
    assert [columns for columns, _ in both] == [("a",), ("b", "c")]
    assert both[1][1].inputs.labels[0] == ("u", "s")
    assert assigned(route_of(found, ["a", "b"])) is None  # c would have to be summed over
    kept = replace(found, groups=made)
    assert assigned(route_of(kept, ["a"])) is None  # counted as it stands
