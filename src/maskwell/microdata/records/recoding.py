"""Columns that become coarser as they are read: groups of categories, classes of numbers, top codes, rounding.

:func:`recoded` gives rows in which this has been done, wherever a path or a table in memory may stand: whoever counts,
randomizes or writes them never sees what the columns held before. Each different value of a column is looked at once.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from maskwell.core.arguments import Array
from maskwell.core.exact import to_decimal
from maskwell.core.labels import is_missing, texts
from maskwell.core.phrases import shorten
from maskwell.engines.arrow_arrays import require, without_traces
from maskwell.engines.column_codes import places_of
from maskwell.engines.labelled_columns import ColumnLabels, Labels
from maskwell.engines.row_sources import Source, find_column
from maskwell.engines.rows import Rows
from maskwell.errors import ParameterError, WrongTypeError

MOST_REMEMBERED = 100_000
"""Values of a column whose new values are remembered."""


@dataclass(frozen=True, kw_only=True)
class Recode:
    """How the values of one column become coarser; missing values stay missing.

    >>> age = Recode(cuts=(Fraction(18), Fraction(65)))
    >>> [age.value(n) for n in (3, 18, "64.5", 65)]
    ['under 18', '18 to under 65', '18 to under 65', '65 or more']
    >>> Recode(group={"couple": ("married", "partner")}).value("married"), Recode(top=Fraction(80)).value(93)
    ('couple', 80)
    """

    # New labels, each with the labels that it takes the place of, as texts
    group: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    other: str | None = None  # The new label of everything that no group names; without it such labels stay
    # Where classes of numbers begin, in rising order: below the first, from each to the next, from the last on
    cuts: tuple[Fraction, ...] = ()
    # Numbers at or below the first, and at or above the second, become that number
    bottom: Fraction | None = None
    top: Fraction | None = None
    step: Fraction | None = None  # Numbers become the nearest multiple of this, the larger of two that are equally near

    @property
    def gives_text(self) -> bool:
        """Whether the column holds texts afterwards, whatever it held before."""
        return bool(self.group or self.cuts or self.other is not None)

    @property
    def classes(self) -> tuple[str, ...]:
        """The labels of the classes of numbers, in order.

        >>> Recode(cuts=(Fraction(18), Fraction("64.5"))).classes
        ('under 18', '18 to under 64.5', '64.5 or more')
        """
        cuts = [to_decimal(cut) for cut in self.cuts]
        between = [f"{low} to under {high}" for low, high in pairwise(cuts)]
        return (f"under {cuts[0]}", *between, f"{cuts[-1]} or more") if cuts else ()

    @property
    def ends(self) -> dict[str, str]:
        """What the numbers at the ends stand for, by their texts.

        >>> Recode(bottom=Fraction(16), top=Fraction(80)).ends
        {'16': '16 or less', '80': '80 or more'}
        """
        lowest = {} if self.bottom is None else {to_decimal(self.bottom): f"{to_decimal(self.bottom)} or less"}
        return lowest | ({} if self.top is None else {to_decimal(self.top): f"{to_decimal(self.top)} or more"})

    def value(self, value: Any, label: str | None = None) -> Any:
        """What one value becomes; ``label`` is that of a file with value labels."""
        if self.cuts:
            return self.classes[bisect_right(self.cuts, _number(value))]
        return self._grouped(value, label) if self.gives_text else self._limited(value)

    def _grouped(self, value: Any, label: str | None) -> str:
        spoken = (*texts(value), *([] if label is None else [label]))
        places = self._places
        new = next((places[one] for one in spoken if one in places), self.other)
        return (label or texts(value)[-1]) if new is None else new

    @cached_property
    def _places(self) -> dict[str, str]:
        return {old: new for new, labels in self.group.items() for old in labels}

    def _limited(self, value: Any) -> Any:
        """A number within the limits, in its own type; one between them stays as it was written.

        All numbers at a limit are written alike: "80.0" beside "80" would tell 80 from what is above it.
        """
        number = new = _number(value)
        if self.step is not None:
            new = self.step * ((number / self.step + Fraction(1, 2)).__floor__())
        new = new if self.top is None else min(new, self.top)
        new = new if self.bottom is None else max(new, self.bottom)
        if isinstance(value, str):
            is_written_anew = self.step is not None or new in (self.top, self.bottom)
            return to_decimal(new) if is_written_anew else value
        if isinstance(value, Decimal):
            return Decimal(new.numerator) / Decimal(new.denominator)
        return int(new) if isinstance(value, int) and new.denominator == 1 else float(new)


def _number(value: Any) -> Fraction:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        try:
            return Fraction(value)  # a decimal number
        except TypeError:
            raise ValueError(value) from None
    if isinstance(value, str) and "/" in value:
        raise ValueError(value)
    try:
        return Fraction(value)
    except OverflowError:
        raise ValueError(value) from None


def recoded(records: Rows, recoding: Recoding) -> Rows:
    """The records with some columns made coarser."""
    return records.with_view(recoding) if recoding.recodes or recoding.further else records


def recoding_of(records: Rows) -> Recoding | None:
    """What makes records coarser that :func:`recoded` gave; None where nothing does."""
    return records.view if isinstance(records.view, Recoding) else None


class Indicator(NamedTuple):
    """A further column that is never published: whether a column has one of some labels, as texts."""

    column: str
    labels: tuple[str, ...]

    def value(self, value: Any) -> str:
        """``"yes"`` or ``"no"``; the empty text stands for a missing value.

        >>> Indicator("degree", ("phd", "")).value("phd"), Indicator("degree", ("phd", "")).value(None)
        ('yes', 'yes')
        """
        spoken = ("",) if is_missing(value) else texts(value)
        return YES if any(text in self.labels for text in spoken) else NO


YES, NO = "yes", "no"


class Recoding:
    """Recodes of some columns, which remember the values that they met, and further columns made from the new ones."""

    def __init__(
        self,
        recodes: Mapping[str, Recode],
        further: Mapping[str, Indicator] | None = None,
        *,
        follow_order: bool = False,
    ) -> None:
        self.recodes, self.further = dict(recodes), dict(further or {})
        self._orders = {name: FineOrder() for name in self.recodes} if follow_order else {}
        self._met: dict[str, dict[Any, Any]] = {name: {} for name in (*self.recodes, *self.further)}
        self._about: Mapping[str, ColumnLabels] = {}

    def __call__(self, source: Source, path: str) -> Source:
        """The rows of a source, recoded; ``path`` is what messages call them."""
        self._about = source.style.columns if isinstance(source.style, Labels) else {}
        recoded = RecodedSource(source, self.recodes, self._met, path, self._orders) if self.recodes else source
        return WidenedSource(recoded, self.further, self._met) if self.further else recoded

    def categories(self) -> dict[str, tuple[int, int]]:
        """How many values each column had and has, of those met so far; at most so many as are remembered."""
        return {name: (len(self._met[name]), len({*self._met[name].values()})) for name in self.recodes}

    def not_met(self) -> dict[str, list[str]]:
        """Labels of groups that no value had so far, by column; left out where too many values were met to say."""
        lacking = {name: [*self._lacking(name)] for name in self.recodes if len(self._met[name]) < MOST_REMEMBERED}
        return {name: labels for name, labels in lacking.items() if labels}

    def told_by_order(self) -> list[str]:
        """Columns whose old values the order of the rows read so far tells; none unless it is followed."""
        return [name for name, order in self._orders.items() if order.tells()]

    def met(self, name: str) -> set[str]:
        """The texts of all values that a further column was made from."""
        return {text for value in self._met[name] for text in (("",) if is_missing(value) else texts(value))}

    def _lacking(self, name: str) -> Iterator[str]:
        """A group whose labels stand for themselves keeps its name: then nothing tells them from those that stay."""
        about = self._about.get(name, ColumnLabels()).values
        met = {text for value in self._met[name] for text in (*texts(value), about.get(value))}
        for new, labels in self.recodes[name].group.items():
            yield from (label for label in labels if label not in met and label != new)


class RecodedSource:
    """Rows of a source in which some columns have become coarser."""

    def __init__(
        self,
        source: Source,
        recodes: Mapping[str, Recode],
        met: Mapping[str, dict[Any, Any]],
        path: str,
        orders: Mapping[str, FineOrder],
    ) -> None:
        about = source.style.columns if isinstance(source.style, Labels) else {}
        self._source = source
        self._columns = {
            find_column(source.schema, name, path): _Column(
                name, recode, about.get(name), source.schema.field(name).type, met[name], orders.get(name)
            )
            for name, recode in recodes.items()
        }
        self.schema, self.style = without_traces(source.schema, [*recodes]), source.style
        for place, column in self._columns.items():
            self.schema = self.schema.set(place, require().field(column.name, column.kind))
        if about:
            told = {column.name: column.labels for column in self._columns.values()}
            self.style = replace(source.style, columns={**about, **told})
        self.done, self.close = source.done, source.close

    def batches(self, only: Sequence[int] | None = None) -> Iterator[Any]:
        """The rows, as Arrow record batches."""
        arrow = require()
        places = range(len(self.schema)) if only is None else sorted(only)
        for batch in self._source.batches(only):
            columns = [
                self._columns[place].recoded(column) if place in self._columns else column
                for place, column in zip(places, batch.columns, strict=True)
            ]
            yield arrow.RecordBatch.from_arrays(columns, batch.schema.names)


class WidenedSource:
    """Rows of a source with further columns, behind its own."""

    def __init__(self, source: Source, further: Mapping[str, Indicator], met: Mapping[str, dict[Any, Any]]) -> None:
        self._source, self._further, self._met = source, [*further.items()], met
        self._own = len(source.schema)
        self.schema, self.style = source.schema, source.style
        for name in further:
            self.schema = self.schema.append(require().field(name, require().string()))
        self.done, self.close = source.done, source.close

    def batches(self, only: Sequence[int] | None = None) -> Iterator[Any]:
        """The rows, as Arrow record batches."""
        asked = [*range(len(self.schema))] if only is None else sorted(only)
        names, listed = self._source.schema.names, self.schema.names
        sources = {self._own + i: names.index(one.column) for i, (_, one) in enumerate(self._further)}
        read = sorted({sources.get(place, place) for place in asked})
        for batch in self._source.batches(None if only is None else read):
            columns = dict(zip(range(self._own) if only is None else read, batch.columns, strict=True))
            columns |= {p: self._made(p - self._own, columns[sources[p]]) for p in asked if p in sources}
            yield require().RecordBatch.from_arrays([columns[p] for p in asked], [listed[p] for p in asked])

    def _made(self, number: int, column: Any) -> Any:
        name, indicator = self._further[number]
        places, dictionary = places_of(column)
        values = [*dictionary.to_pylist(), None]
        self._met[name].update(
            dict.fromkeys([value for value in values[:-1] if len(self._met[name]) < MOST_REMEMBERED])
        )
        if column.null_count:
            self._met[name][None] = None
        return require().array([indicator.value(value) for value in values]).take(require().array(places))


class _Column:
    """One column that becomes coarser: the new value of each old one, as they are met."""

    def __init__(
        self,
        name: str,
        recode: Recode,
        about: ColumnLabels | None,
        old: Any,
        met: dict[Any, Any],
        order: FineOrder | None,
    ) -> None:
        arrow = require()
        plain = old.value_type if arrow.types.is_dictionary(old) else old
        self.name, self._recode, self._about = name, recode, about
        self.kind = arrow.string() if recode.gives_text else plain
        self.labels = ColumnLabels() if about is None else _labels_after(recode, about)
        self._met, self._order = met, order
        self._last: tuple[Any, Any] | None = None

    def recoded(self, column: Any) -> Any:
        """The column with its new values."""
        places, dictionary = places_of(column)
        if self._last is None or not self._last[0].equals(dictionary):
            self._last = dictionary, self._values(dictionary)
        if self._order is not None:
            self._order.add(places, dictionary.to_pylist(), self._last[1].to_pylist())
        return self._last[1].take(require().array(places))

    def _values(self, dictionary: Any) -> Any:
        """The new value of each entry of a dictionary, and none for none."""
        arrow = require()
        values = [*map(self._value, dictionary.to_pylist()), None]
        try:
            made = arrow.array(values, self.kind)
            if arrow.types.is_integer(self.kind) and made.to_pylist() != values:  # Arrow cuts decimals off
                raise TypeError
        except (arrow.ArrowException, TypeError):
            raise WrongTypeError(
                "column-holds-which-cannot-hold", name=shorten(self.name), kind=self.kind, column=self.name
            ) from None
        return made

    def _value(self, value: Any) -> Any:
        if value is None or value != value:
            return None if self._recode.gives_text else value
        new = self._met.get(value)
        if new is None:
            new = self._made(value)
            if len(self._met) < MOST_REMEMBERED:
                self._met[value] = new
        return new

    def _made(self, value: Any) -> Any:
        about = self._about
        if about is not None and _is_missing(value, about):
            return None if self._recode.gives_text else value
        try:
            return self._recode.value(value, None if about is None else about.values.get(value))
        except ValueError:
            raise ParameterError(
                "recode-the-column-holds-a-value", name=shorten(self.name, 30), values=repr(value), column=self.name
            ) from None


class FineOrder:
    """Whether the order of rows tells old values of a column beyond the new ones.

    Looked at are rows with the same new value as the row before. In random order as many of them have a larger old
    value as have a smaller one, and with N records of a new value, N_v of them of old value v, a share of
    ``sum over v of (N_v / N)^2`` has the same. Source: derived.
    """

    SHARE, DEVIATIONS = 0.5, 5

    def __init__(self) -> None:
        self._counts: dict[Any, dict[Any, int]] = {}
        self._pairs: dict[Any, int] = {}
        self._up = self._down = 0

    def add(self, places: Array, old: list[Any], new: list[Any]) -> None:
        """The next rows: places in the list of old values, with the new value of each; none stands behind the last."""
        ranks, classes = _ranks(old), {value: i for i, value in enumerate(dict.fromkeys(new))}
        of_place = np.array([classes[value] for value in new], dtype=np.int64)
        for place, n in enumerate(np.bincount(places, minlength=len(new))[: len(old)].tolist()):
            within = self._counts.setdefault(new[place], {})
            if n and (old[place] in within or len(within) < MOST_REMEMBERED):
                within[old[place]] = within.get(old[place], 0) + n
        there, before = places[1:], places[:-1]
        alike = (of_place[there] == of_place[before]) & (there < len(old)) & (before < len(old))
        steps = (ranks[there] - ranks[before])[alike]
        self._up += int(np.count_nonzero(steps > 0))
        self._down += int(np.count_nonzero(steps < 0))
        pairs = np.bincount(of_place[there][alike], minlength=len(classes)).tolist()
        for value, i in classes.items():
            self._pairs[value] = self._pairs.get(value, 0) + pairs[i]

    def tells(self) -> bool:
        """Whether old values rise or fall from row to row, or stand together, far beyond chance."""
        differ, drift = self._up + self._down, abs(self._up - self._down)
        expected, variance = self._differ_by_chance()
        rises = drift > self.SHARE * differ and drift > self.DEVIATIONS * math.sqrt(differ)
        return rises or expected - differ > max(self.SHARE * expected, self.DEVIATIONS * math.sqrt(variance))

    def _differ_by_chance(self) -> tuple[float, float]:
        """How many rows would have another old value than the row before in random order, and the variance of that."""
        shares = [(self._pairs.get(new, 0), _differing([*old.values()])) for new, old in self._counts.items() if old]
        return sum(pairs * share for pairs, share in shares), sum(
            pairs * share * (1 - share) for pairs, share in shares
        )


def _differing(counts: list[int]) -> float:
    """How likely two values are different ones."""
    n = sum(counts)
    return 1 - sum((one / n) ** 2 for one in counts)


def _ranks(values: list[Any]) -> Array:
    """The rank of each value, by number where all are numbers, else by text; one more for none."""
    try:
        keys: list[Any] = [float(_number(value)) for value in values]
    except ValueError:
        keys = [texts(value)[-1] for value in values]
    places = {key: i for i, key in enumerate(sorted({*keys}))}
    return np.array([*(places[key] for key in keys), len(places)], dtype=np.int64)


def _is_missing(value: Any, about: ColumnLabels) -> bool:
    """Whether a labelled file declares a value missing."""
    if about.text:
        return value == "" or any(low <= value <= high for low, high in about.missing if isinstance(low, str))
    return any(low <= value <= high for low, high in about.missing if not isinstance(low, str))


def _labels_after(recode: Recode, about: ColumnLabels) -> ColumnLabels:
    """What is still true of a column: nothing that tells its old values."""
    if recode.gives_text:
        return ColumnLabels(text=True, label=about.label, measure="nominal")
    ends, missing = recode.ends, [value for value in about.values if _is_missing(value, about)]
    kept = {value: label for value, label in about.values.items() if value in missing}
    return replace(about, values=kept | {float(text): label for text, label in ends.items()})
