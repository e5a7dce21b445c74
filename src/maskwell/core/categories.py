"""Categories: ordered distinct labels with codes 0..k-1, and columns of any library turned into codes and back."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import compress
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from maskwell.core import labels as rules
from maskwell.core.adapters import LOADERS, Adapter
from maskwell.core.arguments import Codes, as_array, check_option, code_type, kind_of, mask_of, shown_short
from maskwell.core.labels import Finder, find_all, finder_for, plain
from maskwell.core.phrases import HINT, listed, shorten, shown_values
from maskwell.errors import (
    DesignFileError,
    InputError,
    LabelError,
    MissingValueError,
    ParameterError,
    TooLargeError,
    UnknownCategoryError,
    WrongTypeError,
)

T = TypeVar("T")
Labels = Sequence[Hashable]
Versions = Sequence[Labels]  # the labels as they are and, when matching by text, as other types: the first that fits


MISSING = ("error", "drop", "category")
MATCHES = ("value", "text")
SHOWN = 10


@dataclass(frozen=True)
class Encoded:
    """Codes of a column, how many rows had no value, and which are ``kept`` where some were dropped (None: all)."""

    codes: Codes
    n_missing: int
    kept: NDArray[np.bool_] | None
    categories: Categories


@dataclass(frozen=True, repr=False)
class Categories:
    """Ordered distinct labels of any hashable kind, each with a code 0..k-1; 1, 1.0 and True are one label.

    >>> answers = Categories.of(["never", "once", "often"])
    >>> encoded = answers.encode(["often", "never", None], missing="drop")
    >>> encoded.codes, encoded.n_missing
    (array([2, 0], dtype=uint8), 1)
    >>> answers.decode(encoded.codes, like=[])
    ['often', 'never']
    """

    labels: Sequence[Hashable]

    def __post_init__(self) -> None:
        object.__setattr__(self, "labels", rules.check_labels(self.labels))

    @classmethod
    def of(cls, labels: Iterable[Hashable]) -> Categories:
        """Categories with these labels, in this order; LabelError if two are equal or one is missing."""
        return cls(labels)  # type: ignore[arg-type]

    @classmethod
    def numbered(cls, k: int) -> Categories:
        """Categories labelled 0..k-1, kept as a ``range`` however many they are."""
        given: Any = k
        if not isinstance(given, int | np.integer) or isinstance(given, bool) or not 1 <= int(given) < 1 << 32:
            raise ParameterError("k-is-not-a-whole-number", k_shown=shown_short(k), value_sub=2**32 - 1, k=k)
        return cls(range(int(k)))

    def with_missing(self, label: Hashable = "missing") -> Categories:
        """Copy with one more category, last, for missing values."""
        return Categories.of([*self.labels, label])

    def __getstate__(self) -> dict[str, Any]:
        return {"labels": self.labels}  # what was worked out is worked out anew

    def __len__(self) -> int:
        if isinstance(self.labels, range) and self.labels.stop > sys.maxsize:
            raise TooLargeError("a-product-of-so-many-designs")
        return len(self.labels)

    def __repr__(self) -> str:
        return f"Categories({self._shown(36)})"

    def code(self, label: Hashable) -> int:
        """Code of one label."""
        code = int(self._finder("O", "value")([label])[0])
        if code == len(self):
            raise UnknownCategoryError(
                "is-not-among-the-categories-allowed",
                label_shown=shown_short(label),
                self_count=len(self),
                shown=self._shown(80),
                label=label,
            )
        return code

    def find(self, named: Hashable, what: str = "category") -> int:
        """Code of a category that is named by its label, or by the text of it."""
        for match in ("value", "text"):
            with suppress(LabelError):  # labels whose texts clash cannot be matched by text at all
                code = int(self._finder("O", match)([plain(named)])[0])
                if code < len(self):
                    return code
        shown = shorten(repr(named)) if isinstance(named, str | int) else kind_of(named)
        raise UnknownCategoryError(
            "is-not-among-the-categories",
            what=what,
            shown=shown,
            self_count=len(self),
            shown_shown=self._shown(80),
            label=named,
        )

    def encode(
        self, values: Any, *, missing: str = "error", match: str = "value", missing_label: Hashable = "missing"
    ) -> Encoded:
        """Codes of a column of labels.

        Parameters
        ----------
        values
            List, tuple, numpy array, pandas Series, Index or Categorical, polars Series, Arrow Array or ChunkedArray.
        missing
            What to do with None, NaN, NaT, NA and nulls: "error"; "drop" the rows; "category": count them with the
            category ``missing_label``, which must be among the labels (see ``with_missing``).
        match
            "value": a label is found by Python equality. "text": by its text whatever its type, as on the command
            line: 1, 1.0 and "1" match each other, and so do True, "True", "true" and "TRUE". Where the labels are 1 and
            0, truth values match them too.

        Raises
        ------
        UnknownCategoryError
            A value is not among the labels; says in how many rows. The values themselves are in ``values`` and, with
            how often each occurs, in ``objects["offenders"]``.
        MissingValueError
            A value is missing and ``missing`` is "error", or the categories have none for it.
        """
        check_option("missing", missing, MISSING)
        check_option("match", match, MATCHES)
        if isinstance(values, np.ndarray):
            column = split_array(values)
        else:
            column = Column(values) if isinstance(values, list | tuple) else adapter_of(values).split(values)
        codes = self._find(column, match)
        lost = np.flatnonzero(codes == len(self)) if codes.size and codes.max() == len(self) else None
        kept = None
        if lost is not None:
            self._check_known(column.values_at(lost), lost, len(codes), match)
            if missing == "error":
                first = ", ".join(map(str, lost[:SHOWN].tolist())) + (", ..." if len(lost) > SHOWN else "")
                raise MissingValueError(
                    "of-values-are-missing-rows-counted", n=len(codes), first=first, count=len(lost), rows=lost
                )
            if missing == "category":
                codes[lost] = code = int(self._finder("O", "value")([missing_label])[0])
                if code == len(self):
                    shown = shown_short(missing_label)
                    raise MissingValueError("there-is-no-category", label_shown=shown, label=missing_label)
            else:
                kept = codes != len(self)
                codes = codes[kept]
        return Encoded(codes.astype(code_type(len(self)), copy=False), 0 if lost is None else len(lost), kept, self)

    def typed_codes(self, labels: Sequence[Hashable], name: str) -> list[int]:
        """Codes of labels that somebody typed, found by their text; ``name`` is what the error calls them."""
        try:
            return [int(code) for code in self.encode(labels, match="text").codes]
        except UnknownCategoryError as error:
            unknown = next(iter(error.objects["offenders"]))  # type: ignore[call-overload]
            known = listed(map(str, self.labels), len(self), HINT - len("known: "))
            raise UnknownCategoryError("name-no-category-unknown", name=name, unknown=unknown, known=known) from error

    def decode(
        self, codes: Any, like: Any = None, *, match: str = "value", kept: NDArray[np.bool_] | None = None
    ) -> Any:
        """Labels with these codes, in the same kind of container and of the same type as ``like``.

        A categorical, enum or dictionary comes back with these labels as its categories; index and name are kept.
        Where the type of ``like`` cannot hold the labels, the column gets the type natural to them.

        Parameters
        ----------
        codes
            (n,) integers 0..k-1.
        like
            The column that was encoded; None gives a numpy array.
        match
            "text" lets labels change type by their text to fit the column: "1" becomes 1 in an integer column.
        kept
            ``Encoded.kept`` when rows of ``like`` were dropped.
        """
        check_option("match", match, MATCHES)
        codes = as_array(codes, "codes")
        if codes.ndim != 1 or (codes.size and codes.dtype.kind not in "iu"):
            raise InputError("codes-must-be-a-column", dtype=codes.dtype, shape=codes.shape)
        if codes.size and (codes.min() < 0 or codes.max() >= len(self)):
            raise InputError(
                "codes-run-from-to-categories",
                codes_min=codes.min(),
                codes_max=codes.max(),
                self_count=len(self),
                self_count_sub=len(self) - 1,
            )
        versions = self._text_versions if match == "text" else [self.labels]
        return join_column(codes.astype(code_type(len(self)), copy=False), versions, like, kept)

    def to_json(self) -> list[Any] | dict[str, int]:
        """JSON form: the list of labels (dates and tuples tagged), or the count of numbered ones."""
        if isinstance(self.labels, range):
            return {"count": len(self)}
        return [rules.to_json(label) for label in self.labels]

    @classmethod
    def from_json(cls, form: Any) -> Categories:
        """Categories from their JSON form."""
        if isinstance(form, dict) and set(form) == {"count"}:
            return cls.numbered(form["count"])
        if isinstance(form, list):
            return cls.of([rules.from_json(label) for label in form])
        raise DesignFileError("is-not-the-json-form", form_kind=kind_of(form), form=form)

    @cached_property
    def _finders(self) -> dict[tuple[str, str], Finder]:
        return {}

    def _finder(self, kind: str, match: str) -> Finder:
        if (kind, match) not in self._finders:
            self._finders[kind, match] = finder_for(kind, self.labels, match)
        return self._finders[kind, match]

    @cached_property
    def _text_versions(self) -> list[Labels]:
        typed = [[rules.read_text(label, kind) for label in self.labels] for kind in rules.READERS]
        typed += [[bool(label) for label in self.labels]] if rules.are_bits(self.labels) else []
        return [self.labels, [rules.texts(label)[0] for label in self.labels], *(t for t in typed if None not in t)]

    def _find(self, column: Column, match: str) -> Codes:
        """Code of every row, k where there is none."""
        k = len(self)
        if column.distinct is None:
            kind = column.data.dtype.kind if isinstance(column.data, np.ndarray) else "O"
            codes = find_all(column.data, self._finder(kind, match), k)
        else:
            table = np.append(self._finder("O", match)(column.distinct), code_type(k + 1).type(k))
            codes = find_all(column.data, table.take, k)  # position -1 is the k at the end
        if column.missing is not None:
            codes[column.missing] = k
        return codes

    def _check_known(self, values: list[Any], rows: NDArray[np.intp], n: int, match: str) -> None:
        unknown = [not rules.is_missing(value) for value in values]
        offenders = Counter(compress(values, unknown))
        if not offenders:
            return
        total, at = offenders.total(), rows[unknown]
        what = f"{total} of {n} values {'is' if total == 1 else 'are'} not among the {len(self)} categories"
        then = "; recode these, or make another design"
        with suppress(LabelError):  # labels whose texts clash cannot be matched by text at all
            if match == "value" and (self._finder("O", "text")(list(offenders)) < len(self)).any():
                then = "; some differ only in type, as 1 and '1' do: convert them"
        raise UnknownCategoryError(
            "counted-from-0",
            what=what,
            words="row" if total == 1 else "first in row",
            at=at[0],
            shown=self._shown(HINT - len(f"allowed: {then}")),
            then=then,
            values=shown_values(offenders),
            offenders=dict(offenders),
            count=total,
            rows=at,
        )

    def _shown(self, width: int) -> str:
        return listed(map(repr, self.labels), len(self), width)


# ---- columns of any library


@dataclass(frozen=True)
class Column:
    """A column as numpy sees it."""

    data: Any  # the values themselves (array or list), or, with distinct, positions in it (negative: missing)
    distinct: Sequence[Any] | None = None  # the distinct values of a dictionary-like column; they need not all occur
    missing: NDArray[np.bool_] | None = None  # rows without a value, where the array itself cannot say so

    def values_at(self, rows: NDArray[np.intp]) -> list[Any]:
        """Values at some rows, None where the library says that there is none."""
        values: list[Any]
        if isinstance(self.data, np.ndarray):
            values = self.data[rows].tolist()
        else:
            values = [self.data[row] for row in rows.tolist()]
        if self.distinct is not None:
            values = [self.distinct[position] if position >= 0 else None for position in values]
        if self.missing is not None:
            gone = self.missing[rows].tolist()
            values = [None if missing else value for value, missing in zip(values, gone, strict=True)]
        return values


def join_column(codes: NDArray[Any], versions: Versions, like: Any, kept: NDArray[np.bool_] | None = None) -> Any:
    """Labels with these codes, in a container of the same kind as ``like`` (None: a numpy array)."""
    if like is None or isinstance(like, np.ndarray):
        return label_array(versions, None if like is None else like.dtype)[codes]
    if isinstance(like, list | tuple):
        return type(like)(_object_array(versions[0])[codes].tolist())
    return adapter_of(like).join(codes, versions, like, kept)


def adapter_of(values: Any) -> Adapter:
    """The adapter of the library that a column comes from."""
    name = _library_of(values)
    if name is None:
        raise not_a_column(values)
    return LOADERS[name]()


def is_of_library(values: Any) -> bool:
    """Whether there is an adapter for the library that a column comes from."""
    return _library_of(values) is not None


def _library_of(values: Any) -> str | None:
    roots = (kind.__module__.partition(".")[0] for kind in type(values).__mro__)
    return next((root for root in roots if root in LOADERS), None)


def not_a_column(values: Any) -> WrongTypeError:
    """Error for something that is not one column of values."""
    return WrongTypeError("a-column-of-values-is-needed", name=type(values).__name__, type=type(values))


def split_array(values: NDArray[Any], missing: NDArray[np.bool_] | None = None) -> Column:
    """See a one-dimensional numpy array (masked or not) as a ``Column``."""
    if values.ndim != 1:
        raise InputError("a-column-has-one-dimension", ndim=values.ndim, shape=values.shape)
    masked = mask_of(values)
    missing = missing if masked is None else masked
    data = np.asarray(values)
    if data.dtype.kind == "b":
        return Column(data.astype(np.uint8), [False, True], missing)
    if data.dtype.kind in "mM":
        distinct, positions = np.unique(data, return_inverse=True)
        return Column(positions, [plain(value) for value in distinct], missing)
    beyond_int64 = data.dtype == np.uint64 and data.size and data.max() > np.iinfo(np.int64).max
    return Column(data.astype(object) if beyond_int64 else data, None, missing)


def first_fit(versions: Versions, build: Callable[[Any], T], to_list: Callable[[T], list[Any]]) -> T | None:
    """Build a column of labels from the first version that the column's type holds unchanged; None if none does."""
    for labels in versions:
        numbered = isinstance(labels, range)
        ends = [labels[0], labels[-1]] if numbered else list(labels)
        try:
            if to_list(build(ends)) == ends:
                return build(np.arange(len(labels)) if numbered else ends)
        except Exception:  # noqa: BLE001, S112  (each library refuses values of the wrong type with errors of its own)
            continue
    return None


def label_array(versions: Versions, dtype: np.dtype[Any] | None = None) -> NDArray[Any]:
    """Labels as an array of that type where it can hold them, else of the type natural to them."""
    if dtype is not None and dtype.kind != "O":
        kind: Any = dtype.kind if dtype.kind in "US" else dtype
        fitting = first_fit(versions, lambda labels: np.array(labels, dtype=kind), lambda array: array.tolist())
        if fitting is not None:
            return fitting
    return _object_array(versions[0]) if dtype is not None and dtype.kind == "O" else natural_array(versions[0])


def natural_array(labels: Labels) -> NDArray[Any]:
    """Labels as a boolean, integer, float or text array if they are all of one such kind, else as objects."""
    if isinstance(labels, range):
        return np.arange(len(labels))
    for kind, dtype in ((bool, np.bool_), (int, np.int64), (float, np.float64), (str, np.str_)):
        if all(type(label) is kind for label in labels):
            try:
                return np.array(labels, dtype=dtype)
            except OverflowError:
                break
    return _object_array(labels)


def _object_array(labels: Labels) -> NDArray[Any]:
    return np.fromiter(labels, dtype=object, count=len(labels))
