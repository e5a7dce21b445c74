"""Where [ChaiNayak2018] is to be read differently, and notes on names that it shares with the others."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from docs.reproduction.chai_nayak import MIDDLE, flat_tail, numbered
from docs.reproduction.entries import CHAI, ZHANG, Erratum

import maskwell as mw
from maskwell.designs.rational import product
from maskwell.designs.row_reduction import reduction_of
from maskwell.privacy.criteria import posterior_range


def errata() -> list[Erratum]:
    """All of them, in order."""
    return [*_trace(), *_lemmas(), *_regions(), *_notes()]


def _trace() -> list[Erratum]:
    bound = 3 * mw.planning.extremal_design(["1/3"] * 3, 2, utility="guess").bound
    diagonal = mw.designs.Uniform.from_gamma(2, numbered(3)).exact_matrix()
    gamma, total = 2, sum(diagonal[i][i] for i in range(3))
    stands, right = Fraction(gamma, 1 - gamma) * (1 - total), (gamma - total) / (gamma - 1)
    return [
        Erratum(
            "E1",
            "copy",
            CHAI,
            "Theorem 4.4 (a)",
            "γᵏ/(γ+k−1)",
            "γk/(γ+k−1)",
            f"k = 3, γ = 2: no trace above {bound:.4g} by linear program; as printed 2",
            math.isclose(bound, 1.5, rel_tol=1e-9),
        ),
        Erratum(
            "E2",
            "slip",
            CHAI,
            "proof of Theorem 4.4 (b)",
            "aⱼ = γ/(1−γ) · (1 − Σa)",
            "aⱼ = (γ − Σa)/(γ−1)",
            f"k = 3, γ = 2: diagonal {diagonal[0][0]}; as printed {stands}, correct {right}",
            stands == 1 and right == diagonal[0][0],
        ),
    ]


def _lemmas() -> list[Erratum]:
    return [_not_unique(), _identity_block(), _proportional()]


def _not_unique() -> Erratum:
    A = [[Fraction(n, 10) for n in row] for row in ([5, 3], [2, 4], [3, 3])]
    C = [
        [Fraction(1), Fraction(-1, 5), Fraction(0)],
        [Fraction(0), Fraction(6, 5), Fraction(0)],
        [*map(Fraction, (0, 0, 1))],
    ]
    free = [Fraction(3, 100), Fraction(3, 100), Fraction(-7, 100)]  # the rows of A add up to zero with these weights
    D = [[c + d for c, d in zip(C[0], free, strict=True)], [c - d for c, d in zip(C[1], free, strict=True)], C[2]]
    order = _more(mw.designs.Dense.of(product(C, A)), mw.designs.Dense.of(A))
    return Erratum(
        "E3",
        "gap",
        CHAI,
        "Lemma 4.2",
        "P = DA only with D = C",
        "other D exist if rows are dependent; the conclusion holds",
        f"rows (.5, .3), (.2, .4), (.3, .3): DA = CA with D ≠ C; and P is {order}",
        product(D, A) == product(C, A) and C != D and order == "more informative",
    )


def _identity_block() -> Erratum:
    row, rest = MIDDLE[0], MIDDLE[1:]
    low, high = min(row), max(row)
    share = (high - row[1]) / (high - low)
    split = [[share * x for x in (low, low, high)], [(1 - share) * x for x in (low, high, high)], *rest]
    top, none = [Fraction(n) for n in (1, 1, 0, 0)], Fraction(0)
    with_identity, with_high = ([top, [none, none, x, none], [none, none, none, x]] for x in (Fraction(1), high))
    return Erratum(
        "E4",
        "copy",
        CHAI,
        "Lemma 4.4",
        "lower right block T of C",
        "the identity",
        "rows (2, 3, 4), (4, 2, 3), (3, 4, 2) over 9: only with it does C times the split rows give them",
        product(with_identity, split) == MIDDLE and product(with_high, split) != MIDDLE,
    )


def _proportional() -> Erratum:
    rows = mw.designs.Dense.of([["0.3", "0.3"], ["0.7", "0.7"]])
    return Erratum(
        "E5",
        "slip",
        CHAI,
        "proof of Lemma 6.1",
        "equal columns give equal rows",
        "they give proportional rows",
        f"rows (.3, .3), (.7, .7): merged into {len(reduction_of(rows).rows)}, and not equal",
        len(reduction_of(rows).rows) == 1 and rows.exact_matrix()[0] != rows.exact_matrix()[1],
    )


def _regions() -> list[Erratum]:
    prior = np.array([0.3, 0.7])
    two = mw.designs.Uniform.from_gamma(4, numbered(2))
    three = mw.designs.Dense.of([["0.4", "0.1"], ["0.1", "0.4"], ["0.5", "0.5"]])
    found = [sorted(mw.privacy.posterior(d, prior)[:, 0].round(4).tolist()) for d in (two, three)]
    nothing = mw.Demand.from_curves()
    truth, impossible = (
        mw.designs.Uniform.of(1, numbered(2)),
        mw.privacy.posterior(mw.designs.Uniform.of(1, numbered(2)), np.array([1.0, 0.0])),
    )
    return [
        Erratum(
            "E6",
            "gap",
            CHAI,
            "Definitions 2.3 and 2.4",
            "designs of equal parity have the same region",
            "for k ≥ 3; for k = 2 some posteriors never occur",
            f"γ = 4, p = 0.3: {_listed(found[0])} against {_listed(found[1])}",
            two.parity_exact() == three.parity_exact() and found[0] != found[1],
        ),
        Erratum(
            "E7",
            "gap",
            CHAI,
            "proof of Lemma 3.3",
            "h is not 1 everywhere",
            "it can be; then B = ∞",
            "no curves: B = ∞, and the truth design is allowed",
            nothing.gamma_exact == math.inf and nothing.met_by(truth),
        ),
        Erratum(
            "E8",
            "slip",
            CHAI,
            "eqs. (2.2), (3.1), (3.2); also [NayakZhai2019, eq. (2.2)]",
            "for all reports",
            "for all reports that can occur",
            "truth design, prior (1, 0): the second report has no posterior",
            bool(np.isnan(impossible[1]).all() and not np.isnan(impossible[0]).any()),
        ),
    ]


def _listed(values: list[float]) -> str:
    return f"{{{', '.join(f'{v:g}' for v in values)}}}"


def _notes() -> list[Erratum]:
    flat = flat_tail(3, 5, 7)
    order = _more(mw.designs.Uniform.from_gamma(7, numbered(3)), flat)
    twice = mw.designs.Dense.of([["0.3", "0.1"], ["0.3", "0.1"], ["0.4", "0.8"]])
    merged = mw.designs.Dense.of(reduction_of(twice).rows)
    return [
        Erratum(
            "E22",
            "note",
            CHAI,
            "section 1, the design with m > k",
            "has parity η",
            "yes, and m − k useless reports",
            f"k = 3, m = 5, η = 7: not admissible; the 7-diagonal design is {order}",
            order == "more informative" and not flat.is_admissible() and flat.parity_exact() == 7,
        ),
        Erratum(
            "E23",
            "note",
            CHAI,
            "section 4, the class of parity up to γ",
            "same name as in [NayakZhai2019]",
            "excludes proportional rows only here",
            f"rows (.3, .1) twice, (.4, .8): {mw.planning.order_of(twice, merged).verdict}"
            " to the merged design of parity 3",
            mw.planning.order_of(twice, merged).verdict == "equivalent" and merged.parity_exact() == 3,
        ),
        _reached(),
    ]


def _reached() -> Erratum:
    strict, closed = (mw.Demand.from_rho("0.1", "0.5", closed=closed) for closed in (False, True))
    reached = posterior_range(Fraction(9), Fraction(1, 10))[1]
    wide = mw.Demand.from_rho("0.5", "0.8").gamma_exact
    return Erratum(
        "E24",
        "note",
        ZHANG,
        "Theorem 3.1; end of section 3",
        "parity up to the bound; η ≤ ρ₂/ρ₁ is enough",
        "parity below it, because reaching ρ₂ is a breach; far from necessary",
        f"parity 9 raises 0.1 to {reached} exactly; parity {wide} keeps 0.5 to 0.8, though 0.8/0.5 = 1.6",
        reached == Fraction(1, 2) and strict.allows(Fraction(9)) and not closed.allows(Fraction(9)) and wide == 4,
    )


def _more(first: mw.Design, second: mw.Design) -> str:
    return {"first": "more informative", "equivalent": "equally informative"}.get(
        mw.planning.order_of(first, second).verdict, "not more informative"
    )
