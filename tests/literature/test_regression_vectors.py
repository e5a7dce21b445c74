"""Regression against worked cases, and against the published figures of real surveys."""

import csv
from pathlib import Path

import numpy as np
import pytest
from tests.support.regression import DIRECT, plain_newton

import maskwell as mw
from maskwell.estimation import regression

YES_NO = mw.Categories.of([1, 0])


@pytest.fixture(scope="module")
def read(shared):
    def columns(name):
        path = Path(shared) / "data" / f"{name}.csv"
        if not path.exists():
            pytest.skip(f"the data file {name}.csv is not here")
        with path.open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        return {name: [row[name] for row in rows] for name in rows[0]}

    return columns


def codes(column, first="1"):
    return np.array([0 if value == first else 1 for value in column])


def write(path, table, rows):
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([[*table], *([values[i] for values in table.values()] for i in rows)])
    return path


def test_randomized_outcomes_and_predictors(rr_vectors):
    case = rr_vectors["R01"]
    given, expected, tol = case["input"], case["expected"], case["tol"]
    found = regression.fit_logistic(given["x"], given["z"], mw.designs.Dense.of(given["P"]), codes=True)
    np.testing.assert_allclose(found.params, expected["beta"], atol=tol)
    np.testing.assert_allclose(found.bse, expected["se_observed"], atol=tol)
    assert found.llf == pytest.approx(expected["loglik"], abs=tol)
    case = rr_vectors["R01"]
    table = {"x": np.ravel(case["input"]["x"]), "y": np.where(np.array(case["input"]["z"]) == 0, "yes", "no")}
    design = mw.designs.Dense.of(case["input"]["P"], mw.Categories.of(["yes", "no"]), mw.Categories.of(["yes", "no"]))
    found = mw.regress(table, "y ~ x", {"y": design})
    np.testing.assert_allclose(found.params, case["expected"]["beta"], atol=case["tol"])
    assert list(found.params.index) == ["Intercept", "x"]
    case = rr_vectors["X05"]
    given, expected, tol = case["input"], case["expected"], case["tol"]
    found = regression.fit_predictor(
        given["y"],
        regression.RandomizedPredictor(given["z"], mw.designs.Dense.of(given["P"]), codes=True),
        given["w"],
        names=["w"],
    )
    by_name = dict(zip(found.terms, found.estimates, strict=True))
    wanted = {"Intercept": expected["intercept"], "x[T.0]": expected["beta_x"], "w": expected["beta_w"]}
    assert by_name == pytest.approx(wanted, abs=tol)
    assert found.bse[1] == pytest.approx(expected["se_beta_x"], abs=tol)
    assert found.llf == pytest.approx(expected["loglik"], abs=tol)
    assert 1 / (1 + np.exp(-found.latent.estimates[0])) == pytest.approx(expected["pi_x"], abs=tol)


def test_plagiarism_direct_and_crosswise(read, tmp_path):
    """Partial plagiarism: direct 0.0729, crosswise 0.2226 with standard error 0.0546; and both in one regression."""
    table = read("glmmrr_plagiarism")
    partial = [i for i, chosen in enumerate(table["pp"]) if chosen == "1"]
    crosswise, direct = _ethbe("Crosswise", 0.25, 0).with_labels(YES_NO, YES_NO), DIRECT.with_labels(YES_NO, YES_NO)
    designs = {"response": [mw.When({"RRmodel": "Crosswise"}, crosswise), mw.When({"RRmodel": "DQ"}, direct)]}
    both = write(tmp_path / "both.csv", table, partial)
    found = mw.regress(both, "response ~ RRmodel", designs)
    assert found.predict({"RRmodel": ["DQ", "Crosswise"]}).round(4).tolist() == [0.0729, 0.2226]
    alone = write(tmp_path / "one.csv", table, [i for i in partial if table["RRmodel"][i] == "Crosswise"])
    by_itself = mw.regress(alone, "response ~ 1", {"response": crosswise})
    p = by_itself.predict()[0]
    assert p * (1 - p) * by_itself.bse.iloc[0] == pytest.approx(0.0546, abs=5e-5)
    larger = mw.regress(both, "response ~ RRmodel + age + Gender", designs, missing="drop")
    kept = [i for i in partial if table["age"][i] and table["Gender"][i]]
    assert larger.dropped == len(partial) - len(kept) > 0
    asked = np.array([table["RRmodel"][i] == "DQ" for i in kept])
    rest = np.array([[float(table[name][i]) for name in ("age", "Gender")] for i in kept])
    row = 2 * asked + codes([table["response"][i] for i in kept])
    X = np.column_stack([np.ones(len(kept)), asked, rest])
    beta, error = plain_newton(X, row, np.concatenate([crosswise.matrix(), direct.matrix()]))
    np.testing.assert_allclose(larger.params, beta, atol=1e-7)
    np.testing.assert_allclose(larger.bse, error, rtol=1e-5)


def _ethbe(name, p1, p2):
    asked = {"DQ": (1.0, 0.0), "Crosswise": (p1, 1 - p1), "Forced": (p1 + p2, p2)}
    yes, no = (asked | {"UQM": (p1 + (1 - p1) * p2, (1 - p1) * p2)})[name]
    return mw.designs.Dense.of(np.array([[yes, no], [1 - yes, 1 - no]]))


def test_all_procedures_in_one_regression_give_one_effect(read):
    """Rows of two procedures with eleven designs; clusters are the students, who answered five questions each."""
    table = read("glmmrr_ethbe")
    rows = [i for i, g in enumerate(table["gender"]) if g and table["RRmodel"][i] in ("DQ", "Crosswise")][:4000]
    kinds = sorted({(table["RRmodel"][i], table["p1"][i], table["p2"][i]) for i in rows})
    designs = [_ethbe(name, float(p1), float(p2)) for name, p1, p2 in kinds]
    groups = np.array([kinds.index((table["RRmodel"][i], table["p1"][i], table["p2"][i])) for i in rows])
    z = codes([table["RR_response"][i] for i in rows])
    X = np.array([[table["gender"][i] == "male"] for i in rows], dtype=float)
    student = [table["id"][i] for i in rows]
    found = regression.fit_logistic(X, z, designs, groups=groups, codes=True, plan=mw.Sampling(clusters=student))
    P = np.concatenate([design.matrix() for design in designs])
    beta, _ = plain_newton(np.column_stack([np.ones(len(X)), X]), 2 * groups + z, P)
    np.testing.assert_allclose(found.params, beta, atol=1e-7)
    assert found.degrees_of_freedom == len(set(student)) - 1 and found.converged


def test_a_vote_asked_directly_and_indirectly(read):
    """Rows asked directly are an ordinary logistic regression; the left-right scale goes with the answer."""
    table = read("rrreg_minarets")
    rows = [i for i, kind in enumerate(table["RRdesign"]) if kind == "-1"]
    z = codes([table["rrt"][i] for i in rows])
    X = np.array([[float(table[name][i]) for name in ("leftRight.c", "age.c")] for i in rows])
    found = regression.fit_logistic(
        X, z, mw.designs.Dense.of([[1, 0], [0, 1]]), names=["leftRight.c", "age.c"], codes=True
    )
    beta, error = plain_newton(np.column_stack([np.ones(len(X)), X]), z, np.eye(2))
    np.testing.assert_allclose(found.params, beta, atol=1e-8)
    np.testing.assert_allclose(found.bse, error, rtol=1e-6)
