"""Where [NayakZhai2019] is to be read differently."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
from docs.reproduction.chai_nayak import numbered
from docs.reproduction.entries import ZHAI, Erratum
from docs.reproduction.nayak_zhai import P_2, best, diverse, revealing
from docs.reproduction.tables import table_1, table_2

import maskwell as mw
from maskwell.designs.rational import product
from maskwell.planning.set_sizes import minimax_sizes


def errata() -> list[Erratum]:
    """All of them, in order."""
    return [*_posteriors(), *_security(), *_estimation(), *_sizes()]


def _posteriors() -> list[Erratum]:
    design, prior = mw.designs.Dense.of([["0.8", "0.2"], ["0.2", "0.8"]]), np.array([0.05, 0.95])
    P = design.matrix()
    stands = float((prior * P[0]).sum() / (prior * P.diagonal()).sum())
    beta = mw.Demand.from_beta(4)
    return [
        Erratum(
            "E9",
            "slip",
            ZHAI,
            "section 2, posterior",
            "denominator Σ αₗ pₗₗ",
            "Σ αₗ pᵢₗ",
            f"Warner .8/.2, prior (.05, .95): as printed the posteriors sum to {stands:g}",
            not math.isclose(stands, 1) and math.isclose(float(mw.privacy.posterior(design, prior)[0].sum()), 1),
        ),
        Erratum(
            "E10",
            "slip",
            ZHAI,
            "after Definition 2.1",
            "h_u(p) = βp",
            "min(1, βp)",
            f"β = 4, p = 0.3: {4 * 0.3:g}, correct {beta.upper(np.array([0.3]))[0]:g}",
            bool(beta.upper(np.array([0.3]))[0] == 1),
        ),
    ]


def _security() -> list[Erratum]:
    stray = _refused(lambda: mw.designs.Dense.of([["0.7", "0.2"], ["0.2", "0.2"], ["0.3", "0.8"]]))
    low = _refused(lambda: mw.privacy.AverageSecurity.of("0.5"))
    full, less = revealing(Fraction(3, 2), 2), revealing(Fraction(13, 10), 2)
    joint = mw.designs.Dense.of([["0.2", "0.2", 0], [0, 0, "0.2"], ["0.8"] * 3])
    apart = revealing(Fraction(6, 5), 3)
    order, again = mw.planning.order_of(full, less).verdict, mw.planning.order_of(apart, joint).verdict
    return [
        Erratum(
            "E11",
            "copy",
            ZHAI,
            "section 3.1",
            "P₂ with a row (.2, .2); eq. (3.1) missing",
            "without it; (3.1) reveals the truth with probability φ − 1",
            "columns do not sum to 1 with it; without it l₁ = 1, as the text says",
            stray and mw.designs.Dense.of(P_2).total_variation() == 1,
        ),
        Erratum("E12", "slip", ZHAI, "Theorem 3.1", "0 < φ < 1", "1 < φ < 2", "φ = 0.5 is refused: φ ≥ 1 always", low),
        Erratum(
            "E13",
            "slip",
            ZHAI,
            "end of section 3.1",
            "admissible if and only if entries other than 0 are equal",
            "only if",
            "truth with probability .3 qualifies, .5 is more informative, φ = 1.5;"
            " k = 3: (.2, .2, 0) can be split, φ = 1.2",
            order == again == "first" and math.isclose(joint.total_variation(), apart.total_variation()),
        ),
    ]


def _refused(make: Callable[[], object]) -> bool:
    try:
        make()
    except mw.MaskwellError:
        return True
    return False


def _estimation() -> list[Erratum]:
    pairs = mw.designs.Subset.from_gamma(3, numbered(4), size=2)
    P = pairs.matrix()
    L = mw.designs.Dense.of(pairs.exact_matrix(), outputs=numbered(6)).left_inverse()
    factor, design = _variance_factor(), diverse(5, 2)
    column = [p for p in (row[0] for row in design.exact_matrix()) if p]
    return [
        Erratum(
            "E14",
            "slip",
            ZHAI,
            "section 3.2",
            "P L = I",
            "L P = I",
            "k = 4, q = 2: L P is the identity of order 4, P L has rank 4 and order 6",
            bool(np.allclose(L @ P, np.eye(4)) and np.linalg.matrix_rank(P @ L) == 4),
        ),
        Erratum(
            "E15",
            "slip",
            ZHAI,
            "section 4.2",
            "Var = [(k−1)/(n(k−l))]² Σ",
            "[(k−1)/(k−l)]² Σ / n",
            f"k = 4, l = 2, n = 2, all pairs of reports: factor {float(factor):g}; as printed 0.5625",
            factor == Fraction(9, 8),
        ),
        Erratum(
            "E16",
            "slip",
            ZHAI,
            "eq. (4.2)",
            "i = 1, …, n",
            "i = 1, …, k",
            "k = 5: five shares, for any number of reports",
            design.apply(design.uniform_prior()).shape == (5,),
        ),
        Erratum(
            "E17",
            "slip",
            ZHAI,
            "proof of Theorem 4.1",
            "a column has a entries of a; II′",
            "1/a entries; 11′",
            f"k = 5, l = 2: {len(column)} entries of {column[0]}",
            len(column) == 4 and set(column) == {Fraction(1, 4)},
        ),
    ]


def _variance_factor() -> Fraction:
    """Variance of an estimate from two reports over that of one report's indicator, by enumeration."""
    design, truth = diverse(4, 2), 0
    reports = [(row[truth], Fraction(bool(row[1]))) for row in design.exact_matrix() if row[truth]]
    estimates = [
        (p * q, Fraction(3, 2) * (x + y) / 2 - Fraction(1, 2))
        for (p, x), (q, y) in itertools.product(reports, repeat=2)
    ]
    return _variance(estimates) / _variance(reports)


