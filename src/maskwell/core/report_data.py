"""Reports as they leave a design, canonical data that say what they are, and their counts, small and mergeable.

Nothing in the form of a report depends on the truth beyond what the design allows: a report is one code or one mask.
Counts are what an estimate needs to know of the reports.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Integral
from typing import Any, Literal

import numpy as np

from maskwell.core.arguments import Array, Flag, as_array, as_list, check_kind, shown_short
from maskwell.core.labels import is_missing
from maskwell.core.phrases import shorten
from maskwell.errors import MissingValueError, ReportError

Encoding = Literal["codes", "bits"]


@dataclass(frozen=True)
class SetReports:
    """The output space of a design whose report is a set of categories.

    ``size`` is the number of categories in every report, or ``None`` where it varies.
    """

    k: int
    size: int | None


@dataclass(frozen=True, eq=False)
class Reports:
    """A column of reports.

    Attributes
    ----------
    fingerprint
        Of the design that made them.
    k
        Number of input categories of that design.
    encoding
        ``"codes"``: ``data`` holds output codes, shape (n,). ``"bits"``: ``data`` holds bit masks, shape
        (n, ceil(k/8)), type uint8; category j is bit ``j % 8`` (least significant first) of byte ``j // 8``, and the
        unused bits of the last byte are zero.
    data
        The reports.
    private
        False when they were drawn from a seeded source.
    """

    fingerprint: str
    k: int
    encoding: Encoding
    data: Array
    private: bool = True

    def __post_init__(self) -> None:
        check_kind(str, fingerprint=self.fingerprint)
        check_kind(np.ndarray, data=self.data)
        check_kind(Flag, private=self.private)

    def __len__(self) -> int:
        return len(self.data)

    def describe(self) -> Mapping[str, object]:
        """What a file needs to say about such a column."""
        bit_order = {"bit_order": "category j is bit j % 8, least significant first, of byte j // 8"}
        extra = bit_order if self.encoding == "bits" else {}
        return {"design": self.fingerprint, "k": self.k, "encoding": self.encoding, "private": self.private, **extra}

    def texts(self) -> Array:
        """Bit masks as texts of k characters, "1" where the category is in the set, first category first.

        >>> Reports("", 3, "bits", np.array([[0b101]], dtype=np.uint8)).texts().tolist()
        ['101']
        """
        return np.asarray(self.ascii_texts().astype(f"U{self.k}"))

    def ascii_texts(self) -> Array:
        """The same as byte strings, which take a quarter of the memory."""
        if self.encoding != "bits":
            raise ReportError("these reports are codes, not sets", hint="decode them with the design's outputs")
        characters = np.unpackbits(self.data, axis=1, count=self.k, bitorder="little") | np.uint8(ord("0"))
        return np.asarray(characters.view(f"S{self.k}").ravel())

    def __repr__(self) -> str:
        mark = "" if self.private else ", not private"
        return (
            f"Reports(n={len(self)}, k={self.k}, encoding={self.encoding!r}{mark}, design={self.fingerprint[:19]}...)"
        )


def bits_from_texts(texts: Any, k: int) -> Array:
    """Read a column of 0/1 texts back into bit masks, refusing anything else.

    >>> bits_from_texts(np.array(["101"]), 3).tolist()
    [[5]]
    """
    reports = as_array(texts, "reports") if hasattr(texts, "__array__") else as_list(texts, "reports")
    if isinstance(reports, np.ndarray) and reports.ndim != 1:
        raise ReportError(f"reports of shape {reports.shape}", hint="give one column of texts")
    values = reports if isinstance(reports, list) else reports.tolist() if reports.dtype.kind in "Of" else []
    missing = [] if {*map(type, values)} <= {str} else [row for row, text in enumerate(values) if is_missing(text)]
    if missing:
        raise MissingValueError(
            f"{len(missing)} of {len(reports)} reports are missing (first in row {missing[0]}, counted from 0)",
            hint="leave these rows out: who gave no report is not counted among the reports",
            rows=missing[:10],
        )
    column = np.array([], dtype=np.str_) if not len(reports) else as_array(reports, "reports").astype(np.str_)
    if len(column) == 0:
        return np.zeros((0, (k + 7) // 8), dtype=np.uint8)
    wrong = np.flatnonzero(np.char.str_len(column) != k)
    if len(wrong) == 0:
        characters = column.astype(f"U{k}").view(np.uint32).reshape(len(column), k)
        digits = characters - np.uint32(ord("0"))
        wrong = np.flatnonzero((digits > 1).any(axis=1))
    if len(wrong):
        raise ReportError(
            f"{len(wrong)} reports are not texts of {k} characters 0 or 1 (first in row {wrong[0]}, counted from 0)",
            hint="a set report has one character for each category, 1 where the category was named",
            values=shorten(repr(str(column[wrong[0]])), 80),
            rows=wrong[:10].tolist(),
        )
    return np.packbits(digits.astype(np.uint8), axis=1, bitorder="little")


@dataclass(frozen=True, eq=False)
class Counts:
    """How often each report, or each category in a set report, was seen.

    Attributes
    ----------
    values
        Shape (m,) for coded reports, (k,) for set reports.
    n
        Number of reports.
    fingerprint
        Of the design that made them.

    >>> a = Counts(np.array([3, 1]), 4, "f")
    >>> (a + a).values.tolist()
    [6, 2]
    """

    values: Array
    n: int
    fingerprint: str

    def __post_init__(self) -> None:
        n: Any = self.n
        if isinstance(n, bool) or not isinstance(n, Integral) or n < 0:
            raise ReportError(f"n = {shown_short(n)} reports", hint="give a whole number of 0 or more", n=n)
        values = _whole_numbers(as_array(self.values, "counts"))
        values.setflags(write=False)
        object.__setattr__(self, "values", values)
        object.__setattr__(self, "n", int(n))

    def share(self) -> Array:
        """Counts as shares of the number of reports."""
        if self.n == 0:
            raise ReportError("there are no reports", hint="an estimate needs at least one report")
        return self.values / self.n

    def __add__(self, other: Counts) -> Counts:
        if self.fingerprint != other.fingerprint:
            raise ReportError(
                "these counts come from two different designs",
                hint="estimate each part on its own, or randomize all with one design",
                fingerprints=(self.fingerprint, other.fingerprint),
            )
        return Counts(self.values + other.values, self.n + other.n, self.fingerprint)


def _whole_numbers(values: Array) -> Array:
    """A copy as int64, or an error."""
    fits = values.ndim == 1 and values.dtype.kind in "iuf"
    if not fits or not np.isfinite(values).all() or (values != np.floor(values)).any() or (values >= 2**63).any():
        raise ReportError(
            f"counts must be one column of whole numbers, not {values.dtype} of shape {values.shape}",
            hint="count the reports; do not weight them",
            values=np.array2string(values, threshold=8),
        )
    if (values < 0).any():
        raise ReportError(f"negative counts: {values[values < 0][:5].tolist()}", hint="counts are 0 or more")
    return values.astype(np.int64)
