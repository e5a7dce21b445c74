"""What structured designs answer for a million categories: the same as the long way, in a few steps."""

import math
import sys
import tracemalloc
from collections.abc import Callable
from fractions import Fraction
from types import FrameType
from typing import Any

import numpy as np
import pytest
from tests.support.examples import numbered

from maskwell import Demand, Design
from maskwell.designs import Blocks, Composed, Kronecker, LocalDiversity, Mixture, Subset, Unary, Uniform, subset
from maskwell.designs.design import big
from maskwell.designs.subset import binomial
from maskwell.designs.unary import ESTIMATORS
from maskwell.errors import TooLargeError
from maskwell.planning.order import sufficiency
from maskwell.privacy.design_audit import audit

MILLION = 10**6
FEW_LINES, FEW_BYTES = 100_000, 1 << 20  # a number for each category would take a million lines or eight million bytes
LARGE: dict[str, Callable[[], Design]] = {
    "uniform": lambda: Uniform.from_epsilon(1, numbered(MILLION)),
    "subset": lambda: Subset.from_epsilon(1, numbered(MILLION), size=268_941),
    "rappor": lambda: Unary.rappor_from_epsilon(1, numbered(MILLION)),
    "optimised unary": lambda: Unary.oue_from_epsilon(1, numbered(MILLION)),
    "half of all": lambda: Subset.from_gamma(3, numbered(MILLION), size=MILLION // 2),
    "l-diverse": lambda: LocalDiversity.of(1000, numbered(MILLION)),
    "very diverse": lambda: LocalDiversity.of(MILLION // 2, numbered(MILLION)),
    "table of twenty": lambda: Kronecker.of([Uniform.from_gamma(3, numbered(2))] * 20),
    "thousand cells": lambda: Blocks.of({i: Uniform.from_gamma(3, numbered(1000)) for i in range(1000)}),
    "asked twice": lambda: Composed.of(*(Uniform.from_gamma(g, numbered(MILLION)) for g in (3, 5))),
}
QUESTIONS = ["added_variance", "parity_exact", "guess_probability", "condition", "is_admissible", "report_bits"]
QUESTIONS += ["reports_in_words", "__repr__"]


def is_answered_at_once(ask: Callable[[], object]) -> bool:
    """Whether an answer takes few lines of Python and little memory; how long that is depends on the machine."""
    lines = 0

    def count(frame: FrameType, event: str, argument: object) -> Callable[..., Any]:
        nonlocal lines
        lines += event == "line"
        return count

    before = sys.gettrace()
    tracemalloc.start()
    sys.settrace(count)
    try:
        ask()
    finally:
        sys.settrace(before)
        bytes_used = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    return lines < FEW_LINES and bytes_used < FEW_BYTES


@pytest.mark.parametrize("name", LARGE)
@pytest.mark.parametrize("question", [*QUESTIONS, "total_variation"])
def test_a_million_categories_are_answered_at_once(name: str, question: str) -> None:
    if (name, question) != ("table of twenty", "total_variation"):
        assert is_answered_at_once(getattr(LARGE[name](), question))


@pytest.mark.parametrize("name", ["subset", "half of all", "very diverse", "rappor"])
def test_sets_by_the_million_are_never_counted(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def count(*_: object) -> int:
        raise AssertionError("a number of hundreds of thousands of digits")

    monkeypatch.setattr(subset, "binomial", count)
    monkeypatch.setattr(Unary, "m", property(count))
    design = LARGE[name]()
    assert "e+" in repr(design)
    assert not design.has_reports_up_to(10**18)
    assert not design.has_entries_up_to(10**18)
    for written_out in (design.matrix, design.exact_matrix):
        with pytest.raises(TooLargeError):
            written_out()
    assert sufficiency(design, design).holds
    assert not sufficiency(design, Uniform.from_gamma(4, numbered(MILLION))).holds
    shown = audit(design, Demand.from_epsilon(1)).to_dict()
    assert isinstance(shown["m"], str)
    assert len(shown["warnings"]) == (design.parity() == math.inf)


@pytest.mark.parametrize(("k", "size"), [(10, 3), (60, 30), (70, 35), (3000, 1400)])
def test_the_number_of_reports_is_told_from_its_logarithm(k: int, size: int) -> None:
    design = Subset.from_gamma(3, numbered(k), size=size)
    m = math.comb(k, size)
    assert design.reports_in_words() == big(m)
    assert design.has_reports_up_to(m)
    assert not design.has_reports_up_to(m - 1)
    assert design.has_entries_up_to(m * k)
    assert not design.has_entries_up_to(m * k - 1)


def test_tables_and_mixtures_are_read_factor_by_factor_and_once() -> None:
    parts = [Uniform.from_gamma(3, numbered(4)), Mixture.of("1/2", ["1/8", "1/8", "1/4"], numbered(3))]
    table = Kronecker.of([*parts, parts[0]])
    assert table.added_variance() == pytest.approx(table.added_variance(table.uniform_prior()), rel=1e-12)
    many = Kronecker.of([Uniform.from_gamma("1e300", numbered(2))] * 3)
    assert many.added_variance() == pytest.approx(3 * many.factors[0].added_variance(), rel=1e-12)
    weak = Kronecker.of([Uniform.from_gamma("1." + "0" * 200 + "1", numbered(2))] * 3)
    assert weak.added_variance() == math.inf
    many = 10**5
    q = [Fraction(1 + i % 3, 4 * many - 2) for i in range(many)]
    design = Mixture(categories=numbered(many), truth=1 - sum(q), fixed=tuple(q))
    assert design.parity_exact() == 1 + (1 - sum(q)) * (4 * many - 2)
    for question in ("added_variance", "parity_exact", "condition", "is_admissible"):
        ask = getattr(design, question)
        ask()
        assert is_answered_at_once(ask), question


def test_what_is_read_entry_by_entry_is_not_at_once() -> None:
    assert not is_answered_at_once(lambda: sum(i for i in range(MILLION // 5)))
    assert not is_answered_at_once(lambda: np.ones(MILLION).sum())
    assert is_answered_at_once(lambda: sum(i for i in range(100)))


@pytest.mark.parametrize("k", [2, 3, 10, 1000, 20_000])
@pytest.mark.parametrize("gamma", ["1.001", "2", "20", "100000"])
@pytest.mark.parametrize("make", [Unary.rappor_from_gamma, Unary.oue_from_gamma])
def test_best_linear_variance_is_the_sum_over_all_sizes(k: int, gamma: str, make: Callable[..., Unary]) -> None:
    design = make(gamma, numbered(k))
    p, r, g = float(design.keep), float(design.flip), float(Fraction(gamma))
    s = np.arange(1, k)
    chances = np.array([_binomial(k - 1, int(i), r) for i in range(k)])
    weight = p * chances[s - 1] + (1 - p) * chances[s]
    told = k * s * (k - s) * (g - 1) ** 2 / (s * g + k - s) ** 2
    expected = (k - 1) ** 2 / (weight * told).sum() + 1 / k - 1
    assert design.added_variance_of("best-linear") == pytest.approx(expected, rel=1e-8)


def _binomial(n: int, i: int, p: float) -> float:
    ways = math.lgamma(n + 1) - math.lgamma(i + 1) - math.lgamma(n - i + 1)
    return math.exp(ways + i * math.log(p) + (n - i) * math.log1p(-p))


@pytest.mark.parametrize("make", [Unary.rappor_from_gamma, Unary.oue_from_gamma])
def test_bits_that_no_float_tells_from_never(make: Callable[..., Unary]) -> None:
    huge, large = make("1e800", numbered(5)), make("1e20", numbered(5))
    assert huge.guess_probability() == pytest.approx(large.guess_probability())
    for estimator in ESTIMATORS:
        assert huge.added_variance_of(estimator) == pytest.approx(large.added_variance_of(estimator), abs=1e-9)


@pytest.mark.parametrize("k", [2, 3, 5])
@pytest.mark.parametrize("make", [Unary.rappor_from_gamma, Unary.oue_from_gamma])
def test_the_estimators_of_bits_against_their_matrices(k: int, make: Callable[..., Unary]) -> None:
    """Each estimator written out as a left inverse L of P: unbiased, and with the stated variances."""
    design = make(6, numbered(k))
    P, pi = design.matrix(), np.arange(1, k + 1) / (k * (k + 1) / 2)
    bits = np.array([[j in chosen for j in range(k)] for chosen in map(set, design.sets())])
    per_bit = (bits.T - float(design.flip)) / float(design.keep - design.flip)
    lam = P.mean(axis=1)
    inverses = {
        "per-bit": per_bit,
        "centred": per_bit - (per_bit.sum(axis=0) - 1) / k,
        "best-linear": np.linalg.solve((P.T / lam) @ P, P.T / lam),
    }
    for estimator in ESTIMATORS:
        L, at = inverses[estimator], P @ pi
        np.testing.assert_allclose(L @ at, pi, atol=1e-12)
        np.testing.assert_allclose(L**2 @ at - pi**2, design.share_variance_of(estimator, pi), rtol=1e-9)
        assert (L**2 @ lam).sum() - 1 == pytest.approx(design.added_variance_of(estimator), rel=1e-9)


@pytest.mark.parametrize(("n", "q"), [(2, 1), (30_000, 10_001), (30_000, 15_000), (32_768, 16_384), (59_049, 20_000)])
def test_large_binomials_are_exact(n: int, q: int) -> None:
    assert binomial(n, q) == binomial(n, n - q) == math.comb(n, q)
