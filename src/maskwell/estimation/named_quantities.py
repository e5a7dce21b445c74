"""Quantities that people publish: sums of categories, contrasts, ratios, and differences between groups.

With shares pi_hat and their covariance V, which holds sampling and randomization,

    sum        C pi_hat,            C V C'                             C has a row of 0 and 1
    contrast   c' pi_hat,           c' V c                             c has any factors
    ratio      r = a' pi_hat / b' pi_hat,   g' V g / (b' pi_hat)^2     g = a - r b
    groups     sum_d c_d pi_hat_d,  the covariance of that sum under the sampling plan

Sums are shares, and have the intervals of shares; the others have Wald intervals, with t where the plan says so.
Source: standard; for randomized reports [Adeshiyan2011, eq. (3.5)] is the covariance.

People ask for them by labels: ``any=once+often``, ``gap=often-never``. An expression is a sum of labels with signs and
factors, ``often - 0.5*once``; a ratio has two of them, ``often / once+often``. The longest label that fits is taken, so
that labels may hold any sign; quotes protect them, too.
"""

from __future__ import annotations

import math
import re
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from maskwell.core.arguments import Real, check_ordered
from maskwell.core.display import Result, number_or_none, plain_label
from maskwell.core.exact import as_fraction
from maskwell.core.phrases import HINT, Printed, listed, option, shorten
from maskwell.errors import LabelError, ParameterError, UnknownCategoryError, WrongTypeError
from maskwell.estimation.joint.conditionals import UNSTABLE, Ratios
from maskwell.estimation.sampling.survey_estimate import SurveyEstimate
from maskwell.estimation.share_estimate import Estimate, two_sided_p
from maskwell.estimation.summed_shares import covariance_of, summed_shares
from maskwell.notes import Note

Kind: TypeAlias = Literal["combination", "contrast", "ratio", "groups"]
CERTAIN = "certain"
AT_THE_EDGE = "no interval: a share is estimated at the edge of what is possible, where there is no standard error"
NOISE = 1e-12
"""Of what a variance is summed from: one that is smaller is zero but for rounding."""


class Terms(NamedTuple):
    """What is asked for, by the codes of the categories.

    ``factors`` of a combination or a contrast, shape (k,); of a ratio those of its numerator, and ``below`` those of
    its denominator. For groups, ``groups`` has the factor of each.
    """

    name: str
    kind: Kind
    of: str
    factors: Real | None = None
    below: Real | None = None
    groups: Mapping[Hashable, float] | None = None


