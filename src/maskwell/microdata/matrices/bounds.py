"""What is asked of the matrix of a release: bounds, and the amounts (of any scale) that it keeps on average."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np

from maskwell.core.arguments import Array, Real, WholeNumber, as_array, as_list, as_mapping, as_whole, check_kind
from maskwell.core.categories import Categories
from maskwell.core.exact import (
    OPEN_SHARE,
    POSITIVE,
    RATIO,
    SHARE,
    Number,
    as_fraction,
    check_range,
    common_denominator,
    to_decimal,
)
from maskwell.core.phrases import MESSAGE, listed
from maskwell.designs.coded import CodedDesign
from maskwell.errors import CountsError, MaskwellError, MissingValueError, ParameterError

_RANGES = {
    "posterior": OPEN_SHARE,
    "posterior_own": OPEN_SHARE,
    "odds": POSITIVE,
    "guess": OPEN_SHARE,
    "factor": RATIO,
    "parity": RATIO,
    "least_kept": SHARE,
    "changed_at_most": SHARE,
    "changed_at_least": SHARE,
    "match": OPEN_SHARE,
}
# Bounds from below: a looser one is smaller, and what is attained may be more.
FROM_BELOW = ("least_kept", "changed_at_least")


@dataclass(frozen=True, kw_only=True)
class Exchanges:
    """At most ``f_ij <= b pi_i pi_j`` for places of ``spread``, ``p_ij <= moves[i, j]`` for (released, true)."""

    spread: Mapping[int, Fraction] = field(default_factory=dict)
    moves: Mapping[tuple[int, int], Fraction] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for place, factor in self.spread.items():
            check_range(factor, f"the spread of state {place}", RATIO)
        for pair, cap in self.moves.items():
            check_range(cap, f"the cap of the move {pair}", SHARE)


@dataclass(frozen=True, kw_only=True)
class Bounds:
    """What a matrix with ``P v = v`` should keep to; ``None`` where nothing is asked.

    With the flows ``f_ij = p_ij pi_j`` and ``pi = v / sum(v)``:

    Attributes
    ----------
    posterior
        beta: no released value makes any true value more likely than this, ``f_ij <= beta pi_i``.
    posterior_own
        beta: the released value is the true one with at most this chance, ``f_ii <= beta pi_i``.
    odds
        zeta: the odds of that chance, ``f_ii <= zeta / (1 + zeta) pi_i``.
    guess
        gamma: the best guess from the released value is right with at most this chance, ``sum_i max_j f_ij <= gamma``.
    factor
        b: a released value makes a true value at most b times more or less likely, ``1/b <= f_ij / (pi_i pi_j) <= b``.
    parity
        eta: probabilities of one released value differ by at most this ratio, ``max_j p_ij <= eta min_j p_ij``.
    least_kept
        d: every value stays with at least this chance, ``p_jj >= d``.
    changed_at_most, changed_at_least
        Share of the records that is expected to change.
    match
        nu: a correct match of a record by someone who knows its value has at most this chance.
    caps
        For single states, by their place: what takes the place of ``posterior_own`` and ``odds``; 1 exempts a state.
    exchanges
        What single states may exchange with others.

    Source: [Adeshiyan2011, eqs. (4.19), (4.20), Definitions 4.1, 4.2, section 4.7.4], [NayakZhangAdeshiyan2016,
    Definition 3.3]; as linear inequalities in the flows: derived.

    >>> Bounds.of(posterior="0.6", least_kept=0.25)
    Bounds(posterior=0.6, least_kept=0.25)
    >>> Bounds.of(odds=3, caps={2: "1/4"}).own(0), Bounds.of(odds=3, caps={2: "1/4"}).own(2)
    (Fraction(3, 4), Fraction(1, 4))
    """

    posterior: Fraction | None = None
    posterior_own: Fraction | None = None
    odds: Fraction | None = None
    guess: Fraction | None = None
    factor: Fraction | None = None
    parity: Fraction | None = None
    least_kept: Fraction | None = None
    changed_at_most: Fraction | None = None
    changed_at_least: Fraction | None = None
    match: Fraction | None = None
    caps: Mapping[int, Fraction] = field(default_factory=dict)
    exchanges: Exchanges = field(default_factory=Exchanges)

    def __post_init__(self) -> None:
        check_kind(Fraction | None, **{name: getattr(self, name) for name in _RANGES})
        check_kind(Mapping, caps=self.caps)
        check_kind(Exchanges, exchanges=self.exchanges)
        for name, value in self.asked().items():
            check_range(value, name, _RANGES[name])
        for place, cap in self.caps.items():
            check_range(cap, f"the cap of state {place}", SHARE)
        least, most = self.changed_at_least, self.changed_at_most
        if least is not None and most is not None and least > most:
            raise ParameterError(
                "changed-at-least-is-more", least=to_decimal(least), most=to_decimal(most), bounds=self
            )

    @classmethod
    def of(cls, *, caps: Mapping[int, Number] | None = None, **bounds: Number | None) -> Bounds:
        """From numbers as people type them: ``0.6``, ``"3/5"``, a fraction."""
        unknown = sorted(bounds.keys() - _RANGES.keys())
        if unknown:
            raise ParameterError("there-is-no-bound", unknown=unknown[0], ranges=", ".join(_RANGES))
        exact: dict[str, Any] = {name: as_fraction(x, name) for name, x in bounds.items() if x is not None}
        own = {
            as_whole(place, "a state of caps"): as_fraction(cap, f"the cap of state {place}")
            for place, cap in as_mapping({} if caps is None else caps, "caps").items()
        }
        return cls(**exact, caps=own)

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """The bounds that can be asked for, without ``caps``."""
        return tuple(_RANGES)

    def asked(self) -> dict[str, Fraction]:
        """The bounds that are not ``None``, without ``caps``."""
        return {name: value for name in _RANGES if (value := getattr(self, name)) is not None}

    def __bool__(self) -> bool:
        return bool(self.asked() or self.caps or self.exchanges.moves)

    def __repr__(self) -> str:
        parts = [f"{name}={to_decimal(value)}" for name, value in self.asked().items()]
        caps = [f"caps of {len(self.caps)} states"] if self.caps else []
        return f"Bounds({', '.join(parts + caps)})"

    def own(self, place: int) -> Fraction:
        """The largest ``P(X = i | Z = i)`` that all bounds together allow for the state at this place."""
        check_kind(WholeNumber, place=place)
        odds = None if self.odds is None else self.odds / (1 + self.odds)
        own = [self.caps[place]] if place in self.caps else [self.posterior_own, odds]
        return min((bound for bound in [self.posterior, *own] if bound is not None), default=Fraction(1))

    def with_bound(self, name: str, value: Fraction | None) -> Bounds:
        """The same bounds with another value of one of them; ``None`` leaves it out."""
        changes: dict[str, Any] = {name: value}
        return replace(self, **changes)

    def to_dict(self) -> dict[str, object]:
        """Each bound as text, as a plan or a receipt keeps it; what is not asked is left out."""
        texts: dict[str, object] = {name: to_decimal(value) for name, value in self.asked().items()}
        for name, values in {"caps": self.caps, "spread": self.exchanges.spread}.items():
            texts |= {name: {str(place): to_decimal(value) for place, value in values.items()}} if values else {}
        return texts


WIDE = 1 << 62  # Integers below this are worked on as machine words
_LARGEST = 10**150  # Floats hold the product of two such integers


@dataclass(frozen=True, eq=False)
class Amounts:
    """A vector v of 0 or more over one denominator, ``v = integers / scale``; machine words where they fit."""

    integers: Array
    scale: int

    @property
    def support(self) -> Array:
        """Which states hold anything, shape (k,)."""
        return np.asarray(self.integers > 0, dtype=bool)

    @property
    def whole(self) -> bool:
        """Whether these are whole numbers, as counts are."""
        return self.scale == 1

    @property
    def floats(self) -> Real:
        """The nearest floats."""
        try:
            return np.asarray(self.integers / self.scale, dtype=np.float64)
        except OverflowError:
            raise CountsError("a-count-is-too-large") from None

    def __len__(self) -> int:
        return len(self.integers)


def read_amounts(v: Any, *, weighted: bool = False) -> Amounts:
    """The counts of k states, not all 0, or fractions if ``weighted``; a float means its shortest decimal text."""
    values = _column(v)
    exact = _whole(values)
    amounts = Amounts(exact, 1) if exact is not None else _fractions(values)
    if not weighted and not amounts.whole:
        state = next(j for j, n in enumerate(amounts.integers) if n % amounts.scale)
        raise CountsError("the-count-of-state-is-not", value=values[state], state=state)
    wrong = np.flatnonzero(amounts.integers < 0)
    if len(wrong):
        states_text = listed((f"state {j} has {values[j]}" for j in wrong.tolist()), len(wrong), MESSAGE - 20)
        raise CountsError("negative-counts-give", states_text=states_text, states=wrong)
    if not amounts.support.any():
        raise CountsError("all-counts-are-zero")
    if amounts.integers.dtype == object and (largest := max(amounts.integers)) > _LARGEST:
        what = "too large" if largest > _LARGEST * amounts.scale else "of too different sizes"
        raise CountsError("the-counts-are-what", what=what)
    return amounts


def check_one_each(design: CodedDesign, counts: Array) -> None:
    """Raise unless there is a count for each true category."""
    if design.k != len(counts):
        raise CountsError("counts-for-categories", counts_count=len(counts), k=design.k)


def labels_for(amounts: Amounts, categories: Categories | None) -> Categories:
    """The labels of the states: as given, or 0..k-1; an error where their number differs."""
    check_kind(Categories | None, categories=categories)
    if categories is None:
        return Categories.numbered(len(amounts))
    if len(categories) != len(amounts):
        raise CountsError("counts-for-categories-give", amounts_count=len(amounts), categories_count=len(categories))
    return categories


def as_words(values: Array, bound: int) -> Array:
    """Integers as machine words where ``bound``, which no result will exceed, fits into one; else Python's integers."""
    return values.astype(np.int64 if bound < WIDE else object)


