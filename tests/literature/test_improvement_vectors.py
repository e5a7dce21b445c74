"""Improvement: worked examples of the literature, with the errata."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.support.examples import numbered
from tests.support.twin import Twin

from maskwell.designs import Dense, Subset, Uniform
from maskwell.estimation.maximum_likelihood import fisher_information
from maskwell.planning import improve_one_sided, minimax_size
from maskwell.planning.improvement import improve
from maskwell.planning.one_sided import OneSided
from maskwell.privacy import hazard
from maskwell.procedures.counted_draws import christofides

Vector = dict[str, Any]


@pytest.fixture(scope="module")
def improvements(vector_folder: Path) -> list[Vector]:
    content: dict[str, list[Vector]] = json.loads((vector_folder / "privacy_vectors.json").read_text())
    return content["improve"]


@pytest.fixture(scope="module")
def cases(vector_folder: Path) -> dict[str, Vector]:
    content = json.loads((vector_folder / "rr_vectors.json").read_text())["cases"]
    return {case["id"]: case for case in content if case["id"].startswith("I")}


def close(got: Any, expected: Any, tol: float) -> None:
    wanted = np.asarray(expected, dtype=float)
    assert np.abs(np.asarray(got, dtype=float) - wanted).max() <= tol * max(1, np.abs(wanted).max())


# ---- any design of bounded parity


@pytest.mark.parametrize("method", ["layers", "lemmas"])
def test_improvements(improvements: list[Vector], method: str) -> None:
    assert len(improvements) == 3
    for vector in improvements:
        design = Dense.of(vector["A"])
        found = improve(design, gamma=vector["gamma"], split=method)
        assert found.improved is not vector["already_admissible"]
        assert found.design.parity_exact() == Fraction(vector["gamma"])
        twin = Twin.of(found.design)
        assert twin.is_admissible()
        np.testing.assert_allclose(found.garbling_matrix() @ twin.P, vector["A"], atol=1e-12)
        C = found.garbling()
        assert [sum(column) for column in zip(*C, strict=True)] == [1] * found.design.m


def test_the_lemmas_give_the_stored_example(improvements: list[Vector]) -> None:
    """Any admissible design that gives the original back is right; the lemmas give the very one that was stored."""
    vector = improvements[0]
    found = improve(Dense.of(vector["A"]), gamma=vector["gamma"], split="lemmas")
    assert found.design.m == len(vector["example_P"]) == 5
    np.testing.assert_allclose(
        sorted(map(tuple, found.design.matrix())), sorted(map(tuple, vector["example_P"])), atol=1e-12
    )


def test_no_information_becomes_the_gamma_diagonal_design(improvements: list[Vector]) -> None:
    found = improve(Dense.of(improvements[2]["A"]), gamma=improvements[2]["gamma"])
    assert found.design == Uniform.from_gamma(2, numbered(3))
    assert found.garbling() == [[Fraction(1, 4)] * 3, [Fraction(3, 4)] * 3]


def test_the_worked_example_costs_what_it_should() -> None:
    """Added variance at equal shares: the design 43.17, by lemmas 5.85, by layers 3.86, the best of its parity 3.5."""
    design = Dense.of([["0.4", "0.3", "0.3"], ["0.3", "0.4", "0.2"], ["0.3", "0.3", "0.5"]])
    assert [str(parity) for parity in design.row_parities()] == ["4/3", "2", "5/3"]
    layers, lemmas = (improve(design, gamma=3, split=method) for method in ("layers", "lemmas"))
    assert (layers.design.m, lemmas.design.m) == (4, 5)
    assert layers.added_variances()[0] == pytest.approx(43.17, abs=0.005)
    assert lemmas.added_variances()[1] == pytest.approx(5.85, abs=0.005)
    assert layers.added_variances()[1] == pytest.approx(3.86, abs=0.005)
    best = Subset.from_gamma(3, numbered(3), size=minimax_size(3, 3))
    assert best.added_variance() == pytest.approx(3.5)


# ---- one sensitive category


def information(found: OneSided, pi: float) -> tuple[float, float]:
    shares = np.array([pi, 1 - pi])
    before, after = (float(fisher_information(d, shares)[0, 0]) for d in (found.original, found.design))
    return before, after


@pytest.mark.parametrize("name", ["I01", "I02", "I03", "I04"])
def test_two_categories(cases: dict[str, Vector], name: str) -> None:
    case = cases[name]
    given, expected, tol = case["input"], case["expected"], case["tol"]
    found = improve_one_sided(Dense.of(given["P"]))
    assert found.applies
    assert found.improved
    close(float(found.ratio), expected["R"], tol)
    close(found.design.matrix(), expected["P0"], tol)
    close([[float(c) for c in row] for row in found.garbling()], expected["post"], tol)
    before, after = information(found, given["pi"])
    close(before, expected["info"], tol)
    close(after, expected["info0"], tol)
    b, pi = 1 / float(found.ratio), given["pi"]
    assert after == pytest.approx((1 - b) / ((1 - pi) * (pi + b * (1 - pi))))
    assert hazard(found.design, [0]).ratio == found.ratio
    assert found.reproduced().exact_matrix() == found.original.exact_matrix()


def test_three_categories(cases: dict[str, Vector]) -> None:
    """Example 3.3: hazards .5517, .0435, .08 become .5517, 0, 0, and the shares are known better in every direction."""
    case = cases["I05"]
    design, pi = Dense.of(case["input"]["P"]), np.array(case["input"]["pi"])
    found, expected, tol = improve_one_sided(design), case["expected"], case["tol"]
    assert found.applies
    close(found.design.matrix(), expected["P_star"], tol)
    close([[float(c) for c in row] for row in found.garbling()], expected["R"], tol)
    close(np.trace(design.covariance(pi)), expected["trace_cov"], tol)
    close(np.trace(found.design.covariance(pi)), expected["trace_cov_star"], tol)
    gain = fisher_information(found.design, pi) - fisher_information(design, pi)
    close(np.linalg.eigvalsh(gain)[0], expected["loewner_min_eig"], tol)
    np.testing.assert_allclose(hazard(design, [0], pi).by_report, [0.551724, 0.043478, 0.08], atol=1e-6)
    np.testing.assert_allclose(hazard(found.design, [0], pi).by_report, [0.551724, 0, 0], atol=1e-6)


def test_the_theorem_does_not_apply(cases: dict[str, Vector]) -> None:
    """Example 3.4: against the second category another report incriminates than against the third."""
    design = Dense.of(cases["I06"]["input"]["P"])
    found = improve_one_sided(design)
    assert found.applies is cases["I06"]["expected"]["applies"] is False
    assert found.design is design
    assert found.reason == (
        "no report is the most incriminating one against every other category: against 1 it is 2, against 2 it is 0"
    )


@pytest.mark.parametrize("name", ["I07", "I08"])
def test_christofides(cases: dict[str, Vector], name: str) -> None:
    """The estimate from the mean of the numbers: 11.5 in the printed order; the printed 3.76 needs another order."""
    p = cases[name]["input"]["p"]
    at = np.arange(1, len(p) + 1)
    members, others = christofides([str(x) for x in p]).matrix().T
    extra = (at**2 @ others - (at @ others) ** 2) / (at @ members - at @ others) ** 2
    close(extra, cases[name]["expected"]["extra"], cases[name]["tol"])


def test_christofides_against_designs_of_equal_protection(cases: dict[str, Vector]) -> None:
    """At the ratio 9.5 of that design, Warner adds .131 and the best design .094 to the variance at a share of .2."""
    found = improve_one_sided(christofides([str(x) for x in cases["I08"]["input"]["p"]]))
    assert found.ratio == Fraction(19, 2)
    before, after = information(found, 0.2)
    assert 1 / before - 0.16 == pytest.approx(0.975023, abs=1e-6)
    assert 1 / after - 0.16 == pytest.approx(0.094118, abs=1e-6)
    warner = Dense.of([["19/21", "2/21"], ["2/21", "19/21"]])
    assert hazard(warner, [0]).ratio == found.ratio
    assert warner.covariance(np.array([0.2, 0.8]))[0, 0] - 0.16 == pytest.approx(0.131488, abs=1e-6)
