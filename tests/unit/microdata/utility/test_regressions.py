"""One regression on both files."""

from __future__ import annotations

import numpy as np
import pytest

from maskwell.core import Categories, SeededRandom
from maskwell.designs import Dense
from maskwell.errors import ParameterError
from maskwell.microdata.utility import UtilityReport, compare_regressions


def made_up(n: int = 3000) -> dict[str, list[object]]:
    random = np.random.default_rng(4)
    age, group = random.normal(0, 1, n), random.choice(["u", "v"], n)
    chance = 1 / (1 + np.exp(-(0.3 + 0.8 * age + 0.9 * (group == "v"))))
    smokes = np.where(random.random(n) < chance, "yes", "no")
    income = 2 + 1.5 * age - 0.7 * (group == "v") + random.normal(0, 1, n)
    return {"smokes": smokes.tolist(), "age": age.tolist(), "group": group.tolist(), "income": income.tolist()}


def test_open_regressions_are_those_of_statsmodels() -> None:
    pd, smf = pytest.importorskip("pandas"), pytest.importorskip("statsmodels.formula.api")
    table = made_up()
    frame = pd.DataFrame(table)
    frame["yes"] = (frame.smokes == "yes").astype(int)
    found = compare_regressions("smokes ~ age + group", table, table).original
    expected = smf.logit("yes ~ age + group", frame).fit(disp=0)
    for term in found.terms:
        place = found.terms.index(term)
        assert found.estimates[place] == pytest.approx(expected.params[term], abs=1e-6)
        assert found.standard_error[place] == pytest.approx(expected.bse[term], rel=1e-4)
    linear = compare_regressions("income ~ age + group", table, table).original
    ols = smf.ols("income ~ age + group", frame).fit(cov_type="HC0")
    for term in linear.terms:
        place = linear.terms.index(term)
        assert linear.estimates[place] == pytest.approx(ols.params[term], abs=1e-9)
        assert linear.standard_error[place] == pytest.approx(ols.bse[term], rel=1e-3)


def test_a_release_weakens_a_coefficient_and_its_design_puts_it_right() -> None:
    table = made_up()
    design = Dense.of([["0.8", "0.2"], ["0.2", "0.8"]])
    design = design.with_labels(Categories.of(["yes", "no"]))
    released = {**table, "smokes": list(design.randomize(table["smokes"], random=SeededRandom(3)))}
    found = compare_regressions("smokes ~ age + group", table, released, designs={"smokes": design})
    age = next(term for term in found.terms if term.term == "age")
    assert abs(age.released) < 0.75 * abs(age.original)
    assert age.corrected == pytest.approx(age.original, abs=4 * (age.corrected_error or 0))
    (a, b), (c, d) = (
        fit.confidence_interval()[found.original.terms.index("age")] for fit in (found.original, found.released)
    )
    assert age.overlap == pytest.approx(((min(b, d) - max(a, c)) / (b - a) + (min(b, d) - max(a, c)) / (d - c)) / 2)
    assert age.overlap < 0
    assert any("do not meet" in flag for flag in found.flags)
    report = UtilityReport({}).with_regressions([found])
    assert report.flags == found.flags
    assert report.to_dict()["regressions"][0]["terms"][0]["term"] == found.terms[0].term


def test_what_only_one_file_has() -> None:
    table = made_up(300)
    other = {**table, "group": ["w" if g == "v" else g for g in table["group"]]}
    found = compare_regressions("smokes ~ age + group", table, other)
    assert found.missing == ("group[T.v]", "group[T.w]")
    assert any("only one file" in flag for flag in found.flags)
    with pytest.raises(ParameterError, match="one file"):
        compare_regressions("smokes ~ age", table, {**table, "smokes": table["income"]})