def _column(v: Any) -> Array:
    try:
        values = as_array(v, "counts") if isinstance(v, np.ndarray) else _listed(v)
    except MissingValueError:
        raise
    except (TypeError, ValueError):
        values = np.empty((0, 0))
    if values.ndim != 1 or not len(values):
        raise CountsError("counts-must-be-one-column-of")
    return values


def _listed(v: Any) -> Array:
    values: Sequence[Any] = as_list(v, "counts")
    plain = all(isinstance(value, int | np.integer) and not isinstance(value, bool) for value in values)
    return np.array(values) if plain and max(map(abs, values), default=0) < WIDE else np.array(values, dtype=object)


def _whole(values: Array) -> Array | None:
    """The values as machine words, where they are whole numbers of ordinary size."""
    if values.dtype.kind in "iu" and int(values.max()) < WIDE:
        return values.astype(np.int64)
    if values.dtype.kind == "f" and np.isfinite(values).all() and (values == np.floor(values)).all():
        return values.astype(np.int64) if np.abs(values).max() < 2**53 else None
    return None


def _fractions(values: Array) -> Amounts:
    exact = []
    for state, value in enumerate(values.tolist()):
        try:
            exact.append(as_fraction(value, f"the count of state {state}"))
        except MaskwellError as error:
            raise CountsError("the-count-of-state-is-not-a", state=state, value=value) from error
    scale = common_denominator(exact)
    integers = [value.numerator * (scale // value.denominator) for value in exact]
    return Amounts(np.array(integers, dtype=np.int64 if max(map(abs, integers)) < WIDE else object), scale)
