"""Left inverses: with more reports than categories there are many unbiased linear estimates, and this chooses one.

Any L with ``L P = I`` gives the unbiased ``pi_hat = L lam_hat``, whose summed variance at true shares ``pi`` is
``(sum_j pi_j tau_j - |pi|^2) / n`` with ``tau_j = sum_i P[i, j] |L_i|^2`` (L_i: column i of L).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from maskwell.core.arguments import Real, as_floats, as_real, check_kind
from maskwell.core.phrases import Printed
from maskwell.designs.coded import weighted_left_inverse
from maskwell.designs.design import Design
from maskwell.errors import NotIdentifiableError, ParameterError, ReportError
from maskwell.notes import Note

CRITERIA = ("randomization", "total")
INSIDE = 1e-12  # shares of the least favourable point are at least this, so that every report keeps a chance
FLAT = 1e-12


@dataclass(frozen=True, eq=False, repr=False)
class LeftInverse:
    """A linear unbiased estimator of the shares of one design: for ``estimate_by_moments(..., inverse=...)``.

    Attributes
    ----------
    L
        Shape (k, m), ``L P = I``.
    name
        ``gls``, ``minimax`` or ``scores``.
    fingerprint
        Of the design.
    pi
        The shares that it is best at: the guess, or the least favourable shares; None for scores.
    value, gap
        For minimax: the summed variance (times n) that it never exceeds but for ``gap``.
    flags
        What a reader should know of estimates made with it, in words.
    """

    L: Real
    name: str
    fingerprint: str
    pi: Real | None = None
    value: float | None = None
    gap: float | None = None
    flags: tuple[str, ...] = ()

    @classmethod
    def best(cls, design: Design, pi_0: Any = None) -> Self:
        """The left inverse with the smallest covariance at a guess ``pi_0`` of the true shares, uniform by default.

            L = (P' D^-1 P)^-1 P' D^-1,   D = diag(P pi_0)

        Unbiased whatever the guess, as long as the guess does not come from the same reports. Reports that cannot
        occur at the guess are not used. Source: [NayakZhai2019, eq. (6.3)]; for two categories the optimal scores of
        [Adeshiyan2011, eq. (2.16)].

        >>> from maskwell.designs import Dense
        >>> kuk = Dense.of([["0.09", "0.64"], ["0.42", "0.32"], ["0.49", "0.04"]])
        >>> LeftInverse.best(kuk, [0.3, 0.7]).L[0].round(3).tolist()   # what each report counts for the first
        [-0.335, 0.457, 1.711]
        """
        P = _matrix(design)
        guess = design.uniform_prior() if pi_0 is None else design.check_distribution(pi_0, "pi_0")
        return cls(weighted_left_inverse(P, P @ guess), "gls", design.fingerprint, guess)

    @classmethod
    def minimax(cls, design: Design, *, criterion: str = "randomization", gap: float = 1e-6) -> Self:
        """The left inverse whose largest summed variance, over all true shares, is smallest.

            min over L, max over pi, of sum_j pi_j tau_j - 1 (randomization) or sum_j pi_j (tau_j - pi_j) (total)

        The game has a saddle point: the best L at the least favourable shares. These maximise a concave function g with
        slope ``tau_j`` (total: ``tau_j - 2 pi_j``); the certificate ``max_j slope_j - sum_j pi_j slope_j`` bounds by
        how much the largest summed variance of L exceeds what any other L must have. Derived.

        >>> from maskwell.designs import Dense
        >>> kuk = Dense.of([["0.09", "0.64"], ["0.42", "0.32"], ["0.49", "0.04"]])
        >>> round(LeftInverse.minimax(kuk).value, 4)   # randomization adds at most this over n, whatever the shares
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
        flag = Note("the-minimax-search-stopped-above-what", reached=Printed(reached))
        return cls(L, "minimax", design.fingerprint, pi, value, reached, (flag,) if reached > gap * (1 + value) else ())

    @classmethod
    def of_scores(cls, design: Design, scores: Any) -> Self:
        """The estimator that a mean of scores c_i of the reports makes, for two categories.

            U = (c_Z - d_1) / d_2,    d_1 = sum_i beta_i c_i,    d_2 = sum_i (alpha_i - beta_i) c_i

        where alpha and beta are the columns of P: U is an unbiased recovery of "belongs to the first category". The
        numbers 0, 1, 2, ... of the reports are the mean estimators of Kuk and of Christofides; none is better than
        :meth:`best`. Source: [Adeshiyan2011, sections 2.5 and 2.6.1].

        >>> from maskwell.designs import Dense
        >>> kuk = Dense.of([["0.027", "0.512"], ["0.189", "0.384"], ["0.441", "0.096"], ["0.343", "0.008"]])
        >>> plain, best = LeftInverse.of_scores(kuk, range(4)), LeftInverse.best(kuk, [0.3, 0.7])
        >>> [one.covariance([0.3, 0.7], kuk)[0, 0].round(4).item() for one in (plain, best)]   # n Var
        [0.4433, 0.4185]
        """
        check_kind(Design, design=design)
        if design.k != 2 or design.reports_are_sets:
            raise ParameterError("scores-are-for-two-categories", k=design.k)
        design.check_identifiable()
        alpha, beta = design.matrix().T
        c = as_floats(scores, "scores", finite=False)
        if c.shape != alpha.shape or not np.isfinite(c).all():
            raise ParameterError("scores-of-shape-for-reports", shape=c.shape, alpha_count=len(alpha))
        d_1, d_2 = float(beta @ c), float((alpha - beta) @ c)
        if abs(d_2) <= FLAT * float(np.abs(c).max(initial=0)):
            raise NotIdentifiableError("these-scores-have-the-same-mean", scores=scores)
        U = (c - d_1) / d_2
        return cls(np.stack([U, 1 - U]), "scores", design.fingerprint)

    def solve(self, share: Real) -> Real:
        """``L share``: the estimated shares, shape (k,)."""
        return np.asarray(self.L @ share)

    def second_moment(self, share: Real) -> Real:
        """``L diag(share) L'``, shape (k, k)."""
        return np.asarray((self.L * share) @ self.L.T)

    def second_moment_diagonal(self, share: Real) -> Real:
        """The diagonal of ``L diag(share) L'``, shape (k,)."""
        return np.asarray(self.L**2 @ share)

    def covariance(self, pi: Any, design: Design) -> Real:
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
        certified = "" if self.value is None else f", value={Printed(self.value):.6g}, gap={Printed(self.gap or 0):.1e}"
        return f"LeftInverse({self.name}, {k} categories from {m} reports{certified})"


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

    def inside(pi: Real) -> Real:
        pi = np.maximum(pi, INSIDE)
        return np.asarray(pi / pi.sum())

    def negative(pi: Real) -> tuple[float, Real]:
        value, slope, _ = _game(P, inside(pi), criterion)
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
    return inside(optimum.x)
