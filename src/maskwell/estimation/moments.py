"""Moment estimates, and whether the reports fit the design.

    pi_hat = L lam_hat,    Cov(pi_hat) = (D_pi - pi pi') / n (sampling)  +  (L D_lam L' - D_pi) / n (randomization)
Unbiased: total ``(M - pi_hat pi_hat') / (n - 1)`` with ``M = L D_lam L'``, randomization ``(M - D_pi_hat) / n``.
    X2 = sum (x_i - n lam_i)^2 / (n lam_i),     G2 = 2 sum x_i ln(x_i / (n lam_i)),     lam = P pi
at the most likely proportions: chi-square with ``m - k`` degrees of freedom inside the simplex, half a chi-square at
the boundary for two categories and two reports, else a parametric bootstrap. Source: [Adeshiyan2011, section 3.3.2 and
eq. (3.5)], [NayakZhangAdeshiyan2016, eqs. (1.2) and (1.3)]; tests standard.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from maskwell.core.arguments import Array, Real, WholeNumber, as_whole, check_kind
from maskwell.core.display import Result
from maskwell.core.phrases import Printed
from maskwell.core.report_data import Counts
from maskwell.core.verdicts import above, at_least, below, is_outside
from maskwell.designs.coded import CodedDesign
from maskwell.designs.design import Design
from maskwell.errors import ParameterError, ReportError
from maskwell.estimation.left_inverse import LeftInverse
from maskwell.estimation.maximisation.maximum import maximise
from maskwell.estimation.outside_estimates import DOUBTFUL, Flag, Recovered, chance_given_truth, flags_of_moments
from maskwell.estimation.share_estimate import COVARIANCE_LIMIT, Estimate, Sample
from maskwell.notes import Note

REPLICATES = 1000
NEEDS_SEED = "no p value: an estimate is at its boundary, where only a parametric bootstrap serves; give a seed"
SPARSE = "no p value: too few of some reports are expected, where only a parametric bootstrap serves; give a seed"
CHI_SQUARE = "chi-square"
HALF = "half chi-square at the boundary"
BOOTSTRAP = "parametric bootstrap"
EXACT = "none: the design can explain any such reports"


@dataclass(frozen=True, repr=False)
class GoodnessOfFit(Result):
    """How far the reports are from what the design can explain."""

    # The statistics X2 and G2
    pearson: float
    likelihood_ratio: float
    degrees_of_freedom: int  # `m - k` for one sample; 0 where every set of shares inside the simplex fits exactly
    # Chance of a statistic as large or larger if the design was followed; NaN where no law is known (see `flags`)
    p_pearson: float
    p_likelihood_ratio: float
    reference: str  # The law that the p values come from
    n: int  # Number of reports
    replicates: int = 0  # Of the bootstrap, 0 without one
    flags: tuple[str, ...] = ()  # What a reader should know, in words

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values, for JSON."""
        values = {**vars(self), "flags": list(self.flags)}
        return {name: None if value != value else value for name, value in values.items()}  # NaN is no JSON

    def __repr__(self) -> str:
        degrees = f"df = {self.degrees_of_freedom}"
        statistics = f"X2 = {Printed(self.pearson):.4g}, G2 = {Printed(self.likelihood_ratio):.4g}, {degrees}"
        known = "no p value" if np.isnan(self.p_likelihood_ratio) else f"p = {Printed(self.p_likelihood_ratio):.4g}"
        first = f"Goodness of fit: {known} ({statistics}; {self.reference}; n = {self.n:,})"
        return "\n".join([first, *(f"  note: {flag}" for flag in self.flags)])