@dataclass(frozen=True, eq=False)
class Quantity(Result):
    """A named quantity with its error."""

    # Its name; combination, contrast, ratio or groups; and what it is made of, in words
    name: str
    kind: Kind
    of: str
    # The estimate, its standard error and the ends of its interval; NaN where there is none
    value: float
    standard_error: float
    low: float
    high: float
    # Of the interval
    interval_method: str
    level: float
    # Two-sided, for a contrast of zero or a ratio of one (its two parts are equal); NaN for sums
    p_value: float = math.nan
    deff: float = math.nan  # The design effect, where rows have a sampling plan; NaN elsewhere
    domain: Hashable | None = None  # The group that it is about; None for everyone
    category: Hashable | None = None  # For groups: the category or combination that is compared
    flags: tuple[str, ...] = ()  # What a reader should know, in words

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values, for JSON."""
        optional = {"p_value": self.p_value, "deff": self.deff}
        where = {"domain": self.domain, "category": self.category}
        return {
            "name": self.name,
            "kind": self.kind,
            "of": self.of,
            **{name: plain_label(label) for name, label in where.items() if label is not None},
            "estimate": number_or_none(self.value),
            "standard_error": number_or_none(self.standard_error),
            "interval": [number_or_none(self.low), number_or_none(self.high)],
            "interval_method": self.interval_method,
            **{name: value for name, value in optional.items() if not math.isnan(value)},
            "flags": list(self.flags),
        }


def combined(estimate: Estimate, terms: Sequence[Terms]) -> Estimate:
    """The shares of the combinations, as an estimate of its own."""
    C = np.array([term.factors for term in terms])
    return summed_shares(estimate, C, tuple(term.name for term in terms))


def combinations_of(
    estimate: Estimate, terms: Sequence[Terms], level: float, interval: str | None, domain: Hashable | None = None
) -> list[Quantity]:
    """Sums of shares with their intervals."""
    if not terms:
        return []
    sums = combined(estimate, terms)
    intervals, effects = sums.intervals(level, _of_sums(sums, interval)), sums.design_effects
    rows = zip(terms, sums.pi_hat, sums.standard_error, intervals.low, intervals.high, effects, strict=True)
    made = [
        _certain(term, level, domain)
        if term.factors is not None and (term.factors == 1).all()
        else Quantity(
            *(term.name, "combination", term.of, float(value), float(error), float(low), float(high)),
            *(intervals.method, level, math.nan, float(effect), domain, None, intervals.flags),
        )
        for term, value, error, low, high, effect in rows
    ]
    return [
        _at_the_edge(estimate, one, term) if math.isnan(one.low) else one for one, term in zip(made, terms, strict=True)
    ]


def _at_the_edge(estimate: Estimate, one: Quantity, term: Terms) -> Quantity:
    """A sum without an interval of its own: that of its one category, or of the one that it lacks; else the reason."""
    assert term.factors is not None
    held, lacking = np.flatnonzero(term.factors), np.flatnonzero(term.factors == 0)
    if min(len(held), len(lacking)) == 1:
        intervals = estimate.intervals(one.level)
        j = int(held[0] if len(held) == 1 else lacking[0])
        low, high = float(intervals.low[j]), float(intervals.high[j])
        low, high = (low, high) if len(held) == 1 else (1 - high, 1 - low)
        if math.isfinite(low):
            return replace(one, low=low, high=high, interval_method=intervals.method, flags=intervals.flags)
    return replace(one, flags=(*one.flags, Note("no-interval-a-share-is-estimated")))


def _of_sums(sums: Estimate, interval: str | None) -> str | None:
    """The method that was asked for where sums have it, else the default."""
    if interval in ("wald", "logit", "bonferroni", "scheffe"):
        return interval
    return interval if interval in ("score", "matched") and sums.binomial_counts is not None else None


def _certain(term: Terms, level: float, domain: Hashable | None) -> Quantity:
    """All categories together: one, whatever the reports."""
    return Quantity(term.name, "combination", term.of, 1.0, 0.0, 1.0, 1.0, CERTAIN, level, domain=domain)


def contrast_of(estimate: Estimate, term: Terms, level: float, domain: Hashable | None = None) -> Quantity:
    """A sum of shares with factors."""
    assert term.factors is not None
    c = term.factors
    made = _wald(estimate, float(c @ estimate.pi_hat), _variance(c, covariance_of(estimate)), level)
    return Quantity(term.name, "contrast", term.of, *made, "wald", level, _p(estimate, *made[:2]), domain=domain)


def ratio_of(estimate: Estimate, term: Terms, level: float, domain: Hashable | None = None) -> Quantity:
    """One sum of shares over another; Fieller's interval where the second may be zero."""
    assert term.factors is not None and term.below is not None
    a, b, V = term.factors, term.below, covariance_of(estimate)
    parts = (float(a @ estimate.pi_hat), float(b @ estimate.pi_hat), _variance(a, V), float(a @ V @ b), _variance(b, V))
    if parts[1] == 0:
        return Quantity(
            *(term.name, "ratio", term.of, math.nan, math.nan, math.nan, math.nan, "fieller", level),
            domain=domain,
            flags=(Note("not-defined-what-it-is-divided"),),
        )
    ratio, z = Ratios(*map(np.asarray, parts)), estimate.critical_value((1 + level) / 2)
    value, error = float(ratio.value), float(np.sqrt(max(_variance(a - float(ratio.value) * b, V), 0))) / abs(parts[1])
    unstable = bool(ratio.unstable)
    low, high = (ratio.fieller(z) if unstable else np.array([value - z * error, value + z * error])).tolist()
    said = (f"unstable: what it is divided by is within {UNSTABLE} standard errors of zero",) if unstable else ()
    said = (AT_THE_EDGE,) if math.isnan(low) else said
    difference, spread = parts[0] - parts[1], _variance(a - b, V)  # the ratio is one where this is zero
    method, p = "fieller" if unstable else "wald", _p(estimate, difference, math.sqrt(spread) if spread > 0 else 0.0)
    return Quantity(term.name, "ratio", term.of, value, error, low, high, method, level, p, domain=domain, flags=said)


