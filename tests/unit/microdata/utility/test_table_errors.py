"""How wrong tables are that randomization does not keep: against every draw of a small file, and dense matrices."""

import json
from collections import Counter
from functools import cache
from itertools import combinations, product
from typing import Any

import jsonschema
import numpy as np
import pytest
from tests.support.releases import Row, stage_within

import maskwell as mw
from maskwell.core.cells import CellTable
from maskwell.core.randomness import SeededRandom
from maskwell.engines.cell_counts import count_tables
from maskwell.microdata.analysis.matrix_estimates import composed
from maskwell.microdata.assessment import Judge, assess_tables
from maskwell.microdata.folder.receipt import receipt_from_dict
from maskwell.microdata.folder.receipt_contents import public_receipt, schema
from maskwell.microdata.kept_bounds import is_kept_as_drawn
from maskwell.microdata.plans.release_plan import ReleasePlan
from maskwell.microdata.publication import release_table
from maskwell.microdata.true_file import tables_of
from maskwell.microdata.utility.table_errors import TableError, TableErrors, least_kept_share, stepped_up

NAMES = ("a", "b", "c")
CELLS = [*product("xy", "uv", "st")]
STEPS = [
    [("a", "")],
    [("a", "b")],
    [("a+b", "")],
    [("a", ""), ("b", "")],
    [("a", ""), ("b", "a")],
    [("a+b", ""), ("c", "a")],
]


def counted(rows: list[Row], weights: dict[Row, float] | None = None) -> CellTable:
    """The cells of all columns; all records of a cell have its weight."""
    data: dict[str, Any] = {name: [row[i] for row in rows] for i, name in enumerate(NAMES)}
    if weights is None:
        return count_tables(data, [NAMES])[0]
    return count_tables(data | {"w": [weights[row] for row in rows]}, [NAMES], weights="w")[0]


def stages_of(rows: list[Row], steps: list[tuple[str, str]]) -> list[Any]:
    within = [(variables.split("+"), before.split("+") if before else []) for variables, before in steps]
    return [stage_within(rows, NAMES, variables, before, "0.4") for variables, before in within]


def test_every_draw_of_a_small_file() -> None:
    """Five records, all 32 draws with their probabilities: the exact mean and variance of every share."""
    rows: list[Row] = [("x", "u", "s"), ("x", "v", "s"), ("y", "v", "s"), ("y", "v", "t"), ("x", "u", "t")]
    [stage] = stages_of(rows, [("a", "")])
    P, own = stage.design.matrix(), {state[0]: i for i, state in enumerate(stage.states)}
    mean: Counter[Row] = Counter()
    second: Counter[Row] = Counter()
    for draw in product("xy", repeat=len(rows)):
        chance = float(np.prod([P[own[new], own[row[0]]] for new, row in zip(draw, rows, strict=True)]))
        shares = Counter((new, row[1]) for new, row in zip(draw, rows, strict=True))
        for cell, n in shares.items():
            mean[cell] += chance * n / 5
            second[cell] += chance * (n / 5) ** 2
    true = Counter((row[0], row[1]) for row in rows)
    bias = max(abs(mean[cell] - true[cell] / 5) for cell in product("xy", "uv"))
    error = max(second[cell] - mean[cell] ** 2 for cell in product("xy", "uv")) ** 0.5
    measured = TableErrors([stage]).measured(["a", "b"], [counted(rows)])
    assert measured is not None and [*measured] == ["counts"]
    assert (measured["counts"].bias, measured["counts"].error) == (pytest.approx(bias), pytest.approx(error))
    assert bias > 0.05 and measured["counts"].least == pytest.approx(1 / 5)
    assert TableErrors([stage]).measured(["a"], [counted(rows)]) == {}  # kept


