"""The statements of [ChaiNayak2018], each at an example, in the order of the source. It prints hardly any numbers."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations

import numpy as np
from docs.reproduction.entries import Number, Statement
from docs.reproduction.nayak_zhai import P_2

import maskwell as mw
from maskwell.designs.row_reduction import reduction_of
from maskwell.privacy.criteria import posterior_range

MIDDLE = [[Fraction(n, 9) for n in row] for row in ([2, 3, 4], [4, 2, 3], [3, 4, 2])]
"""Parity 2 in every row, and a middle value in each."""
WASTEFUL = [["0.4", "0.3", "0.3"], ["0.3", "0.4", "0.2"], ["0.3", "0.3", "0.5"]]


def numbered(k: int) -> mw.Categories:
    """K categories."""
    return mw.Categories.numbered(k)


def flat_tail(k: int, m: int, parity: int) -> mw.designs.Dense:
    """M reports for k truths: one for each truth, which makes it ``parity`` times as likely; others are flat."""
    total = parity + m - 1
    return mw.designs.Dense.of([[Fraction(parity if i == j else 1, total) for j in range(k)] for i in range(m)])


def numbers() -> list[Number]:
    """The numbers that follow from what is printed with it."""
    rappor = mw.designs.Unary.rappor_from_gamma(4, numbered(3))
    strong = mw.Demand.from_bayes_factor(20)
    found = max(map(float, _bayes_factors(mw.designs.Uniform.from_gamma(20, numbered(3)), [0.1, 0.3, 0.6])))
    return [
        Number("section 1", "possible reports of RAPPOR, k = 3: 2³", "8", Fraction(rappor.m)),
        Number("section 3", "parity that a Bayes factor of 20 allows", "20", Fraction(strong.gamma_exact)),
        Number("section 3", "largest Bayes factor at that parity, k = 3", "20", found),
    ]


def _bayes_factors(design: mw.Design, prior: list[float]) -> list[float]:
    """Of every event and every report, for a prior."""
    before, after = np.array(prior), mw.privacy.posterior(design, np.array(prior))
    events = [list(event) for n in range(1, design.k) for event in combinations(range(design.k), n)]
    pairs = [(before[event].sum(), float(row[event].sum())) for event in events for row in after]
    return [float(high / (1 - high) * (1 - low) / low) for low, high in pairs]


def statements() -> list[Statement]:
    """Every statement that an example can test."""
    return [*_of_parity(), *_of_regions(), *_of_merging(), *_of_admissibility(), *_of_the_best()]


def _of_parity() -> list[Statement]:
    rows = mw.designs.Dense.of([["0.6", "0.2"], [0, 0], ["0.4", "0.8"]])
    narrow = mw.designs.Dense.of([["1/2", "1/4", "1/4"], ["1/2", "3/4", "3/4"]])
    above = posterior_range(Fraction(901, 100), Fraction(1, 10))[1]
    ratio = posterior_range(Fraction(401, 100), Fraction(1, 10_000))[1] * 10_000
    return [
        Statement(
            "section 1",
            "with fewer reports than categories, π cannot be estimated",
            "2 reports, 3 categories",
            f"rank {narrow.rank()}",
            not narrow.identifiable,
        ),
        Statement(
            "Definition 1.3",
            "row parity is largest over smallest entry, 0/0 = 1, a/0 = ∞",
            "rows (.6, .2), (0, 0), (.4, .8); and the truth",
            f"{', '.join(map(str, rows.row_parities()))}; ∞",
            rows.row_parities() == [3, 1, 2] and mw.designs.Uniform.of(1, numbered(2)).parity() == math.inf,
        ),
        Statement(
            "Theorem 1.1, eq. (1.6)",
            "parity up to ρ₂(1−ρ₁) / (ρ₁(1−ρ₂)) keeps ρ₁-to-ρ₂ privacy",
            "ρ₁ = 0.1, ρ₂ = 0.5",
            f"parity {mw.Demand.from_rho('0.1', '0.5').gamma_exact}",
            mw.Demand.from_rho("0.1", "0.5").gamma_exact == 9,
        ),
        Statement(
            "section 1, after Theorem 1.2",
            "no larger parity does",
            "parity 9.01, prior 0.1",
            f"becomes {float(above):.4f}",
            above > Fraction(1, 2),
        ),
        Statement(
            "Theorem 1.2",
            "β-factor privacy is equivalent to parity up to β",
            "β = 4; with parity 4.01, prior 0.0001",
            f"parity {mw.Demand.from_beta(4).gamma_exact}; grows {float(ratio):.4f} times",
            mw.Demand.from_beta(4).gamma_exact == 4 < ratio,
        ),
        Statement(
            "section 1",
            "for any η and m ≥ k a design of parity η exists",
            "k = 3, m = 5, η = 7",
            f"parity {flat_tail(3, 5, 7).parity_exact()}",
            flat_tail(3, 5, 7).parity_exact() == 7,
        ),
        Statement(
            "section 2",
            "ε-differential local privacy is β-factor privacy with β = e^ε",
            "ε = 1",
            f"parity {float(mw.Demand.from_epsilon(1).gamma_exact):.6f}",
            math.isclose(mw.Demand.from_epsilon(1).gamma_exact, math.e),
        ),
    ]


def _of_regions() -> list[Statement]:
    rho = mw.Demand.from_curves(
        upper=mw.privacy.Steps.of(["0.1"], ["0.5", 1]), lower=mw.privacy.Steps.of(["0.5"], [0, "0.1"])
    ).gamma_exact
    beta = mw.Demand.from_curves(
        upper=mw.privacy.Lines.of([(0, 0), ("1/4", 1), (1, 1)]), lower=mw.privacy.Lines.of([(0, 0), (1, "1/4")])
    ).gamma_exact
    canonical = mw.Demand.from_curves(upper=mw.privacy.Steps.of(["0.1", "0.5"], ["0.5", "0.9", 1])).gamma_exact
    factors = _bayes_factors(mw.designs.Subset.from_gamma(3, numbered(4), size=2), [0.1, 0.2, 0.3, 0.4])
    ends = _bayes_factors(mw.designs.Uniform.from_gamma(4, numbered(3)), [0.5, 0.25, 0.25])
    (low, high), mirrored = (
        posterior_range(Fraction(5), Fraction(1, 10)),
        posterior_range(Fraction(5), Fraction(9, 10))[1],
    )
    return [
        Statement(
            "Lemma 3.1",
            "a demand stated in one direction only is equivalent",
            "ρ 0.1 to 0.5 as the steps 0.5, 0.9, 1",
            f"B = {canonical}",
            canonical == rho,
        ),
        Statement(
            "eq. (3.3), Theorem 3.1",
            "B of the curves gives Theorems 1.1 and 1.2 again",
            "curves of ρ 0.1 to 0.5 and of β = 4",
            f"B = {rho} and {beta}",
            (rho, beta) == (9, 4),
        ),
        Statement(
            "Lemma 3.2",
            "Bayes factors of events stay within those of single categories",
            "k = 4, q = 2, γ = 3: 14 events, 6 reports",
            f"Bayes factors {min(factors):.4f} to {max(factors):.4f}",
            min(factors) >= 1 / 3 - 1e-12 and max(factors) <= 3 + 1e-12,
        ),
        Statement(
            "eq. (3.5)",
            "parity γ leaves p between p/(γ−(γ−1)p) and γp/(1+(γ−1)p)",
            "γ = 5, p = 0.1",
            f"{float(low):.6f} to {float(high):.6f}",
            (low, high) == (Fraction(1, 46), Fraction(5, 14)) and low == 1 - mirrored,
        ),
        Statement(
            "eqs. (3.6), (3.7)",
            "all Bayes factors are between 1/γ and γ, and both are reached",
            "k = 3, γ = 4",
            f"{min(ends):.4f} to {max(ends):.4f}",
            math.isclose(min(ends), 1 / 4) and math.isclose(max(ends), 4),
        ),
    ]


def _of_merging() -> list[Statement]:
    halves = mw.designs.Dense.of([["0.3", "0.1"], ["0.3", "0.1"], ["0.4", "0.8"]])
    merged = reduction_of(halves)
    turned = mw.designs.Dense.of([["0.3", "0.8"], ["0.7", "0.2"]])
    binary = [mw.designs.Uniform.from_gamma(gamma, mw.Categories.of(["yes", "no"])) for gamma in (3, 5)]
    return [
        Statement(
            "Remark 4.1",
            "adding proportional rows gives an equivalent design",
            "rows (.3, .1), (.3, .1), (.4, .8)",
            f"{len(merged.rows)} rows; {mw.planning.order_of(halves, mw.designs.Dense.of(merged.rows)).verdict}",
            mw.planning.order_of(halves, mw.designs.Dense.of(merged.rows)).verdict == "equivalent"
            and merged.C[0] == [Fraction(1, 2), 0],
        ),
        Statement(
            "Remark 4.2, Theorem 4.1",
            "without such rows, only the order of reports may differ between equivalent designs",
            "P₂ with its rows exchanged",
            mw.planning.order_of(mw.designs.Dense.of(P_2), turned).verdict,
            mw.planning.order_of(mw.designs.Dense.of(P_2), turned).verdict == "equivalent"
            and mw.planning.order_of(
                mw.designs.Dense.of(P_2), mw.designs.Uniform.from_gamma("3.5", numbered(2))
            ).verdict
            == "second",
        ),
        Statement(
            "Lemma 4.1",
            "randomizing again never raises parity",
            "parity 3, then 5",
            f"parity {mw.designs.Composed.of(*binary).parity_exact()}",
            mw.designs.Composed.of(*binary).parity_exact() == 2,
        ),
    ]


def _of_admissibility() -> list[Statement]:
    four = numbered(4)
    uniform, pairs = mw.designs.Uniform.from_gamma(3, four), mw.designs.Subset.from_gamma(3, four, size=2)
    flat = mw.improve(mw.designs.Dense.of([["0.2", "0.2"], ["0.6", "0.2"], ["0.2", "0.6"]]))
    middle, wasteful = mw.designs.Dense.of(MIDDLE), mw.designs.Dense.of(WASTEFUL)
    split, lemmas = mw.improve(middle), mw.improve(wasteful, gamma=3, split="lemmas")
    before, after = lemmas.added_variances()
    return [
        Statement(
            "Theorem 4.2",
            "designs whose rows take two values in the ratio γ are admissible",
            "k = 4, γ = 3: single answers and pairs",
            f"both; against each other {mw.planning.order_of(uniform, pairs).verdict}",
            uniform.is_admissible()
            and pairs.is_admissible()
            and mw.planning.order_of(uniform, pairs).verdict == "incomparable",
        ),
        Statement(
            "Lemma 4.2, Theorem 4.3",
            "rows of parity below γ can be sharpened",
            "rows (.4, .3, .3), (.3, .4, .2), (.3, .3, .5); γ = 3",
            f"V_R from {before:.2f} to {after:.2f}, same parity bound",
            mw.planning.order_of(lemmas.design, wasteful).verdict == "first" and lemmas.design.parity_exact() == 3,
        ),
        Statement(
            "Lemma 4.3",
            "an uninformative report can be divided among the others",
            "rows (.2, .2), (.6, .2), (.2, .6)",
            f"becomes rows (.75, .25), (.25, .75); first garbling row {_row(flat.garbling()[0])}",
            flat.design == mw.designs.Uniform.from_gamma(3, numbered(2)) and flat.garbling()[0] == [Fraction(1, 5)] * 2,
        ),
        Statement(
            "Lemma 4.4",
            "a row with a middle value can be split",
            "rows (2, 3, 4), (4, 2, 3), (3, 4, 2) over 9",
            f"{split.design.m} reports; V_R from {split.added_variances()[0]:.2f} to {split.added_variances()[1]:.2f}",
            split.improved and mw.planning.order_of(split.design, middle).verdict == "first",
        ),
    ]


def _of_the_best() -> list[Statement]:
    optimum, two = mw.designs.Uniform.from_gamma("3.5", numbered(2)), mw.designs.Dense.of(P_2)
    diagonal = mw.designs.Uniform.from_gamma(2, numbered(3))
    trace, bound = (
        float(diagonal.matrix().trace()),
        3 * mw.planning.extremal_design(["1/3"] * 3, 2, utility="guess").bound,
    )
    informed = mw.planning.extremal_design(["0.5", "0.3", "0.2"], 3)
    return [
        Statement(
            "Proposition 4.1",
            "for k = 2 one design of parity γ is at least as informative as all others",
            "γ = 3.5, against P₂",
            f"{_row(optimum.exact_matrix()[0])} is more informative",
            mw.planning.order_of(optimum, two).verdict == "first",
        ),
        Statement(
            "Theorem 4.4",
            "k-ary randomized response has the largest trace, kγ/(γ+k−1)",
            "k = 3, γ = 2; bound by linear program",
            f"trace {trace:.4g}, no design above {bound:.4g}",
            math.isclose(trace, 1.5) and math.isclose(bound, 1.5, rel_tol=1e-9),
        ),
        Statement(
            "section 4.2",
            "it is admissible, and has condition number (γ+k−1)/(γ−1)",
            "k = 3, γ = 4",
            f"{mw.designs.Uniform.from_gamma(4, numbered(3)).condition():.4g}",
            math.isclose(mw.designs.Uniform.from_gamma(4, numbered(3)).condition(), 2) and diagonal.is_admissible(),
        ),
        Statement(
            "section 4.2",
            "for known π the best design comes from a linear program; often it is this one",
            "π = (.5, .3, .2), γ = 3, mutual information",
            f"k-ary randomized response, {informed.value:.7f} nats",
            informed.design == mw.designs.Uniform.from_gamma(3, numbered(3)),
        ),
        Statement(
            "section 5",
            "merging categories has infinite parity unless all are merged",
            "3 categories into 2, into 1",
            "∞ and 1",
            mw.designs.Dense.of([[1, 1, 0], [0, 0, 1]]).parity() == math.inf
            and mw.designs.Dense.of([[1, 1, 1]]).parity() == 1,
        ),
    ]


def _row(row: list[Fraction]) -> str:
    return f"({', '.join(map(str, row))})"