def _variance(law: list[tuple[Fraction, Fraction]]) -> Fraction:
    mean = sum(p * x for p, x in law)
    return sum((p * (x - mean) ** 2 for p, x in law), Fraction(0))


def _sizes() -> list[Erratum]:
    cut = [cell.number for cell in table_1() if cell.number.erratum]
    tie = next(cell for cell in table_2() if (cell.k, cell.diversity) == (10, 5))
    variances = [mw.designs.Subset.from_gamma(6, numbered(10), size=q).added_variance() for q in (1, 2)]
    return [
        Erratum(
            "E18",
            "slip",
            ZHAI,
            "Table 1",
            " and ".join(n.printed for n in cut),
            "9.3516 and 1.7622",
            f"{cut[0].ours:.7f} and {float(cut[1].ours):.7f}: truncated, not rounded",
            len(cut) == 2 and all(n.verdict == "cut off" for n in cut),
        ),
        Erratum(
            "E19",
            "slip",
            ZHAI,
            "after eq. (3.3)",
            "q = ⌊k/(1+γ)⌋ or ⌈k/(1+γ)⌉",
            "and q ≥ 1",
            f"k = 5, γ = 20: ⌊5/21⌋ = 0, best is q = {best(5, '20').size}",
            best(5, "20").size == 1,
        ),
        Erratum(
            "E20",
            "note",
            ZHAI,
            "Table 2, k = 10, l = 5",
            tie.printed,
            "q = 1 is equally good",
            f"γ = 6: V_R = {variances[0]:g} with q = 1, {variances[1]:g} with q = 2",
            minimax_sizes(10, 6) == (1, 2) and math.isclose(*variances),
        ),
        Erratum(
            "E21",
            "slip",
            ZHAI,
            "proof of Theorem 3.1",
            "first row of P₁, second of P",
            "first row of P*",
            "P* is P without its first row: its first row is the second of P, and the third of P₁",
            _third_row(),
        ),
    ]


def _third_row() -> bool:
    c, d = Fraction(7, 10), Fraction(2, 10)
    P = [[c, d], [Fraction(3, 10), Fraction(0)], [Fraction(0), Fraction(8, 10)]]
    split = [[c - d, Fraction(0)], [d, d], *P[1:]]
    joined = [[Fraction(n) for n in row] for row in ([1, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1])]
    garbled = product(joined, split)
    return garbled == P and split[2] == P[1] != split[0]
