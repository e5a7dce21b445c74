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
from maskwell.planning import improve_one_sided, minimax_size
from maskwell.planning.improvement import improve

Vector = dict[str, Any]


@pytest.fixture(scope="module")
def improvements(vector_folder: Path) -> list[Vector]:
    content: dict[str, list[Vector]] = json.loads((vector_folder / "privacy_vectors.json").read_text())
    return content["improve"]


@pytest.fixture(scope="module")
def cases(vector_folder: Path) -> dict[str, Vector]:
    content = json.loads((vector_folder / "rr_vectors.json").read_text())["cases"]
    return {case["id"]: case for case in content if case["id"].startswith("I")}


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


def test_the_theorem_does_not_apply(cases: dict[str, Vector]) -> None:
    """Example 3.4: against the second category another report incriminates than against the third."""
    design = Dense.of(cases["I06"]["input"]["P"])
    found = improve_one_sided(design)
    assert found.applies is cases["I06"]["expected"]["applies"] is False
    assert found.design is design
    assert found.reason == (
        "no report is the most incriminating one against every other category: against 1 it is 2, against 2 it is 0"
    )
