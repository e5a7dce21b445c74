"""Tables that a plan keeps: exact expectations from the matrices in fractions, tolerances, costs and refusals."""

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest

import maskwell as mw
from maskwell.core.randomness import SeededRandom
from maskwell.errors import InfeasibleError, PlanError
from maskwell.microdata.folder.receipt_contents import public_receipt, schema
from maskwell.microdata.plans.release_plan import read_plan
from maskwell.verbs import dry_run

Cell = tuple[Any, ...]
KEYS = ["region", "age", "sex"]


def people(n: int, seed: int, regions: int = 6, ages: int = 8) -> dict[str, list[Any]]:
    """Records whose work depends on age and sex, with many small cells."""
    random = np.random.default_rng(seed)
    age, sex = random.integers(0, ages, n), random.choice(["f", "m"], n, p=[0.45, 0.55])
    works = random.random(n) < 0.85 - 0.07 * age + np.where(sex == "f", -0.15, 0.1)
    job = np.where(works, "job", np.where(random.random(n) < 0.5, "none", "other"))
    region = random.choice([f"r{i}" for i in range(regions)], n)
    return {"region": region.tolist(), "age": age.tolist(), "sex": sex.tolist(), "work": job.tolist()}


def mixing(keep: Any, match: Any = "0.2", keys: Sequence[str] = (), **more: Any) -> dict[str, Any]:
    """With key variables, a linkage attack is simulated, too, which takes its time."""
    release = {"keep": keep, "demonstration": True} | ({"keys": [*keys]} if keys else {})
    return {"release": release, "protect": [{"variables": KEYS, "method": "mixing", "match": match} | more]}


def optimal(keep: Any, **more: Any) -> dict[str, Any]:
    bounds = {"posterior_own": "0.8"} | more
    return {
        "release": {"keep": keep, "demonstration": True},
        "protect": [{"variables": ["age", "sex"], "method": "optimal", **bounds}],
    }


def released(data: Mapping[str, Any], plan: Mapping[str, Any]) -> Any:
    return mw.release(data, plan, random=SeededRandom(7)).release


def expected(data: Mapping[str, Sequence[Any]], stages: Sequence[Any], columns: Sequence[str]) -> dict[Cell, Fraction]:
    """The expected released counts: every record through the exact columns of one stage, by its labels."""
    [stage] = stages
    places = {state: j for j, state in enumerate(stage.states)}
    counts: dict[Cell, Fraction] = defaultdict(Fraction)
    for values in zip(*data.values(), strict=True):
        record = dict(zip(data, values, strict=True))
        state = tuple(record[name] for name in stage.columns)
        for i, p in stage.design.columns_exact(places[state]).items():
            new = record | dict(zip(stage.columns, stage.outputs[i], strict=True))
            counts[tuple(new[name] for name in columns)] += p
    return counts


def largest_bias(data: Mapping[str, Sequence[Any]], stages: Sequence[Any], columns: Sequence[str]) -> Fraction:
    true = Counter(zip(*(data[name] for name in columns), strict=True))
    mean = expected(data, stages, columns)
    return max(abs(mean[cell] - Fraction(true[cell])) for cell in {*true, *mean}) / len(data[columns[0]])


EXACT = {
    "mixing, a key unchanged": mixing([["sex", "work"]], keys=KEYS),
    "mixing, one key": mixing([["sex", "work"]]),
    "mixing, all keys": mixing([[*KEYS, "work"]], match="0.34"),
    "mixing, two tables": mixing([["sex", "work"], ["age", "work"]]),
    "optimal": optimal([["age", "sex", "work"]]),
    "optimal, one key": optimal([["age", "work"]]),
    "method1": {
        "release": {"keep": [["sex", "work"]], "demonstration": True},
        "protect": [{"variables": ["sex"], "method": "method1", "theta": "1/3"}],
    },
    "swap": mixing([["sex", "work"]], method="swap", base="mixing"),
}


