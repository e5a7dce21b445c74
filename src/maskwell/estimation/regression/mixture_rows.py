"""The log-likelihood of a row when a predictor was randomized: a mixture over its true category.

    L_i = sum_j P[z, j] pi_j(zeta_i) f(y_i | eta_ij),    rho_ij = summand / L_i

where ``eta_ij`` are the predictors of the outcome if the true category is j, and ``zeta_i`` those of the category
itself. With ``g_j, H_j`` the gradient and Hessian of ``ln f`` in eta_j, the derivatives of ``ln L`` are

    by eta_j: rho_j g_j               by zeta: rho - pi
    eta_j eta_l: [j = l] rho_j (H_j + g_j g_j') - rho_j rho_l g_j g_l'
    eta_j zeta_l: rho_j g_j ([j = l] - rho_l)     zeta zeta: (D_rho - rho rho') - (D_pi - pi pi')

which is the observed information in Louis's form. Source: derived.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations_with_replacement

import numpy as np

from maskwell.core.arrays import Real
from maskwell.errors import InputError
from maskwell.estimation.regression.evidence import Evidence
from maskwell.estimation.regression.rows import Pairs, Slopes, softmax


@dataclass(frozen=True, eq=False)
class MixtureRows:
    """Outcome with categories (randomized or not), predictor with categories that was randomized.

    Predictors come in this order: for each category j of the predictor the k_y - 1 predictors of the outcome, then the
    k_x - 1 predictors of the category.
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
        total = {pair: np.zeros(len(eta[0])) for pair in combinations_with_replacement(range(self.width), 2)}
        for chances in self.predictor.alternatives(where):
            for own in self.outcome.alternatives(where):
                possible = (own.max(axis=0) > 0) & (chances.max(axis=0) > 0)
                safe = [np.where(possible, part, 1.0) for part in (own, chances)]
                found = self._slopes(eta, *safe)
                weight = np.where(possible, np.exp(found.value), 0.0)
                for q, r in total:
                    total[q, r] += weight * found.gradient[q] * found.gradient[r]
        return total

    def randomization(self, eta: list[Real], where: slice) -> Pairs:  # noqa: D102
        raise InputError(
            "a finite population is not taken into account for a randomized predictor",
            hint="leave out the population: standard errors are then a little too large",
        )

    def _slopes(self, eta: list[Real], outcome: Real, predictor: Real) -> Slopes:
        k, width = self.predictor.k, self.outcome.k - 1
        fits = [_outcome(eta[j * width : (j + 1) * width], outcome) for j in range(k)]
        pi = softmax(eta[k * width :])
        joint = predictor * pi * np.array([fit.chance for fit in fits])
        total = joint.sum(axis=0)
        rho = joint / total
        gradient = [rho[j] * g for j, fit in enumerate(fits) for g in fit.gradient]
        gradient += list(rho[:-1] - pi[:-1])
        return Slopes(np.log(total), gradient, self._hessian(fits, rho, pi))

    def _hessian(self, fits: list[_Outcome], rho: Real, pi: Real) -> Pairs:
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
        for j, i in combinations_with_replacement(range(k - 1), 2):
            spread = rho[j] * ((j == i) - rho[i]) - pi[j] * ((j == i) - pi[i])
            bends[len(places) + j, len(places) + i] = spread
        return bends


@dataclass(frozen=True)
class _Outcome:
    """Chance of the outcome's report, and gradient and Hessian of its logarithm."""

    chance: Real
    gradient: list[Real]
    hessian: Pairs


def _outcome(eta: list[Real], chances: Real) -> _Outcome:
    pi = softmax(eta)
    joint = chances * pi
    lam = joint.sum(axis=0)
    tau = joint / lam
    bends = {
        (a, b): tau[a] * ((a == b) - tau[b]) - pi[a] * ((a == b) - pi[b])
        for a, b in combinations_with_replacement(range(len(eta)), 2)
    }
    return _Outcome(lam, list(tau[:-1] - pi[:-1]), bends)
