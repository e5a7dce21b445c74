"""The log-likelihood l(eta) of one row in its linear predictors eta_1 .. eta_Q, with first and second derivatives.

They come for a block of rows at a time, one array of shape (rows,) for each predictor or pair of predictors. Source:
derived; gradient ``tau - pi`` and Hessian ``(D_tau - tau tau') - (D_pi - pi pi')`` are those of a mixture whose weights
are a softmax, with ``tau`` the posterior of the categories.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations_with_replacement
from typing import Protocol

import numpy as np

from maskwell.core.arguments import Real
from maskwell.errors import InputError
from maskwell.estimation.regression.report_evidence import Evidence

STEEPEST = 700.0  # beyond this exp overflows; the likelihood there does not differ from its limit
Pairs = dict[tuple[int, int], Real]


@dataclass(frozen=True)
class Slopes:
    """Log-likelihood of each row, gradient by predictor, Hessian by pair of predictors q <= r (others are zero)."""

    value: Real
    gradient: list[Real]
    hessian: Pairs


class RowModel(Protocol):
    """What a model says about a block of rows."""

    @property
    def width(self) -> int:
        """Number of linear predictors, Q."""

    def thinned(self, step: int) -> RowModel:
        """The same for every so many rows."""

    def slopes(self, eta: list[Real], where: slice) -> Slopes:
        """The log-likelihood of these rows and its derivatives."""

    def information(self, eta: list[Real], where: slice) -> Pairs:
        """Expected information of each row: minus the mean Hessian over all reports that it could have made."""

    def randomization(self, eta: list[Real], where: slice) -> Pairs:
        """Unbiased variance that the randomization gives each gradient, ``sum_j U_j Cov(dl | category j)``. Derived."""


@dataclass(frozen=True, eq=False)
class Logit:
    """``Pr(first category) = expit(eta)``; a and b are the chances of the report given either category.

    lam = a sigma + b (1 - sigma),  dl = sigma (1 - sigma) (a - b) / lam,  -ddl = sigma (1 - sigma) (1 - a b / lam^2)
    """

    evidence: Evidence
    width: int = 1

    def thinned(self, step: int) -> Logit:
        """The same for every so many rows."""
        return Logit(self.evidence.thinned(step))

    def slopes(self, eta: list[Real], where: slice) -> Slopes:
        """The log-likelihood of these rows and its derivatives."""
        a, b = self.evidence.rows(where)
        first, second = expit_pair(eta[0])
        lam = a * first + b * second
        product, over = first * second, 1.0 / lam
        return Slopes(np.log(lam), [product * (a - b) * over], {(0, 0): product * (a * b * over * over - 1.0)})

    def information(self, eta: list[Real], where: slice) -> Pairs:
        """``[sigma (1 - sigma)]^2 sum_z (a_z - b_z)^2 / lam_z``."""
        first, second = expit_pair(eta[0])
        total = np.zeros_like(first)
        for a, b in self.evidence.alternatives(where):
            lam = a * first + b * second
            total += np.divide((first * second * (a - b)) ** 2, lam, out=np.zeros_like(lam), where=lam > 0)
        return {(0, 0): total}

    def randomization(self, eta: list[Real], where: slice) -> Pairs:
        """Unbiased estimate of the variance that the randomization gives the gradient."""
        first, second = expit_pair(eta[0])
        possible = self.evidence.alternatives(where)
        moves = []
        for a, b in possible:
            lam = a * first + b * second
            moves.append([np.divide(first * second * (a - b), lam, out=np.zeros_like(lam), where=lam > 0)])
        return randomization_of(self.evidence, where, possible, moves)


@dataclass(frozen=True, eq=False)
class Softmax:
    """k categories, k - 1 predictors: ``Pr(category j) = exp(eta_j) / sum``, the last category as the reference."""

    evidence: Evidence

    @property
    def width(self) -> int:
        """One less than the categories."""
        return self.evidence.k - 1

    def thinned(self, step: int) -> Softmax:
        """The same for every so many rows."""
        return Softmax(self.evidence.thinned(step))

    def slopes(self, eta: list[Real], where: slice) -> Slopes:
        """The log-likelihood of these rows and its derivatives."""
        report = _reported(eta, self.evidence.rows(where))
        return Slopes(np.log(report.chance), report.gradient, report.hessian)

    def information(self, eta: list[Real], where: slice) -> Pairs:
        """``sum_z lam_z (tau_z - pi)(tau_z - pi)'``."""
        pi = softmax(eta)
        total = {pair: np.zeros(pi.shape[1]) for pair in _pairs(self.width)}
        for chances in self.evidence.alternatives(where):
            joint = chances * pi
            lam = joint.sum(axis=0)
            move = np.divide(joint, lam, out=pi.copy(), where=lam > 0) - pi
            for q, r in total:
                total[q, r] += lam * move[q] * move[r]
        return total

    def randomization(self, eta: list[Real], where: slice) -> Pairs:
        """Unbiased estimate of the variance that the randomization gives the gradient."""
        pi, moves = softmax(eta), []
        possible = self.evidence.alternatives(where)
        for chances in possible:
            joint = chances * pi
            lam = joint.sum(axis=0)
            moves.append(list((np.divide(joint, lam, out=pi.copy(), where=lam > 0) - pi)[:-1]))
        return randomization_of(self.evidence, where, possible, moves)