def goodness_of_fit(
    counts: Counts, design: Design, *, seed: int | None = None, replicates: int = REPLICATES
) -> GoodnessOfFit:
    """Test whether the reports of one sample can come from the design.

    Parameters
    ----------
    counts, design
        What was reported and how.
    seed, replicates
        For the parametric bootstrap, which is used where no closed law is known; without a seed there is none.

    >>> from maskwell.designs import Dense
    >>> forced = Dense.of([["11/12", "1/6"], ["1/12", "5/6"]])
    >>> fit = goodness_of_fit(Counts(np.array([60, 440]), 500, forced.fingerprint), forced)
    >>> round(fit.p_likelihood_ratio, 4)   # fewer yes than the dice alone command: instructions were not followed
    0.0017
    """
    values, n = Sample(counts, design).counts.values, counts.n
    as_whole(replicates, "replicates")
    check_kind(WholeNumber | None, seed=seed)
    if replicates < 1:
        raise ParameterError("replicates-replicates", replicates=replicates, replicates_shown=REPLICATES)
    if seed is not None and seed < 0:
        raise ParameterError("seed-seed", seed=seed)
    if design.reports_are_sets:
        raise ReportError("no-goodness-of-fit")
    top = maximise([design], [values])
    lam = design.apply(_whole(top.pi))
    pearson, ratio = _statistics(values, lam)
    P = design.matrix()
    full = design.m == design.k and design.identifiable
    df = 0 if full else int((P > 0).any(axis=1).sum()) - int(np.linalg.matrix_rank(P))
    flags = (Note("one-sample-with-as-many-reports"),) if df == 0 else ()
    if df == 0 and ratio < _EXACTLY * n:
        return GoodnessOfFit(0.0, 0.0, 0, 1.0, 1.0, EXACT, n, flags=flags)
    if df == 0 and design.k == 2:
        return GoodnessOfFit(pearson, ratio, 0, _tail(pearson, 1) / 2, _tail(ratio, 1) / 2, HALF, n, flags=flags)
    at_boundary, expected = bool(top.at_boundary.any()), n * lam[lam > 0]
    sparse = below(float(expected.min()), 1) or above(float(below(expected, 5).mean()), 0.2)  # Cochran's rule of thumb
    if not at_boundary and not sparse:
        return GoodnessOfFit(pearson, ratio, df, _tail(pearson, df), _tail(ratio, df), CHI_SQUARE, n, flags=flags)
    if seed is None:
        reason = NEEDS_SEED if at_boundary else SPARSE
        return GoodnessOfFit(pearson, ratio, df, np.nan, np.nan, BOOTSTRAP, n, flags=(reason, *flags))
    generator, larger = np.random.default_rng(seed), np.ones(2)  # the observed statistics are among those drawn
    for _ in range(replicates):
        drawn = generator.multinomial(n, _whole(lam))
        refitted = design.apply(_whole(maximise([design], [drawn], gap=1e-8).pi))
        larger += at_least(np.array(_statistics(drawn, refitted)), np.array((pearson, ratio)))
    p_pearson, p_ratio = (larger / (replicates + 1)).tolist()
    return GoodnessOfFit(pearson, ratio, df, p_pearson, p_ratio, BOOTSTRAP, n, replicates, flags)


_EXACTLY = 1e-9  # of a report: below this, G2 is rounding


def _statistics(x: Array, lam: Real) -> tuple[float, float]:
    """X2 and G2; reports without a chance do not occur and count nothing."""
    expected, seen = x.sum() * lam[lam > 0], x[lam > 0]
    logs = np.log(seen / expected, out=np.zeros(len(seen)), where=seen > 0)
    return float(((seen - expected) ** 2 / expected).sum()), max(2 * float(seen @ logs), 0.0)


def _whole(shares: Real) -> Real:
    return np.asarray(shares / shares.sum())


def _tail(statistic: float, df: int) -> float:
    """Chance of more than ``statistic`` under the chi-square distribution."""
    from scipy.special import chdtrc

    return float(chdtrc(df, statistic))


WEAK = 1e-3  # a smallest singular value below this is flagged


