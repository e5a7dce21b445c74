"""Bounds of the bias of regressions of released values: against the exact expected table."""

import json
from pathlib import Path

import numpy as np
import pytest

import maskwell as mw
from maskwell.errors import ParameterError
from maskwell.estimation.regression.regression_result import Regression
from maskwell.microdata.folder.receipt import Group, Receipt, receipt_from_dict
from maskwell.microdata.folder.receipt_contents import dumps, public_receipt
from maskwell.microdata.publication import release_table

N = 20_000
SHARES = {("f", "yes"): 0.10, ("f", "no"): 0.30, ("m", "yes"): 0.35, ("m", "no"): 0.25}


def columns_of(shares: dict[tuple[str, ...], float], names: tuple[str, ...]) -> dict[str, list[str]]:
    """A file with these shares of its records, rounded."""
    counts = {cell: round(share * N) for cell, share in shares.items()}
    return {name: [cell[i] for cell, n in counts.items() for _ in range(n)] for i, name in enumerate(names)}


def open_fit(data: dict[str, list[str]], formula: str) -> Regression:
    outcome = formula.split(" ~ ", maxsplit=1)[0]
    labels = sorted({*data[outcome]})
    return mw.regress(data, formula, {outcome: mw.designs.Uniform.of(1, mw.Categories.of(labels))})


def receipt_for(data: dict[str, list[str]], theta: str, *, variables: tuple[str, ...] = ("sex",)) -> Receipt:
    plan = mw.ReleasePlan.of([{"variables": [*variables], "method": "method1", "theta": theta}], demonstration=True)
    made = release_table(data, plan)
    return receipt_from_dict(json.loads(dumps(public_receipt(made.release))))


def expected(shares: dict[tuple[str, ...], float], theta: float) -> dict[tuple[str, ...], float]:
    """What is released of the first column on average by Method 1: each of two categories gives and takes alike."""
    total = {a: sum(share for cell, share in shares.items() if cell[0] == a) for a in "fm"}
    moved = theta * min(total.values())
    leave = {a: moved / total[a] for a in "fm"}
    other = {"f": "m", "m": "f"}
    return {
        cell: share * (1 - leave[cell[0]]) + shares[(other[cell[0]], *cell[1:])] * leave[other[cell[0]]]
        for cell, share in shares.items()
    }


@pytest.mark.parametrize("formula", ["job ~ sex", "sex ~ job"])
@pytest.mark.parametrize("theta", ["0.005", "0.01"])
def test_the_bias_of_the_expected_table_is_within_the_bound(formula: str, theta: str) -> None:
    """Fitted to the exact expected table: off by no more than the bound, and by more than nothing."""
    true, names = columns_of(SHARES, ("sex", "job")), ("sex", "job")
    after = columns_of(expected(SHARES, float(theta)), names)
    receipt = receipt_for(true, theta)
    fit = mw.Survey.from_release(after, receipt).regress(formula)
    assert fit.bias is not None
    off = np.abs(fit.estimates - open_fit(true, formula).estimates)
    assert (off <= fit.bias + 1e-3).all() and (off > 0.003).any()
    half = fit.confidence_interval()[:, 1] - fit.estimates
    assert half == pytest.approx(1.959964 * fit.standard_error + fit.bias, rel=1e-5)
    assert fit.covariance == pytest.approx((2 - 1 / N) * open_fit(after, formula).covariance, rel=1e-3)
    assert [row["bias_bound"] for row in fit.to_dict()["coefficients"]] == pytest.approx(fit.bias)