def groups_of(
    estimates: Mapping[Hashable, Estimate],
    covariance: Real,
    term: Terms,
    level: float,
    combinations: Sequence[Terms] = (),
) -> list[Quantity]:
    """A sum of the shares of groups with factors: for every category, and for every combination.

    ``covariance`` is that of the sum, shape (k, k).
    """
    assert term.groups is not None
    first = next(estimates[label] for label in term.groups)
    theta = np.asarray(sum(factor * estimates[label].pi_hat for label, factor in term.groups.items()))
    rows = [(label, np.eye(len(theta))[j]) for j, label in enumerate(first.categories)]
    rows += [(one.name, one.factors) for one in combinations if one.factors is not None]
    quantities = []
    for label, c in rows:
        made = _wald(first, float(c @ theta), _variance(c, covariance), level)
        p = _p(first, *made[:2])
        quantities.append(Quantity(term.name, "groups", term.of, *made, "wald", level, p, category=label))
    return quantities


def _variance(c: Real, V: Real) -> float:
    """``c' V c``, zero where it is rounding alone."""
    variance, scale = float(c @ V @ c), float(np.abs(c) @ np.abs(V) @ np.abs(c))
    return 0.0 if abs(variance) <= NOISE * scale else variance


def _wald(estimate: Estimate, value: float, variance: float, level: float) -> tuple[float, float, float, float]:
    """Value, standard error and ends; no ends without a standard error above zero."""
    error = math.sqrt(variance) if variance >= 0 else math.nan
    half = estimate.critical_value((1 + level) / 2) * error if error > 0 else math.nan
    return value, error, value - half, value + half


def _p(estimate: Estimate, distance: float, error: float) -> float:
    """Two-sided; NaN without a standard error above zero."""
    if not error > 0:
        return math.nan
    return two_sided_p(distance / error, getattr(estimate, "degrees_of_freedom", None))


# ---- as people ask for them

Places: TypeAlias = dict[str, tuple[int, ...]]
"""The codes of the categories that each name stands for."""

_FACTOR = re.compile(r"(\d+(?:\.\d+)?(?:/\d+)?|\.\d+)\s*\*\s*")
EXAMPLES = {"combine": "any=once+often", "contrast": "gap=often-never", "ratio": "heavy=often/once+often"}
CODE = {
    "combine": '{"any": ["once", "often"]}',
    "contrast": '{"gap": {"often": 1, "never": -1}}',
    "ratio": '{"heavy": ("often", ["once", "often"])}',
}


@dataclass(frozen=True)
class Asked:
    """What was asked for: the parameter, the name of the quantity, and its expression or labels."""

    what: str
    name: str
    content: Any

    @property
    def title(self) -> str:
        """For errors."""
        return f"{option(self.what)} {self.name}"


def asked_of(what: str, given: Any) -> tuple[Asked, ...]:
    """From a dictionary of names, an expression, or several of them; a text may begin with a name: ``any=...``."""
    if given is None:
        return ()
    if isinstance(given, Mapping):
        asked = [Asked(what, str(name), content) for name, content in given.items()]
    elif isinstance(given, str) or (isinstance(given, list | tuple) and all(isinstance(one, str) for one in given)):
        asked = [_named(what, text) for text in ([given] if isinstance(given, str) else given)]
    else:
        raise WrongTypeError("must-be-a-dictionary", what=what, name=type(given).__name__, code=CODE[what])
    names = [one.name for one in asked]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ParameterError("stands-there-twice", what_option=option(what), twice=twice)
    return tuple(asked)


