"""Left inverses: with more reports than categories there are many unbiased linear estimates, and this chooses one.

Any L with ``L P = I`` gives the unbiased ``pi_hat = L lam_hat``. Its summed variance at true shares ``pi`` is

    n tr Cov = sum_j pi_j tau_j - |pi|^2,    tau_j = sum_i P[i, j] |L_i|^2        (L_i: column i of L)

of which ``sum_j pi_j tau_j - 1`` is the work of randomization. Two choices: best at a guess ``pi_0``, or best where it
is worst. With as many reports as categories there is one L only, and both give it.

With two categories L is a score c_i for every report: ``U = (c_Z - d_1) / d_2`` is an unbiased recovery of "belongs to
the first category":

    d_1 = sum_i beta_i c_i,    d_2 = sum_i (alpha_i - beta_i) c_i

where alpha and beta are the columns of P. Shifting and scaling the scores changes nothing. A mean of U is a mean of
the scores, which is how several procedures are taught; the best scores need a guess of the share, and stay unbiased
whatever the guess.

Source of the scores: [Adeshiyan2011, section 2.6]; the closed form is derived.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from maskwell.core.arguments import Array, Real, as_floats, as_real, check_kind
from maskwell.core.phrases import Printed
from maskwell.core.report_data import Counts
from maskwell.designs.coded import weighted_left_inverse
from maskwell.designs.design import Design
from maskwell.errors import NotIdentifiableError, ParameterError, ReportError
from maskwell.notes import Note

CRITERIA = ("randomization", "total")
INSIDE = 1e-12  # shares of the least favourable point are at least this, so that every report keeps a chance


@dataclass(frozen=True, eq=False, repr=False)
class LeftInverse:
    """A linear unbiased estimator of the shares of one design."""

    L: Real  # Shape (k, m), `L P = I`
    name: str  # `gls`, `minimax`, `scores` or `two-step`
    fingerprint: str  # Of the design
    pi: Real | None = None  # The shares that it is best at: the guess, or the least favourable shares; None for scores
    # For minimax: the summed variance (times n) that it never exceeds but for `gap`, and which variance that is
    value: float | None = None
    gap: float | None = None
    criterion: str | None = None
    flags: tuple[str, ...] = ()  # What a reader should know of estimates made with it, in words

    def solve(self, share: Real) -> Real:
        """``L share``: the estimated shares, shape (k,)."""
        return np.asarray(self.L @ share)

    def second_moment(self, share: Real) -> Real:
        """``L diag(share) L'``, shape (k, k)."""
        return np.asarray((self.L * share) @ self.L.T)

    def second_moment_diagonal(self, share: Real) -> Real:
        """The diagonal of ``L diag(share) L'``, shape (k,)."""
        return np.asarray(self.L**2 @ share)

    def covariance(self, pi: Real, design: Design) -> Real:
        """``n Cov(pi_hat)`` at true shares ``pi``, shape (k, k). Source: [NayakZhangAdeshiyan2016, eq. (1.3)]."""
        self.check_design(design)
        pi = design.check_distribution(pi)
        return self.second_moment(design.apply(pi)) - np.outer(pi, pi)

    def check_design(self, design: Design) -> None:
        """Raise unless it was made for that design."""
        check_kind(Design, design=design)
        if design.fingerprint != self.fingerprint:
            raise ReportError("this-left-inverse-was-made")

    def __repr__(self) -> str:
        k, m = self.L.shape
        text = f"LeftInverse({self.name}, {k} categories from {m} reports"
        if self.value is None or self.gap is None:
            return f"{text})"
        return f"{text}, value={Printed(self.value):.6g}, gap={Printed(self.gap):.1e})"


def best_left_inverse(design: Design, pi_0: Real | None = None) -> LeftInverse:
    """The left inverse with the smallest covariance at a guess ``pi_0`` of the true shares, uniform by default.

        L = (P' D^-1 P)^-1 P' D^-1,   D = diag(P pi_0)

    Unbiased whatever the guess, as long as the guess does not come from the same reports. Reports that cannot occur at
    the guess are not used. Source: [NayakZhai2019, eq. (6.3)].

    >>> from maskwell.designs import Dense
    >>> kuk = Dense.of([["0.09", "0.64"], ["0.42", "0.32"], ["0.49", "0.04"]])
    >>> best_left_inverse(kuk, np.array([0.3, 0.7])).L[0].round(3).tolist()   # what each report counts for the first
    [-0.335, 0.457, 1.711]
    """
    P = _matrix(design)
    guess = design.uniform_prior() if pi_0 is None else design.check_distribution(pi_0, "pi_0")
    return LeftInverse(weighted_left_inverse(P, P @ guess), "gls", design.fingerprint, guess)