def estimate_by_moments(counts: Counts, design: Design, *, inverse: LeftInverse | None = None) -> Estimate:
    """Unbiased proportions from counted reports, with the two parts of their variance.

    With more reports than categories, ``inverse`` chooses among the unbiased linear estimates (:class:`LeftInverse`);
    without it, the one that is best at equal shares.

    >>> from maskwell import Categories
    >>> from maskwell.designs import Dense
    >>> warner = Dense.of([["0.7", "0.3"], ["0.3", "0.7"]], Categories.of(["yes", "no"]))
    >>> result = estimate_by_moments(Counts(np.array([120, 180]), 300, warner.fingerprint), warner)
    >>> [round(float(x), 4) for x in (result.pi_hat[0], result.standard_error[0])]   # a quarter, give or take 7 points
    [0.25, 0.0708]
    """
    check_kind(LeftInverse | None, inverse=inverse)
    sample = Sample(counts, design, inverse)
    n = counts.n
    if n < 2:
        raise ReportError("n-a-standard-error-needs", n=n)
    share = counts.share()
    if not design.reports_are_sets:
        impossible = np.flatnonzero((share > 0) & (design.apply(design.uniform_prior()) == 0))
        if len(impossible):
            raise ReportError("reports-were-seen-but-are-impossible", impossible=impossible[:5].tolist())
    if inverse is not None:
        inverse.check_design(design)
    solver = design if inverse is None else inverse
    pi_hat = solver.solve(share)
    moment = solver.second_moment_diagonal(share)
    variance, randomization = (moment - pi_hat**2) / (n - 1), (moment - pi_hat) / n
    sampling, full = variance - randomization, design.k <= COVARIANCE_LIMIT
    chance = chance_given_truth(pi_hat, [Recovered(design, 1 / n, 1 / n, inverse)])
    smallest = design.singular_range()[1] if isinstance(design, CodedDesign) else 1.0
    weak = () if at_least(smallest, WEAK) else (Note("the-reports-hardly-depend-on", smallest=Printed(smallest)),)
    return Estimate(
        categories=design.inputs.labels,
        pi_hat=pi_hat,
        variance=variance,
        variance_parts=(sampling, randomization),
        covariance=(solver.second_moment(share) - np.outer(pi_hat, pi_hat)) / (n - 1) if full else None,
        n=n,
        method="moments" if inverse is None else f"moments-{inverse.name}",
        fingerprint=design.fingerprint,
        flags=(
            *(() if inverse is None else inverse.flags),
            *flags_of_moments(pi_hat, variance, sampling, full=full, n=n, chance=chance),
            *_boundary_test(counts, design, pi_hat, chance),
            *weak,
        ),
        basis=(sample,),
    )


def _boundary_test(counts: Counts, design: Design, pi_hat: Real, chance: float) -> tuple[str, ...]:
    """Estimates outside [0, 1] come with the chance of such reports if the instructions were followed."""
    if not is_outside(pi_hat).any():
        return ()
    if not design.reports_are_sets and design.k == design.m == 2:
        fit = goodness_of_fit(counts, design)
        chance = max(fit.p_likelihood_ratio, chance)
        said = f"G2 = {Printed(fit.likelihood_ratio):.2f}, p = {Printed(fit.p_likelihood_ratio):.2g}"
    else:
        said = f"p is at most {Printed(chance):.2g} for the farthest of {design.k:,} estimates"
        said += " (a test of fit takes all together)"
    harmless = Flag(f"boundary test: {said}", "boundary", chance=chance)
    words = f"{harmless}: evidence that the instructions were not followed, or that this is another design"
    return (Flag(words, "boundary", chance=chance, limit=DOUBTFUL, otherwise=harmless).among(1),)


def sampling_part(pi_hat: Real, variance: Real, n: int) -> Real:
    """``(pi_hat (1 - pi_hat) + variance) / n``: unbiased for the variance that an open question would have."""
    return np.asarray((pi_hat * (1 - pi_hat) + variance) / n)