@pytest.mark.parametrize("name", EXACT)
def test_tables_are_kept_exactly(name: str) -> None:
    """E(released table) is the true table, in fractions; without keep it is not."""
    data, plan = people(400, 1), EXACT[name]
    tables = plan["release"]["keep"]
    made = released(data, plan)
    assert [largest_bias(data, made.stages, table) for table in tables] == [0] * len(tables)
    known = {frozenset(one.columns): one for one in made.kept}
    without = released(data, plan | {"release": {**plan["release"], "keep": []}})
    for table in tables:
        bias = largest_bias(data, without.stages, table)
        assert bias > 0
        one = known[frozenset(table)]
        assert (one.bias, one.bias_without) == (0, pytest.approx(float(bias)))
        assert one.changed_without == pytest.approx(without.stages[0].expected_changed())
        assert one.changed == pytest.approx(made.stages[0].expected_changed())


def test_every_draw_of_a_small_file() -> None:
    """Six records in two classes of work, and all draws with their probabilities."""
    data = {"sex": [*"ffmmfm"], "work": ["yes", "no", "yes", "no", "yes", "no"]}
    protect = [{"variables": ["sex"], "method": "method1", "theta": "1/2"}]
    true = Counter(zip(data["sex"], data["work"], strict=True))
    for keep, kept in (([["sex", "work"]], True), ([], False)):
        [stage] = released(data, {"release": {"keep": keep, "demonstration": True}, "protect": protect}).stages
        places = {state: j for j, state in enumerate(stage.states)}
        states = [tuple({"sex": s, "work": w}[c] for c in stage.columns) for s, w in zip(*data.values(), strict=True)]
        chances = [stage.design.columns_exact(places[state]) for state in states]
        mean: dict[Cell, Fraction] = defaultdict(Fraction)
        for draw in product(*(one.items() for one in chances)):
            chance = Fraction(1)
            for _, p in draw:
                chance *= p
            shown = [stage.outputs[i][-1] for i, _ in draw]
            for cell, n in Counter(zip(shown, data["work"], strict=True)).items():
                mean[cell] += chance * n
        assert (max(abs(mean[cell] - n) for cell, n in true.items()) == 0) is kept


@pytest.mark.parametrize("plan", [mixing, optimal])
def test_a_tolerance_holds_and_costs_no_more_than_exactness(plan: Any) -> None:
    data = people(500, 2)
    whole = released(data, plan([]))
    bias = float(largest_bias(data, whole.stages, ["age", "work"]))
    [exact] = released(data, plan([["age", "work"]])).kept
    ways = set()
    for part in (2.0, 0.9, 0.5, 0.1):
        made = released(data, plan([{"table": ["age", "work"], "within": bias * part}]))
        [one] = made.kept
        reached = largest_bias(data, made.stages, ["age", "work"])
        assert float(reached) == pytest.approx(one.bias, abs=1e-12) and one.bias <= bias * part * (1 + 1e-9)
        assert one.changed <= max(exact.changed, one.changed_without) + 1e-9
        assert (one.way == "as it is") is (part > 1)
        ways.add(one.way)
    assert "like records" in ways


def test_a_tolerance_in_several_pools_of_a_linear_program() -> None:
    """Within regions, each with a program of its own."""
    data = people(600, 4, regions=3)
    keep = [{"table": ["sex", "work"], "within": "0.0005"}]
    made = released(data, optimal(keep, within=["region"]))
    assert largest_bias(data, made.stages, ["sex", "work"]) <= Fraction("0.0005")
    assert [one.way for one in made.kept] == ["like records"] and made.stages[0].within == ("region",)
    assert largest_bias(data, made.stages, ["region", "age", "sex"]) == 0  # what the matrix keeps anyway
    without = released(data, optimal([], within=["region"]))
    assert largest_bias(data, without.stages, ["sex", "work"]) > Fraction("0.0005")


