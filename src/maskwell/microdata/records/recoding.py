"""Columns that become coarser as they are read: groups of categories, classes of numbers, top codes, rounding."""

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
from maskwell.core.extras import require
from maskwell.core.labels import is_missing, texts
from maskwell.core.phrases import shorten
from maskwell.engines.arrow_arrays import without_traces
from maskwell.engines.column_codes import places_of
from maskwell.engines.labelled_columns import ColumnLabels, Labels
from maskwell.engines.row_sources import Source, find_column
from maskwell.engines.rows import Rows
from maskwell.errors import ParameterError, WrongTypeError
from maskwell.microdata.records.local_suppression import Suppression
from maskwell.microdata.records.row_order import Neighbours, reveals_values
from maskwell.microdata.records.swap_pools import PoolColumn

MOST_REMEMBERED = 100_000  # values of a column whose new values are remembered


@dataclass(frozen=True, kw_only=True)
class Recode:
    """How the values of one column become coarser; missing values stay missing."""

    # New labels, each with the labels that it takes the place of, as texts
    group: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    other: str | None = None  # The new label of everything that no group names; without it such labels stay
    # Where classes of numbers begin, in rising order: below the first, from each to the next, from the last on
    cuts: tuple[Fraction, ...] = ()
    # Numbers at or below the first, and at or above the second, become that number
    bottom: Fraction | None = None
    top: Fraction | None = None
    # Shares of the records that reach the limits: they become limits once the records are known
    bottom_share: Fraction | None = None
    top_share: Fraction | None = None
    mean: bool = False  # Whether the ends become their means, not the limits; these follow from the records
    bottom_mean: Fraction | None = None
    top_mean: Fraction | None = None
    step: Fraction | None = None  # Numbers become the nearest multiple of this, the larger of two that are equally near

    @property
    def needs_records(self) -> bool:
        """Whether limits or means follow from the records."""
        return self.mean or self.top_share is not None or self.bottom_share is not None

    @property
    def makes_fractions(self) -> bool:
        """Whether whole numbers may become others."""
        return any(mean is not None and mean.denominator > 1 for mean in (self.top_mean, self.bottom_mean))

    @property
    def gives_text(self) -> bool:
        """Whether the column holds texts afterwards, whatever it held before."""
        return bool(self.group or self.cuts or self.other is not None)

    @property
    def classes(self) -> tuple[str, ...]:
        """The labels of the classes of numbers, in order."""
        cuts = [to_decimal(cut) for cut in self.cuts]
        between = [f"{low} to under {high}" for low, high in pairwise(cuts)]
        return (f"under {cuts[0]}", *between, f"{cuts[-1]} or more") if cuts else ()

    @property
    def ends(self) -> dict[str, str]:
        """What the numbers at the ends mean, by their texts, such as ``{"80": "80 or more"}``."""
        ends = ((self.bottom, self.bottom_mean, "or less"), (self.top, self.top_mean, "or more"))
        return {
            to_decimal(limit if mean is None else mean): f"{to_decimal(limit)} {beyond}"
            for limit, mean, beyond in ends
            if limit is not None
        }

    def value(self, value: Any, label: str | None = None) -> Any:
        """What one value becomes; ``label`` is that of a file with value labels."""
        if self.cuts:
            return self.classes[bisect_right(self.cuts, as_number(value))]
        if not self.gives_text:
            return self._limited(value)
        spoken = (*texts(value), *([] if label is None else [label]))
        new = next((self._places[one] for one in spoken if one in self._places), self.other)
        return (label or texts(value)[-1]) if new is None else new

    @cached_property
    def _places(self) -> dict[str, str]:
        return {old: new for new, labels in self.group.items() for old in labels}

    def _limited(self, value: Any) -> Any:
        """A number within the limits, in its own type; all at a limit are written alike, others as they were."""
        number = new = as_number(value)
        if self.step is not None:
            new = self.step * ((number / self.step + Fraction(1, 2)).__floor__())
        new = new if self.top is None else min(new, self.top)
        new = new if self.bottom is None else max(new, self.bottom)
        if self.top_mean is not None and self.top is not None and number >= self.top:
            new = self.top_mean
        if self.bottom_mean is not None and self.bottom is not None and number <= self.bottom:
            new = self.bottom_mean
        if isinstance(value, str):
            is_written_anew = self.step is not None or new in (self.top, self.bottom) or new != number
            return to_decimal(new) if is_written_anew else value
        if isinstance(value, Decimal):
            return Decimal(new.numerator) / Decimal(new.denominator)
        return int(new) if isinstance(value, int) and new.denominator == 1 else float(new)


