"""No intruder who uses all at once that a headline grants finds more than is printed, in small files of every form.

They see all released columns, and which records belong together where units are published. `python -m
tests.support.granted_cases 2000` tries so many cases; here are some of each form.
"""

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.support.granted import best_given_all, by_agents, listed_best, world_of
from tests.support.granted_cases import FORMS, Tried, case_of, tried

import maskwell as mw
from maskwell.core.randomness import SeededRandom
from maskwell.errors import InfeasibleError, PlanError, TooLargeError
from maskwell.microdata import assessment
from maskwell.microdata.plans.release_plan import ReleasePlan
from maskwell.microdata.publication import release_table
from maskwell.microdata.risk import joint_disclosure
from maskwell.microdata.risk.joint_disclosure import chances_by_number
from maskwell.reports.text.release_report import release_report

EACH = 3


@cache
def found(number: int) -> Tried:
    return tried(number)


def numbers_of(form: str) -> list[int]:
    return [FORMS.index(form) + len(FORMS) * i for i in range(EACH)]


@pytest.mark.parametrize("form", FORMS)
def test_nobody_finds_more_than_is_printed(form: str) -> None:
    assert [(n, fault) for n in numbers_of(form) if (fault := found(n).fault)] == []


def test_most_forms_are_released_with_a_figure() -> None:
    kept = {form for form in FORMS for n in numbers_of(form) if found(n).outcome == "kept"}
    assert len(kept) >= len(FORMS) - 3


def test_a_figure_of_the_keys_alone_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Negative control: without the joint table the same cases are above what is printed, in many forms."""
    monkeypatch.setattr(assessment, "with_joint_table", lambda report, *_: report)
    above = {FORMS[n % len(FORMS)] for n in range(4 * len(FORMS)) if tried(n).fault}
    assert {"joint", "apart", "units shown"} <= above and len(above) >= 6


def test_a_look_at_fewer_columns_may_find_more_than_the_finest(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two other randomized columns one is left out; of very many columns not all looks are counted, as is said."""
    coarse = 718, case_of(718, "three apart")
    assert not tried(*coarse).fault
    monkeypatch.setattr(joint_disclosure, "MOST_LOOKS", 1)
    least = tried(*coarse)
    assert least.fault.startswith("one look") and least.release is not None
    assert "Not counted: matching on some smaller sets of randomized columns" in text_of(least.release)


def test_the_intruder_agrees_with_a_list_of_all_drawn_files() -> None:
    columns = ("a", "u", "h")
    rows = [("a", "x", "1"), ("a", "y", "1"), ("b", "x", "2"), ("b", "x", "3")]
    table = {name: [row[i] for row in rows] for i, name in enumerate(columns)}
    plan = ReleasePlan.of(
        [
            {"variables": ["a"], "method": "method1", "theta": "0.8"},
            {"variables": ["u"], "method": "uniform", "gamma": 3},
        ],
        keys=["a"],
        unit="h",
        accept=["h", "record-order"],
        order="kept",
        demonstration=True,
    )
    release = release_table(table, plan, random=SeededRandom(1)).release
    for unit in (None, "h"):
        world = world_of(rows, columns, release.stages, ["a"], unit=unit, shown=unit is not None, hidden=["h"])
        released = [agent.law[0][0] for agent in world.agents]
        assert best_given_all(world, released) == pytest.approx(listed_best(world, released), abs=1e-12)


def test_published_units_count_beside_another_column_where_all_draws_are_for_units() -> None:
    homes = [("a", "11", "y"), ("b", "22", "x"), ("a", "12", "x"), ("a", "22", "y"), ("a", "12", "x"), ("b", "12", "y")]
    rows = [(town, age, wage, str(i)) for i, (town, ages, wage) in enumerate(homes) for age in ages]
    columns = ("town", "age", "wage", "home")
    table = {name: [row[i] for row in rows] for i, name in enumerate(columns)}
    protect = [
        {"variables": [name], "method": "method1", "theta": theta, "each": "unit"}
        for name, theta in (("town", "1/2"), ("wage", "1/10"))
    ]
    options = {"keys": ["town", "age"], "unit": "home", "accept": ["home"], "demonstration": True}
    above = 0
    for seed in range(6):
        done = release_table(table, ReleasePlan.of(protect, **options), random=SeededRandom(seed))
        release, released = done.release, [*zip(*done.data.values(), strict=True)]
        world = world_of(rows, columns, release.stages, ["town", "age"], unit="home", shown=True)
        found = best_given_all(world, [*by_agents(released, [*done.data], "home", lambda row: row[:3])])
        assert release.risk.worst >= found - 1e-9
        above += found > release.risk.after.max_risk + 1e-9
    assert above, "no file in which units beside the other column find more than the limit speaks of"


