"""Reports as they leave a design (one code or one mask each), and their counts, small and mergeable."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Integral
from typing import Any, Literal

import numpy as np

from maskwell.core.arguments import Array, Flag, as_array, as_list, check_kind, check_option, kind_of, shown_short
from maskwell.core.categories import adapter_of, is_of_library, join_column
from maskwell.core.display import Result
from maskwell.core.labels import is_missing
from maskwell.core.phrases import shorten
from maskwell.errors import MissingValueError, ReportError

Encoding = Literal["codes", "bits"]


@dataclass(frozen=True)
class SetReports:
    """Reports that are sets of categories; ``size`` is how many each holds, or ``None`` where it varies."""

    k: int
    size: int | None


@dataclass(frozen=True, eq=False)
class Reports:
    """A column of reports.

    Attributes
    ----------
    fingerprint, k
        Of the design that made them, and its number of input categories.
    encoding
        ``"codes"``: ``data`` holds output codes, shape (n,). ``"bits"``: bit masks, shape (n, ceil(k/8)), type uint8;
        category j is bit ``j % 8`` (least significant first) of byte ``j // 8``, unused bits are zero.
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
        """Bit masks as texts of k characters, "1" where the category is in the set, first category first."""
        return np.asarray(self.ascii_texts().astype(f"U{self.k}"))

    def ascii_texts(self) -> Array:
        """The same as byte strings, which take a quarter of the memory."""
        if self.encoding != "bits":
            raise ReportError("these-reports-are-codes-not-sets")
        characters = np.unpackbits(self.data, axis=1, count=self.k, bitorder="little") | np.uint8(ord("0"))
        return np.asarray(characters.view(f"S{self.k}").ravel())

    def __repr__(self) -> str:
        mark = "" if self.private else ", not private"
        return (
            f"Reports(n={len(self)}, k={self.k}, encoding={self.encoding!r}{mark}, design={self.fingerprint[:19]}...)"
        )


SETS = ("packed", "texts")  # the forms of a column of sets: bytes of eight categories each, or texts of 0 and 1


def join_sets(reports: Reports, like: Any = None, kept: Array | None = None, *, sets: str = "packed") -> Any:
    """Set reports as a column of the kind of ``like`` (None: a NumPy array)."""
    check_option("sets", sets, SETS)
    masks = _as_bytes(reports.data, "V")
    if sets == "texts":
        _, first, codes = np.unique(_as_bytes(reports.data, "S"), return_index=True, return_inverse=True)
        distinct = Reports(reports.fingerprint, reports.k, reports.encoding, reports.data[first])
        return join_column(codes, [distinct.texts().tolist()], like, kept)
    if like is None or isinstance(like, np.ndarray):
        return masks
    if isinstance(like, list | tuple):
        return type(like)(masks.tolist())
    return adapter_of(like).join_sets(reports.data, like, kept)


def _as_bytes(bits: Array, kind: str) -> Array:
    """Rows of bytes as one value each: V holds them as they are; S can be sorted, and equal bytes stay equal."""
    return np.ascontiguousarray(bits).view(f"{kind}{bits.shape[1]}").ravel()


