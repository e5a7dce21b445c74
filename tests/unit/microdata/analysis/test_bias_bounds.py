"""Bounds of what randomization did to tables that it does not keep: against the worst that can happen."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations, product

import numpy as np
import pytest
from scipy.stats import binom
from tests.support.releases import ROWS, Row, group_of, plan_of, release_of, stage_within
from tests.support.surveys import estimate_with

from maskwell.core.arguments import Real
from maskwell.core.cells import CellTable
from maskwell.estimation.direct_estimate import Released, estimate_changed
from maskwell.microdata import Receipt
from maskwell.microdata.analysis.bias_bounds import COUNTS, WEIGHTS, Distortion, Weights, moves_of, reach_of
from maskwell.microdata.analysis.matrix_estimates import composed
from maskwell.microdata.analysis.release_estimates import estimate_released
from maskwell.microdata.folder.receipt import Group, receipt_from_dict
from maskwell.microdata.folder.receipt_contents import public_receipt

NAMES = ("a", "b", "c")
CELLS = [*product("xy", "uv", "st")]
STEPS = [
    [("a", "")],
    [("a", "b")],
    [("a+b", "")],
    [("a", ""), ("b", "")],
    [("a", ""), ("b", "a")],
    [("a", "b"), ("b", "")],
    [("a+b", ""), ("c", "a")],
    [("a", "b"), ("c", "b"), ("b", "")],
]


def groups_of(rows: Sequence[Row], steps: Sequence[tuple[str, str]], theta: str) -> list[Group]:
    """Groups that the data holder knows, so that bounds rest on the very share that is expected to change."""
    made = []
    for variables, within in steps:
        stage = stage_within(rows, NAMES, variables.split("+"), within.split("+") if within else [], theta)
        made.append(group_of(stage, stage=None, most_changed=stage.expected_changed()))
    return made


def of_a(most_changed: float) -> Group:
    """Column a, of which at most this share changed."""
    how = {"within": (), "linked": (), "method": "pram", "invariance": "counts"}
    return Group(variables=("a",), most_changed=most_changed, **how)


def some_rows(seed: int) -> list[Row]:
    random = np.random.default_rng(seed)
    return [cell for cell, n in zip(CELLS, random.integers(1, 9, len(CELLS)), strict=True) for _ in range(n)]


@pytest.mark.parametrize("seed", range(3))
def test_no_table_is_farther_off_than_its_bound(seed: int) -> None:
    """Expected tables of every set of columns, of records and of weights, and the variance of every share."""
    rows = some_rows(seed)
    counts = np.array([rows.count(cell) for cell in CELLS], dtype=float)
    weight = np.random.default_rng(seed + 9).choice([1.0, 2.0, 7.0], len(CELLS))  # the same for all records of a cell
    spread = Weights("other weights", np.sort(weight)[::-1], counts[np.argsort(-weight)])
    tried = 0
    for steps in STEPS:
        groups = groups_of(rows, steps, "0.4")
        P, released = composed(groups, list(NAMES), CELLS)
        for columns in (c for size in (1, 2, 3) for c in combinations(NAMES, size)):
            after, before = _cells(released, columns), _cells(CELLS, columns)
            labels = sorted({*after, *before})
            Q = np.array([[after_cell == label for after_cell in after] for label in labels]) @ P.toarray()
            X = np.array([[cell == label for cell in before] for label in labels], dtype=float)
            moves = moves_of(groups, columns)
            for mass, weights in ((counts, Weights.alike()), (counts * weight, spread)):
                most = Distortion.of(moves, weights)
                bias = ((Q - X) @ mass) / mass.sum()
                assert np.abs(bias).max() <= most.bias + 1e-12, (steps, columns)
                squares = mass**2 / counts
                variance = (Q * (1 - Q)) @ squares
                assert variance.max() <= most.changed * squares.sum() + 1e-12
                assert np.abs(Q - X).sum(axis=0) @ mass / 2 <= most.weight * mass.sum() + 1e-12
                tried += 1
    assert tried == 2 * 7 * len(STEPS)


def _cells(cells: Sequence[Row], columns: Sequence[str]) -> list[Row]:
    return [tuple(cell[NAMES.index(name)] for name in columns) for cell in cells]


def test_the_bound_is_reached_and_never_too_small() -> None:
    """Where all that leave a category have one value of another column, and all that arrive have another."""
    rows: list[Row] = [("x", "u", "s")] * 10 + [("y", "v", "s")] * 10 + [("z", "v", "s")] * 20
    group = of_a(2 * 10 * 0.3 / len(rows))
    moved = 0.3 * 10 / len(rows)  # of those with x and u; as many come from y, with v
    [move] = moves_of([group], ["a", "b"])
    assert move.bias(Weights.alike()) == pytest.approx(moved)
    stages = [stage_within(ROWS, ("region", "roof", "sex"), ["roof"], theta=theta) for theta in ("0.1", "0.5", "0.9")]
    for stage in stages:
        receipt = receipt_from_dict(public_receipt(release_of([stage], plan_of([stage]))))
        assert stage.expected_changed() <= receipt.groups[0].most_changed <= stage.expected_changed() + 0.2
    # Against all choices of records; from the variation alone never less.
    values = np.array([5.0, 3.0, 3.0, 2.0, 1.0, 1.0])
    listed = Weights(WEIGHTS, np.unique(values)[::-1], np.array([1.0, 1.0, 2.0, 2.0])[[0, 2, 1, 3]])
    varied = Weights(WEIGHTS, np.zeros(0), np.zeros(0), float(values.std() / values.mean()))
    for size in range(len(values) + 1):
        worst = max((sum(choice) for choice in combinations(values, size)), default=0.0) / values.sum()
        assert listed.heaviest(size / 6) == pytest.approx(worst)
        assert varied.heaviest(size / 6) >= worst - 1e-12
    assert Weights.alike().heaviest(0.3) == 0.3 and Weights.alike().measure == COUNTS


def test_a_standard_error_of_clusters_is_wrong_by_at_most_what_changed() -> None:
    """Chances of release at random, exactly: the spread of the truth against that of released values on average."""
    random = np.random.default_rng(4)
    wrong, loose = 0.0, np.inf
    for _ in range(300):
        clusters, size = int(random.integers(2, 8)), int(random.integers(1, 12))
        n = clusters * size
        cluster = np.repeat(np.arange(clusters), size)
        x = (random.random(clusters)[cluster] < random.random(n)).astype(float)
        chance = random.random(n) * (random.random(n) < 0.2)  # of a record to change
        lam = np.where(x == 1, 1 - chance, chance)
        table = CellTable.of(["town"], Counter((str(one),) for one in cluster))
        most = Distortion(chance.mean(), chance.mean(), abs(float((lam - x).mean())))
        together = most.weight + most.bias
        more = min(together, (reach_of(table, strata=False) * (1 + most.bias) * together) ** 0.5)
        noise = float((lam * (1 - lam)).sum()) / n**2
        shown, true = _spread(lam, cluster) + noise, _spread(x, cluster)
        wrong = max(wrong, (noise + true) - (shown**0.5 + more) ** 2)
        loose = min(loose, (shown**0.5 + more) ** 2 - (noise + true))
    assert wrong <= 1e-12 and loose < 0.01


def _spread(values: Real, cluster: Real) -> float:
    """The variance of a mean from clusters drawn with replacement, by residuals."""
    totals = np.bincount(cluster, values - values.mean()) / len(values)
    m = len(totals)
    return float(m / (m - 1) * ((totals - totals.mean()) ** 2).sum())


def test_intervals_cover_the_worst_case() -> None:
    """Chances of coverage, summed over all counts of the category that lost most."""
    n, changed, true = 400, 0.06, 0.5
    chance = binom.pmf(np.arange(n + 1), n, true - changed / 2)
    covered = ignored = 0.0
    for x in np.flatnonzero(chance > 1e-9).tolist():
        released = [x, (n - x) // 2, n - x - (n - x) // 2]
        for bias in (changed / 2, 0):
            low, high = estimate_changed(Released.of(released), changed=changed, bias=bias).confidence_interval()[0]
            covered += chance[x] * bool(low <= true <= high and bias > 0)
            ignored += chance[x] * bool(low <= true <= high and bias == 0)
    assert covered >= 0.95 and ignored < 0.93  # the negative control forgets the bias


def test_a_part_of_the_file_may_hold_all_that_changed_or_a_group_keep_no_part_of_a_table() -> None:
    """Two groups: the first keeps the table of both columns in the whole file, not in some rows of it."""
    receipt = Receipt(audience="public", groups=(of_a(0.02),), rows=1000, weights=None, demonstration=False)
    table = {"a": ["x", "y"] * 100, "b": ["u", "v", "v", "u"] * 50}
    found = estimate_released(table, receipt, ["a", "b"]).estimate
    assert found.bias == pytest.approx(np.full(4, 0.05))
    within = estimate_released(table, receipt, ["a"], by=["b"]).domains[("u",)]
    assert within.bias == pytest.approx(np.full(2, 0.1))
    kept = rare_receipt("roof+sex").groups[0]
    receipt = replace(rare_receipt("roof"), groups=(kept, replace(rare_receipt("roof").groups[0], most_changed=0.01)))
    data = expected_rows()
    half = {name: values[::2] for name, values in data.items()}
    whole, some = (estimate_released(table, receipt, ["roof", "sex"]).estimate for table in (data, half))
    assert whole.bias is not None and whole.bias.max() == pytest.approx(0.005)
    assert some.bias is not None and some.bias.max() == pytest.approx((0.005 + kept.most_changed / 2) * 2)


def test_sampling_plans_have_the_usual_error_and_what_changed() -> None:
    """With replicates the share that changed and the bias; with clusters no more than the heaviest of them allows."""
    random, n = np.random.default_rng(2), 400
    table = {name: random.choice(labels, n).tolist() for name, labels in {"a": ["x", "y"], "b": ["u", "v"]}.items()}
    table["town"] = (np.arange(n) % 8).astype(str).tolist()
    table |= {f"rep{k}": [0.0 if place % 8 == k else 8 / 7 for place in range(n)] for k in range(8)}
    receipt = Receipt(audience="public", groups=(of_a(0.02),), rows=n, weights=None, demonstration=False)
    plans: list[tuple[dict[str, str], float]] = [
        ({"replicates": "rep", "replicate_method": "jk1"}, 0.03),
        ({"clusters": "town"}, min(0.03, (8 / 7 / 8 * 1.01 * 0.03) ** 0.5)),
        ({"strata": "town"}, (2 / n * 1.01 * 0.03) ** 0.5),
    ]
    for plan, more in plans:
        found = estimate_with(table, receipt=receipt, columns=["a", "b"], **plan)  # type: ignore[arg-type]
        usual = estimate_with(table, direct=["a", "b"], **plan)  # type: ignore[arg-type]
        assert found.standard_error == pytest.approx(usual.standard_error + more)
        assert found.estimate.bias == pytest.approx(np.full(4, 0.01))
        kept = estimate_with(table, receipt=receipt, columns=["b"], **plan)  # type: ignore[arg-type]
        assert kept.estimate.bias is None


RARE = [("t", "f")] * 95 + [("t", "m")] * 5 + [("o", "m")] * 9900


def rare_receipt(variables: str, rows: int = 10_000) -> Receipt:
    """Method 1 by which nine tenths of the few roofs "t" become others."""
    names = ("roof", "sex")
    stages = [stage_within(RARE, names, variables.split("+"), theta="0.9")]
    return receipt_from_dict(public_receipt(release_of(stages, plan_of(stages), rows)))


def expected_rows() -> dict[str, list[str]]:
    """The table as it is expected to be released: of 95 women under "t" hardly ten are left there."""
    counts = {("t", "f"): 10, ("t", "m"): 90, ("o", "f"): 85, ("o", "m"): 9815}
    return {name: [cell[i] for cell, n in counts.items() for _ in range(n)] for i, name in enumerate(("roof", "sex"))}


def test_a_domain_or_part_that_released_values_tell_may_have_lost_nearly_all_of_a_cell() -> None:
    """True shares of women are 0.95 under "t" and 0 elsewhere; released ones are 0.10 and 0.0086."""
    data = expected_rows()
    domains = estimate_released(data, rare_receipt("roof"), ["sex"], by=["roof"]).domains
    for roof, truth in (("t", (0.95, 0.05)), ("o", (0.0, 1.0))):
        shares = domains[(roof,)]
        assert shares.bias is not None and (np.abs(shares.pi_hat - truth) <= shares.bias).all()
        lower, upper = shares.confidence_interval().T
        assert (lower <= truth).all() and (truth <= upper).all()
    # The same table where the domain is a file of its own, or the other domain was left out as missing.
    part = {name: values[:100] for name, values in data.items()}
    left = {"roof": [None if roof == "o" else roof for roof in data["roof"]], "sex": data["sex"]}
    for table in (part, left):
        shares = estimate_released(table, rare_receipt("roof"), ["roof", "sex"], missing="drop").estimate
        assert shares.bias is not None and (np.abs(shares.pi_hat - (0.95, 0.05)) <= shares.bias).all()


def test_under_a_plan_a_part_is_told_by_its_weight() -> None:
    """Rows without a value have nearly all weight: what changed may be all among the others, which have little."""
    data = expected_rows()
    rows = len(data["sex"])
    data |= {"w": [1] * 5_000 + [9] * 5_000, "psu": [i % 50 for i in range(rows)]}
    data["roof"][5_000:] = [None] * 5_000
    how = {"receipt": rare_receipt("roof"), "columns": ["roof", "sex"], "clusters": "psu", "missing": "drop"}
    for weights, share in ((None, 0.5), ("w", 0.1)):
        shares = estimate_with(data, weights=weights, **how).estimate
        heaviest = 1 if weights is None else 1.8  # of the file; a record of weight 9 in a mean of 5
        d = rare_receipt("roof").groups[0].most_changed
        assert shares.bias == pytest.approx(np.full(4, heaviest * d / 2 / share))
    part = {name: values[::2] for name, values in data.items()}
    assert any("is of 10,000 records, the file has 5,000" in flag for flag in estimate_with(part, **how).flags)