def test_the_chances_of_one_look_are_those_of_all_ways() -> None:
    random = np.random.default_rng(4)
    for _ in range(20):
        n = random.integers(1, 3, size=3)
        p = np.where(random.random(3) < 0.2, 1.0, random.random(3))
        chances = dict.fromkeys(range(1, int(n.sum()) + 1), 0.0)
        ways = dict.fromkeys(chances, 0.0)
        each = np.repeat(p, n)
        for drawn in np.ndindex(*[2] * len(each)):
            q, t = float(np.prod(np.where(drawn, each, 1 - each))), int(sum(drawn))
            if t:
                ways[t] += q
                chances[t] += q * drawn[0] / t
        expected = [chances[t] / ways[t] for t in chances if ways[t] > 0]
        found = [float(one[0]) for one in chances_by_number(n, p, np.array([0]), 10)]
        np.testing.assert_allclose(found, expected, atol=1e-12)


# ---- where no figure is known


ROWS = [("a", "x"), ("a", "y"), ("b", "x"), ("b", "x"), ("b", "y"), ("c", "x"), ("c", "y"), ("c", "y")]
TABLE = {"a": [a for a, _ in ROWS], "u": [u for _, u in ROWS]}
SWAPPED = [
    {"variables": ["a"], "method": "swap", "base": "sequential"},
    {"variables": ["u"], "method": "method1", "theta": "0.5"},
]
APART = [{**SWAPPED[1], "variables": ["a"]}, SWAPPED[1]]


def release_of(protect: list[dict[str, object]], **options: object) -> object:
    plan = ReleasePlan.of(protect, keys=["a"], demonstration=True, **options)
    return release_table(TABLE, plan, random=SeededRandom(2)).release


def text_of(release: object) -> str:
    return " ".join(" ".join(release_report(release, "released")).split())


def test_the_headline_says_where_no_figure_is_known_and_names_no_smaller_one_as_the_worst() -> None:
    release = release_of(SWAPPED)
    assert "no figure can be given for an intruder who also uses the released values of u" in text_of(release)
    assert release.risk.headline["worst"] is None


def test_a_limit_without_a_figure_is_refused_and_the_ways_out_lead_out() -> None:
    with pytest.raises(InfeasibleError) as caught:
        release_of(SWAPPED, match="0.45")
    assert "cannot be checked against an intruder who also uses u" in caught.value.message
    assert 'accept = ["joint-table"]' in caught.value.hint and "one [[protect]]" in caught.value.hint
    accepted = release_of(SWAPPED, match="0.45", accept=["joint-table"])
    assert accepted.risk.joint_table.accepted
    assert "Not counted: the released values of u, which the plan accepts." in text_of(accepted)
    together = release_of([{**SWAPPED[0], "variables": ["a", "u"]}], match="0.45")
    assert together.risk.headline["worst"] is not None


def test_a_joint_table_that_is_too_large_to_compare_has_no_figure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(joint_disclosure, "realised_risks", lambda *_: None)
    release = release_of(APART)
    assert "no figure can be given for an intruder who also compares all released counts" in text_of(release)
    assert release.risk.headline["worst"] is None and release.risk.joint_table.one_look is not None


