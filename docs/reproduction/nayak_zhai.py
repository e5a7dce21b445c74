"""The numbers and statements in the text of [NayakZhai2019], in the order of the source."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations, pairwise

import numpy as np
from docs.reproduction.entries import Number, Statement
from docs.reproduction.tables import table_1

import maskwell as mw

PI = np.array([0.4, 0.2, 0.2, 0.1, 0.1])
P_1 = [["1/2", 0], [0, "1/2"], ["1/2", "1/2"]]
P_2 = [["0.7", "0.2"], ["0.3", "0.8"]]


def best(k: int, gamma: str) -> mw.designs.Subset:
    """The minimax design."""
    return mw.designs.Subset.from_gamma(gamma, mw.Categories.numbered(k), size=mw.planning.minimax_size(k, gamma))


def diverse(k: int, diversity: int) -> mw.designs.LocalDiversity:
    """Local l-diversity."""
    return mw.designs.LocalDiversity.of(diversity, mw.Categories.numbered(k))


def revealing(phi: Fraction, k: int) -> mw.designs.Dense:
    """The truth with probability phi - 1, and one uninformative report otherwise."""
    truth = [[(phi - 1) * (i == j) for j in range(k)] for i in range(k)]
    return mw.designs.Dense.of([*truth, [2 - phi] * k])


def numbers() -> list[Number]:
    """Every number in the text that can be computed."""
    return [*_average_security(), *_cost(), *_twenty(), *_fifty()]


def _average_security() -> list[Number]:
    where = "section 3.1"
    one, two = mw.designs.Dense.of(P_1), mw.designs.Dense.of(P_2)
    certain = (mw.privacy.posterior(one) == 1).any(axis=1)
    revealed = float(one.matrix()[certain].sum(axis=0).max())
    return [
        Number(where, "l₁ of P₁", "1.0", one.total_variation()),
        Number(where, "l₁ of P₂", "1.0", two.total_variation()),
        Number(where, "φ of P₁", "1.5", mw.audit(one).to_dict()["average_security"]),
        Number(where, "φ of P₂", "1.5", mw.audit(two).to_dict()["average_security"]),
        Number(where, "probability that a report of P₁ reveals the truth", "0.5", revealed),
    ]


def _cost() -> list[Number]:
    where, truth = "section 3.2", mw.designs.Uniform.of(1, mw.Categories.numbered(5))
    sampling = float(truth.covariance(PI).trace())
    at_20, at_10 = (best(5, gamma).added_variance(PI) for gamma in ("20", "10"))
    return [
        Number(where, "V_R, k = 20, γ = 20", "3.0526", best(20, "20").added_variance()),
        Number(where, "V_R, k = 100, γ = 20; V_S is below 1", "20.74", best(100, "20").added_variance()),
        Number(where, "V_S at π = (.4, .2, .2, .1, .1)", "0.74", sampling),
        Number(where, "V_R, k = 5, γ = 20, at that π", "0.4765", at_20),
        Number(where, "V_R / V_S", "0.644", at_20 / sampling),
        Number(where, "(V_R + V_S) / V_S", "1.644", 1 + at_20 / sampling),
        Number(where, "ε of γ = 20", "2.996", best(5, "20").epsilon()),
        Number(where, "increase of the variance in %, γ = 20", "64.4", 100 * at_20 / sampling),
        Number(where, "increase of the variance in %, γ = 10", "153.49", 100 * at_10 / sampling),
    ]


def _twenty() -> list[Number]:
    where, match = "section 4.3", mw.planning.matching_gamma(20, 5)
    design = best(20, "14.19")
    return [
        Number(where, "k = 20, l = 5: γ of the minimax design", "14.19", match.gamma),
        Number(where, "k = 20, l = 5: its size q", "1", Fraction(match.sizes[0])),
        Number(where, "k = 20, l = 5: 1/γ", "0.0705", 1 / match.gamma),
        Number(
            where,
            "k = 20, l = 5: ε",
            "2.6525",
            design.epsilon(),
            note=_rounded_first(match.gamma, math.log(match.gamma)),
        ),
        Number(where, "k = 20, l = 5: probability p of reporting the truth", "0.4275", design.include),
        Number(where, "k = 20, l = 5: probability of a correct guess, minimax", "0.4275", design.guess_probability()),
        Number(where, "k = 20, l = 5: other categories to choose from", "19", Fraction(design.k - 1)),
        Number(
            where,
            "k = 20, l = 5: probability of a correct guess, 5-diversity",
            "0.2",
            diverse(20, 5).guess_probability(),
        ),
        Number(where, "k = 20, l = 5: categories added at random", "4", Fraction(diverse(20, 5).size - 1)),
    ]


def _fifty() -> list[Number]:
    where, match = "section 4.3", mw.planning.matching_gamma(50, 10)
    design = best(50, "18.02")
    return [
        Number(where, "k = 50, l = 10: γ of the minimax design", "18.02", match.gamma),
        Number(where, "k = 50, l = 10: its size q", "3", Fraction(match.sizes[0])),
        Number(
            where,
            "k = 50, l = 10: ε",
            "2.8915",
            design.epsilon(),
            note=_rounded_first(match.gamma, math.log(match.gamma)),
        ),
        Number(where, "k = 50, l = 10: probability p that the truth is named", "0.5349", design.include),
        Number(where, "k = 50, l = 10: probability that it is not named", "0.4651", 1 - design.include),
        Number(where, "k = 50, l = 10: probability of a correct guess, minimax", "0.1783", design.guess_probability()),
        Number(
            where,
            "k = 50, l = 10: probability of a correct guess, 10-diversity",
            "0.1",
            diverse(50, 10).guess_probability(),
        ),
    ]


def _rounded_first(gamma: float, epsilon: float) -> str:
    return f"from γ as printed; γ = {gamma:.5f} has ε = {epsilon:.4f}"


# ---- what is said without a number


def statements() -> list[Statement]:
    """Every statement that an example can test."""
    return [*_of_criteria(), *_of_security(), *_of_parity_bounds(), *_of_diversity(), *_of_the_rest()]


def _of_criteria() -> list[Statement]:
    rows = mw.designs.Uniform.from_gamma(4, mw.Categories.numbered(4)).matrix()
    unions = [sum(chosen) for n in (1, 2, 3) for chosen in combinations(rows, n)]
    ratio = max(float(union.max() / union.min()) for union in unions)
    posterior = mw.privacy.posterior(
        mw.designs.Uniform.from_gamma(20, mw.Categories.numbered(3)), np.array([0.1, 0.9, 0])
    )[:, 0]
    extremes = [
        d.guess_probability() / 0.5 for d in (mw.designs.Dense.of([[1, 1]]), mw.designs.Dense.of([[1, 0], [0, 1]]))
    ]
    priors = [np.array([p, 1 - p]) for p in np.linspace(0.01, 0.99, 99)]
    gains = [max(mw.designs.Dense.of(P).guess_probability(a) / max(a) for a in priors) for P in (P_1, P_2)]
    return [
        Statement(
            "Definition 2.3",
            "over sets of reports the ratio is never above that of a single report, e^ε = γ",
            "k = 4, γ = 4, all 14 sets",
            f"largest ratio {ratio:.4g}",
            math.isclose(ratio, 4),
        ),
        Statement(
            "eq. (2.3)",
            "a prior p can reach both ends of the range of parity γ, and no value beyond",
            "γ = 20, p = 0.1: 0.0055 to 0.6897",
            f"{posterior.min():.4f} to {posterior.max():.4f}",
            math.isclose(posterior.max(), 20 / 29) and math.isclose(posterior.min(), 1 / 181),
        ),
        Statement(
            "section 2.2",
            "a report multiplies the probability of a correct yes-or-no guess by 1 to 2",
            "an uninformative report, and the truth",
            f"{extremes[0]:g} and {extremes[1]:g}",
            extremes == [1, 2],
        ),
        Statement(
            "Theorem 2.1",
            "the gain in guessing is at most 1 + l₁/2, which is attained",
            "P₁ and P₂, 99 priors",
            f"largest gain {gains[0]:.4g} and {gains[1]:.4g}",
            all(math.isclose(gain, 1.5) for gain in gains),
        ),
    ]


def _of_security() -> list[Statement]:
    one, two, half = mw.designs.Dense.of(P_1), mw.designs.Dense.of(P_2), Fraction(3, 2)
    wide = revealing(Fraction(13, 10), 4)
    order = mw.planning.order_of(revealing(half, 2), two).verdict
    return [
        Statement(
            "section 3.1",
            "average security does not distinguish P₁, which reveals, from P₂, which protects",
            "parities at equal φ = 1.5",
            f"P₁ {_short(one.parity())}, P₂ {_short(two.parity())}",
            one.parity() == math.inf and two.parity_exact() == Fraction(7, 2),
        ),
        Statement(
            "eq. (3.1), Theorem 3.1",
            "of all φ-secure binary designs, the revealing one is most informative",
            "φ = 1.5, against P₂",
            "it is more informative, proved in fractions" if order == "first" else order,
            order == "first" and revealing(half, 2) == one,
        ),
        Statement(
            "section 3.1",
            "for any k a φ-secure design can reveal the truth with probability φ − 1",
            "k = 4, φ = 1.3",
            f"φ = {mw.audit(wide).to_dict()['average_security']:.4g}, reveals {float(wide.matrix()[0, 0]):.4g}",
            mw.privacy.AverageSecurity.of("1.3").met_by(wide) and wide.parity() == math.inf,
        ),
    ]


def _of_parity_bounds() -> list[Statement]:
    cells = {(c.k, Fraction(c.gamma)): c.number.ours for c in table_1()}
    ks, gammas = sorted({k for k, _ in cells}), sorted({g for _, g in cells})
    rises = all(cells[a, g] < cells[b, g] for g in gammas for a, b in pairwise(ks))
    falls = all(cells[k, a] > cells[k, b] for k in ks for a, b in pairwise(gammas))
    design = best(5, "2")
    spread = [design.added_variance(pi) for pi in (PI, np.array([1.0, 0, 0, 0, 0]), np.full(5, 0.2))]
    return [
        Statement(
            "eq. (3.3)",
            "the added variance is the same for every π",
            "k = 5, γ = 2, three π",
            ", ".join(f"{v:.4f}" for v in spread),
            max(spread) - min(spread) < 1e-9,
        ),
        Statement("section 3.2", "V_R grows with k, falls with γ", "all of Table 1", "in every line", rises and falls),
        Statement(
            "section 3.2",
            "at γ = 20 and k = 20, V_R is more than three times V_S",
            "V_S at its largest, 1 − 1/k",
            f"{best(20, '20').added_variance() / 0.95:.3f} times",
            best(20, "20").added_variance() > 3 * 0.95,
        ),
    ]


def _of_diversity() -> list[Statement]:
    design, prior = diverse(5, 2), np.array([0.4, 0.2, 0.2, 0.1, 0.1])
    rows, share = design.exact_matrix(), Fraction(1, math.comb(4, 1))
    sets = list(combinations(range(5), 2))
    after = mw.privacy.posterior(design, prior)[sets.index((0, 3))]
    sure = mw.privacy.posterior(design, np.array([0.4, 0.6, 0, 0, 0]))[sets.index((0, 3))]
    named, variances = design.apply(prior), design.share_variance(prior)
    written = 1 / 3 * (1 - prior) + prior * (1 - prior)
    large = diverse(10**6, 5).added_variance()
    both = [set(named) >= {0, 1} for named in combinations(range(5), 3)]
    pair = float((diverse(5, 3).matrix() @ prior)[both].sum())
    growing = [diverse(20, size).added_variance() for size in range(2, 20)]
    return [
        Statement(
            "section 4.1, eq. (4.1)",
            "C(k, l) reports; in each row l entries are 1/C(k−1, l−1), the others 0",
            "k = 5, l = 2",
            f"{len(rows)} reports, 2 entries of {share} in each",
            len(rows) == 10 and all(sorted(row) == [0, 0, 0, share, share] for row in rows),
        ),
        Statement(
            "section 4.1",
            "the posterior is the prior on the named set, scaled to 1",
            "prior (.4, .2, .2, .1, .1), named: first and fourth",
            f"{after[0]:.4g} and {after[3]:.4g}",
            bool(np.allclose(after, [0.8, 0, 0, 0.2, 0], rtol=0, atol=1e-12)),
        ),
        Statement(
            "section 4.1",
            "an attacker who can rule out all but one of the named answers learns the truth",
            "prior (.4, .6, 0, 0, 0), same report",
            f"posterior {sure[0]:.4g}",
            bool(sure[0] == 1),
        ),
        Statement(
            "eqs. (4.2), (4.3)",
            "a category is named with probability π + (1−π)(l−1)/(k−1), which can be inverted to π",
            "k = 5, l = 2, π = (.4, .2, .2, .1, .1)",
            ", ".join(f"{share:.4g}" for share in named),
            bool(np.allclose(named, prior + (1 - prior) / 4) and np.allclose(design.solve(named), prior)),
        ),
        Statement(
            "section 4.2",
            "n Var(π̂ᵢ) = (l−1)/(k−l) (1−πᵢ) + πᵢ(1−πᵢ)",
            "k = 5, l = 2, the same π",
            ", ".join(f"{v:.4f}" for v in variances),
            bool(np.allclose(variances, written, rtol=1e-12)),
        ),
        Statement(
            "section 4.2",
            "two categories are both named with probability (l−1)(k−l)/((k−1)(k−2)) [πᵢ + πⱼ + (l−2)/(k−l)]",
            "k = 5, l = 3, first and second: 11/30",
            f"{pair:.6f}",
            math.isclose(pair, 11 / 30),
        ),
        Statement(
            "eq. (4.4)",
            "added variance (k−1)(l−1)/(k−l): grows with l, falls to l − 1 as k grows",
            "k = 20, all l; k = 10⁶, l = 5",
            f"{growing[0]:.4f} up to {growing[-1]:.0f}; {large:.6f}",
            all(a < b for a, b in pairwise(growing)) and 4 < large < 4.0001,
        ),
    ]


def _of_the_rest() -> list[Statement]:
    design = diverse(5, 3)
    P, a = design.matrix(), 1 / math.comb(4, 2)
    L = mw.designs.Dense.of(design.exact_matrix(), outputs=mw.Categories.numbered(design.m)).left_inverse()
    written = a / 4 * (2 * np.eye(5) + 2 * np.ones((5, 5)))
    direct = np.array([[(4 * (j in named) - 2) / 2 for named in combinations(range(5), 3)] for j in range(5)])
    c, d = Fraction(7, 10), Fraction(2, 10)
    split = mw.designs.Dense.of([[c - d, 0], [d, d], ["0.3", "0.8"]])
    order = mw.planning.order_of(split, mw.designs.Dense.of(P_2)).verdict
    rappor = mw.designs.Unary.rappor_from_gamma(20, mw.Categories.numbered(10))
    return [
        Statement(
            "section 5",
            "basic RAPPOR adds much more variance than the minimax design",
            "k = 10, γ = 20; per-bit and best linear estimator",
            f"{rappor.added_variance_of('per-bit'):.4f} and {rappor.added_variance_of('best-linear'):.4f}, "
            f"against {best(10, '20').added_variance():.4f}",
            rappor.added_variance_of("best-linear") > 2 * best(10, "20").added_variance(),
        ),
        Statement(
            "proof of Theorem 3.1",
            "splitting a row (c, d) into (c−d, 0) and (d, d) is strictly more informative",
            "first row of P₂",
            "the split design is more informative" if order == "first" else order,
            order == "first",
        ),
        Statement(
            "Theorem 4.1, eq. (6.4)",
            "the linear estimator that is best at equal π is the moment estimator",
            "k = 5, l = 3, all 5 × 10 weights",
            f"largest difference {_tiny(np.abs(L - direct).max())}",
            bool(np.allclose(L, direct, rtol=0, atol=1e-12)),
        ),
        Statement(
            "proof of Theorem 4.1",
            "P′P = a/(k−1) [(k−l) I + (l−1) 11′] with a = 1/C(k−1, l−1)",
            "k = 5, l = 3, all 25 entries",
            f"largest difference {_tiny(np.abs(P.T @ P - written).max())}",
            bool(np.allclose(P.T @ P, written, rtol=0, atol=1e-12)),
        ),
    ]


def _tiny(difference: float) -> str:
    return "below 1e-12" if difference < 1e-12 else f"{difference:.1e}"


def _short(parity: float) -> str:
    return "∞" if parity == math.inf else f"{parity:g}"
