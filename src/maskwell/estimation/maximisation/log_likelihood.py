"""The log-likelihood of counted reports, its slope and its curvature, by the operators of the designs.

    f(pi) = sum_i share_i ln lam_i,   lam = P pi,   g_j = sum_i share_i P[i, j] / lam_i,   H = P' diag(share / lam^2) P
over the reports that were seen, of all samples; ``sum_j pi_j g_j = 1``. Source: [Adeshiyan2011, eq. (3.3)], corrected.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, TypeAlias

import numpy as np

from maskwell.core.arguments import Array, Real, as_floats
from maskwell.designs.coded import CodedDesign
from maskwell.designs.design import Design
from maskwell.errors import ParameterError, ReportError

WRITTEN_LIMIT = 4 * 10**6  # matrices with at most this many entries are written out; larger ones stay operators
Curvature = Real  # H, shape (k, k), or (k,) where it is diagonal for directions that sum to zero


def value(f: LogLikelihood, lam: Real) -> float:
    """``sum share ln lam``; minus infinity where a seen report has no chance."""
    if (lam <= 0).any():
        return -np.inf
    return float(f.share @ np.log(lam))


@dataclass(frozen=True, eq=False, kw_only=True)
class Written:
    """With the lines of P of the seen reports written out, shape (s, k)."""

    share: Real  # Counts of the seen reports over the number of all reports
    total: float  # The number of all reports
    rows: Real
    diagonal: ClassVar[bool] = False

    @property
    def k(self) -> int:
        """Number of categories."""
        return int(self.rows.shape[1])

    def lam(self, pi: Real) -> Real:
        """``P pi``."""
        return np.asarray(self.rows @ pi)

    def slope(self, lam: Real) -> Real:
        """``P' (share / lam)``."""
        return np.asarray((self.share / lam) @ self.rows)

    def curvature(self, lam: Real, free: Array) -> Curvature:
        """``P' diag(share / lam^2) P``."""
        scaled = self.rows[:, free] * (np.sqrt(self.share) / lam)[:, None]
        return np.asarray(scaled.T @ scaled)

    def columns(self, chosen: Array) -> Real:
        """Some of the columns."""
        return np.asarray(self.rows[:, chosen])


@dataclass(frozen=True, eq=False, kw_only=True)
class Operators:
    """The same with P as the operators of its designs; ``seen`` holds the codes of the seen reports of each sample."""

    share: Real
    total: float
    designs: tuple[CodedDesign, ...]
    seen: tuple[Array, ...]

    @property
    def k(self) -> int:
        """Number of categories."""
        return self.designs[0].k

    def lam(self, pi: Real) -> Real:
        """``P pi`` of every sample, one after the other."""
        return np.concatenate([d.forward(pi)[rows] for d, rows in zip(self.designs, self.seen, strict=True)])

    def slope(self, lam: Real) -> Real:
        """``P' (share / lam)``, summed over the samples."""
        return self._spread(self.share / lam, lambda design, x: design.forward_adjoint(x))

    def curvature(self, lam: Real, free: Array) -> Curvature:
        """The diagonal ``p^2 share / lam^2``, summed over the samples: P acts as p on directions that sum to zero."""
        return self._spread(self.share / lam**2, lambda design, x: _scale(design) ** 2 * x)[free]

    @property
    def diagonal(self) -> bool:
        """Whether the curvature is known without writing anything out."""
        return all(design.contrast_scale() is not None for design in self.designs)

    def columns(self, chosen: Array) -> Real:
        """The lines of the seen reports for some categories, written out, shape (s, chosen)."""
        return np.concatenate([d.entries(rows, chosen) for d, rows in zip(self.designs, self.seen, strict=True)])

    def _spread(self, values: Real, operate: Callable[[CodedDesign, Real], Real]) -> Real:
        """Values of the seen reports put at their places among all reports, worked on and summed."""
        total, start = np.zeros(self.k), 0
        for design, rows in zip(self.designs, self.seen, strict=True):
            full = np.zeros(design.m)
            full[rows] = values[start : start + len(rows)]
            total += operate(design, full)
            start += len(rows)
        return total


LogLikelihood: TypeAlias = Written | Operators


def _scale(design: CodedDesign) -> float:
    scale = design.contrast_scale()
    assert scale is not None
    return scale


def log_likelihood(designs: Sequence[Design], counts: Sequence[Array]) -> Written | Operators:
    """The log-likelihood of counts of reports, one list of m counts for each design; errors for what cannot be."""
    checked = checked_counts(designs, counts)
    total = sum(float(x.sum()) for x in checked)
    if total <= 0:
        raise no_reports()
    seen = tuple(np.flatnonzero(x) for x in checked)
    share = np.concatenate([x[rows] for x, rows in zip(checked, seen, strict=True)]) / total
    coded = tuple(design for design in designs if isinstance(design, CodedDesign))
    operators = Operators(designs=coded, seen=seen, share=share, total=total) if len(coded) == len(designs) else None
    if operators is not None and (operators.diagonal or _entries(designs) > WRITTEN_LIMIT):
        _check_possible(operators)
        return operators
    lines = [design.matrix()[rows] for design, rows in zip(designs, seen, strict=True)]
    written = Written(rows=np.concatenate(lines), share=share, total=total)
    _check_possible(written)
    return written


def no_reports() -> ReportError:
    """The error for nothing to estimate from."""
    return ReportError("there-are-no-reports")


def _entries(designs: Sequence[Design]) -> int:
    return max(design.m * design.k for design in designs)


def checked_counts(designs: Sequence[Design], counts: Sequence[Array]) -> list[Real]:
    """Counts as numbers, one list of m for each design over the same categories, or an error."""
    if not designs or len(designs) != len(counts):
        raise ParameterError("designs-and-lists-of-counts", designs_count=len(designs), counts_count=len(counts))
    if len({design.k for design in designs}) > 1:
        raise ParameterError(
            "designs-of-categories-cannot-share-proportions", designs=sorted({design.k for design in designs})
        )
    return [_checked(design, as_floats(x, "counts", finite=False)) for design, x in zip(designs, counts, strict=True)]


def _checked(design: Design, x: Real) -> Real:
    if x.shape != (design.m,):
        raise ReportError(
            "counts-for-a-design-with-possible",
            hint="give one count for each possible report"
            + ("; counts by category of sets serve moments only" if design.reports_are_sets else ""),
            size=x.size,
            reports_in_words=design.reports_in_words(),
        )
    if not np.isfinite(x).all() or (x < 0).any():
        raise ReportError("counts-must-be-finite-and-0")
    return x


def _check_possible(f: LogLikelihood) -> None:
    impossible = np.flatnonzero(f.lam(np.full(f.k, 1 / f.k)) == 0)
    if len(impossible):
        raise ReportError("of-the-reports-that-were-seen", impossible_count=len(impossible))