def _named(what: str, text: str) -> Asked:
    name, sign, rest = text.partition("=")
    asked = Asked(what, name.strip(), rest.strip()) if sign else Asked(what, text.strip(), text.strip())
    if (what == "combine" and not sign) or not asked.name or not asked.content:
        example = option(what, EXAMPLES[what], CODE[what])
        raise ParameterError("a-name-and-its-categories", what_option=option(what), text=text, example=example)
    return asked


PARAMETERS = ("lie-detector", "cheating-detection")
"""Procedures that have parameters of their own."""


def parameters_of(procedure: str | None, categories: Sequence[Hashable], taken: Sequence[str]) -> list[Asked]:
    """What a procedure is there for, in terms of its three kinds of people; nothing for other procedures.

    A lie detector has honest carriers, lying carriers and others: pi is the share of all carriers, t the part of them
    who are honest. Cheating detection has an honest yes, an honest no and people who always say no: pi is at least the
    share of the first and at most that with the third. Names that are ``taken`` are left to who took them.
    """
    if procedure not in PARAMETERS or len(categories) != 3:
        return []
    first, second, third = categories
    if procedure == "lie-detector":
        made = [Asked("combine", "pi", [first, second]), Asked("ratio", "t", ([first], [first, second]))]
    else:
        sums = {"pi, at least": [first], "pi, at most": [first, third], "cheating": [third]}
        made = [Asked("combine", name, labels) for name, labels in sums.items()]
    return [one for one in made if one.name not in taken]


@dataclass(frozen=True, eq=False)
class QuantityTerms:
    """All quantities that were asked for, with the categories they are made of."""

    combinations: tuple[Terms, ...]
    others: tuple[Terms, ...]
    groups: tuple[Terms, ...]

    @classmethod
    def of(
        cls, asked: Sequence[Asked], categories: Sequence[Hashable], groups: Sequence[Hashable] | None = None
    ) -> QuantityTerms:
        """By the labels of the categories and, where contrasts may be between groups, those of the groups."""
        k = len(categories)
        places: Places = {_text(label): (j,) for j, label in enumerate(categories)}
        by_label: dict[Hashable, str] = {label: _text(label) for label in categories}
        combinations = []
        for one in (one for one in asked if one.what == "combine"):
            codes, made = _combination(one, places, by_label, k)
            combinations.append(made)
            places[one.name], by_label[one.name] = codes, one.name
        others: list[Terms] = []
        between: list[Terms] = []
        for one in (one for one in asked if one.what != "combine"):
            is_ratio = one.what == "ratio"
            made = _ratio(one, places, by_label, k) if is_ratio else _contrast(one, places, by_label, groups, k)
            (between if made.kind == "groups" else others).append(made)
        return cls(tuple(combinations), tuple(others), tuple(between))


def _vector(terms: Sequence[tuple[float, str]], places: Places, k: int) -> Real:
    """The factor of each category."""
    factors = np.zeros(k)
    for factor, name in terms:
        factors[list(places[name])] += factor
    return factors


def _combination(one: Asked, places: Places, by_label: Mapping[Hashable, str], k: int) -> tuple[tuple[int, ...], Terms]:
    if one.name in places:
        raise LabelError("a-category-has-this-name-already", title=one.title)
    terms = _terms(one, one.content, places, by_label)
    if any(factor != 1 for factor, _ in terms):
        contrast = option("contrast", EXAMPLES["contrast"], CODE["contrast"])
        raise ParameterError("a-combination-is-a-plain-sum", title=one.title, contrast=contrast)
    factors = _vector(terms, places, k)
    if (factors > 1).any():
        raise LabelError("a-category-is-counted-twice", title=one.title)
    codes = tuple(np.flatnonzero(factors).tolist())
    return codes, Terms(one.name, "combination", " + ".join(name for _, name in terms), factors)