@dataclass(frozen=True, eq=False)
class LieDetectorRows:
    """Predictors eta of being a carrier and zeta of being honest: ``t = expit(zeta)``. Derived.

    lam = sigma (t h + (1 - t) l) + (1 - sigma) c, with the chances given honest and lying carriers and others
    """

    evidence: Evidence
    width: int = 2

    def thinned(self, step: int) -> LieDetectorRows:
        """The same for every so many rows."""
        return LieDetectorRows(self.evidence.thinned(step))

    def slopes(self, eta: list[Real], where: slice) -> Slopes:
        """The log-likelihood of these rows and its derivatives."""
        return self._slopes(eta, self.evidence.rows(where))

    def information(self, eta: list[Real], where: slice) -> Pairs:
        """``sum_z lam_z g_z g_z'``."""
        total = {pair: np.zeros(len(eta[0])) for pair in _pairs(2)}
        for chances in self.evidence.alternatives(where):
            value, (g, h) = self._possible(eta, chances)
            for pair, product in zip(total, (g * g, g * h, h * h), strict=True):
                total[pair] += value * product
        return total

    def randomization(self, eta: list[Real], where: slice) -> Pairs:
        """Unbiased estimate of the variance that the randomization gives the gradient."""
        raise InputError("a-finite-population-is-not-taken-into-account")

    def _possible(self, eta: list[Real], chances: Real) -> tuple[Real, list[Real]]:
        """Chance and gradient of a report; zeros in rows that could not have made it."""
        possible = chances.max(axis=0) > 0
        slopes = self._slopes(eta, np.where(possible, chances, 1.0))
        return np.where(possible, np.exp(slopes.value), 0.0), slopes.gradient

    def _slopes(self, eta: list[Real], chances: Real) -> Slopes:
        (sigma, rest), (t, lying) = expit_pair(eta[0]), expit_pair(eta[1])
        honest, lied, other = chances
        away, told = t * honest + lying * lied - other, honest - lied
        lam = np.maximum(sigma * (away + other) + rest * other, 1e-300)
        bend, turn = sigma * rest / lam, sigma * t * lying * told / lam
        g, h = bend * away, turn
        return Slopes(
            np.log(lam),
            [g, h],
            {
                (0, 0): g * (rest - sigma) - g * g,
                (0, 1): bend * t * lying * told - g * h,
                (1, 1): h * (lying - t) - h * h,
            },
        )