def as_number(value: Any) -> Fraction:
    """A number of any type, or ValueError; a text with a bar is none."""
    if isinstance(value, str) and "/" in value:
        raise ValueError(value)
    try:
        return Fraction(value)
    except (OverflowError, TypeError):
        raise ValueError(value) from None


def recoded(records: Rows, recoding: Recoding) -> Rows:
    """The records with some columns made coarser."""
    changes = recoding.recodes or recoding.further or recoding.suppression is not None
    return records.with_view(recoding) if changes else records


def recoding_of(records: Rows) -> Recoding | None:
    """What makes records coarser that :func:`recoded` gave; None where nothing does."""
    return records.view if isinstance(records.view, Recoding) else None


class Indicator(NamedTuple):
    """A further column that is never published: whether a column has one of some labels, as texts."""

    column: str
    labels: tuple[str, ...]
    notes: tuple[str, ...] = ()

    def new_values(self, column: Any, met: dict[Any, Any]) -> Any:
        """The values of the column, made from another one; ``met`` remembers what that held."""
        places, dictionary = places_of(column)
        values = [*dictionary.to_pylist(), None]
        met.update(dict.fromkeys(values[:-1] if len(met) < MOST_REMEMBERED else ()))
        if column.null_count:
            met[None] = None
        return require().array([self.value(value) for value in values]).take(require().array(places))

    def value(self, value: Any) -> str:
        """``"yes"`` or ``"no"``; the empty text is a missing value."""
        spoken = ("",) if is_missing(value) else texts(value)
        return YES if any(text in self.labels for text in spoken) else NO


YES, NO = "yes", "no"
Further = Indicator | PoolColumn  # Columns that are made from others, and never published


class Recoding:
    """Recodes of some columns, which remember the values that they met, values left out, and further columns."""

    def __init__(
        self,
        recodes: Mapping[str, Recode],
        further: Mapping[str, Further] | None = None,
        *,
        follow_order: bool = False,
        suppression: Suppression | None = None,
    ) -> None:
        self.suppression = suppression
        self.recodes, self.further = dict(recodes), dict(further or {})
        self._orders = {name: FineOrder() for name in self.recodes} if follow_order else {}
        self._met: dict[str, dict[Any, Any]] = {name: {} for name in (*self.recodes, *self.further)}
        self._about: Mapping[str, ColumnLabels] = {}

    def __call__(self, source: Source, path: str) -> Source:
        """The rows of a source, recoded; ``path`` is what messages call them."""
        self._about = source.style.columns if isinstance(source.style, Labels) else {}
        columns = {}
        for name, recode in self.recodes.items():
            place = find_column(source.schema, name, path)
            about, kind = self._about.get(name), source.schema.field(name).type
            columns[place] = _Column(name, recode, about, kind, self._met[name], self._orders.get(name))
        further = {name: (one, self._met[name]) for name, one in self.further.items()}
        if self.suppression is None:
            return RecodedSource(source, columns, further)
        return RecodedSource(self.suppression(RecodedSource(source, columns, {}), path), {}, further)

    def categories(self) -> dict[str, tuple[int, int]]:
        """How many values each column had and has, of those met so far; at most so many as are remembered."""
        return {name: (len(self._met[name]), len({*self._met[name].values()})) for name in self.recodes}

    def not_met(self) -> dict[str, list[str]]:
        """Labels of groups that no value had so far, by column; left out where too many values were met to say."""
        lacking = {}
        for name, recode in self.recodes.items():
            about = self._about.get(name, ColumnLabels()).values
            met = {text for value in self._met[name] for text in (*texts(value), about.get(value))}
            # a group whose labels stand for themselves keeps its name: then nothing tells them from those that stay
            lacking[name] = [
                label for new, old in recode.group.items() for label in old if label not in met and label != new
            ]
        return {name: some for name, some in lacking.items() if some and len(self._met[name]) < MOST_REMEMBERED}

    def told_by_order(self) -> list[str]:
        """Columns whose old values the order of the rows read so far reveals; none unless it is followed."""
        return [name for name, order in self._orders.items() if order.tells()]

    def met(self, name: str) -> set[str]:
        """The texts of all values that a further column was made from."""
        return {text for value in self._met[name] for text in (("",) if is_missing(value) else texts(value))}