def minimax_left_inverse(design: Design, *, criterion: str = "randomization", gap: float = 1e-6) -> LeftInverse:
    """The left inverse whose largest summed variance, over all true shares, is smallest.

        min over L, max over pi, of sum_j pi_j tau_j - 1 (randomization) or sum_j pi_j (tau_j - pi_j) (total)

    The game has a saddle point: the best L at the least favourable shares. These maximise a concave function g with
    slope ``tau_j`` (total: ``tau_j - 2 pi_j``); the certificate ``max_j slope_j - sum_j pi_j slope_j`` bounds by how
    much the largest summed variance of L exceeds what any other L must have. Derived.

    >>> from maskwell.designs import Dense
    >>> kuk = Dense.of([["0.09", "0.64"], ["0.42", "0.32"], ["0.49", "0.04"]])
    >>> round(minimax_left_inverse(kuk).value, 4)   # randomization adds at most this over n, whatever the shares
    0.735
    """
    check_kind(str, criterion=criterion)
    gap = as_real(gap, "gap", low=0)
    if criterion not in CRITERIA:
        raise ParameterError("no-criterion-criterion", criterion=criterion, criteria=", ".join(CRITERIA))
    P = _matrix(design)
    pi = _least_favourable(P, criterion, gap)
    value, slope, L = _game(P, pi, criterion)
    reached = float(slope.max() - pi @ slope)
    flags = (
        ()
        if reached <= gap * (1 + value)
        else (Note("the-minimax-search-stopped-above-what", reached=Printed(reached)),)
    )
    return LeftInverse(L, "minimax", design.fingerprint, pi, value, reached, criterion, flags)


def two_step_left_inverse(counts: Counts, design: Design) -> LeftInverse:
    """The best left inverse at the maximum likelihood estimate from the same reports.

    Nearly as precise as the likelihood itself, linear once chosen, but not exactly unbiased: it bears a flag.
    """
    check_kind(Counts, counts=counts)
    check_kind(Design, design=design)
    from maskwell.estimation.maximisation.maximum import maximise

    best = best_left_inverse(design, maximise([design], [counts.values]).pi)
    said = "the left inverse was chosen from the same reports: the estimate is nearly, not exactly, unbiased"
    return LeftInverse(best.L, "two-step", best.fingerprint, best.pi, flags=(said,))


def _matrix(design: Design) -> Real:
    check_kind(Design, design=design)
    if design.reports_are_sets:
        raise ParameterError("left-inverses-are-chosen-for-reports")
    design.check_identifiable()
    return design.matrix()


def _game(P: Real, pi: Real, criterion: str) -> tuple[float, Real, Real]:
    """Value and slope of the concave function g at ``pi``, and the best L there."""
    L = weighted_left_inverse(P, P @ pi)
    tau = P.T @ (L**2).sum(axis=0)
    if criterion == "randomization":
        return float(pi @ tau - 1), tau, L
    return float(pi @ tau - pi @ pi), tau - 2 * pi, L


def _least_favourable(P: Real, criterion: str, gap: float) -> Real:
    """The shares that maximise g, by sequential quadratic programs."""
    from scipy.optimize import minimize

    k = P.shape[1]

    def negative(pi: Real) -> tuple[float, Real]:
        value, slope, _ = _game(P, _inside(pi), criterion)
        return -value, -slope

    optimum = minimize(
        negative,
        np.full(k, 1 / k),
        jac=True,
        method="SLSQP",
        bounds=[(INSIDE, 1)] * k,
        constraints=[{"type": "eq", "fun": lambda pi: pi.sum() - 1, "jac": lambda _: np.ones(k)}],
        options={"ftol": gap * 1e-8, "maxiter": 500},
    )
    return _inside(optimum.x)


def _inside(pi: Real) -> Real:
    pi = np.maximum(pi, INSIDE)
    return np.asarray(pi / pi.sum())


FLAT = 1e-12


@dataclass(frozen=True, eq=False)
class ScoreRecovery:
    """What one report tells about its respondent, on average right."""

    values: Real  # U of every report, shape (m,): expectation 1 in the first category, 0 in the second
    # The variance of U in the first and in the second category
    inside: float
    outside: float

    def variance(self, pi: float) -> float:
        """``n Var`` of the mean of U over n respondents drawn with replacement, at a true share ``pi``."""
        share = as_real(pi, "pi", low=0, high=1)
        return share * (1 - share) + self.added(share)

    def added(self, pi: float) -> float:
        """The part of it that randomization adds."""
        share = as_real(pi, "pi", low=0, high=1)
        return share * self.inside + (1 - share) * self.outside