@dataclass(frozen=True, eq=False)
class MixtureRows:
    """``L = sum_j P[z, j] pi_j(zeta) f(y | eta_j)``, ``rho_j = summand / L``: a mixture over a randomized predictor.

    With ``g_j, H_j`` the gradient and Hessian of ``ln f`` in eta_j, the derivatives of ``ln L`` are (derived)

        by eta_j: rho_j g_j               by zeta: rho - pi
        eta_j eta_l: [j = l] rho_j (H_j + g_j g_j') - rho_j rho_l g_j g_l'
        eta_j zeta_l: rho_j g_j ([j = l] - rho_l)     zeta zeta: (D_rho - rho rho') - (D_pi - pi pi')

    Predictors: for each category j the k_y - 1 of the outcome, then the k_x - 1 of the category.
    """

    outcome: Evidence
    predictor: Evidence

    @property
    def width(self) -> int:
        """Number of linear predictors."""
        return self.predictor.k * (self.outcome.k - 1) + self.predictor.k - 1

    def thinned(self, step: int) -> MixtureRows:
        """The same for every so many rows."""
        return MixtureRows(self.outcome.thinned(step), self.predictor.thinned(step))

    def slopes(self, eta: list[Real], where: slice) -> Slopes:
        """The log-likelihood of these rows and its derivatives."""
        return self._slopes(eta, self.outcome.rows(where), self.predictor.rows(where))

    def information(self, eta: list[Real], where: slice) -> Pairs:
        """Mean of the products of gradients over all pairs of reports that a row could have made."""
        total = {pair: np.zeros(len(eta[0])) for pair in _pairs(self.width)}
        for chances in self.predictor.alternatives(where):
            for outcome in self.outcome.alternatives(where):
                possible = (outcome.max(axis=0) > 0) & (chances.max(axis=0) > 0)
                safe = [np.where(possible, part, 1.0) for part in (outcome, chances)]
                slopes = self._slopes(eta, *safe)
                weight = np.where(possible, np.exp(slopes.value), 0.0)
                for q, r in total:
                    total[q, r] += weight * slopes.gradient[q] * slopes.gradient[r]
        return total

    def randomization(self, eta: list[Real], where: slice) -> Pairs:  # noqa: D102
        raise InputError("a-finite-population-is-not-taken-into")

    def _slopes(self, eta: list[Real], outcome: Real, predictor: Real) -> Slopes:
        k, width = self.predictor.k, self.outcome.k - 1
        fits = [_reported(eta[j * width : (j + 1) * width], outcome) for j in range(k)]
        pi = softmax(eta[k * width :])
        joint = predictor * pi * np.array([fit.chance for fit in fits])
        total = joint.sum(axis=0)
        rho = joint / total
        gradient = [rho[j] * g for j, fit in enumerate(fits) for g in fit.gradient]
        gradient += list(rho[:-1] - pi[:-1])
        return Slopes(np.log(total), gradient, self._hessian(fits, rho, pi))

    def _hessian(self, fits: list[_Reported], rho: Real, pi: Real) -> Pairs:
        k, width = self.predictor.k, self.outcome.k - 1
        places = [(j, a) for j in range(k) for a in range(width)]
        bends: Pairs = {}
        for (q, (j, a)), (r, (i, b)) in combinations_with_replacement(enumerate(places), 2):
            product = fits[j].gradient[a] * fits[i].gradient[b]
            bends[q, r] = -rho[j] * rho[i] * product
            if j == i:
                bends[q, r] += rho[j] * (fits[j].hessian[min(a, b), max(a, b)] + product)
        for q, (j, a) in enumerate(places):
            for i in range(k - 1):
                bends[q, len(places) + i] = rho[j] * fits[j].gradient[a] * ((j == i) - rho[i])
        for (j, i), spread in _spread(rho, pi).items():
            bends[len(places) + j, len(places) + i] = spread
        return bends


