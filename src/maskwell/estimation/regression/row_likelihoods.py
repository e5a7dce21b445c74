"""The log-likelihood l(eta) of one row in its linear predictors eta_1 .. eta_Q, with first and second derivatives.

One array of shape (rows,) for each predictor or pair of predictors. Source: derived; ``tau - pi`` and
``(D_tau - tau tau') - (D_pi - pi pi')`` are those of a mixture with softmax weights pi and posterior tau.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations_with_replacement
from typing import ClassVar, Self

import numpy as np

from maskwell.core.arguments import Array, Real
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


@dataclass(frozen=True, eq=False)
class RowModel(ABC):
    """What a model says about a block of rows; ``refusal`` is the error of one without a randomization variance."""

    refusal: ClassVar[str] = ""

    @property
    @abstractmethod
    def width(self) -> int:
        """Number of linear predictors, Q."""

    @abstractmethod
    def slopes(self, eta: list[Real], where: slice) -> Slopes:
        """The log-likelihood of these rows and its derivatives."""

    @abstractmethod
    def possible(self, eta: list[Real], where: slice) -> Iterator[tuple[Real, Sequence[Real]]]:
        """Chance and gradient of each report that rows could have made, the chance zero where one could not."""

    def information(self, eta: list[Real], where: slice) -> Pairs:
        """Expected information ``sum_z lam_z g_z g_z'`` of each row, over all reports that it could have made."""
        total = {pair: np.zeros(len(eta[0])) for pair in _pairs(self.width)}
        for chance, gradient in self.possible(eta, where):
            for q, r in total:
                total[q, r] += chance * gradient[q] * gradient[r]
        return total

    def randomization(self, eta: list[Real], where: slice) -> Pairs:
        """Unbiased estimate of the variance that the randomization gives the gradient of each row."""
        raise InputError(self.refusal)

    def part(self, rows: slice | Array) -> Self:
        """The same for some rows."""
        parts = self._by_row
        some = {n: part.part(rows) if isinstance(part, Evidence) else part[rows] for n, part in parts.items()}
        return replace(self, **some)

    @property
    def columns(self) -> list[Array]:
        """In what rows differ, shape (n,) each."""
        return [part.index if isinstance(part, Evidence) else part for part in self._by_row.values()]

    @property
    def _by_row(self) -> dict[str, Evidence | Array]:
        return {name: part for name, part in vars(self).items() if isinstance(part, Evidence | np.ndarray)}


@dataclass(frozen=True, eq=False)
class ReportRows(RowModel):
    """Rows with one randomized report each: one predictor less than categories."""

    evidence: Evidence

    @property
    def width(self) -> int:
        """One less than the categories."""
        return self.evidence.k - 1

    def randomization(self, eta: list[Real], where: slice) -> Pairs:
        """``sum_j U_j Cov(g | category j)``, where U are the recovered indicators. Source: derived."""
        recovered = self.evidence.recovered[self.evidence.index[where]].T
        chances, moves = self.evidence.alternatives(where), [move for _, move in self.possible(eta, where)]
        total = {pair: np.zeros(recovered.shape[1]) for pair in _pairs(self.width)}
        for j, share in enumerate(recovered):
            pairs = [(chance[j], move) for chance, move in zip(chances, moves, strict=True)]
            mean = [sum(chance * move[q] for chance, move in pairs) for q in range(self.width)]
            for q, r in total:
                product = sum(chance * move[q] * move[r] for chance, move in pairs)
                total[q, r] += share * (product - mean[q] * mean[r])
        return total


class Logit(ReportRows):
    """``Pr(first category) = expit(eta)``; a and b are the chances of the report given either category.

    lam = a sigma + b (1 - sigma),  dl = sigma (1 - sigma) (a - b) / lam,  -ddl = sigma (1 - sigma) (1 - a b / lam^2)
    """

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

    def possible(self, eta: list[Real], where: slice) -> Iterator[tuple[Real, Sequence[Real]]]:
        """``sigma (1 - sigma) (a - b) / lam``."""
        first, second = expit_pair(eta[0])
        for a, b in self.evidence.alternatives(where):
            lam = a * first + b * second
            yield lam, [np.divide(first * second * (a - b), lam, out=np.zeros_like(lam), where=lam > 0)]


class Softmax(ReportRows):
    """k categories, k - 1 predictors: ``Pr(category j) = exp(eta_j) / sum``, the last category as the reference."""

    def slopes(self, eta: list[Real], where: slice) -> Slopes:
        """The log-likelihood of these rows and its derivatives."""
        report = _reported(eta, self.evidence.rows(where))
        return replace(report, value=np.log(report.value))

    def possible(self, eta: list[Real], where: slice) -> Iterator[tuple[Real, Sequence[Real]]]:
        """``tau - pi``."""
        pi = softmax(eta)
        for chances in self.evidence.alternatives(where):
            joint = chances * pi
            lam = joint.sum(axis=0)
            yield lam, list((np.divide(joint, lam, out=pi.copy(), where=lam > 0) - pi)[:-1])