@pytest.mark.parametrize("steps", STEPS)
def test_dense_matrices_give_the_same(steps: list[tuple[str, str]]) -> None:
    random = np.random.default_rng(3)
    rows = [cell for cell, n in zip(CELLS, random.integers(1, 9, len(CELLS)), strict=True) for _ in range(n)]
    weights = dict(zip(CELLS, random.choice([1.0, 2.0, 7.0], len(CELLS)).tolist(), strict=True))
    stages, table = stages_of(rows, steps), counted(rows, weights)
    P, released = composed(stages, list(NAMES), CELLS)
    counts = np.array([rows.count(cell) for cell in CELLS], dtype=float)
    each = np.array([weights[cell] for cell in CELLS])
    moved = {name for variables, _ in steps for name in variables.split("+")}
    tried = 0
    for columns in (c for size in (1, 2, 3) for c in combinations(NAMES, size) if moved & {*c}):
        after, before = (
            [tuple(cell[NAMES.index(name)] for name in columns) for cell in one] for one in (released, CELLS)
        )
        labels = sorted({*after, *before})
        Q = np.array([[cell == label for cell in after] for label in labels]) @ P.toarray()
        X = np.array([[cell == label for cell in before] for label in labels], dtype=float)
        measured = TableErrors(stages).measured(columns, [table])
        assert measured is not None
        for kind, one in measured.items():
            mass = counts if kind == "counts" else counts * each
            squares = mass**2 / counts
            biases = [np.abs((Q - X) @ values).max() / values.sum() for values in (mass, squares)]
            error = ((Q * (1 - Q)) @ squares).max() ** 0.5 / mass.sum()
            assert (one.bias, one.error) == (pytest.approx(max(biases), abs=1e-12), pytest.approx(error))
            tried += 1
        if "counts" not in measured:
            assert np.abs((Q - X) @ counts).max() < 1e-9  # left out because it is kept
    assert tried


def test_steps_are_coarse_and_never_below_what_two_records_contribute() -> None:
    assert [stepped_up(x) for x in (1e-4, 1.0000000001e-4, 1.01e-4, 0.0049, 0.051, 0.7, 3)] == [
        1e-4, 1e-4, 2e-4, 0.005, 0.1, 1, 1,
    ]  # fmt: skip
    for n in (75, 1000, 12345):
        stated = TableError(1e-9, 0.0, 1 / n).stated()
        assert 2 / n <= stated["bias"] == stated["error"] <= 5 / n
    values = np.exp(np.random.default_rng(1).uniform(-9, 0, 200))
    assert all(x <= stepped_up(x) <= 2.5 * x for x in values.tolist() if x < 0.4)


def people(n: int = 800) -> dict[str, Any]:
    random = np.random.default_rng(5)
    sex, roof = (
        random.choice(["f", "m"], n, p=[0.4, 0.6]),
        random.choice(["tile", "tin", "straw"], n, p=[0.6, 0.3, 0.1]),
    )
    job = np.where(random.random(n) < np.where(sex == "f", 0.3, 0.7), "yes", "no")
    return {"sex": sex.tolist(), "roof": roof.tolist(), "job": job.tolist(), "group": (np.arange(n) % 150).tolist()}


def test_the_public_receipt_tells_pairs_and_users_have_them() -> None:
    """A table of a randomized and an unchanged column has the stated bias, and one of many labels is left out."""
    plan = mw.ReleasePlan.of([{"variables": ["sex", "roof"], "method": "method1", "theta": "1/2"}], demonstration=True)
    made = release_table(people(), plan, random=SeededRandom(1))
    content = json.loads(json.dumps(public_receipt(made.release)))
    jsonschema.validate(content, schema())
    told = {tuple(one["columns"]): one for one in content["tables"]}
    assert [*told] == [("sex", "job"), ("sex", "group"), ("roof", "job"), ("roof", "group")]
    assert told["sex", "group"] == {"columns": ["sex", "group"], "left_out": True}
    receipt = made.receipt()
    survey = mw.Survey.from_release(made.data, receipt)
    found = survey.shares("sex", "job").estimate
    most = receipt.groups[0].most_changed / 2
    assert found.bias == pytest.approx(np.full(4, min(told["sex", "job"]["counts"]["bias"], most)))
    assert (found.variance_parts[1] <= told["sex", "job"]["counts"]["error"] ** 2 * 800 / 799 + 1e-12).all()
    half = {name: values[::2] for name, values in made.data.items()}
    part = mw.Survey.from_release(half, receipt).shares("sex", "job").estimate
    assert part.bias is not None and (part.bias >= most).all()  # what is stated is of the whole file
    for bad in ({"bias": 0, "error": 0.1}, {"bias": "x", "error": 0.1}, {"bias": 0.1}):
        with pytest.raises(mw.errors.MaskwellError, match="cannot be read"):
            receipt_from_dict(content | {"tables": [{"columns": ["sex", "job"], "counts": bad}]})