class RecodedSource:
    """Rows of a source in which some columns have become coarser, with further columns behind its own."""

    def __init__(
        self,
        source: Source,
        columns: Mapping[int, _Column],  # By their places
        further: Mapping[str, tuple[Further, dict[Any, Any]]],  # With the values that they meet
    ) -> None:
        self._source, self._columns, self._further = source, columns, [*further.values()]
        self.schema, self.style = source.schema, source.style
        if columns:
            self.schema = without_traces(source.schema, [column.name for column in columns.values()])
        for place, column in columns.items():
            self.schema = self.schema.set(place, require().field(column.name, column.kind))
        if isinstance(source.style, Labels) and source.style.columns:
            known = {column.name: column.labels for column in columns.values()}
            self.style = replace(source.style, columns={**source.style.columns, **known})
        for name in further:
            self.schema = self.schema.append(require().field(name, require().string()))
        self.done, self.close = source.done, source.close

    def batches(self, only: Sequence[int] | None = None) -> Iterator[Any]:
        """The rows, as Arrow record batches."""
        own, names = len(self._source.schema), self.schema.names
        asked = [*range(len(names))] if only is None else sorted(only)
        made_of = {own + i: names.index(one.column) for i, (one, _) in enumerate(self._further)}
        read = [*range(own)] if only is None else sorted({made_of.get(place, place) for place in asked})
        for batch in self._source.batches(None if only is None else read):
            given = dict(zip(read, batch.columns, strict=True))
            given |= {place: one.new_values(given[place]) for place, one in self._columns.items() if place in given}
            given |= {p: self._made(p - own, given[made_of[p]]) for p in asked if p in made_of}
            yield require().RecordBatch.from_arrays([given[p] for p in asked], [names[p] for p in asked])

    def _made(self, place: int, column: Any) -> Any:
        one, met = self._further[place]
        return one.new_values(column, met)


class _Column:
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
        if recode.makes_fractions and arrow.types.is_integer(plain):
            self.kind = arrow.float64()
        self.labels = ColumnLabels()  # nothing that tells old values
        if about is not None and recode.gives_text:
            self.labels = ColumnLabels(text=True, label=about.label, measure="nominal")
        elif about is not None:
            kept = {value: label for value, label in about.values.items() if is_declared_missing(value, about)}
            self.labels = replace(about, values=kept | {float(text): label for text, label in recode.ends.items()})
        self._met, self._order = met, order
        self._last: tuple[Any, Any] | None = None

    def new_values(self, column: Any) -> Any:
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
        if value in self._met:
            return self._met[value]
        about = self._about
        if about is not None and is_declared_missing(value, about):
            new = None if self._recode.gives_text else value
        else:
            try:
                new = self._recode.value(value, None if about is None else about.values.get(value))
            except ValueError:
                raise ParameterError(
                    "recode-the-column-holds-a-value", name=shorten(self.name, 30), values=repr(value), column=self.name
                ) from None
        if len(self._met) < MOST_REMEMBERED:
            self._met[value] = new
        return new


class FineOrder:
    """Whether the order of rows reveals old values: in random order as many rise as fall, and few are equal."""

    SHARE, DEVIATIONS = 0.5, 5

    def __init__(self) -> None:
        self._counts: dict[Any, dict[Any, int]] = {}
        self._pairs: dict[Any, int] = {}
        self._up = self._down = 0

    def add(self, places: Array, old: list[Any], new: list[Any]) -> None:
        """The next rows: places in the list of old values, with the new value of each; none stands behind the last."""
        try:  # by number where all are numbers, else by text
            keys: list[Any] = [float(as_number(value)) for value in old]
        except ValueError:
            keys = [texts(value)[-1] for value in old]
        rank = {key: i for i, key in enumerate(sorted({*keys}))}
        ranks = np.array([*(rank[key] for key in keys), len(rank)], dtype=np.int64)
        classes = {value: i for i, value in enumerate(dict.fromkeys(new))}
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
        """Whether old values mostly rise, or mostly fall, or whether neighbours within a class are not random pairs."""
        differ, drift = self._up + self._down, abs(self._up - self._down)
        rises = drift > self.SHARE * differ and drift > self.DEVIATIONS * math.sqrt(differ)
        classes = (Neighbours(old.values(), self._pairs.get(new, 0)) for new, old in self._counts.items())
        return rises or reveals_values(differ, classes)


def is_declared_missing(value: Any, about: ColumnLabels) -> bool:
    """Whether a labelled file declares a value missing."""
    ranges = [(low, high) for low, high in about.missing if isinstance(low, str) is about.text]
    return (about.text and value == "") or any(low <= value <= high for low, high in ranges)