@dataclass(frozen=True, eq=False)
class Recovered:
    """Quasi-likelihood of the recovered indicators, ``sum_j U_j eta_j - ln sum exp(eta)``: concave, for starts."""

    evidence: Evidence

    @property
    def width(self) -> int:
        """One less than the categories."""
        return self.evidence.k - 1

    def thinned(self, step: int) -> Recovered:
        """The same for every so many rows."""
        return Recovered(self.evidence.thinned(step))

    def slopes(self, eta: list[Real], where: slice) -> Slopes:
        """The quasi-likelihood of these rows and its derivatives."""
        pi = softmax(eta)
        U = self.evidence.recovered[self.evidence.index[where]].T
        value = (U[:-1] * np.array(eta)).sum(axis=0) + np.log(np.maximum(pi[-1], 1e-300)) * U.sum(axis=0)
        return Slopes(value, list(U[:-1] - pi[:-1]), {pair: -bend for pair, bend in self._bends(pi).items()})

    def information(self, eta: list[Real], where: slice) -> Pairs:
        """``D_pi - pi pi'``."""
        return self._bends(softmax(eta))

    def randomization(self, eta: list[Real], where: slice) -> Pairs:
        """``U U' - D_U``."""
        U = self.evidence.recovered[self.evidence.index[where]].T
        return {(q, r): U[q] * (U[r] - (q == r)) for q, r in _pairs(self.width)}

    def _bends(self, pi: Real) -> Pairs:
        return {(q, r): pi[q] * ((q == r) - pi[r]) for q, r in _pairs(self.width)}


def randomization_of(evidence: Evidence, where: slice, possible: list[Real], moves: list[list[Real]]) -> Pairs:
    """``sum_j U_j Cov(g | category j)`` from the gradients g that each possible report would give."""
    recovered = evidence.recovered[evidence.index[where]].T
    width = len(moves[0])
    total = {pair: np.zeros(recovered.shape[1]) for pair in _pairs(width)}
    for j, share in enumerate(recovered):
        mean = [sum(chances[j] * move[q] for chances, move in zip(possible, moves, strict=True)) for q in range(width)]
        for q, r in total:
            product = sum(chances[j] * move[q] * move[r] for chances, move in zip(possible, moves, strict=True))
            total[q, r] += share * (product - mean[q] * mean[r])
    return total


def expit_pair(eta: Real) -> tuple[Real, Real]:
    """``expit(eta)`` and ``expit(-eta)``, both to full relative precision."""
    odds = np.exp(np.minimum(eta, STEEPEST))
    second = 1.0 / (1.0 + odds)
    return odds * second, second


def softmax(eta: list[Real]) -> Real:
    """Chances of k categories from k - 1 predictors, shape (k, rows)."""
    stacked = np.array([*eta, np.zeros_like(eta[0])])
    stacked -= stacked.max(axis=0)
    np.exp(np.maximum(stacked, -STEEPEST), out=stacked)
    stacked /= stacked.sum(axis=0)
    return stacked


def _spread(tau: Real, pi: Real) -> Pairs:
    """``(D_tau - tau tau') - (D_pi - pi pi')`` for the first k - 1 categories."""
    return {(q, r): tau[q] * ((q == r) - tau[r]) - pi[q] * ((q == r) - pi[r]) for q, r in _pairs(len(pi) - 1)}


def _pairs(width: int) -> list[tuple[int, int]]:
    return list(combinations_with_replacement(range(width), 2))


@dataclass(frozen=True)
class _Reported:
    """Chance of a report, and gradient and Hessian of its logarithm."""

    chance: Real
    gradient: list[Real]
    hessian: Pairs


def _reported(eta: list[Real], chances: Real) -> _Reported:
    """Of a report with these chances, (k, rows), given each category, where the categories are a softmax."""
    pi = softmax(eta)
    joint = chances * pi
    lam = joint.sum(axis=0)
    tau = joint / lam
    return _Reported(lam, list(tau[:-1] - pi[:-1]), _spread(tau, pi))
