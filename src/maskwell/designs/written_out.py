"""What designs share that know every entry of P: linear algebra on the matrix, and draws from its columns.

Source: the left inverse for more reports than categories is [NayakZhai2019, eq. (6.3)].
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from maskwell.core.arguments import Array, Real, Words
from maskwell.core.draws import WordReader, interval
from maskwell.designs.coded import CodedDesign
from maskwell.designs.threshold_tables import ThresholdTable
from maskwell.errors import NotIdentifiableError

RANK = 1e-12
"""Singular values below this part of the largest count as zero."""


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class WrittenOut(CodedDesign):
    """A design with few enough entries to be written out. Subclasses give P and its cumulative columns."""

    @cached_property
    def _P(self) -> Real:  # noqa: N802
        return self._floats()

    @abstractmethod
    def _floats(self) -> Real:
        """P, shape (m, k), each entry the float nearest to its fraction."""

    @abstractmethod
    def _cumulative(self) -> tuple[list[list[int]], Sequence[int]]:
        """For each truth, the cumulative numerators without the last; and the denominators."""

    def _matrix(self) -> Real:
        return self._P.copy()

    def guess_probability(self, prior: Real | None = None) -> float:
        """``sum_i max_j a_j P[i, j]`` for a prior a."""
        a = self.uniform_prior() if prior is None else self.check_distribution(prior, "prior")
        return float((self._P * a).max(axis=1).sum())

    # ---- linear algebra

    @cached_property
    def _singular_values(self) -> Real:
        return np.asarray(np.linalg.svd(self._P, compute_uv=False), dtype=np.float64)

    def rank_work(self) -> int:
        """Of the singular value decomposition."""
        return self.k * self.m * min(self.k, self.m)

    def rank(self) -> int:
        """Singular values above ``max(k m eps, 1e-12)`` times the largest."""
        values = self._singular_values
        return int((values > values[0] * max(self.k * self.m * np.finfo(float).eps, RANK)).sum())

    def singular_range(self) -> tuple[float, float]:
        """From the singular value decomposition."""
        return float(self._singular_values[0]), float(self._singular_values[-1])

    def check_identifiable(self) -> None:
        """Raise, naming a direction that reports cannot show, unless the columns are safely independent."""
        if self.identifiable:
            return
        direction = np.linalg.svd(self._P)[2][-1]
        raise NotIdentifiableError(
            f"shares cannot be estimated: the matrix has rank {self.rank()} for {self.k} categories",
            hint=self.provenance.get("samples") or "choose a design whose columns are linearly independent",
            null_direction=direction,
        )

    def left_inverse(self, pi_0: Real | None = None) -> Real:
        """L with L P = I, shape (k, m): the inverse, or for m > k the linear estimator that is best at ``pi_0``.

            L = (P' D^-1 P)^-1 P' D^-1,   D = diag(P pi_0)

        ``pi_0`` is uniform by default; any guess gives an unbiased estimate. Source: [NayakZhai2019, eq. (6.3)].
        """
        if self.m == self.k:
            return np.asarray(np.linalg.inv(self._P), dtype=np.float64)
        lam = self._P @ (self.uniform_prior() if pi_0 is None else self.check_distribution(pi_0, "pi_0"))
        return weighted_left_inverse(self._P, lam)

    @cached_property
    def _L(self) -> Real:  # noqa: N802
        return self.left_inverse()

    def forward(self, x: Real) -> Real:
        """``P x`` along the last axis."""
        return np.asarray(x @ self._P.T)

    def forward_squared(self, x: Real) -> Real:
        """``(P * P) x`` along the last axis."""
        return np.asarray(x @ (self._P**2).T)

    def forward_adjoint(self, x: Real) -> Real:
        """``P' x`` along the last axis."""
        return np.asarray(x @ self._P)

    def entries(self, reports: Array, truths: Array) -> Real:
        """Read off."""
        return np.asarray(self._P[np.ix_(reports, truths)])

    def backward(self, x: Real) -> Real:
        """``L x`` along the last axis."""
        return np.asarray(x @ self._L.T)

    def backward_squared(self, x: Real) -> Real:
        """``(L * L) x`` along the last axis."""
        return np.asarray(x @ (self._L**2).T)

    # ---- sampling: the report is the number of cumulative probabilities at or below a uniform number

    @property
    def words_per_row(self) -> int:
        """Two words: one number of 64 bits."""
        return 2

    @cached_property
    def _thresholds(self) -> tuple[list[list[int]], Sequence[int]]:
        return self._cumulative()

    @cached_property
    def _table(self) -> ThresholdTable:
        return ThresholdTable.of(*self._thresholds)

    def draw(self, truth: int, words: WordReader) -> int:
        """One report by the definition."""
        columns, denominators = self._thresholds
        return interval(columns[truth], denominators[truth], words.part(self.words_per_row))

    def draw_rows(self, codes: Array, words: Words, out: Array) -> Array:
        """Reports of many rows."""
        return self._table.draw_rows(codes, words, out)


def weighted_left_inverse(P: Real, lam: Real) -> Real:
    """``(P' D^-1 P)^-1 P' D^-1`` with ``D = diag(lam)``, shape (k, m); zeros for reports whose ``lam`` is zero."""
    scale = np.zeros(len(lam))
    np.divide(1, np.sqrt(lam), out=scale, where=lam > 0)
    q, r = np.linalg.qr(P * scale[:, None])
    size = np.abs(r.diagonal())
    if size.min() <= RANK * size.max():
        raise NotIdentifiableError(
            "the reports that can occur at these shares do not tell all shares",
            hint="give every category a share above 0 in the guess",
            lam=lam,
        )
    return np.asarray(np.linalg.solve(r, q.T) * scale)