def test_weighted_tables_are_told_too() -> None:
    data = people() | {"w": np.random.default_rng(8).choice([1.0, 2.0, 30.0], 800).tolist()}
    plan = mw.ReleasePlan.of(
        [{"variables": ["sex"], "method": "method1", "theta": "1/2"}], weights="w", demonstration=True
    )
    made = release_table({name: data[name] for name in ("sex", "job", "w")}, plan, random=SeededRandom(1))
    told = {tuple(one["columns"]): one for one in public_receipt(made.release)["tables"]}
    assert [*told[("sex",)]] == ["columns", "counts"]  # sums of weights are kept
    assert [*told["sex", "job"]] == ["columns", "counts", "weights"]
    survey = mw.Survey.from_release(made.data, made.receipt())
    assert survey.shares("sex").estimate.bias is None
    found = survey.shares("sex", "job").estimate
    assert found.bias == pytest.approx(np.full(4, told["sex", "job"]["weights"]["bias"]))


def test_optional_tables_are_left_out_wherever_their_labels_come(tmp_path: Any) -> None:
    """In the first rows, or in later ones of a large file, together with others or alone."""
    n = 60_000
    few, late = np.arange(n) % 3, np.where(np.arange(n) < 50_000, 0, np.arange(n))
    table = {"a": (np.arange(n) % 2).tolist(), "few": few.tolist(), "late": late.tolist(), "many": list(range(n))}
    path = tmp_path / "t.csv"
    path.write_text(
        "\n".join([",".join(table), *(",".join(map(str, row)) for row in zip(*table.values(), strict=True))])
    )
    optional = [("a", "few"), ("a", "late"), ("a", "many")]
    for data in (table, str(path)):
        found = count_tables(data, [("a",)], optional=optional)
        assert [one.columns for one in found] == [("a",), ("a", "few")]
        assert [one.n for one in found] == [n, n]
        assert found[1].counts.tolist() == count_tables(data, [("a", "few")])[0].counts.tolist()


def test_cells_without_weight_leave_the_least_that_is_stated() -> None:
    people = {"sick": ["y"] * 150 + ["n"] * 250, "region": ["z"] * 10 + ["s", "t"] * 195, "w": [0.0] * 10 + [1.0] * 390}
    protect = [{"variables": ["sick"], "method": "method1", "theta": "1/2"}]
    plan = mw.ReleasePlan.of(protect, keys=["region"], weights="w", demonstration=True)
    receipt = public_receipt(release_table(people, plan, random=SeededRandom(1)).release)
    stated = [one[kind] for one in receipt["tables"] for kind in ("counts", "weights") if kind in one]
    assert stated and min(value for one in stated for value in one.values()) >= 2 / 400


# ---- files that are drawn until they keep a limit


def laws_of_kept_files() -> tuple[float, list[tuple[float, bool, dict[Row, float]]]]:
    """All files of eight people: how many keep the limit, and of each its chance, whether it does, and its shares."""
    rows = [*zip("abbccddd", "ststssst", strict=True)]
    protect = {"variables": "a", "method": "inverse-frequency", "xi": "0.51"}
    plan = ReleasePlan.of([protect], keys=["a"], match="0.51", intruder="released-counts")
    table = CellTable.of(["a"], Counter((a,) for a, _ in rows))
    release = assess_tables(dict.fromkeys(tables_of(plan), table), plan)
    [stage] = release.stages
    P, labels = stage.design.matrix(), [state[0] for state in stage.states]
    ways: dict[tuple[Row, ...], float] = {(): 1.0}
    for a, b in rows:
        after: Counter[tuple[Row, ...]] = Counter()
        for have, p in ways.items():
            for new, q in zip(labels, P[:, labels.index(a)], strict=True):
                if q:
                    after[tuple(sorted((*have, (new, b))))] += p * q
        ways = dict(after)

    @cache
    def kept(drawn: tuple[tuple[str, int], ...]) -> bool:
        seen = dict.fromkeys(tables_of(plan), CellTable.of(["a"], {(label,): n for label, n in drawn}))
        risk = Judge(plan, release.stages, release.file, released=seen).risk()
        return is_kept_as_drawn(plan, risk, 1, last=False)

    files = []
    for drawn, p in ways.items():
        shares = {cell: n / 8 for cell, n in Counter(drawn).items()}
        files.append((p, kept(tuple(sorted(Counter(a for a, _ in drawn).items()))), shares))
    return sum(p for p, one, _ in files if one), files