def split_sets(column: Any, k: int) -> Array:
    """Bit masks from a column of set reports in any form of :func:`join_sets`, refusing anything else."""
    if not isinstance(column, np.ndarray | list | tuple) and is_of_library(column):
        return adapter_of(column).split_sets(column, k)
    reports = as_array(column, "reports") if hasattr(column, "__array__") else as_list(column, "reports")
    if isinstance(reports, np.ndarray) and reports.ndim != 1:
        raise ReportError("reports-of-shape", shape=reports.shape)
    if isinstance(reports, np.ndarray) and reports.dtype.kind in "VS":
        return masks_of_width(bytes_of(reports), k)
    values = reports if isinstance(reports, list) else reports.tolist() if reports.dtype.kind in "Of" else []
    kinds = {*map(type, values)}
    missing = [] if kinds <= {str} else [row for row, value in enumerate(values) if is_missing(value)]
    if missing:
        raise missing_reports(missing, len(reports))
    if bytes not in kinds:
        return _masks_from_texts(reports, k)
    if len(kinds) > 1:
        raise ReportError("some-reports-are-bytes-and-some")
    widths = {*map(len, values)}
    if len(widths) > 1:
        raise wrong_width(max(widths - {(k + 7) // 8}), k)
    return masks_of_width(np.frombuffer(b"".join(values), dtype=np.uint8).reshape(len(values), *widths), k)


def bytes_of(values: Array) -> Array:
    """The bytes of a column of type V or S, shape (n, width)."""
    width = values.dtype.itemsize
    rows = np.ascontiguousarray(values).view(np.uint8) if width else np.zeros(0, dtype=np.uint8)
    return rows.reshape(len(values), width)


def missing_reports(missing: list[int], rows: int) -> MissingValueError:
    """The error for rows without a report."""
    return MissingValueError(
        "of-reports-are-missing-first",
        missing_count=len(missing),
        rows_shown=rows,
        missing=missing[0],
        rows=missing[:10],
    )


def masks_of_width(data: Array, k: int) -> Array:
    """Bit masks from rows of bytes, shape (n, width), which are masks or k characters 0 and 1."""
    if len(data) == 0:
        return np.zeros((0, (k + 7) // 8), dtype=np.uint8)
    if data.shape[1] != (k + 7) // 8:
        if data.shape[1] == k:
            return masks_of_characters(data, k)
        raise wrong_width(data.shape[1], k)
    if k % 8 and int(data[:, -1].max()) >> (k % 8):
        raise ReportError("set-reports-name-categories-beyond", k=k)
    return data


def wrong_width(width: int, k: int) -> ReportError:
    """The error for masks of another number of categories."""
    return ReportError("set-reports-of-bytes-categories-need", width=width, k=k, k_add=(k + 7) // 8)


def masks_of_characters(characters: Array, k: int) -> Array:
    """Bit masks from characters 0 and 1, shape (n, k)."""
    digits = characters - characters.dtype.type(ord("0"))
    wrong = np.flatnonzero((digits > 1).any(axis=1))
    if len(wrong):
        row = int(wrong[0])
        raise _wrong_texts(wrong, k, "".join(map(chr, characters[row].tolist())))
    return np.packbits(digits.astype(np.uint8), axis=1, bitorder="little")


def _wrong_texts(wrong: Array, k: int, first: str) -> ReportError:
    packed = first.startswith(("b'", 'b"'))  # what pandas writes to CSV for bytes
    return ReportError(
        "reports-are-not-texts-of-characters" if packed else "reports-are-not-texts-of-characters-0",
        wrong_count=len(wrong),
        k=k,
        wrong=wrong[0],
        values=shorten(repr(first), 80),
        rows=wrong[:10].tolist(),
    )


def _masks_from_texts(texts: Any, k: int) -> Array:
    """Read a column of 0/1 texts back into bit masks, refusing anything else."""
    column = np.array([], dtype=np.str_) if not len(texts) else as_array(texts, "reports").astype(np.str_)
    if len(column) == 0:
        return np.zeros((0, (k + 7) // 8), dtype=np.uint8)
    wrong = np.flatnonzero(np.char.str_len(column) != k)
    if len(wrong):
        raise _wrong_texts(wrong, k, str(column[wrong[0]]))
    return masks_of_characters(column.astype(f"U{k}").view(np.uint32).reshape(len(column), k), k)


@dataclass(frozen=True, eq=False)
class Counts(Result):
    """How often each report, or each category in a set report, was seen.

    Attributes
    ----------
    values
        Shape (m,) for coded reports, (k,) for set reports.
    n, fingerprint
        Number of reports, and the fingerprint of the design that made them.
    private
        False when some are known to be drawn from a seeded source. A column of labels does not show it.

    >>> a = Counts(np.array([3, 1]), 4, "f")
    >>> sum([a, a, a]).values.tolist()
    [9, 3]
    """

    LINES = "values"

    values: Array
    n: int
    fingerprint: str
    private: bool = True

    def __post_init__(self) -> None:
        check_kind(str, fingerprint=self.fingerprint)
        check_kind(Flag, private=self.private)
        n: Any = self.n
        if isinstance(n, bool) or not isinstance(n, Integral) or not 0 <= int(n) < 2**63:
            raise ReportError("n-reports", n_shown=shown_short(n), n=n)
        values = _whole_numbers(as_array(self.values, "counts"))
        values.setflags(write=False)
        object.__setattr__(self, "values", values)
        object.__setattr__(self, "n", int(n))

    def share(self) -> Array:
        """Counts as shares of the number of reports."""
        if self.n == 0:
            raise ReportError("there-are-no-reports")
        return self.values / self.n

    def __add__(self, other: Counts) -> Counts:
        if not isinstance(other, Counts):
            return NotImplemented
        if self.fingerprint != other.fingerprint:
            raise ReportError(
                "these-counts-come-from-two-different", fingerprints=(self.fingerprint, other.fingerprint)
            )
        if self.values.shape != other.values.shape:
            raise ReportError(
                "and-counts-of-one-design", values_count=len(self.values), other_values_count=len(other.values)
            )
        values = self.values + other.values
        if (values < 0).any() or self.n + other.n >= 2**63:  # a sum of two beyond 64 bits turns negative
            raise ReportError("these-counts-add-up-to-more")
        return Counts(values, self.n + other.n, self.fingerprint, bool(self.private and other.private))

    def __radd__(self, other: object) -> Counts:
        """So that ``sum`` works, which starts from 0."""
        return self if isinstance(other, int) and other == 0 else NotImplemented

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values, for JSON."""
        return {
            "maskwell": "counts",
            "version": VERSION,
            "design": self.fingerprint,
            "n": self.n,
            "private": bool(self.private),
            "values": self.values.tolist(),
        }

    @classmethod
    def from_dict(cls, form: Any) -> Counts:
        """Counts from what :meth:`to_dict` gave."""
        if not isinstance(form, Mapping) or form.get("maskwell") != "counts" or set(form) != KEYS:
            raise ReportError("is-not-the-json-form-of", form_kind=kind_of(form))
        if form["version"] != VERSION:
            raise ReportError(
                "counts-of-version-this-is-version", version=shown_short(form["version"]), version_shown=VERSION
            )
        values = form["values"]
        if not isinstance(values, list) or not all(isinstance(v, int) and not isinstance(v, bool) for v in values):
            raise ReportError("the-counts-are-not-whole-numbers")
        try:
            whole = np.array(values, dtype=np.int64)
        except OverflowError:
            raise ReportError("a-count-is-beyond-2-63") from None
        return cls(whole, form["n"], form["design"], form["private"])


VERSION = 1
KEYS = {"maskwell", "version", "design", "n", "private", "values"}


def _whole_numbers(values: Array) -> Array:
    """A copy as int64, or an error."""
    fits = values.ndim == 1 and values.dtype.kind in "iuf"
    if not fits or not np.isfinite(values).all() or (values != np.floor(values)).any() or (values >= 2**63).any():
        raise ReportError(
            "counts-must-be-one-column",
            dtype=values.dtype,
            shape=values.shape,
            values=np.array2string(values, threshold=8),
        )
    if (values < 0).any():
        raise ReportError("negative-counts", value=values[values < 0][:5].tolist())
    return values.astype(np.int64)
