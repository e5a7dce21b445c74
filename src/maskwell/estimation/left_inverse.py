"""Left inverses: with more reports than categories there are many unbiased linear estimates, and this chooses one.

Any L with ``L P = I`` gives the unbiased ``pi_hat = L lam_hat``. Its summed variance at true shares ``pi`` is

    n tr Cov = sum_j pi_j tau_j - |pi|^2,    tau_j = sum_i P[i, j] |L_i|^2        (L_i: column i of L)

of which ``sum_j pi_j tau_j - 1`` is the work of randomization. Two choices: best at a guess ``pi_0``, or best where it
is worst. With as many reports as categories there is one L only, and both give it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from maskwell.core.arguments import as_real, check_kind
from maskwell.core.arrays import Real
from maskwell.core.phrases import Printed
from maskwell.core.report_data import Counts
from maskwell.designs.design import Design
from maskwell.designs.written_out import weighted_left_inverse
from maskwell.errors import ParameterError, ReportError

CRITERIA = ("randomization", "total")
INSIDE = 1e-12  # shares of the least favourable point are at least this, so that every report keeps a chance


@dataclass(frozen=True, eq=False, repr=False)
class LeftInverse:
    """A linear unbiased estimator of the shares of one design.

    Attributes
    ----------
    L
        Shape (k, m), ``L P = I``.
    name
        ``gls``, ``minimax``, ``scores`` or ``two-step``.
    fingerprint
        Of the design.
    pi
        The shares that it is best at: the guess, or the least favourable shares; None for scores.
    value, gap, criterion
        For minimax: the summed variance (times n) that it never exceeds but for ``gap``, and which variance that is.
    flags
        What a reader should know of estimates made with it, in words.
    """

    L: Real
    name: str
    fingerprint: str
    pi: Real | None = None
    value: float | None = None
    gap: float | None = None
    criterion: str | None = None
    flags: tuple[str, ...] = ()

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
            raise ReportError(
                "this left inverse was made for another design", hint="make it with the design of the reports"
            )

    def __repr__(self) -> str:
        k, m = self.L.shape
        shown = f"LeftInverse({self.name}, {k} categories from {m} reports"
        if self.value is None or self.gap is None:
            return f"{shown})"
        return f"{shown}, value={Printed(self.value):.6g}, gap={Printed(self.gap):.1e})"


def best_left_inverse(design: Design, pi_0: Real | None = None) -> LeftInverse:
    """The left inverse with the smallest covariance at a guess ``pi_0`` of the true shares, uniform by default.

        L = (P' D^-1 P)^-1 P' D^-1,   D = diag(P pi_0)

    Unbiased whatever the guess, as long as the guess does not come from the same reports. Reports that cannot occur at
    the guess are not used. Source: [NayakZhai2019, eq. (6.3)].

    >>> from maskwell.designs.dense import Dense
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

    >>> from maskwell.designs.dense import Dense
    >>> kuk = Dense.of([["0.09", "0.64"], ["0.42", "0.32"], ["0.49", "0.04"]])
    >>> round(minimax_left_inverse(kuk).value, 4)   # randomization adds at most this over n, whatever the shares
    0.735
    """
    check_kind(str, criterion=criterion)
    gap = as_real(gap, "gap", low=0)
    if criterion not in CRITERIA:
        raise ParameterError(f"no criterion {criterion!r}", hint=f"choose one of {', '.join(CRITERIA)}")
    P = _matrix(design)
    pi = _least_favourable(P, criterion, gap)
    value, slope, L = _game(P, pi, criterion)
    reached = float(slope.max() - pi @ slope)
    flags = (
        ()
        if reached <= gap * (1 + value)
        else (f"the minimax search stopped {Printed(reached):.1e} above what is possible at most",)
    )
    return LeftInverse(L, "minimax", design.fingerprint, pi, value, reached, criterion, flags)


def two_step_left_inverse(counts: Counts, design: Design) -> LeftInverse:
    """The best left inverse at the maximum likelihood estimate from the same reports.

    Nearly as precise as the likelihood itself, linear once chosen, but not exactly unbiased: it bears a flag.

    >>> from maskwell.designs.dense import Dense
    >>> from maskwell.estimation.samples import Sample
    >>> sample = Sample.of([300, 320, 180], Dense.of([["0.09", "0.64"], ["0.42", "0.32"], ["0.49", "0.04"]]))
    >>> two_step_left_inverse(sample.counts, sample.design).flags[0]
    'the left inverse was chosen from the same reports: the estimate is nearly, not exactly, unbiased'
    """
    check_kind(Counts, counts=counts)
    check_kind(Design, design=design)
    from maskwell.estimation.maximising.maximum import maximise

    found = best_left_inverse(design, maximise([design], [counts.values]).pi)
    said = "the left inverse was chosen from the same reports: the estimate is nearly, not exactly, unbiased"
    return LeftInverse(found.L, "two-step", found.fingerprint, found.pi, flags=(said,))


def _matrix(design: Design) -> Real:
    check_kind(Design, design=design)
    if design.reports_are_sets:
        raise ParameterError(
            "left inverses are chosen for reports that are one code; this design reports sets",
            hint="estimate by moments without an inverse",
        )
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

    found = minimize(
        negative,
        np.full(k, 1 / k),
        jac=True,
        method="SLSQP",
        bounds=[(INSIDE, 1)] * k,
        constraints=[{"type": "eq", "fun": lambda pi: pi.sum() - 1, "jac": lambda _: np.ones(k)}],
        options={"ftol": gap * 1e-8, "maxiter": 500},
    )
    return _inside(found.x)


def _inside(pi: Real) -> Real:
    pi = np.maximum(pi, INSIDE)
    return np.asarray(pi / pi.sum())