@dataclass(frozen=True, eq=False)
class LieDetectorRows(RowModel):
    """Predictors eta of being a carrier and zeta of being honest: ``t = expit(zeta)``. Derived.

    lam = sigma (t h + (1 - t) l) + (1 - sigma) c, with the chances given honest and lying carriers and others
    """

    evidence: Evidence
    width: int = 2
    refusal: ClassVar[str] = "a-finite-population-is-not-taken-into-account"

    def slopes(self, eta: list[Real], where: slice) -> Slopes:
        """The log-likelihood of these rows and its derivatives."""
        return self._slopes(eta, self.evidence.rows(where))

    def information(self, eta: list[Real], where: slice) -> Pairs:
        """``sum_z lam_z g_z g_z'``."""
        total = {pair: np.zeros(len(eta[0])) for pair in _pairs(2)}
        for value, (g, h) in self.possible(eta, where):
            for pair, product in zip(total, (g * g, g * h, h * h), strict=True):
                total[pair] += value * product
        return total

    def possible(self, eta: list[Real], where: slice) -> Iterator[tuple[Real, Sequence[Real]]]:
        """Chance and gradient of each report."""
        for chances in self.evidence.alternatives(where):
            could = chances.max(axis=0) > 0
            slopes = self._slopes(eta, np.where(could, chances, 1.0))
            yield np.where(could, np.exp(slopes.value), 0.0), slopes.gradient

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
class MixtureRows(RowModel):
    """``L = sum_j P[z, j] pi_j(zeta) f(y | eta_j)``, ``rho_j = summand / L``: a mixture over a randomized predictor.

    With ``g_j, H_j`` the gradient and Hessian of ``ln f`` in eta_j, the derivatives of ``ln L`` are (derived)

        by eta_j: rho_j g_j               by zeta: rho - pi
        eta_j eta_l: [j = l] rho_j (H_j + g_j g_j') - rho_j rho_l g_j g_l'
        eta_j zeta_l: rho_j g_j ([j = l] - rho_l)     zeta zeta: (D_rho - rho rho') - (D_pi - pi pi')

    Predictors: for each category j the k_y - 1 of the outcome, then the k_x - 1 of the category.
    """

    outcome: Evidence
    predictor: Evidence
    refusal: ClassVar[str] = "a-finite-population-is-not-taken-into"

    @property
    def width(self) -> int:
        """Number of linear predictors."""
        return self.predictor.k * (self.outcome.k - 1) + self.predictor.k - 1

    def slopes(self, eta: list[Real], where: slice) -> Slopes:
        """The log-likelihood of these rows and its derivatives."""
        return self._slopes(eta, self.outcome.rows(where), self.predictor.rows(where))

    def possible(self, eta: list[Real], where: slice) -> Iterator[tuple[Real, Sequence[Real]]]:
        """Of all pairs of reports that a row could have made."""
        for chances in self.predictor.alternatives(where):
            for outcome in self.outcome.alternatives(where):
                could = (outcome.max(axis=0) > 0) & (chances.max(axis=0) > 0)
                slopes = self._slopes(eta, *(np.where(could, part, 1.0) for part in (outcome, chances)))
                yield np.where(could, np.exp(slopes.value), 0.0), slopes.gradient

    def _slopes(self, eta: list[Real], outcome: Real, predictor: Real) -> Slopes:
        k, width = self.predictor.k, self.outcome.k - 1
        fits = [_reported(eta[j * width : (j + 1) * width], outcome) for j in range(k)]
        pi = softmax(eta[k * width :])
        joint = predictor * pi * np.array([fit.value for fit in fits])
        total = joint.sum(axis=0)
        rho = joint / total
        gradient = [rho[j] * g for j, fit in enumerate(fits) for g in fit.gradient]
        gradient += list(rho[:-1] - pi[:-1])
        return Slopes(np.log(total), gradient, self._hessian(fits, rho, pi))

    def _hessian(self, fits: list[Slopes], rho: Real, pi: Real) -> Pairs:
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


class Recovered(ReportRows):
    """Quasi-likelihood of the recovered indicators, ``sum_j U_j eta_j - ln sum exp(eta)``: concave, for starts."""

    def slopes(self, eta: list[Real], where: slice) -> Slopes:
        """The quasi-likelihood of these rows and its derivatives."""
        pi = softmax(eta)
        U = self.evidence.recovered[self.evidence.index[where]].T
        value = (U[:-1] * np.array(eta)).sum(axis=0) + np.log(np.maximum(pi[-1], 1e-300)) * U.sum(axis=0)
        bends = {pair: -bend for pair, bend in self.information(eta, where).items()}
        return Slopes(value, list(U[:-1] - pi[:-1]), bends)

    def information(self, eta: list[Real], where: slice) -> Pairs:
        """``D_pi - pi pi'``."""
        pi = softmax(eta)
        return {(q, r): pi[q] * ((q == r) - pi[r]) for q, r in _pairs(self.width)}

    def possible(self, eta: list[Real], where: slice) -> Iterator[tuple[Real, Sequence[Real]]]:
        """No reports are looked at, only what is recovered from those made."""
        return iter(())


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


def _reported(eta: list[Real], chances: Real) -> Slopes:
    """Of a report with these chances, (k, rows), given each category of a softmax; the value is its chance itself."""
    pi = softmax(eta)
    joint = chances * pi
    lam = joint.sum(axis=0)
    tau = joint / lam
    return Slopes(lam, list(tau[:-1] - pi[:-1]), _spread(tau, pi))
