"""Moment estimates: turn the expected statistic around.

    pi_hat = L lam_hat,    Cov(pi_hat) = (D_pi - pi pi') / n  +  (L D_lam L' - D_pi) / n
                                         sampling               randomization

Unbiased estimates of the parts replace lam by the observed shares: total ``(M - pi_hat pi_hat') / (n - 1)`` with
``M = L D_lam L'``, randomization ``(M - D_pi_hat) / n``, sampling their difference.

Source: [Adeshiyan2011, section 3.3.2 and eq. (3.5)], [NayakZhangAdeshiyan2016, eqs. (1.2) and (1.3)].
"""

from __future__ import annotations

import numpy as np

from maskwell.core.arguments import Real, check_kind
from maskwell.core.phrases import Printed
from maskwell.core.report_data import Counts
from maskwell.core.verdicts import at_least, is_outside
from maskwell.designs.coded import CodedDesign
from maskwell.designs.design import Design
from maskwell.errors import ReportError
from maskwell.estimation.goodness import goodness_of_fit
from maskwell.estimation.left_inverse import LeftInverse
from maskwell.estimation.outside_estimates import DOUBTFUL, Flag, Recovered, chance_given_truth, flags_of_moments
from maskwell.estimation.share_estimate import COVARIANCE_LIMIT, Estimate, Sample

WEAK = 1e-3  # a smallest singular value below this is flagged


def estimate_by_moments(counts: Counts, design: Design, *, inverse: LeftInverse | None = None) -> Estimate:
    """Unbiased proportions from counted reports, with the two parts of their variance.

    With more reports than categories, ``inverse`` chooses among the unbiased linear estimates (:class:`LeftInverse`);
    without it, the one that is best at equal shares.

    >>> from maskwell.core import Categories
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
            *_weak(design),
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


def _weak(design: Design) -> tuple[str, ...]:
    """A flag where the reports hardly depend on the truth: standard errors grow like one over that."""
    smallest = design.singular_range()[1] if isinstance(design, CodedDesign) else 1.0
    if at_least(smallest, WEAK):
        return ()
    return (
        "the reports hardly depend on the truth: the smallest singular value of the design is "
        f"{Printed(smallest):.1e}, and standard errors grow like one over it",
    )


def sampling_part(pi_hat: Real, variance: Real, n: int) -> Real:
    """``(pi_hat (1 - pi_hat) + variance) / n``: unbiased for the variance that an open question would have."""
    return np.asarray((pi_hat * (1 - pi_hat) + variance) / n)