def optimal_scores(design: Design, *, pi_0: float) -> Real:
    """The scores of the best linear estimate at a guess ``pi_0`` of the share of the first category, shape (m,).

        c_i = pi_0 + (alpha_i - beta_i) / (theta_i I),   theta = alpha pi_0 + beta (1 - pi_0),
        I = sum_i (alpha_i - beta_i)^2 / theta_i

    U is c itself: ``d_1 = 0`` and ``d_2 = 1``, and at a true share of ``pi_0`` the variance of one U is 1/I, the
    smallest possible. Under a sampling plan the guess stands for the weighted share of
    :func:`optimal_scores_for_weights`.
    Source: [Adeshiyan2011, eq. (2.16)]; closed form derived.
    """
    pi_0 = as_real(pi_0, "pi_0")
    if not 0 <= pi_0 <= 1:
        raise ParameterError("pi-0-is-not-between-0", pi_0=pi_0)
    alpha, beta = _columns(design)
    theta, possible = alpha * pi_0 + beta * (1 - pi_0), (alpha > 0) | (beta > 0)
    if (theta[possible] <= 0).any():
        raise ParameterError("at-pi-0-a-report", pi_0=pi_0)
    ratio = np.divide(alpha - beta, theta, out=np.zeros_like(theta), where=possible)
    return np.asarray(np.where(possible, pi_0 + ratio / float((alpha - beta) @ ratio), 0.0))


def optimal_scores_for_weights(design: Design, *, inside: float, outside: float) -> Real:
    """The best scores for a weighted estimate of a finite population, shape (m,).

        omega_i = A_1 alpha_i + A_2 beta_i,   c_i = (D_2 alpha_i - D_3 beta_i) / ((D_1 D_2 - D_3^2) omega_i)
        D_1 = sum alpha_i^2 / omega_i,   D_2 = sum beta_i^2 / omega_i,   D_3 = sum alpha_i beta_i / omega_i

    where ``inside`` (A_1) and ``outside`` (A_2) are guesses of the expected sums of squared weights over the sampled
    members of the first and the second category. Only their ratio matters: the same as :func:`optimal_scores` at
    ``pi_0 = A_1 / (A_1 + A_2)``. Source: [Adeshiyan2011, eq. (2.16)].
    """
    inside, outside = as_real(inside, "inside"), as_real(outside, "outside")
    if not (inside >= 0 and outside >= 0 and 0 < inside + outside < np.inf):
        raise ParameterError("inside-and-outside", inside=inside, outside=outside)
    return optimal_scores(design, pi_0=inside / (inside + outside))


def mean_scores(design: Design) -> Real:
    """The numbers 0, 1, 2, ... of the reports as scores: the mean estimators of Kuk and of Christofides.

    Simple to explain and never better than :func:`optimal_scores`. Source: [Adeshiyan2011, section 2.5 and Remark 2.7].

    >>> from maskwell.designs import Dense
    >>> kuk = Dense.of([["0.027", "0.512"], ["0.189", "0.384"], ["0.441", "0.096"], ["0.343", "0.008"]])
    >>> best, plain = optimal_scores(kuk, pi_0=0.3), mean_scores(kuk)
    >>> [round(score_recovery(kuk, scores).variance(0.3), 4) for scores in (best, plain)]   # n Var
    [0.4185, 0.4433]
    """
    return np.arange(len(_columns(design)[0]), dtype=np.float64)


def score_recovery(design: Design, scores: Array) -> ScoreRecovery:
    """Turn scores into unbiased recoveries. Source: [Adeshiyan2011, section 2.6.1]."""
    alpha, beta = _columns(design)
    c = as_floats(scores, "scores", finite=False)
    if c.shape != alpha.shape or not np.isfinite(c).all():
        raise ParameterError("scores-of-shape-for-reports", shape=c.shape, alpha_count=len(alpha))
    d_1, d_2 = float(beta @ c), float((alpha - beta) @ c)
    if abs(d_2) <= FLAT * float(np.abs(c).max(initial=0)):
        raise NotIdentifiableError("these-scores-have-the-same-mean", scores=scores)
    U = (c - d_1) / d_2
    return ScoreRecovery(U, float(alpha @ (U - 1) ** 2), float(beta @ U**2))


def score_left_inverse(design: Design, scores: Array) -> LeftInverse:
    """The linear estimator that scores make: for ``estimate_by_moments(..., inverse=...)``.

    >>> from maskwell.designs import Dense
    >>> from maskwell.estimation import estimate_by_moments
    >>> from maskwell.estimation import Sample
    >>> kuk = Dense.of([["0.027", "0.512"], ["0.189", "0.384"], ["0.441", "0.096"], ["0.343", "0.008"]])
    >>> sample = Sample.of([120, 130, 90, 60], kuk)
    >>> estimate = estimate_by_moments(sample.counts, kuk, inverse=score_left_inverse(kuk, mean_scores(kuk)))
    >>> round(float(estimate.pi_hat[0]), 4)   # (mean / 3 - 0.2) / (0.7 - 0.2)
    0.4167
    """
    U = score_recovery(design, scores).values
    return LeftInverse(np.stack([U, 1 - U]), "scores", design.fingerprint)


def _columns(design: Design) -> tuple[Real, Real]:
    check_kind(Design, design=design)
    if design.k != 2 or design.reports_are_sets:
        raise ParameterError("scores-are-for-two-categories", k=design.k)
    design.check_identifiable()
    alpha, beta = design.matrix().T
    return alpha, beta