def refused_or_kept() -> Iterator[tuple[dict[str, list[Any]], dict[str, Any]]]:
    for seed in range(8):
        random = np.random.default_rng(seed)
        data = people(int(random.integers(60, 260)), seed, int(random.integers(2, 5)), int(random.integers(2, 6)))
        within = [0, "0.0001", "0.001", "0.01"][int(random.integers(4))]
        table = [["sex", "work"], ["age", "work"], ["age", "sex", "work"], [*KEYS, "work"]][int(random.integers(4))]
        yield data, {"table": table, "within": within}
    data = people(120, 1)
    data["work"][:3] = ["rare"] * 3  # fewer than 1/match in a class
    yield data, {"table": ["age", "work"], "within": 0}


def test_random_files_keep_what_was_asked_or_say_what_can_be_met() -> None:
    """Reported biases are those of the matrices, and the tolerance that a refusal names is met when it is asked for."""
    refused = list[str]()
    for data, asked in refused_or_kept():
        plan = mixing([asked])
        try:
            made = released(data, plan)
        except InfeasibleError as error:
            refused.append(error.hint)
            asked = asked | {"within": error.objects["nearest"]}
            made = released(data, mixing([asked]))
        [one] = made.kept
        reached = float(largest_bias(data, made.stages, asked["table"]))
        assert reached == pytest.approx(one.bias, abs=1e-12)
        assert reached <= float(asked["within"]) + 1e-12
    assert refused
    assert all("ask for within = " in hint for hint in refused)


def test_receipts_state_errors_of_larger_tables_that_are_named() -> None:
    """A bound of the bias that holds; exactly kept tables need none."""
    data = people(900, 3)
    table = ["age", "sex", "work"]
    made = released(data, mixing([{"table": table, "within": "0.5"}]))
    content = json.loads(json.dumps(public_receipt(made)))
    jsonschema.validate(content, schema())
    told = {frozenset(one["columns"]): one for one in content["tables"]}
    for columns in (table, ["age", "work"], ["region", "work"]):
        assert largest_bias(data, made.stages, columns) <= told[frozenset(columns)]["counts"]["bias"]
    exact = released(data, mixing([["sex", "work"]]))
    assert frozenset(["sex", "work"]) not in {frozenset(one["columns"]) for one in public_receipt(exact)["tables"]}


def test_keys_stay_as_they_are_only_where_a_match_is_all_that_is_asked() -> None:
    data = people(500, 6)
    [one] = released(data, mixing([["sex", "work"]], keys=KEYS)).kept
    assert (one.way, one.by) == ("unchanged", ("sex",))
    [other] = released(data, optimal([["sex", "work"]])).kept  # a bound on the posterior of the sex
    assert (other.way, other.by) == ("within", ("work",))
    plan = mixing([["sex", "work"]], keys=KEYS)
    plan["release"]["sensitive"] = ["sex"]
    [third] = released(data, plan).kept
    assert (third.way, third.by) == ("within", ("work",))


def test_reports_show_costs_and_plans_read_back() -> None:
    plan = mw.ReleasePlan.from_dict(mixing([["sex", "work"], {"table": ["age", "work"], "within": 0.01}], keys=KEYS))
    assert mw.ReleasePlan.from_dict(plan.to_dict()) == plan
    again = read_plan(plan.to_toml())
    assert again == plan
    text = str(dry_run(people(300, 6), plan))
    assert "preserved table" in text and "sex unchanged" in text


BAD: list[tuple[Any, str, Any]] = [
    (["sex", "work"], "must be a list of tables", [["sex", "work"]]),
    ([["sex"]], "needs two columns", [["sex", "work"]]),
    (
        [{"table": ["sex", "work"], "within": 2}],
        "within must be at least",
        [{"table": ["sex", "work"], "within": 0.01}],
    ),
    ([{"columns": ["sex", "work"]}], "no table|no key", [{"table": ["sex", "work"]}]),
    ([["sex", "work"], ["work", "sex"]], "twice", [["sex", "work"]]),
    ([["sex", "jobs"]], "no column", [["sex", "work"]]),
]