def test_predictors_that_are_kept_leave_only_the_bias_of_the_pairs() -> None:
    """Sex and roof move together, so their table is kept, and the bound comes from pairs with the job."""
    cells = {(a, b): share for (a, b), share in SHARES.items()}
    shares = {(a, roof, b): s * w for (a, b), s in cells.items() for roof, w in (("tile", 0.7), ("tin", 0.3))}
    data = columns_of(shares, ("sex", "roof", "job"))
    receipt = receipt_for(data, "0.01", variables=("sex", "roof"))
    fit = mw.Survey.from_release(data, receipt).regress("job ~ sex + roof")
    assert fit.bias is not None and np.isfinite(fit.bias).all()
    wide = mw.Survey.from_release(data, Receipt(**{**vars(receipt), "tables": {}}))
    for formula in ("job ~ sex", "job ~ sex + roof"):  # with the worst case nothing is left
        with pytest.raises(ParameterError, match="more than its standard error"):
            wide.regress(formula)


def test_what_no_bound_allows_is_refused_in_a_whole_sentence() -> None:
    data = columns_of(SHARES, ("sex", "job"))
    survey = mw.Survey.from_release(data, receipt_for(data, "0.8"))
    with pytest.raises(ParameterError, match=r"^sex\[T.m\] may be biased by up to .*, more than its standard"):
        survey.regress("job ~ sex")
    many = data | {"age": (np.arange(N) % 2000).tolist()}
    plan = mw.ReleasePlan.of([{"variables": ["sex"], "method": "method1", "theta": "0.01"}], demonstration=True)
    made = release_table(many, plan)
    with pytest.raises(ParameterError, match="a bound on the bias of this model is not known"):
        mw.Survey.from_release(made.data, made.receipt()).regress("job ~ sex + age")


def test_predictions_and_effects_have_the_bias_and_joint_tests_are_refused() -> None:
    data = columns_of(SHARES, ("sex", "job"))
    fit = mw.Survey.from_release(data, receipt_for(data, "0.01")).regress("job ~ sex")
    assert fit.bias is not None
    found = fit.predictions(at={"sex": ["f"]})
    p = found.estimates[0]
    assert found.bias == pytest.approx([p * (1 - p) * fit.bias[0]])
    assert fit.marginal_effects().bias is not None
    with pytest.raises(mw.errors.InputError, match="a joint test is not available"):
        fit.wald_test("sex[T.m]")


@pytest.mark.statistical
def test_coefficients_are_covered() -> None:
    """300 releases of samples; the least that is allowed gives a false alarm once in two million."""
    true = np.array([np.log(0.30 / 0.10), np.log(0.25 / 0.35) - np.log(0.30 / 0.10)])
    plan = mw.ReleasePlan.of([{"variables": ["sex"], "method": "method1", "theta": "0.03"}], demonstration=True)
    rng, runs, tried = np.random.default_rng(5), 300, 0
    hits, usual = np.zeros(2), np.zeros(2)
    for run in range(runs):
        draw = rng.choice(4, size=2000, p=[*SHARES.values()])
        cells = [[*SHARES][i] for i in draw]
        made = release_table(
            {"sex": [a for a, _ in cells], "job": [b for _, b in cells]}, plan, random=mw.SeededRandom(run)
        )
        try:
            fit = mw.Survey.from_release(made.data, made.receipt()).regress("job ~ sex")
        except ParameterError:
            continue
        tried += 1
        low, high = fit.confidence_interval().T
        hits += (low <= true) & (true <= high)
        usual += np.abs(fit.estimates - true) <= 1.959964 * fit.standard_error / (2 - 1 / 2000) ** 0.5
    assert tried > runs / 2
    assert (usual / tried < 0.95).any()  # the control takes released values as they stand
    assert (hits / tried >= 0.95 - 4.9 * (0.95 * 0.05 / tried) ** 0.5).all()


# ---- linear regression, missing values, and codes in files


def paid(levels: int) -> dict[str, list[object]]:
    """2,000 people with pay in so many values: men have more of the upper ones."""
    rng, weights = np.random.default_rng(7), np.linspace(1, 2, levels)
    women, men = (rng.choice(levels, size=1000, p=one / one.sum()) for one in (weights[::-1], weights))
    return {"sex": ["f"] * 1000 + ["m"] * 1000, "pay": (1000 + 10 * np.concatenate([women, men])).tolist()}


