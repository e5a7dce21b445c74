"""Which columns become key variables in a first plan, and how coarse: those that others may know and that identify."""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import accumulate

import numpy as np

from maskwell.core.arguments import Array
from maskwell.core.cells import CellTable
from maskwell.core.labels import sorted_levels, texts
from maskwell.core.phrases import magnitude
from maskwell.core.verdicts import at_least, at_most, below
from maskwell.engines.cell_counts import MOST_LISTED
from maskwell.microdata.plans.column_guesses import FEW, TOPICS, Guess, has_words, number_of
from maskwell.microdata.records.recoding import Recode

MOST_KEYS, FEWEST_KEYS = 8, 3
MOST_UNIQUE = Fraction(1, 20)  # of the records may be unique on the keys that are proposed
MOST_COUNTED = 12  # candidates that are counted together
MOST_BITS, MOST_ROWS = 60, 1 << 22  # of their joint codes; of files with more rows, only so many possible cells
RECORDS_PER_CELL = 4  # for every possible combination, where the candidates were not counted together
DETERMINED = 0.99  # share of the records from which on a column follows from another one
MOST_LABELS = 100  # with so many labels, what others know is tried as it is
CLASSES = 5  # classes that a recode of numbers has
LEAST_CUTS, SMALL_FILE = 3, 1_000  # cuts of a key that is made coarser for another one; one less in files so small
OLDEST, YEARS = 130, (1900, 2100)