def test_errors_among_kept_files_cover_those_of_all_files_that_are_kept() -> None:
    """Every cell, and every label of the column that is kept on average; as stated before, some are not covered."""
    share, files = laws_of_kept_files()
    assert 0.5 < share < 0.99
    beyond = 0
    for cell in product("abcd", ["st", "s", "t"]):
        values = np.array([sum(one.get((cell[0], b), 0.0) for b in cell[1]) for *_, one in files])
        chances, kept = np.array([p for p, *_ in files]), np.array([one for _, one, _ in files])
        mean = chances @ values
        error = float(np.sqrt(chances @ (values - mean) ** 2))
        among = chances * kept / share
        moved = abs(float(among @ values - mean))
        after = float(np.sqrt(among @ (values - among @ values) ** 2))
        stated = TableError(0.0, error, 1 / 8).among_kept(share)
        assert moved <= stated.bias + 1e-12 and after <= stated.error + 1e-12
        beyond += moved > 1e-3 or after > error + 1e-3
    assert beyond
    assert TableError(0.1, 0.2, 0.01).among_kept(1.0) == TableError(0.1, 0.2, 0.01)


@pytest.mark.parametrize("share", [0.001, 0.03, 0.3, 0.9])
def test_the_least_share_of_kept_files_is_too_large_one_time_in_twenty_at_most(share: float) -> None:
    wrong = sum(share * (1 - share) ** (n - 1) for n in range(1, 20_000) if least_kept_share(n) > share)
    assert wrong <= 0.05 + 1e-9


def test_receipts_state_wider_errors_where_not_every_draw_is_released() -> None:
    data = {"a": [f"{i // 2}" for i in range(80)], "b": [*"stsstsst"] * 10}
    entry = {"variables": ["a"], "method": "inverse-frequency", "xi": "0.2"}
    told = []
    for intruder in ("any-look", "released-counts"):
        plan = ReleasePlan.of([entry], keys=["a"], match="0.45", intruder=intruder, demonstration=True)
        release = release_table(data, plan, random=SeededRandom(1)).release
        receipt = public_receipt(release)
        jsonschema.validate(receipt, schema())
        told.append((receipt, release))
    (plain, _), (wider, release) = told
    assert release.kept_share == least_kept_share(release.attempts) and told[0][1].kept_share == 1
    (before,), (after,) = plain["tables"], wider["tables"]
    for name in ("bias", "error"):
        assert after["counts"][name] > before["counts"][name]
    assert "redrawn until it met a disclosure limit" in " ".join(wider["advice"]) and "drawn until" not in " ".join(
        plain["advice"]
    )
    read = receipt_from_dict(wider)
    assert read.kept_share == pytest.approx(release.kept_share, abs=1e-4) and receipt_from_dict(plain).kept_share == 1
    drawn = release_table(data, plan, random=SeededRandom(1)).data
    bounds = [mw.Survey.from_release(drawn, receipt_from_dict(one)).shares("a", "b").estimate for one in (plain, wider)]
    assert (bounds[1].bias > bounds[0].bias).all() and any("redrawn until it met" in flag for flag in bounds[1].flags)
    assert (bounds[1].variance_parts[1] >= bounds[0].variance_parts[1]).all()
    sure = ReleasePlan.of([entry], keys=["a"], match="1", intruder="released-counts", demonstration=True)
    assert release_table(data, sure, random=SeededRandom(1)).release.kept_share == 1
