"""Designs whose report is one code, and what those share that know every entry of P: linear algebra, draws by column.

Source: the left inverse for more reports than categories is [NayakZhai2019, eq. (6.3)].
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from maskwell.core.arguments import Array, Codes, Real, Words, as_floats, check_option, code_type
from maskwell.core.categories import Categories
from maskwell.core.draws import WordReader, interval
from maskwell.core.report_data import SETS, Counts, Encoding, Reports
from maskwell.designs import kernels
from maskwell.designs.column_arrays import ThresholdTable
from maskwell.designs.design import Design
from maskwell.errors import MissingValueError, NotIdentifiableError, ReportError, TooLargeError

TALLY_LIMIT = 10**8
ENTRY_WORK = 10**7  # numbers that are worked on at once where entries of P are found by applying it
ENTRY_LIMIT = 10**10  # entries of P that are worked out one after the other, where a structure knows no shorter way
PAIRS_LIMIT = 10**9  # differences of entries that are worked out where all columns are compared with each other
SHORT_COLUMN = 16  # entries of a column below which comparing it with another takes no less time
_CHUNK = 1 << 16
_AT_ONCE = 1 << 14


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class CodedDesign(Design):
    """A design with reports 0..m-1. Subclasses give P, its left inverse L, and L with squared entries as operators."""

    encoding: ClassVar[Encoding] = "codes"

    @property
    @abstractmethod
    def outputs(self) -> Categories:
        """The possible reports."""

    @property
    def m(self) -> int:
        """Number of possible reports."""
        return len(self.outputs)

    @abstractmethod
    def forward(self, x: Real) -> Real:
        """P applied to the last axis of ``x``: shape (..., k) to (..., m)."""

    @abstractmethod
    def forward_adjoint(self, x: Real) -> Real:
        """P' applied to the last axis of ``x``: shape (..., m) to (..., k). Likelihoods climb along it."""

    def entries(self, reports: Array, truths: Array) -> Real:
        """P at the crossings of some reports (rows) and truths (columns), shape (reports, truths)."""
        entries = np.empty((len(reports), len(truths)))
        batch = max(1, ENTRY_WORK // max(self.k, self.m))
        for start in range(0, len(truths), batch):
            columns = truths[start : start + batch]
            unit = np.zeros((len(columns), self.k))
            unit[np.arange(len(columns)), columns] = 1
            entries[:, start : start + batch] = self.forward(unit)[:, reports].T
        return entries

    def largest_in_rows(self, scale: Real) -> tuple[Real, Array]:
        """``max_j P[i, j] scale_j`` for each report i, and the first truth j that reaches it; both of shape (m,)."""
        self._check_size(ENTRY_LIMIT)
        most, where, reports = np.full(self.m, -np.inf), np.zeros(self.m, dtype=np.int64), np.arange(self.m)
        batch = max(1, ENTRY_WORK // self.m)
        for start in range(0, self.k, batch):
            truths = np.arange(start, min(self.k, start + batch))
            scaled = self.entries(reports, truths) * scale[truths]
            best = scaled.argmax(axis=1)
            better = scaled[reports, best] > most
            most[better], where[better] = scaled[reports, best][better], truths[best][better]
        return most, where

    def total_variation(self) -> float:
        """From the matrix, which must be small: all pairs of columns, a few columns at a time to stay in the cache."""
        if self.k * self.k * max(self.m, SHORT_COLUMN) > PAIRS_LIMIT:
            raise TooLargeError("the-columns-of-truths-are-too", k=self.k)
        columns, widest, step = np.ascontiguousarray(self.matrix().T), 0.0, max(1, _AT_ONCE // self.m)
        for start in range(0, self.k, step):
            some = columns[start : start + step]
            widest = max(widest, *(float(np.abs(some - other).sum(axis=1).max()) for other in columns[start:]))
        return widest

    @abstractmethod
    def backward(self, x: Real) -> Real:
        """L applied to the last axis of ``x``: shape (..., m) to (..., k), where L P = I."""

    @abstractmethod
    def backward_squared(self, x: Real) -> Real:
        """L with squared entries applied to the last axis of ``x``."""

    def apply(self, pi: Real) -> Real:
        """The distribution of reports, ``lam = P pi``, shape (m,). Source: [ChaiNayak2018, eq. (1.1)]."""
        return self.forward(self.check_distribution(pi))

    def solve(self, share: Real) -> Real:
        """True proportions ``L share`` from shares of reports, shape (k,)."""
        self.check_identifiable()
        return self.backward(self._check_share(share))

    def second_moment(self, share: Real) -> Real:
        """``L diag(share) L'``, shape (k, k)."""
        self.check_identifiable()
        L = self.backward(np.eye(self.m))
        return np.asarray((L.T * self._check_share(share)) @ L)

    def second_moment_diagonal(self, share: Real) -> Real:
        """The diagonal of ``L diag(share) L'``, shape (k,)."""
        self.check_identifiable()
        return self.backward_squared(self._check_share(share))

    def count_chances(self) -> tuple[Real, Real] | None:
        """None, unless a structure knows better."""
        return None

    def separate(self) -> tuple[CodedDesign, ...]:
        """Designs on stretches of the truths whose reports never meet, in order; the design itself if there is one."""
        return (self,)

    def contrast_scale(self) -> float | None:
        """The number p with ``P d = p d`` for every d that sums to zero, or ``None`` where none exists."""
        return None

    @abstractmethod
    def singular_range(self) -> tuple[float, float]:
        """The largest and the smallest of the singular values of P."""

    def condition(self) -> float:
        """Largest over smallest singular value; infinite when the columns are dependent."""
        high, low = self.singular_range()
        return high / low if self.identifiable else math.inf

    def not_identifiable(self, direction: Real) -> NotIdentifiableError:
        """The error for a direction that reports cannot show."""
        return NotIdentifiableError(
            "shares-cannot-be-estimated-the-matrix",
            hint=self.provenance.get("samples") or "choose a design whose columns are linearly independent",
            rank=self.rank(),
            k=self.k,
            null_direction=direction,
        )

    def _check_share(self, share: Real) -> Real:
        values = as_floats(share, "share", finite=False)
        if values.shape != (self.m,) or not np.isfinite(values).all():
            raise ReportError("shares-of-reports-have-shape", shape=values.shape, m=self.m)
        return values

    def empty_reports(self, n: int) -> Array:
        """Room for n codes."""
        return np.empty(n, dtype=code_type(self.m))

    def encode_report(self, report: Any) -> Any:
        """The code itself."""
        return report

    def report_space(self) -> Array:
        """The codes 0..m-1."""
        return np.arange(self.m, dtype=code_type(self.m))

    def labels_of(self, reports: Reports, *, like: Any = None, kept: Array | None = None, sets: str = "packed") -> Any:
        """Reports as output labels, in the kind of container of ``like``; none of them is a set."""
        check_option("sets", sets, SETS)
        return self.outputs.decode(reports.data, like=like, kept=kept)

    def tally(self, reports: Any) -> Counts:
        """How often each report occurs. Takes :class:`Reports`, or a column of report labels."""
        made = isinstance(reports, Reports)
        codes = check_codes(reports_of(self, reports)) if made else codes_of(self.outputs, reports)
        if self.m > TALLY_LIMIT:
            raise TooLargeError("a-table-of-reports-is-too", m=self.m)
        counts = np.zeros(self.m, dtype=np.int64)
        tally_codes(codes, counts)
        return Counts(counts, len(codes), self.fingerprint, reports.private if made else True)


def codes_of(outputs: Categories, reports: Any, match: str = "value") -> Codes:
    """Codes of a column of report labels, which has no missing values."""
    try:
        return outputs.encode(reports, match=match).codes
    except MissingValueError as error:
        hint = "leave these rows out: people without a report are not counted"
        raise MissingValueError(error.message, hint=hint, **error.objects) from None


def tally_codes(codes: Array, counts: Array) -> None:
    """Add to ``counts`` how often each code occurs, refusing codes beyond its end."""
    if len(codes) and int(codes.max()) >= len(counts):
        raise ReportError("report-code-is-outside-0", codes_max=int(codes.max()), counts_count_sub=len(counts) - 1)
    if codes.dtype.itemsize == 1 and len(counts) <= 256:
        kernels.active.tally_codes(np.ascontiguousarray(codes), counts)
        return
    for start in range(0, len(codes), _CHUNK):
        kernels.active.tally_codes(codes[start : start + _CHUNK].astype(np.uint32), counts)


def check_codes(codes: Array) -> Array:
    """Report codes as one column of unsigned integers, or an error."""
    if codes.ndim != 1 or codes.dtype.kind not in "iu" or (len(codes) and int(codes.min()) < 0):
        raise ReportError("report-codes-must-be-one-column", shape=codes.shape, dtype=codes.dtype)
    return codes if codes.dtype == np.uint8 else codes.astype(np.uint64, copy=False)


def reports_of(design: Design, reports: Reports) -> Array:
    """The data of reports, after checking that this design made them."""
    if reports.fingerprint != design.fingerprint:
        raise ReportError(
            "these-reports-come-from-the-design",
            fingerprint=reports.fingerprint[:19],
            design_fingerprint=design.fingerprint[:19],
            given=reports.fingerprint,
            expected=design.fingerprint,
        )
    return reports.data


_SAME = 1e-9  # entries of a row of L this close, as a part of its range, differ by rounding
RANK = 1e-12  # singular values below this part of the largest count as zero


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

    @cached_property
    def _rank(self) -> int:
        values = self._singular_values
        return int((values > values[0] * max(self.k * self.m * np.finfo(float).eps, RANK)).sum())

    def rank(self) -> int:
        """Singular values above ``max(k m eps, 1e-12)`` times the largest."""
        return self._rank

    def singular_range(self) -> tuple[float, float]:
        """From the singular value decomposition."""
        return float(self._singular_values[0]), float(self._singular_values[-1])

    def check_identifiable(self) -> None:
        """Raise, naming a direction that reports cannot show, unless the columns are safely independent."""
        if not self.identifiable:
            raise self.not_identifiable(np.linalg.svd(self._P)[2][-1])

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

    def second_moment_of_truth(self) -> Real:
        """The diagonal of ``(L * L) P``, shape (k,)."""
        self.check_identifiable()
        return np.asarray(np.einsum("ji,ij->j", self._L**2, self._P))

    def count_chances(self) -> tuple[Real, Real] | None:
        """From the two values u > v of each row of L: ``(1 - v) / (u - v)`` and ``-v / (u - v)``, at most one."""
        v, u = self._L.min(axis=1), self._L.max(axis=1)
        off = np.minimum(self._L - v[:, None], u[:, None] - self._L)
        if (off > _SAME * (u - v)[:, None]).any():
            return None
        return np.clip((1 - v) / (u - v), 0, 1), np.clip(-v / (u - v), 0, 1)

    # ---- sampling: the report is the number of cumulative probabilities at or below a uniform number

    words_per_row = 2  # one number of 64 bits

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
        raise NotIdentifiableError("the-reports-that-can-occur", lam=lam)
    return np.asarray(np.linalg.solve(r, q.T) * scale)