@pytest.mark.parametrize(("keep", "said", "instead"), BAD)
def test_bad_entries_are_refused_with_a_way_out(keep: Any, said: str, instead: Any) -> None:
    data = people(300, 5)
    with pytest.raises(PlanError, match=said) as refused:
        released(data, mixing(keep, match="0.34"))
    assert refused.value.hint
    released(data, mixing(instead, match="0.34"))


def test_tables_of_separate_protections_are_refused_and_jointly_kept() -> None:
    data = people(400, 5)
    apart = [{"variables": [name], "method": "method1", "theta": "1/3"} for name in ("sex", "age")]
    release = {"keep": [["sex", "age", "work"]], "demonstration": True}
    with pytest.raises(PlanError, match="separately") as refused:
        released(data, {"release": release, "protect": apart})
    assert "in one [[protect]]" in str(refused.value.hint)
    together = [{"variables": ["sex", "age"], "method": "method1", "theta": "1/3"}]
    made = released(data, {"release": release, "protect": together})
    assert largest_bias(data, made.stages, ["sex", "age", "work"]) == 0


def test_given_matrices_and_draws_of_units_keep_no_tables() -> None:
    uniform = {"variables": ["sex"], "method": "uniform", "epsilon": 2}
    with pytest.raises(PlanError, match="not made from the counts"):
        mw.ReleasePlan.of([uniform], keep=[["sex", "work"]])
    unit = {"variables": ["sex"], "within": ["size"], "method": "method1", "theta": "1/3", "each": "unit"}
    with pytest.raises(PlanError, match="once for each unit"):
        mw.ReleasePlan.of([unit], unit="hid", keep=[["sex", "work"]])
    mw.ReleasePlan.of([unit | {"within": ["size", "work"]}], unit="hid", keep=[["sex", "work"]])
    with pytest.raises(PlanError, match="not a category that users get"):
        mw.ReleasePlan.of(
            [{"variables": ["sex"], "method": "method1", "theta": "1/3"}], drop=["work"], keep=[["sex", "work"]]
        )


def test_users_have_no_bias_in_a_kept_table() -> None:
    """Without keep the same table has a bound of its bias."""
    data = people(400, 1)
    for keep, bounded in (([["sex", "work"]], False), ([], True)):
        plan = EXACT["method1"] | {"release": {"keep": keep, "demonstration": True}}
        made = mw.release(data, plan, random=SeededRandom(7))
        found = mw.Survey.from_release(made.data, made.receipt()).shares("sex", "work").estimate
        assert (found.bias is not None) is bounded


def weighted(n: int = 400, seed: int = 3) -> dict[str, list[Any]]:
    """Weights that go with the age, and vary within each."""
    random, data = np.random.default_rng(seed), people(n, seed, 4, 5)
    heavy = np.where(np.array(data["age"]) > 2, 40, 10) * random.choice([0.5, 1.0, 1.25, 1.5, 3.0], n)
    return data | {"w": heavy.tolist()}


def bias_of_weights(data: Mapping[str, Sequence[Any]], stages: Sequence[Any], columns: Sequence[str]) -> Fraction:
    """As `largest_bias`, of weighted shares."""
    [stage], names = stages, [*data]
    places = {state: j for j, state in enumerate(stage.states)}
    moved: dict[Cell, Fraction] = defaultdict(Fraction)
    for values in zip(*data.values(), strict=True):
        record = dict(zip(names, values, strict=True))
        weight, state = Fraction(record["w"]), tuple(record[name] for name in stage.columns)
        moved[tuple(record[name] for name in columns)] -= weight
        for i, p in stage.design.columns_exact(places[state]).items():
            new = record | dict(zip(stage.columns, stage.outputs[i], strict=True))
            moved[tuple(new[name] for name in columns)] += weight * p
    return max(map(abs, moved.values())) / sum(map(Fraction, data["w"]))


WEIGHTED = {
    "mixing": ({}, "weights", "(weighted)"),
    "mixing of counts": ({"invariance": "counts"}, "counts", "(unweighted)"),
    "swap": ({"method": "swap", "base": "mixing"}, "counts", "(unweighted)"),
    "method1": (
        {"variables": ["age", "sex"], "method": "method1", "theta": "1/3", "match": None},
        "weights",
        "(weighted)",
    ),
}