def _contrast(
    one: Asked, places: Places, by_label: Mapping[Hashable, str], groups: Sequence[Hashable] | None, k: int
) -> Terms:
    names = {_text(label): label for label in groups or ()}
    content = one.content
    if isinstance(content, tuple | list) and len(content) == 2:
        content = {content[0]: 1, content[1]: -1}
    both: Places = {**dict.fromkeys(names, ()), **places}
    terms = _terms(one, content, both, {**{label: text for text, label in names.items()}, **by_label})
    of = _words(terms)
    if all(name in names for _, name in terms):
        if any(name in places for _, name in terms):
            raise LabelError("a-category-and-a-group", title=one.title)
        return Terms(one.name, "groups", of, groups={names[name]: factor for factor, name in terms})
    mixed = next((name for _, name in terms if name not in places), None)
    if mixed is not None:
        raise LabelError("is-a-group-not-a-category", title=one.title, mixed=mixed)
    return Terms(one.name, "contrast", of, _vector(terms, places, k))


def _ratio(one: Asked, places: Places, by_label: Mapping[Hashable, str], k: int) -> Terms:
    parts = _two_parts(one, places)
    sums = [_terms(one, part, places, by_label) for part in parts]
    above, below = (_vector(terms, places, k) for terms in sums)
    return Terms(one.name, "ratio", " / ".join(map(_in_brackets, sums)), above, below)


def _two_parts(one: Asked, places: Places) -> Sequence[Any]:
    """Numerator and denominator: of a text, around the first stroke that belongs to no label."""
    if isinstance(one.content, tuple | list) and len(one.content) == 2:
        return one.content
    if isinstance(one.content, str):
        strokes = [place for place, sign in enumerate(one.content) if sign == "/"]
        halves = [(one.content[:place].strip(), one.content[place + 1 :].strip()) for place in strokes]
        known = [pair for pair in halves if all(_readable(half, places) for half in pair)]
        if known or (halves and all(halves[0])):
            return (known or halves)[0]
    example = option("ratio", EXAMPLES["ratio"], CODE["ratio"])
    raise ParameterError("a-ratio-has-two-parts", title=one.title, example=example)


def _readable(text: str, places: Places) -> bool:
    try:
        return bool(_parsed(text, places))
    except UnknownCategoryError:
        return False


def _in_brackets(terms: Sequence[tuple[float, str]]) -> str:
    return _words(terms) if len(terms) == 1 else f"({_words(terms)})"


def _words(terms: Sequence[tuple[float, str]]) -> str:
    """A sum as people write it."""
    signs = ["- " if factor < 0 else "+ " for factor, _ in terms]
    sizes = ["" if abs(factor) == 1 else f"{Printed(abs(factor)):g} " for factor, _ in terms]
    said = " ".join(f"{sign}{size}{name}" for sign, size, (_, name) in zip(signs, sizes, terms, strict=True))
    return said.removeprefix("+ ")


def _terms(one: Asked, content: Any, places: Places, by_label: Mapping[Hashable, str]) -> list[tuple[float, str]]:
    """Factors and names of an expression, a list of labels, or labels with factors."""
    if isinstance(content, str) and content in places:
        return _one_label(content, places, one)
    if isinstance(content, str):
        terms = _parsed(content, places, one)
    else:
        pairs = content.items() if isinstance(content, Mapping) else [(label, 1) for label in _labels(content)]
        terms = [
            (float(as_fraction(factor, one.name)), _known_label(label, places, by_label, one))
            for label, factor in pairs
        ]
    if not terms:
        raise ParameterError("title-has-no-categories", title=one.title, known=_known(places))
    return terms


def _one_label(label: str, places: Places, one: Asked) -> list[tuple[float, str]]:
    """The label alone, unless the text can also be read as a sum of others."""
    alone = [(1.0, label)]
    others = (terms for terms in _Reading(sorted(places, key=len, reverse=True)).terms(label) if terms != alone)
    if (other := next(others, None)) is not None:
        raise _ambiguous(one, alone, other)
    return alone


def _labels(content: Any) -> list[Any]:
    check_ordered(content, "categories")
    if isinstance(content, list | tuple):
        return list(content)
    return [content]


def _known_label(label: Any, places: Places, by_label: Mapping[Hashable, str], one: Asked) -> str:
    name = by_label.get(label, _text(label))
    if name not in places:
        raise _unknown(name, places, one)
    return name


