"""What all designs share whose report is a set of categories, symmetric in the categories.

    p = Pr(truth is in the set)              a = Pr(truth and a given other are both in the set)
    r = Pr(a given other is in the set)      b = Pr(two given others are both in the set)

    E V_i / n = r + (p - r) pi_i,            pi_hat_i = (V_i / n - r) / (p - r)

Source: derived from [NayakZhai2019, sections 3.2 and 4.2]; checked against the full matrix in the contract tests.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from maskwell.core.arguments import Array, Bits, Real, as_floats
from maskwell.core.exact import to_float
from maskwell.core.report_data import Counts, Encoding, Reports, SetReports, join_sets, split_sets
from maskwell.designs import kernels
from maskwell.designs.coded import reports_of
from maskwell.designs.own_labels import OwnCategories
from maskwell.errors import ReportError


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class SetDesign(OwnCategories):
    """A design that reports a set of categories as a bit mask."""

    encoding: ClassVar[Encoding] = "bits"

    @property
    @abstractmethod
    def outputs(self) -> SetReports:
        """The possible reports."""

    @property
    @abstractmethod
    def include(self) -> Fraction:
        """p: chance that the truth is in the set."""

    @property
    @abstractmethod
    def other(self) -> Fraction:
        """r: chance that a given other category is in the set."""

    @abstractmethod
    def pair_probabilities(self) -> tuple[Fraction, Fraction]:
        """A and b: chance that two given categories are both in the set, one of them true, and none of them true."""

    @abstractmethod
    def separation(self) -> float:
        """``1 - <P_i, P_j> / <P_i, P_i>`` for two columns of P."""

    @abstractmethod
    def set_probability(self, chosen: frozenset[int], truth: int) -> Fraction:
        """Chance of reporting exactly this set."""

    @abstractmethod
    def sets(self) -> Iterable[tuple[int, ...]]:
        """All sets that can be reported, in the row order of the matrix."""

    def apply(self, pi: Real) -> Real:
        """Inclusion probabilities ``r + (p - r) pi``, shape (k,)."""
        return float(self.other) + float(self.include - self.other) * self.check_distribution(pi)

    def solve(self, share: Real) -> Real:
        """``(share - r) / (p - r)``, shape (k,)."""
        return np.asarray((self._check_share(share) - float(self.other)) / float(self.include - self.other))

    def second_moment(self, share: Real) -> Real:
        """``(zeta_ij - r zeta_i - r zeta_j + r^2) / (p - r)^2``, shape (k, k).

        Here ``zeta_ij = a (pi_i + pi_j) + b (1 - pi_i - pi_j)`` is the chance that both are in the set.
        """
        zeta, pi, r = self._check_share(share), self.solve(share), float(self.other)
        a, b = map(float, self.pair_probabilities())
        both = b + (a - b) * np.add.outer(pi, pi)
        moment = (both - r * np.add.outer(zeta, zeta) + r * r) / float(self.include - self.other) ** 2
        np.fill_diagonal(moment, self.second_moment_diagonal(share))
        return np.asarray(moment)

    def second_moment_diagonal(self, share: Real) -> Real:
        """``((1 - 2 r) zeta_i + r^2) / (p - r)^2``, shape (k,)."""
        zeta, r = self._check_share(share), float(self.other)
        return np.asarray(((1 - 2 * r) * zeta + r * r) / float(self.include - self.other) ** 2)

    def second_moment_of_truth(self) -> Real:
        """``((1 - 2 r) p + r^2) / (p - r)^2`` for every category, shape (k,)."""
        return self.second_moment_diagonal(np.full(self.k, float(self.include)))

    def count_chances(self) -> tuple[Real, Real]:
        """A share follows from how many reports hold its category: p and r."""
        return np.full(self.k, float(self.include)), np.full(self.k, float(self.other))

    def added_variance(self, pi: Real | None = None) -> float:
        """``((1 - 2 r) (k r + p - r) + k r^2) / (p - r)^2 - 1``, whatever the true proportions; from fractions."""
        if pi is not None:
            self.check_distribution(pi)
        k, p, r = self.k, self.include, self.other
        return to_float(((1 - 2 * r) * (k * r + p - r) + k * r * r) / (p - r) ** 2 - 1)

    def rank(self) -> int:
        """Always k: the truth is more likely to be named than another category."""
        return self.k

    def condition(self) -> float:
        """The Gram matrix of the columns has equal diagonal and equal other entries."""
        apart = self.separation()
        return math.sqrt((1 + (self.k - 1) * (1 - apart)) / apart)

    def total_variation(self) -> float:
        """``2 (p - r)``: two columns differ on the sets that hold exactly one of the two categories."""
        return float(self.total_variation_exact())

    def total_variation_exact(self) -> Fraction:
        """The same as a fraction."""
        return 2 * (self.include - self.other)

    def _check_share(self, share: Real) -> Real:
        values = as_floats(share, "share", finite=False)
        if values.shape != (self.k,) or not np.isfinite(values).all():
            raise ReportError("inclusion-shares-have-shape-this-design", shape=values.shape, k=self.k)
        return values

    def _exact_matrix(self) -> list[list[Fraction]]:
        return [[self.set_probability(frozenset(s), j) for j in range(self.k)] for s in self.sets()]

    def empty_reports(self, n: int) -> Bits:
        """Room for n masks."""
        return np.zeros((n, (self.k + 7) // 8), dtype=np.uint8)

    def encode_report(self, report: Iterable[int]) -> Bits:
        """A set of category codes as a mask."""
        chosen = np.zeros(self.k, dtype=bool)
        chosen[list(report)] = True
        return np.packbits(chosen, bitorder="little")

    def report_space(self) -> Bits:
        """All masks in the row order of the matrix."""
        self._check_size(10**7)
        return np.stack([self.encode_report(s) for s in self.sets()])

    def labels_of(self, reports: Reports, *, like: Any = None, kept: Array | None = None, sets: str = "packed") -> Any:
        """Reports as bytes (``"packed"``) or 0/1 texts (``"texts"``), in the kind of container of ``like``."""
        return join_sets(reports, like, kept, sets=sets)

    def tally(self, reports: Any) -> Counts:
        """How many reports hold each category. Takes :class:`Reports`, or a column of packed sets or 0/1 texts."""
        made = isinstance(reports, Reports)
        bits = reports_of(self, reports) if made else split_sets(reports, self.k)
        counts = np.zeros(self.k, dtype=np.int64)
        size = -1 if self.outputs.size is None else self.outputs.size
        self._check_masks(bits)
        wrong = kernels.active.tally_bits(np.ascontiguousarray(bits), size, counts)
        if wrong >= 0:
            raise ReportError("the-report-in-row-does-not", size=size, row=wrong)
        return Counts(counts, len(bits), self.fingerprint, reports.private if made else True)

    def _check_masks(self, bits: Array) -> None:
        shape_fits = bits.ndim == 2 and bits.shape[1] == (self.k + 7) // 8 and bits.dtype == np.uint8
        if not shape_fits or (self.k % 8 and (bits[:, -1] >> (self.k % 8)).any()):
            raise ReportError(
                "masks-of-shape-and-for-reports", shape=bits.shape, dtype=bits.dtype, k=self.k, k_add=(self.k + 7) // 8
            )


def leading_weights(k: int, size: int) -> Real:
    """``C(k-j, size-1) / C(k-1, size-1)`` for j = 1..k-size+1: the share of sets whose first member is j."""
    j = np.arange(1, k - size + 1)
    return np.concatenate([[1.0], np.cumprod((k - j - size + 1) / (k - j))])