@dataclass(frozen=True, eq=False)
class Form:
    """One way to publish a column: as it is, or recoded, with what that is in words."""

    recode: Recode | None = None
    words: str = ""

    def codes(self, levels: Sequence[Hashable]) -> Array:
        """The class of each label; a missing value is one of its own."""
        new = [label if label is None or self.recode is None else self.recode.value(label) for label in levels]
        places = {label: i for i, label in enumerate(dict.fromkeys(new))}
        return np.array([places[label] for label in new], dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Candidate:
    """A column that may become a key, with its forms from the usual to the coarsest."""

    guess: Guess
    forms: tuple[Form, ...]

    @property
    def name(self) -> str:
        """Of the column."""
        return self.guess.name

    @property
    def rank(self) -> tuple[int, bool, int, str]:
        """By what others know best; within a topic, those that need no recode first, of these the finest."""
        topics = [*TOPICS]
        place = len(topics) if self.guess.topic is None else topics.index(self.guess.topic)
        return place, self.forms[0].recode is not None, -self.guess.labels, self.name


@dataclass(frozen=True, eq=False)
class Choice:
    """The keys of a first plan."""

    forms: Mapping[str, Form]  # The form of each key, by name and in the order of the plan
    unique: float | None = None  # Share of the records that are unique on them, where it was counted
    # Columns that others may know and that are no keys, with the share of unique records that they would bring
    left: Mapping[str, float] = field(default_factory=dict)


def candidates_of(tables: Sequence[CellTable], guesses: Sequence[Guess]) -> list[Candidate]:
    """Columns that may be keys, the most likely first: as many as can be counted together."""
    possible = [
        Candidate(guess, forms)
        for table, guess in zip(tables, guesses, strict=True)
        if guess.role in ("few", "many", "numbers") and guess.labels < MOST_LISTED
        if guess.key or guess.role == "few" or (guess.role == "numbers" and not guess.named_weights)
        if (forms := tuple(forms_of(guess, table)))
    ]
    known = sorted((one for one in possible if one.guess.key), key=lambda one: one.rank)
    others = sorted((one for one in possible if not one.guess.key), key=_filling)
    fillers = [] if len(known) >= FEWEST_KEYS else others
    return [*known, *fillers][:MOST_COUNTED]


def _filling(one: Candidate) -> tuple[bool, bool, bool, int, str]:
    """Columns that nobody is known to know: no weights or secrets where there are others, then the finest."""
    guess = one.guess
    return guess.named_weights, guess.sensitive, guess.role != "few", -guess.labels, guess.name


def counted_together(candidates: Sequence[Candidate], rows: int) -> list[str]:
    """The columns whose combinations can be counted in one table."""
    bits = accumulate((one.guess.labels + 2).bit_length() for one in candidates)
    most = MOST_BITS if rows <= MOST_ROWS else MOST_ROWS.bit_length()
    return [one.name for one, so_far in zip(candidates, bits, strict=True) if so_far <= most]


def choose_keys(candidates: Sequence[Candidate], joint: CellTable | None, rows: int) -> Choice:
    """Keys by what others know best, in the finest usual form in which few records are unique on them."""
    chosen = _Keys(joint, rows)
    first, later = dict[str | None, Candidate](), list[Candidate]()
    for one in candidates:
        if one.guess.key and first.setdefault(one.guess.topic, one) is not one:
            later.append(one)
    left = {one.name: share for one in (*first.values(), *later) if (share := chosen.take(one)) is not None}
    fillers = [one for one in candidates if not one.guess.key]
    while fillers and len(chosen.forms) < FEWEST_KEYS:
        best = max(fillers, key=lambda one: (*_identifying(chosen, one), -fillers.index(one)))
        fillers.remove(best)
        if not chosen.forms or chosen.fits(best):
            chosen.take(best)
    return Choice(chosen.forms, None if joint is None else chosen.share, left)


def _identifying(chosen: _Keys, one: Candidate) -> tuple[bool, bool, float]:
    """How well a column serves where no name helps: secrets last, then by the unique records that it adds."""
    fits, share = chosen.fits(one), chosen.unique_with(one)
    return fits, not (one.guess.sensitive or one.guess.named_weights), share if fits else -share


def named_keys(names: Sequence[str]) -> Choice:
    """Keys that somebody named, as they are."""
    return Choice(dict.fromkeys(names, Form()))


class _Keys:
    """Keys as they are chosen, one by one, with the cells of their combinations."""

    def __init__(self, joint: CellTable | None, rows: int) -> None:
        self._joint, self._rows = joint, rows
        self._chosen: dict[str, Candidate] = {}
        self.forms: dict[str, Form] = {}
        self.share = 0.0  # of the records, that are unique on the keys

    def take(self, one: Candidate) -> float | None:
        """Make a column a key in its first form that fits, or say which share of the records would be unique."""
        if len(self.forms) >= MOST_KEYS or self._follows(one):
            return self._unique({**self.forms, one.name: one.forms[-1]}, one)
        ways = [{**self.forms, one.name: form} for form in one.forms]
        ways += [{**way, one.name: one.forms[0]} for way in self._coarser()]  # so that one key more finds room
        for forms in ways:
            share = self._unique(forms, one)
            if at_most(share, MOST_UNIQUE) or (not self.forms and forms is ways[-1]):
                self._chosen[one.name] = one
                self.forms, self.share = forms, share
                return None
        return self._unique(ways[len(one.forms) - 1], one)

    def unique_with(self, one: Candidate) -> float:
        """The share of records that are unique on the keys and one more column in its usual form."""
        return self._unique({**self.forms, one.name: one.forms[0]}, one)

    def fits(self, one: Candidate) -> bool:
        """Whether few records are unique with one more column in one of its forms."""
        return any(at_most(self._unique({**self.forms, one.name: form}, one), MOST_UNIQUE) for form in one.forms)

    def _coarser(self) -> Iterator[dict[str, Form]]:
        """The keys with one of them a little coarser, those with the most values first."""
        least = LEAST_CUTS - (self._rows < SMALL_FILE)
        for name, known in sorted(self._chosen.items(), key=lambda pair: (-pair[1].guess.labels, pair[0])):
            for form in known.forms[known.forms.index(self.forms[name]) + 1 :]:
                recode = form.recode
                if recode is not None and (len(recode.cuts) >= least or (recode.group and known.guess.labels > FEW)):
                    yield {**self.forms, name: form}

    def _unique(self, forms: Mapping[str, Form], added: Candidate) -> float:
        """The share of records that are unique on some columns in some forms; 0 or 1 where they were not counted."""
        joint = self._joint
        if joint is None or added.name not in joint.columns:
            known = {**self._chosen, added.name: added}
            labels = [known[name].guess.labels if form.recode is None else CLASSES for name, form in forms.items()]
            return float(len(forms) > 1 and math.prod(labels) * RECORDS_PER_CELL > self._rows)
        cells = np.zeros(len(joint), dtype=np.int64)
        for name, form in forms.items():
            if name in joint.columns:
                place = joint.place(name)
                codes = form.codes(joint.levels[place])[joint.codes[:, place]]
                cells = np.unique(cells * (int(codes.max()) + 1) + codes, return_inverse=True)[1].reshape(-1)
        return float((np.bincount(cells, joint.counts) == 1).sum() / joint.n)

    def _follows(self, one: Candidate) -> bool:
        """Whether a key of the same topic is a coarser form of a column: then one of the two is enough."""
        same = [name for name, known in self._chosen.items() if known.guess.topic == one.guess.topic]
        if self._joint is None or one.guess.topic is None or one.forms[0].recode is None:
            return False
        for name in same:
            both = self._joint.project([one.name, name])
            most = np.zeros(len(both.levels[0]), dtype=np.int64)
            np.maximum.at(most, both.codes[:, 0], both.counts)
            if at_least(float(most.sum()), DETERMINED * both.n):
                return True
        return False


# ---- forms of a column


def forms_of(guess: Guess, table: CellTable) -> Iterator[Form]:
    """A column as it is, where it has few values, then coarser and coarser."""
    levels = [label for label in table.levels[0] if label is not None]
    few, numbers = guess.labels <= FEW, numbers_by_count(table)
    if few and numbers and len(numbers) < len(levels):
        yield Form(Recode(step=_grid(numbers)), "numbers that are equal but for their spelling are one")
    elif few or (guess.key and not numbers and guess.labels <= MOST_LABELS):
        yield Form()
    yield from coarser_forms(guess, table)


def coarser_forms(guess: Guess, table: CellTable) -> Iterator[Form]:
    """Coarser forms of a column: classes of numbers, or its frequent labels and one for the others."""
    numbers = numbers_by_count(table)
    ordered = guess.topic == "age" or guess.labels > FEW or has_words(guess.name, "amount")
    if not numbers or not ordered:  # a few numbers may be codes without an order
        yield from _grouped(table)
        return
    seen: list[tuple[Fraction, ...]] = []
    for cuts in _classes(guess, numbers):
        if cuts and cuts not in seen:
            seen.append(cuts)
            yield Form(Recode(cuts=cuts), f"in {len(cuts) + 1} classes")


def _classes(guess: Guess, numbers: Mapping[float, int]) -> Iterator[tuple[Fraction, ...]]:
    low, high = min(numbers), max(numbers)
    ages = guess.topic == "age" and ((low >= 0 and high <= OLDEST) or (low >= YEARS[0] and high <= YEARS[1]))
    for step in (10, 20) if ages else ():
        yield _bands(numbers, step)
    yield tuple(cuts_of(numbers))
    yield tuple(cuts_of(numbers, CLASSES - 2))
    yield tuple(cuts_of(numbers, 2))


def _bands(numbers: Mapping[float, int], step: int) -> tuple[Fraction, ...]:
    """Bands of so many years; those at both ends are joined until each holds one record in fifty."""
    low, high, n = min(numbers), max(numbers), sum(numbers.values())
    cuts = [cut for cut in range(int(low // step) * step, int(high) + 1, step) if low < cut <= high]
    while cuts and below(sum(count for x, count in numbers.items() if x >= cuts[-1]), n / 50):
        cuts.pop()
    while cuts and below(sum(count for x, count in numbers.items() if x < cuts[0]), n / 50):
        cuts.pop(0)
    return tuple(map(Fraction, cuts))


def cuts_of(numbers: Mapping[float, int], classes: int = CLASSES) -> list[Fraction]:
    """Where classes of about equally many records could begin, as round numbers."""
    ordered = sorted(numbers)
    reached = np.cumsum([numbers[x] for x in ordered])
    places = np.searchsorted(reached, [reached[-1] * part / classes for part in range(1, classes)])
    cuts = {_rounded(ordered[place], ordered[-1] - ordered[0]) for place in places}
    return sorted(cut for cut in cuts if ordered[0] < cut <= ordered[-1])


def _rounded(number: float, spread: float) -> Fraction:
    """A number to half its first digit, or to one of twenty parts of the spread of all where that is finer."""
    steps = [Fraction(10) ** magnitude(size) / 2 for size in (spread / 2, abs(number)) if size]
    return min(steps) * round(Fraction(number) / min(steps)) if steps else Fraction(number)


def _grid(numbers: Collection[float]) -> Fraction:
    """The largest power of ten of which all numbers are multiples."""
    return next(
        (
            step
            for step in (Fraction(10) ** -place for place in range(12))
            if all(_is_multiple(x, step) for x in numbers)
        ),
        Fraction(1, 10**12),
    )


def _is_multiple(number: float, step: Fraction) -> bool:
    return (Fraction(repr(number)) / step).denominator == 1


def _grouped(table: CellTable) -> Iterator[Form]:
    """Frequent labels, and one for all others."""
    counts = {label: int(n) for (label,), n in zip(table.labels(), table.counts.tolist(), strict=True)}
    counts.pop(None, None)
    if not all(isinstance(label, str | int | float) and not isinstance(label, bool) for label in counts):
        return
    labels: dict[str, int] = {}
    for label, n in counts.items():
        labels[texts(label)[-1]] = labels.get(texts(label)[-1], 0) + n
    if "" in labels:  # which in a plan is the missing value
        return
    before = len(labels)
    for share in (50, 10):
        kept = [*map(str, sorted_levels(label for label, n in labels.items() if n * share >= table.n))]
        if 2 <= len(kept) < before - 1:
            before, other = len(kept) + 1, "other values" if "other" in kept else "other"
            words = f"with rare labels joined as {other!r}"
            yield Form(Recode(group={label: (label,) for label in kept}, other=other), words)


def numbers_by_count(table: CellTable) -> dict[float, int]:
    """How many records have each number; empty where the column holds something else."""
    counts: dict[float, int] = {}
    for (label,), n in zip(table.labels(), table.counts.tolist(), strict=True):
        if label is not None:
            try:
                number = number_of(label)
            except ValueError:
                return {}
            counts[number] = counts.get(number, 0) + int(n)
    return counts if all(map(np.isfinite, counts)) else {}