def _parsed(text: str, places: Places, one: Asked | None = None) -> list[tuple[float, str]]:
    """Factors and names of ``often - 0.5*once``; commas are plus signs. Two readings of a text are an error."""
    reading = _Reading(sorted(places, key=len, reverse=True))
    found = [*islice(reading.terms(text.strip()), 2)]
    if len(found) > 1:
        raise _ambiguous(one, *found)
    if not found:
        raise _unknown(re.split(r"\s*[+,/-]", reading.furthest)[0].strip('" '), places, one)
    return found[0]


@dataclass
class _Reading:
    """All ways to read an expression, the longest names first; ``furthest`` is where none goes on."""

    names: Sequence[str]
    furthest: str = ""
    dead: set[str] = field(default_factory=set)

    def terms(self, rest: str) -> Iterator[list[tuple[float, str]]]:
        if not rest:
            yield []
        if not rest or rest in self.dead:
            return
        sign, after = (-1.0 if rest[0] == "-" else 1.0, rest[1:].lstrip()) if rest[0] in "+-," else (1.0, rest)
        factor = _FACTOR.match(after)
        times = sign * (1.0 if factor is None else float(as_fraction(factor[1], "factor")))
        after = after if factor is None else after[factor.end() :]
        none = True
        for name in (one for one in self.names if _starts(after, one)):
            quotes = 2 if after.startswith('"') and not name.startswith('"') else 0
            for others in self.terms(after[len(name) + quotes :].lstrip()):
                none = False
                yield [(times, name), *others]
        if none:
            self.dead.add(rest)
            self.furthest = after if not self.furthest or len(after) < len(self.furthest) else self.furthest


def _ambiguous(one: Asked | None, *readings: Sequence[tuple[float, str]]) -> ParameterError:
    """The error for an expression that labels with signs in them give two meanings."""
    title, name = ("", "NAME") if one is None else (f"{one.title}: ", one.name)
    first, second = (
        "".join(f'{"-" if factor < 0 else "+"}"{label}"' for factor, label in terms).removeprefix("+")
        for terms in readings
    )
    return ParameterError("this-can-be-read-in-two", title=title, name=name, first=first, second=second)


def _starts(text: str, name: str) -> bool:
    """Whether a name stands at the beginning, bare or in quotes, and ends there."""
    if text.startswith(f'"{name}"'):
        return True
    return text.startswith(name) and (len(text) == len(name) or text[len(name)] in " +-,/")


def _unknown(name: str, places: Places, one: Asked | None) -> UnknownCategoryError:
    title = "" if one is None else f"{one.title}: "
    signed = next((label for label in places if re.search(r"[-+,/]", label)), None)
    quoted = "" if signed is None else f"; quote labels with signs: '\"{shorten(signed, 20)}\"-...'"
    known = listed(places, len(places), HINT - len(f"known: {quoted}"))
    return UnknownCategoryError("title-no-category-name", title=title, name=name[:40], known=known, quoted=quoted)


def _known(places: Places) -> str:
    return listed(places, len(places), 70)


def _text(label: Hashable) -> str:
    """A label as it is typed: tuples in brackets."""
    return f"({', '.join(map(str, label))})" if isinstance(label, tuple) else str(label)


# ---- what an estimate has of them


def quantities_of(
    base: Estimate, between: Sequence[Real], asked: Sequence[Asked], level: float, interval: str | None
) -> tuple[Quantity, ...]:
    """The quantities that were asked for, of everyone and of each domain.

    ``between`` has the covariances of the sums of domains, in the order in which they were asked for.
    """
    domains = base.domains if isinstance(base, SurveyEstimate) else {}
    terms = QuantityTerms.of(asked, base.categories, [*domains])
    whole: list[tuple[Hashable | None, Estimate]] = [(None, base), *domains.items()]
    quantities: list[Quantity] = []
    for label, one in whole:
        if np.isnan(one.pi_hat).any():
            continue
        quantities += combinations_of(one, terms.combinations, level, interval, label)
        quantities += [(ratio_of if t.kind == "ratio" else contrast_of)(one, t, level, label) for t in terms.others]
    for term, V in zip(terms.groups, between, strict=True):
        summed = V if base.sums_of is None else base.sums_of[1] @ V @ base.sums_of[1].T
        quantities += groups_of(domains, summed, term, level, terms.combinations)
    return tuple(quantities)
