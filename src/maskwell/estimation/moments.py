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
from maskwell.designs.coded import CodedDesign
from maskwell.designs.design import Design
from maskwell.errors import ReportError
from maskwell.estimation.goodness import goodness_of_fit
from maskwell.estimation.left_inverse import LeftInverse
from maskwell.estimation.share_estimate import (
    COVARIANCE_LIMIT,
    DOUBTFUL,
    Estimate,
    Flag,
    Sample,
    chance_of_farthest,
    flags_of_moments,
    is_outside,
)

NOT_FOLLOWED = ": evidence that the instructions were not followed, or that this is another design"

WEAK = 1e-3
"""A smallest singular value below this is flagged."""


def estimate_by_moments(counts: Counts, design: Design, *, inverse: LeftInverse | None = None) -> Estimate:
    """Unbiased proportions from counted reports, with the two parts of their variance.

    With more reports than categories, ``inverse`` chooses among the unbiased linear estimates
    (:func:`best_left_inverse`, :func:`minimax_left_inverse`, :func:`score_left_inverse`); without it, the one that is
    best at equal shares.

    >>> from maskwell.core import Categories
    >>> from maskwell.designs import Dense
    >>> warner = Dense.of([["0.7", "0.3"], ["0.3", "0.7"]], Categories.of(["yes", "no"]))
    >>> result = estimate_by_moments(Counts(np.array([120, 180]), 300, warner.fingerprint), warner)
    >>> [round(float(x), 4) for x in (result.pi_hat[0], result.standard_error[0])]   # a quarter, give or take 7 points
    [0.25, 0.0708]
    """
    check_kind(LeftInverse | None, inverse=inverse)
    share = _checked_share(counts, design)
    n = counts.n
    if inverse is not None:
        inverse.check_design(design)
    solver = design if inverse is None else inverse
    pi_hat = solver.solve(share)
    moment = solver.second_moment_diagonal(share)
    variance, randomization = (moment - pi_hat**2) / (n - 1), (moment - pi_hat) / n
    covariance = None
    if design.k <= COVARIANCE_LIMIT:
        covariance = (solver.second_moment(share) - np.outer(pi_hat, pi_hat)) / (n - 1)
    error, steps = _error_nearby(pi_hat, variance, design, solver, n), largest_steps(design, solver, n)
    return Estimate(
        categories=design.inputs.labels,
        pi_hat=pi_hat,
        variance=variance,
        sampling_variance=variance - randomization,
        randomization_variance=randomization,
        covariance=covariance,
        n=n,
        method="moments" if inverse is None else f"moments-{inverse.name}",
        fingerprint=design.fingerprint,
        flags=(
            *(() if inverse is None else inverse.flags),
            *flags_of_moments(
                pi_hat, variance, variance - randomization, full=covariance is not None, n=n, error=error, steps=steps
            ),
            *_boundary_test(counts, design, pi_hat, variance, error, steps),
            *_weak(design),
        ),
        samples=(Sample(counts, design),),
        inverse=inverse,
    )


def nearest_shares(pi_hat: Real) -> Real:
    """Shares inside [0, 1] that are about the nearest: cut and rescaled; for judging only, never for estimating."""
    inside = np.clip(pi_hat, 0, 1)
    total = float(inside.sum())  # estimates from bits do not sum to one, and may all be below zero
    return np.asarray(inside / total if total > 0 else np.full(len(pi_hat), 1 / len(pi_hat)))


def _error_nearby(pi_hat: Real, variance: Real, design: Design, solver: Design | LeftInverse, n: int) -> Real | None:
    """Standard errors at the nearest proportions, or those estimated if larger; None with no estimate outside [0, 1].

    Those estimated from the same reports are far too small where a report is rarer than the design alone makes it, and
    those at the nearest proportions where estimates below zero are many, so that what is cut is much.
    """
    if not is_outside(pi_hat).any():
        return None
    near = nearest_shares(pi_hat)
    nearby = (solver.second_moment_diagonal(design.apply(near)) - near**2) / n
    return np.asarray(np.sqrt(np.maximum(np.maximum(nearby, variance), 0)))


def largest_steps(design: Design, solver: Design | LeftInverse, n: float) -> Real | None:
    """At most how much one of n reports adds to each estimate, shape (k,); None for sets, whose estimates are binomial.

    No entry of a row of L is larger than the length of the row.
    """
    if design.reports_are_sets:
        return None
    return np.asarray(np.sqrt(design.m * solver.second_moment_diagonal(np.full(design.m, 1 / design.m))) / n)


def _boundary_test(
    counts: Counts, design: Design, pi_hat: Real, variance: Real, error: Real | None, steps: Real | None
) -> tuple[str, ...]:
    """Estimates outside [0, 1] come with the chance of such reports if the instructions were followed.

    For two categories and two reports it is that of :func:`goodness_of_fit`. Else it is that of the farthest estimate,
    one side, times the number of categories, with the variance at the nearest proportions; a bound in sparse tables.
    """
    if design.reports_are_sets or error is None:
        return ()
    if design.k == design.m == 2:
        fit = goodness_of_fit(counts, design)
        p = max(fit.p_likelihood_ratio, _tail_of_two(counts, design))
        said = f"G2 = {Printed(fit.likelihood_ratio):.2f}, p = {Printed(fit.p_likelihood_ratio):.2g}"
    else:
        p = chance_of_farthest(pi_hat, variance, error, steps)
        said = f"p is about {Printed(p):.2g} for the farthest of {design.k:,} estimates"
        said += " (a test of fit takes all together)"
    return (Flag(f"boundary test: {said}{NOT_FOLLOWED if p < DOUBTFUL else ''}", "boundary", chance=p),)


def _tail_of_two(counts: Counts, design: Design) -> float:
    """The exact chance of at most as many reports of the rarer kind as any truth makes at least."""
    from scipy.special import bdtr

    least = design.matrix().min(axis=1)
    return float(min(bdtr(x, counts.n, p) for x, p in zip(counts.values, least, strict=True)))


def _weak(design: Design) -> tuple[str, ...]:
    """A flag where the reports hardly depend on the truth: standard errors grow like one over that."""
    if not isinstance(design, CodedDesign):
        return ()
    smallest = design.singular_range()[1]
    if smallest >= WEAK:
        return ()
    return (
        "the reports hardly depend on the truth: the smallest singular value of the design is "
        f"{Printed(smallest):.1e}, and standard errors grow like one over it",
    )


def _checked_share(counts: Counts, design: Design) -> Real:
    Sample(counts, design)
    if counts.n < 2:
        raise ReportError(
            f"n = {counts.n}: a standard error needs at least two reports", hint="collect more reports", n=counts.n
        )
    share = counts.share()
    if not design.reports_are_sets:
        impossible = np.flatnonzero((share > 0) & (design.apply(design.uniform_prior()) == 0))
        if len(impossible):
            raise ReportError(
                f"reports {impossible[:5].tolist()} were seen but are impossible under the stated design",
                hint="check that this is the design that made the reports",
            )
    return share


def sampling_part(pi_hat: Real, variance: Real, n: int) -> Real:
    """``(pi_hat (1 - pi_hat) + variance) / n``: unbiased for the variance that an open question would have."""
    return np.asarray((pi_hat * (1 - pi_hat) + variance) / n)