def test_a_figure_that_only_the_drawn_file_is_too_large_for_is_that_of_the_true_file(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    whole, parts = release_of(APART), joint_disclosure.arrival_parts

    def too_large(*given: Any, released: Any = None) -> Any:
        if released is not None:
            raise TooLargeError("the-matrices-of-these-columns", most_transitions=0)
        return parts(*given)

    monkeypatch.setattr(joint_disclosure, "arrival_parts", too_large)
    release = release_of(APART)
    assert release.risk.joint_table.one_look == whole.risk.joint_table.one_look
    assert release.risk.joint_table.all_counts is None and release.risk.headline["worst"] is None


@pytest.mark.parametrize("lost", [True, False])
def test_a_figure_that_is_lost_or_larger_once_the_file_is_drawn_is_held_against_the_limit(
    lost: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    release_of(APART, match="0.45")
    found = joint_disclosure._found

    def after_the_draw(report: Any, stages: Any, joint: Any) -> Any:
        chances = found(report, stages, joint)
        more = None if lost else np.minimum(1.0, 2 * chances.one_look)
        return chances if joint.released is None else replace(chances, one_look=more)

    monkeypatch.setattr(joint_disclosure, "_found", after_the_draw)
    with pytest.raises(InfeasibleError) as caught:
        release_of(APART, match="0.45")
    assert (
        "cannot be checked against an intruder" if lost else "keep a probability of a correct match above"
    ) in caught.value.message


def test_published_units_that_are_too_many_have_no_figure() -> None:
    labels = np.random.default_rng(5).choice([*"aaabbbccd"], size=400).tolist()
    many = {"a": ["e", *labels], "h": [str(i // 2) for i in range(len(labels) + 1)]}
    options = {"keys": ["a"], "unit": "h", "demonstration": True}
    plan = ReleasePlan.of([APART[0]], accept=["h"], match="0.9", **options)
    with pytest.raises(InfeasibleError) as caught:
        release_table(many, plan, random=SeededRandom(2))
    assert "an intruder who also uses h" in caught.value.message and "drop the unit" in caught.value.hint
    for accept in ([], ["h", "joint-table"]):  # the units are not published, or the intruder is left out
        plan = ReleasePlan.of([APART[0]], accept=accept, match="0.9", **options)
        assert release_table(many, plan, random=SeededRandom(2)).release.risk.headline["kept"]


# ---- the order of the records


SORTED = {"a": ["a", *["b"] * 199, *["c"] * 200]}


def ordered(values: list[str], **options: object) -> str:
    plan = ReleasePlan.of(
        [{"variables": ["a"], "method": "method1", "theta": "1"}], keys=["a"], demonstration=True, **options
    )
    return text_of(release_table({"a": values}, plan, random=SeededRandom(1)).release)


def test_a_kept_order_that_reveals_a_key_is_refused() -> None:
    with pytest.raises(PlanError) as caught:
        ordered(SORTED["a"], order="kept")
    assert "may reveal the original values of a" in caught.value.message and 'order = "shuffled"' in caught.value.hint
    assert "order" not in ordered(SORTED["a"])  # the way out
    told = ordered(SORTED["a"], order="kept", accept=["record-order"])
    assert "Not counted: what the preserved order of the records reveals." in told


@pytest.mark.parametrize(
    "values",
    [
        [str(i) for i in range(1000, 1100)],  # each label once, in order
        [str(1000 + (i if i % 2 else 99 - i)) for i in range(100)],  # each label once, in a zigzag
        [label for label in "bcad" for _ in range(40)],  # equal labels together
        ["a", "b"] * 4,  # a file too small for any test
        np.random.default_rng(3).permutation(SORTED["a"]).tolist(),  # random here, but known from another file perhaps
    ],
)
def test_an_order_is_kept_only_where_that_is_accepted(values: list[str]) -> None:
    with pytest.raises(PlanError):
        ordered(values, order="kept")
    assert "Not counted" in ordered(values, order="kept", accept=["record-order"])


def test_an_order_is_kept_where_no_key_is_randomized() -> None:
    plan = ReleasePlan.of([{"variables": ["a"], "method": "method1", "theta": "1"}], order="kept", demonstration=True)
    assert release_table(SORTED, plan, random=SeededRandom(1)).release.shuffled is False


# ---- the same from the files of a release


@pytest.mark.parametrize("published", [False, True])
def test_the_risk_of_a_folder_is_that_of_its_release(tmp_path: Path, published: bool) -> None:
    table = {**TABLE, "h": [str(i // 2) for i in range(len(ROWS))]}
    options = {"unit": "h", "accept": ["h"]} if published else {"drop": ["h"]}
    plan = ReleasePlan.of(APART, keys=["a"], demonstration=True, **options)
    release = mw.release(table, plan, tmp_path / "out", random=SeededRandom(4))
    files = {
        "released": str(tmp_path / "out/public/data.parquet"),
        "receipt": str(tmp_path / "out/internal/receipt.json"),
    }
    told = mw.risk(table, ["a"], **files, unit="h" if published else None).report
    assert told.joint_table == release.risk.joint_table and told.joint_table.all_counts is not None
    assert told.joint_table.unit == ("h" if published else None)
    assert told.headline["worst"] == pytest.approx(release.risk.headline["worst"])
    assert "The intruder also uses the released values of u" in " ".join(str(mw.risk(table, ["a"], **files)).split())


def test_nobody_among_many_with_the_same_keys_needs_a_figure() -> None:
    """Each of N people is as likely as the others to be the target: a limit of one in N holds for everybody."""
    many = {"a": [a for a, _ in ROWS] * 5, "u": [u for _, u in ROWS] * 5}  # ten people at least share a key
    plan = ReleasePlan.of(SWAPPED, keys=["a"], match="0.1", demonstration=True)
    risk = release_table(many, plan, random=SeededRandom(2)).release.risk
    assert risk.headline["kept"] and risk.headline["worst"] == pytest.approx(0.1)
