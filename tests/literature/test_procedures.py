"""Printed numbers and published vectors of the named procedures.

The literals below are copied so that the tests run anywhere; ``test_rr_procedures.py`` reads the published list.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from maskwell.core import Categories, Counts
from maskwell.designs import Design, Kronecker
from maskwell.errors import InputError
from maskwell.procedures.registry import PROCEDURES

FAMILIES = {
    "simmons_known": "simmons",
    "mangat_singh": "mangat-singh",
    "forced_response": "forced",
    "chow_urn": "chow",
    "liu_chow": "liu-chow",
    "bourke_dalenius": "bourke-dalenius",
    "k_ary": "k-ary",
}
WORDS = {"T": "t", "reps": "draws", "p_truth": "truth", "p_yes": "yes", "p_no": "no"}

MATRICES: list[tuple[str, dict[str, Any], list[list[str]]]] = [
    ("warner", {"p": 0.7}, [["7/10", "3/10"], ["3/10", "7/10"]]),
    ("simmons_known", {"p": 0.8, "beta": 0.1}, [["41/50", "1/50"], ["9/50", "49/50"]]),
    ("mangat_singh", {"T": 0.3, "p": 0.7}, [["79/100", "21/100"], ["21/100", "79/100"]]),
    ("mangat", {"p": 0.7}, [["1", "3/10"], ["0", "7/10"]]),
    (
        "forced_response",
        {"p_truth": 0.75, "p_yes": 0.16666666666666666, "p_no": 0.08333333333333333},
        [["11/12", "1/6"], ["1/12", "5/6"]],
    ),
    (
        "kuk",
        {"theta1": 0.7, "theta2": 0.2, "reps": 3},
        [["27/1000", "64/125"], ["189/1000", "48/125"], ["441/1000", "12/125"], ["343/1000", "1/125"]],
    ),
    ("chow_urn", {"red": 5, "blue": 3, "draws": 2}, [["3/28", "5/14"], ["15/28", "15/28"], ["5/14", "3/28"]]),
    (
        "christofides",
        {"p": [0.38, 0.19, 0.05, 0.1, 0.02, 0.26]},
        [["0.26", "0.38"], ["0.02", "0.19"], ["0.1", "0.05"], ["0.05", "0.1"], ["0.19", "0.02"], ["0.38", "0.26"]],
    ),
    (
        "liu_chow",
        {"p": 0.6, "q": [0.2, 0.1, 0.1]},
        [["0.8", "0.2", "0.2"], ["0.1", "0.7", "0.1"], ["0.1", "0.1", "0.7"]],
    ),
    (
        "bourke_dalenius",
        {"weights": [0.7, 0.2, 0.1]},
        [["0.7", "0.1", "0.2"], ["0.2", "0.7", "0.1"], ["0.1", "0.2", "0.7"]],
    ),
    ("crosswise", {"q": "1/6"}, [["1/6", "5/6"], ["5/6", "1/6"]]),
    ("triangular", {"q": 0.25}, [["1", "1/4"], ["0", "3/4"]]),
]

REFUSED: list[tuple[str, dict[str, Any]]] = [
    ("warner", {"p": 0.5}),
    ("warner", {"p": 1.2}),
    ("simmons_known", {"p": 0.0, "beta": 0.3}),
    ("forced_response", {"p_truth": 0.75, "p_yes": 0.2, "p_no": 0.2}),
    ("kuk", {"theta1": 0.4, "theta2": 0.4, "reps": 3}),
    ("chow_urn", {"red": 3, "blue": 3, "draws": 2}),
    ("chow_urn", {"red": 5, "blue": 3, "draws": 4}),
    ("christofides", {"p": [0.2, 0.6, 0.2]}),
    ("liu_chow", {"p": 0.0, "q": [0.5, 0.5]}),
    ("bourke_dalenius", {"weights": [0.25, 0.25, 0.25, 0.25]}),
    ("triangular", {"q": 1.0}),
    ("mangat_singh", {"T": 0.2, "p": 0.375}),
]


def build(procedure: str, params: dict[str, Any]) -> Design:
    """A design from the words of the published list."""
    family = FAMILIES.get(procedure, procedure)
    given = {WORDS.get(word, word): value for word, value in params.items()}
    if family == "christofides":
        given = {"probabilities": given["p"]}
    if not PROCEDURES[family].needs_categories:
        return PROCEDURES[family].design(given)
    k = given.pop("k") if "k" in given else len(given["q"] if "q" in given else given["weights"])
    return PROCEDURES[family].design(given, categories=Categories.numbered(k))


def variance(design: Design, pi: float, n: int) -> float:
    """Var of the estimated share of the sensitive category."""
    return float(design.covariance(np.array([pi, 1 - pi]))[0, 0]) / n


def posterior(design: Design, pi: float, report: int) -> float:
    a, b = design.matrix()[report]
    return float(pi * a / (pi * a + (1 - pi) * b))


def estimate(design: Design, reports: Sequence[int]) -> float:
    counts = Counts(np.array(reports), sum(reports), design.fingerprint)
    return float(design.solve(counts.values / counts.n)[0])


@pytest.mark.parametrize(("procedure", "params", "P"), MATRICES)
def test_published_matrices_exactly(procedure: str, params: dict[str, Any], P: list[list[str]]) -> None:
    assert build(procedure, params).exact_matrix() == [[Fraction(p) for p in row] for row in P]


@pytest.mark.parametrize(("procedure", "params"), REFUSED)
def test_published_refusals(procedure: str, params: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        build(procedure, params)


def test_kary_of_the_published_list() -> None:
    P = build("k_ary", {"k": 4, "epsilon": 1.5}).matrix()
    assert P.diagonal() == pytest.approx([0.5990210269638427] * 4, abs=1e-9)
    assert P[0, 1:] == pytest.approx([0.13365965767871912] * 3, abs=1e-9)


def test_two_questions_together_are_a_kronecker_product() -> None:
    """Source: [Adeshiyan2011, Example 3.2]."""
    delta, gamma = Fraction(4, 5), Fraction(7, 10)
    both = Kronecker.of([PROCEDURES["warner"].design({"p": p}) for p in (delta, gamma)])
    first = [delta * gamma, delta * (1 - gamma), (1 - delta) * gamma, (1 - delta) * (1 - gamma)]
    assert both.exact_matrix()[0] == first
    assert both.outputs.labels == (("yes", "yes"), ("yes", "no"), ("no", "yes"), ("no", "no"))


@pytest.mark.parametrize(("pi", "warner", "simmons"), [(0.05, 0.000492, 0.000088), (0.2, 0.000604, 0.000231)])
def test_variances_of_greenberg_and_others(pi: float, warner: float, simmons: float) -> None:
    """p = 0.8, beta = 0.1, n = 1000. Source: [Adeshiyan2011, section 2.3], after Greenberg et al. (1969)."""
    assert variance(build("warner", {"p": 0.8}), pi, 1000) == pytest.approx(warner, abs=5e-7)
    assert variance(build("simmons_known", {"p": 0.8, "beta": 0.1}), pi, 1000) == pytest.approx(simmons, abs=1e-6)


def test_posteriors_of_the_unfair_comparison() -> None:
    """pi = 0.05, p = 0.8, beta = 0.1. Source: [Adeshiyan2011, section 2.3], which prints 0.22 for the first: a slip.

    Its own formula gives 0.04 / 0.23 = 0.17; 0.22 is what remains when p is left out above the line.
    """
    warner, simmons = build("warner", {"p": 0.8}), build("simmons_known", {"p": 0.8, "beta": 0.1})
    assert [round(posterior(d, 0.05, 0), 2) for d in (warner, simmons)] == [0.17, 0.68]
    assert [round(posterior(d, 0.05, 1), 2) for d in (warner, simmons)] == [0.01, 0.01]


def test_the_illustration_of_christofides() -> None:
    """The mean score adds 3.76 / n, Warner with p = 0.6 adds 6 / n. Source: [Adeshiyan2011, Remark 2.7]."""
    p = [0.38, 0.19, 0.05, 0.1, 0.02, 0.26]
    mean = sum(j * x for j, x in enumerate(p, start=1))
    spread = sum(j * j * x for j, x in enumerate(p, start=1)) - mean**2
    assert spread / (7 - 2 * mean) ** 2 == pytest.approx(3.76, abs=0.005)
    for pi in (0.0, 0.3, 1.0):
        open_survey = pi * (1 - pi)
        assert variance(build("warner", {"p": 0.6}), pi, 1) - open_survey == pytest.approx(6)
        assert variance(build("warner", {"p": 0.65}), pi, 1) - open_survey == pytest.approx(2.528, abs=5e-4)


@pytest.mark.parametrize(
    ("procedure", "params", "yes", "n", "pi_hat"),
    [
        ("warner", {"p": 0.7}, 120, 300, 0.25),
        ("mangat", {"p": 0.7}, 210, 500, 0.171429),
        ("forced_response", {"p_truth": "27/36", "p_yes": "6/36", "p_no": "3/36"}, 95, 500, 0.031111),
        ("triangular", {"q": 0.25}, 210, 500, 0.226667),
    ],
)
def test_worked_estimates(procedure: str, params: dict[str, Any], yes: int, n: int, pi_hat: float) -> None:
    assert estimate(build(procedure, params), [yes, n - yes]) == pytest.approx(pi_hat, abs=5e-7)


def test_two_dice_realise_the_forced_response() -> None:
    sums = [a + b for a in range(1, 7) for b in range(1, 7)]
    yes, no = sum(s <= 4 for s in sums), sum(s >= 11 for s in sums)
    params = {"p_truth": f"{36 - yes - no}/36", "p_yes": f"{yes}/36", "p_no": f"{no}/36"}
    assert build("forced_response", params).exact_matrix()[0] == [Fraction(11, 12), Fraction(1, 6)]


def test_repeated_trials_destroy_protection() -> None:
    assert build("kuk", {"theta1": 0.7, "theta2": 0.2, "reps": 3}).parity_exact() == Fraction("42.875")


def test_a_single_sample_of_the_polychotomous_unrelated_question() -> None:
    q = [Fraction(2, 5) * Fraction(b) for b in ("1/2", "1/4", "1/4")]
    assert build("liu_chow", {"p": 0.6, "q": q}) == build("liu_chow", {"p": 0.6, "q": [0.2, 0.1, 0.1]})