def that_changed(data: dict[str, list[object]], share: float) -> Receipt:
    """A receipt that says how many records changed, and nothing else."""
    receipt = receipt_for(data, "0.002")  # type: ignore[arg-type]
    groups = tuple(Group(**{**vars(group), "most_changed": share}) for group in receipt.groups)
    return Receipt(**{**vars(receipt), "groups": groups, "tables": {}})


def slope_of(data: dict[str, list[object]]) -> float:
    """By least squares, apart from the program."""
    pay, man = np.array(data["pay"], dtype=float), np.array(data["sex"]) == "m"
    return float(pay[man].mean() - pay[~man].mean())


def worst_case(data: dict[str, list[object]], pairs: int) -> dict[str, list[object]]:
    """The women with the highest pay are released as men, and as many men with the lowest as women."""
    sex, pay = np.array(data["sex"]), np.array(data["pay"], dtype=float)
    women, men = np.flatnonzero(sex == "f"), np.flatnonzero(sex == "m")
    sex[women[np.argsort(-pay[women], kind="stable")[:pairs]]] = "m"
    sex[men[np.argsort(pay[men], kind="stable")[:pairs]]] = "f"
    return {**data, "sex": sex.tolist()}


@pytest.mark.parametrize("levels", [12, 40])
def test_the_bound_of_a_linear_regression_is_that_of_the_worst_case(levels: int) -> None:
    """Nothing else is known than how many records changed: the bound is reached, and not passed."""
    data = paid(levels)
    after = worst_case(data, 4)
    fit = mw.Survey.from_release(after, that_changed(data, 8 / 2000)).regress("pay ~ sex")
    assert fit.family == "linear" and fit.bias is not None
    assert fit.estimates[1] == pytest.approx(slope_of(after))
    off = abs(slope_of(after) - slope_of(data))
    assert 0.8 * fit.bias[1] <= off <= 1.01 * fit.bias[1]
    half = fit.confidence_interval()[:, 1] - fit.estimates
    quantile = (half - fit.bias) / fit.standard_error  # of t, or of the normal distribution
    assert quantile == pytest.approx(1.96, rel=2e-3)


def test_classes_of_an_outcome_only_widen_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    from maskwell.microdata.analysis import regression_bounds

    data = paid(40)
    survey = mw.Survey.from_release(data, that_changed(data, 0.004))
    exact = survey.regress("pay ~ sex").bias
    monkeypatch.setattr(regression_bounds, "MOST_CELLS", 30)
    classed = survey.regress("pay ~ sex").bias
    assert exact is not None and classed is not None
    assert (classed >= exact - 1e-9).all() and (classed < 2 * exact).all()


def test_records_without_a_value_leave_the_stated_bounds_in_force(tmp_path: Path) -> None:
    """Ten answers are missing: the bound is nearly that of the whole file. Codes in a CSV file are numbers."""
    data = columns_of(SHARES, ("sex", "job"))
    coded = {"sex": [1 if a == "f" else 2 for a in data["sex"]], "job": [*data["job"][:-10], *[None] * 10]}
    plan = mw.ReleasePlan.of([{"variables": ["sex"], "method": "method1", "theta": "0.01"}], demonstration=True)
    made = release_table(coded, plan, random=mw.SeededRandom(1))
    receipt = receipt_from_dict(json.loads(dumps(public_receipt(made.release))))
    fit = mw.Survey.from_release(made.data, receipt, missing="drop").regress("job ~ sex")
    whole = mw.Survey.from_release(data, receipt_for(data, "0.01")).regress("job ~ sex")
    assert fit.bias is not None and whole.bias is not None
    assert fit.bias[1] == pytest.approx(whole.bias[1], rel=0.05)
    path = tmp_path / "data.csv"
    rows = zip(made.data["sex"], made.data["job"], strict=True)
    path.write_text("sex,job\n" + "".join(f"{a},{b or ''}\n" for a, b in rows), encoding="utf-8")
    read = mw.Survey.from_release(str(path), receipt, missing="drop").regress("job ~ sex")
    assert read.bias == pytest.approx(fit.bias)