@pytest.mark.parametrize("name", WEIGHTED)
def test_with_weights_that_is_kept_which_the_matrix_keeps_and_reports_say_which(name: str) -> None:
    """Sums of weights are rounded to eleven digits in a matrix; a tolerance is for shares, not for those of squares."""
    data, (protect, of, said) = weighted(), WEIGHTED[name]
    table, measure = ["age", "work"], bias_of_weights if of == "weights" else largest_bias
    protect = {key: value for key, value in (mixing([])["protect"][0] | protect).items() if value is not None}
    release = {"demonstration": True, "weights": "w", "accept": ["w"]}
    plan = {"release": {**release, "keep": [table]}, "protect": [protect]}
    [exact] = released(data, plan).kept
    made = released(data, plan)
    assert (exact.bias, exact.of) == (0, of)
    assert measure(data, made.stages, table) <= 1e-10
    assert exact.bias_without is not None and exact.bias_without > 1e-4
    assert said in str(dry_run(data, plan))
    tolerance = exact.bias_without * 1.01
    plan["release"]["keep"] = [{"table": table, "within": tolerance}]
    made = released(data, plan)
    assert [one.way for one in made.kept] == ["as it is"]
    assert float(measure(data, made.stages, table)) == pytest.approx(made.kept[0].bias, rel=1e-6)


def test_a_table_that_stays_wholly_unchanged_is_kept_with_and_without_weights() -> None:
    plan = mixing([["sex", "work"]], keys=KEYS)
    plan["release"] |= {"weights": "w", "accept": ["w"]}
    [one] = dry_run(weighted(), plan).release.kept
    assert (one.way, one.bias, one.of) == ("unchanged", 0, "both")


def test_without_weights_nothing_is_said_of_them() -> None:
    assert "weighted" not in str(dry_run(people(300, 6), mixing([["sex", "work"]])))


def test_earlier_matrices_that_break_a_kept_table_are_noted(tmp_path: Path) -> None:
    """The matrix of one file keeps its counts, not those of another one."""
    ids = {"pid": [str(i) for i in range(400)]}
    plan = {
        "release": {"keep": [["sex", "work"]], "id": "pid", "demonstration": True},
        "protect": [{"variables": ["sex"], "method": "method1", "theta": "1/3"}],
    }
    key = mw.KeyedRandom(bytes(range(32)), "people")
    mw.release(people(400, 1) | ids, plan, tmp_path / "one", key=key)
    receipt = str(tmp_path / "one/internal/receipt.json")
    for seed, noted in ((1, False), (2, True)):
        found = dry_run(people(400, seed) | ids, plan, key=key, matrices=receipt).release
        said = [note for note in found.notes if "do not keep the table of sex and work" in note]
        assert bool(said) is noted
        if noted:
            bias = largest_bias(people(400, seed), found.stages, ["sex", "work"])
            assert f"{100 * float(bias):.2g} percentage points" in said[0]


def test_a_table_of_one_protection_within_a_column_that_another_randomizes_is_not_taken_for_kept() -> None:
    """Ages move among the sexes before regions are drawn within both."""
    ages, regions = ({"variables": [name], "method": "method1", "theta": "1/3"} for name in ("age", "region"))
    data, release = people(400, 3, 4, 5), {"demonstration": True}
    apart = [ages, regions | {"within": ["age", "sex"]}]
    with pytest.raises(InfeasibleError, match="region, sex cannot be preserved exactly") as refused:
        released(data, {"release": release | {"keep": [["region", "sex"]]}, "protect": apart})
    keep = [{"table": ["region", "sex"], "within": refused.value.objects["nearest"]}]
    released(data, {"release": release | {"keep": keep}, "protect": apart})
    both = [ages | {"within": ["region", "sex"]}, regions | {"within": ["age", "sex"]}]
    released(data, {"release": release | {"keep": [["region", "sex"]]}, "protect": both})
