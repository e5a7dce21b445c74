"""Moment estimates: turn the expected statistic around.

    pi_hat = L lam_hat,    Cov(pi_hat) = (D_pi - pi pi') / n  +  (L D_lam L' - D_pi) / n
                                         sampling               randomization

Unbiased estimates of the parts replace lam by the observed shares: total ``(M - pi_hat pi_hat') / (n - 1)`` with
``M = L D_lam L'``, randomization ``(M - D_pi_hat) / n``, sampling their difference.

Source: [Adeshiyan2011, section 3.3.2 and eq. (3.5)], [NayakZhangAdeshiyan2016, eqs. (1.2) and (1.3)].
"""

from __future__ import annotations

from statistics import NormalDist

import numpy as np

from maskwell.core.arguments import Array, Real, check_kind
from maskwell.core.phrases import Printed
from maskwell.core.report_data import Counts
from maskwell.designs.coded import CodedDesign
from maskwell.designs.design import Design
from maskwell.errors import ReportError
from maskwell.estimation.goodness import goodness_of_fit
from maskwell.estimation.left_inverse import LeftInverse
from maskwell.estimation.share_estimate import Estimate, Sample

COVARIANCE_LIMIT = 2000
"""With more categories than this only variances are kept."""

MISFIT = 4
"""One estimate this many standard errors outside [0, 1] is no accident: one in thirty thousand if it is normal.

Of many estimates the farthest must be rarer by their number."""

FINE = 0.3
"""Estimates to which one report adds at most this share of their standard error are judged as normal."""

ROUNDING = 1e-12

DOUBTFUL = 0.05
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
    if not _is_outside(pi_hat).any():
        return None
    near = nearest_shares(pi_hat)
    nearby = (solver.second_moment_diagonal(design.apply(near)) - near**2) / n
    return np.asarray(np.sqrt(np.maximum(np.maximum(nearby, variance), 0)))


def _is_outside(pi_hat: Real) -> Array:
    return np.asarray((pi_hat < -ROUNDING) | (pi_hat > 1 + ROUNDING))


def largest_steps(design: Design, solver: Design | LeftInverse, n: float) -> Real | None:
    """At most how much one of n reports adds to each estimate, shape (k,); None for sets, whose estimates are binomial.

    No entry of a row of L is larger than the length of the row.
    """
    if design.reports_are_sets:
        return None
    return np.asarray(np.sqrt(design.m * solver.second_moment_diagonal(np.full(design.m, 1 / design.m))) / n)


def _chance_of_farthest(pi_hat: Real, variance: Real, error: Real, steps: Real | None) -> float:
    """Of an estimate as far outside [0, 1], one side, times the number of estimates.

    Normal where one report is small against the standard error. Where tables are sparse it is not, and a bound serves
    that holds for any shares.
    """
    outside = np.maximum(-pi_hat, pi_hat - 1)
    fine = np.ones(len(pi_hat), dtype=bool) if steps is None else steps <= FINE * error
    chances = [0.5]
    if fine.any():
        out, fine_error = outside[fine], error[fine]
        farthest = np.divide(out, fine_error, out=np.where(out > ROUNDING, np.inf, 0.0), where=fine_error > 0).max()
        chances.append(NormalDist().cdf(-float(farthest)))
    coarse = ~fine & (outside > ROUNDING)
    if steps is not None and coarse.any():
        coarse_error = np.sqrt(np.maximum(variance[coarse], 0))
        chances.append(_bounded_chance(outside[coarse], coarse_error, steps[coarse], len(pi_hat)))
    return min(1.0, len(pi_hat) * min(chances))


def _bounded_chance(outside: Real, error: Real, steps: Real, count: int) -> float:
    """The least chance of estimates of independent reports this far outside, whatever the true shares.

        Pr(outside >= t) <= exp(-x)   where   (v / s^2) h(t s / v) = x,   v = (error + s sqrt(2 x))^2

    with ``h(u) = (1 + u) ln(1 + u) - u``, s the largest step of a report, and v above the true variance but for a
    chance of ``exp(-x)``. The farthest is looked for at the x that would be evidence among ``count`` estimates.

    Source: derived, from the inequality of Bennett and the bound on a standard deviation of Maurer and Pontil.
    """

    def exponent(x: float) -> Real:
        v = (error + steps * np.sqrt(2 * x)) ** 2
        u = outside * steps / v
        return np.asarray(v / steps**2 * ((1 + u) * np.log1p(u) - u))

    farthest = int(np.argmax(exponent(np.log(2 * count / DOUBTFUL))))
    outside, error, steps = (values[farthest : farthest + 1] for values in (outside, error, steps))
    low, high = 0.0, 1e4
    while high - low > 1e-3 * high and high > 1e-3:
        middle = (low + high) / 2
        low, high = (middle, high) if exponent(middle)[0] >= middle else (low, middle)
    return min(0.5, 2 * float(np.exp(-low)))


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
        p = _chance_of_farthest(pi_hat, variance, error, steps)
        said = f"p is about {Printed(p):.2g} for the farthest of {design.k:,} estimates"
        said += " (a test of fit takes all together)"
    return (f"boundary test: {said}{NOT_FOLLOWED if p < DOUBTFUL else ''}",)


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


def flags_of_moments(
    pi_hat: Real,
    variance: Real,
    sampling: Real,
    *,
    full: bool,
    n: int = 1,
    error: Real | None = None,
    steps: Real | None = None,
) -> tuple[str, ...]:
    """What a reader of moment estimates should know; ``full`` where covariances were worked out.

    ``n`` is the number of reports, over which a variance of rounding alone is divided. ``error`` holds the standard
    errors if the nearest shares inside [0, 1] were true; without it the estimated ones serve, of the whole or of
    randomization alone if that is larger. ``steps`` holds at most how much one report adds to each estimate.
    """
    n_outside = int(_is_outside(pi_hat).sum())
    if error is None:
        error = np.sqrt(np.maximum(0, np.maximum(variance, variance - sampling)))
    flags = []
    if n_outside and _chance_of_farthest(pi_hat, variance, error, steps) < NormalDist().cdf(-MISFIT):
        flags.append(
            "these reports do not fit the design: an estimate lies far outside [0, 1]; this may be another design than "
            "the one used, labels may be swapped, or respondents did not follow the instructions"
        )
    elif n_outside:
        flags.append(
            f"{n_outside} of {len(pi_hat)} estimates outside [0, 1], as unbiased estimates of small shares may be; "
            "do not cut them"
        )
    if (variance <= ROUNDING / n).any():
        flags.append("a standard error is zero or not defined: too little variation in the reports for an interval")
    if (sampling < -ROUNDING).any():
        flags.append(
            "the sampling part of a variance is estimated below zero: it is a small difference of two estimates"
        )
    if not full:
        flags.append(f"covariances are left out: more than {COVARIANCE_LIMIT} categories")
    return tuple(flags)
