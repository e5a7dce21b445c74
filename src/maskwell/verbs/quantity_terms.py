"""Named quantities as people ask for them: ``any=once+often``, ``gap=often-never``, by labels.

An expression is a sum of labels with signs and factors, ``often - 0.5*once``; a ratio has two of them, ``often /
once+often``. The longest label that fits is taken, so that labels may hold any sign; quotes protect them, too.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from maskwell.core.arguments import Real
from maskwell.core.exact import as_fraction
from maskwell.core.phrases import Printed, listed, option
from maskwell.errors import LabelError, ParameterError, UnknownCategoryError, WrongTypeError
from maskwell.estimation.named_quantities import Quantity, Terms, combinations_of, contrast_of, groups_of, ratio_of
from maskwell.estimation.sampling.survey_estimate import SurveyEstimate
from maskwell.estimation.share_estimate import Estimate

if TYPE_CHECKING:
    from maskwell.designs.design import Design
    from maskwell.engines.assignments import Assignment


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
    """From a dictionary of names, an expression, or several of them; a text may begin with a name: ``any=...``.

    >>> asked_of("combine", "any=once+often")
    (Asked(what='combine', name='any', content='once+often'),)
    """
    if given is None:
        return ()
    if isinstance(given, Mapping):
        asked = [Asked(what, str(name), content) for name, content in given.items()]
    elif isinstance(given, str) or (isinstance(given, list | tuple) and all(isinstance(one, str) for one in given)):
        asked = [_named(what, text) for text in ([given] if isinstance(given, str) else given)]
    else:
        raise WrongTypeError(
            f"{what} must be a dictionary or a text, not a {type(given).__name__}",
            hint=f"such as {what}={CODE[what]}",
        )
    names = [one.name for one in asked]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ParameterError(f"{option(what)} {twice} stands there twice", hint="give each quantity a name of its own")
    return tuple(asked)


def _named(what: str, text: str) -> Asked:
    name, sign, rest = text.partition("=")
    asked = Asked(what, name.strip(), rest.strip()) if sign else Asked(what, text.strip(), text.strip())
    if (what == "combine" and not sign) or not asked.name or not asked.content:
        example = option(what, EXAMPLES[what], CODE[what])
        raise ParameterError(f"{option(what)} {text}: a name and its categories are needed", hint=f"such as {example}")
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
        raise LabelError(f"{one.title}: a category has this name already", hint="choose another name")
    terms = _terms(one, one.content, places, by_label)
    if any(factor != 1 for factor, _ in terms):
        contrast = option("contrast", EXAMPLES["contrast"], CODE["contrast"])
        raise ParameterError(f"{one.title}: a combination is a plain sum", hint=f"for factors take {contrast}")
    factors = _vector(terms, places, k)
    if (factors > 1).any():
        raise LabelError(f"{one.title}: a category is counted twice", hint="name each category once")
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
            raise LabelError(f"{one.title}: a category and a group have the same name", hint="rename one of them")
        return Terms(one.name, "groups", of, groups={names[name]: factor for factor, name in terms})
    mixed = next((name for _, name in terms if name not in places), None)
    if mixed is not None:
        raise LabelError(f"{one.title}: {mixed!r} is a group, not a category", hint="compare categories, or groups")
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
    raise ParameterError(f"{one.title}: a ratio has two parts", hint=f"such as {example}")


def _readable(text: str, places: Places) -> bool:
    try:
        return bool(_parsed(text, places))
    except UnknownCategoryError:
        return False


def _in_brackets(terms: Sequence[tuple[float, str]]) -> str:
    return _words(terms) if len(terms) == 1 else f"({_words(terms)})"


def _words(terms: Sequence[tuple[float, str]]) -> str:
    """A sum as people write it.

    >>> _words([(1, "often"), (-0.5, "once")])
    'often - 0.5 once'
    """
    signs = ["- " if factor < 0 else "+ " for factor, _ in terms]
    sizes = ["" if abs(factor) == 1 else f"{Printed(abs(factor)):g} " for factor, _ in terms]
    said = " ".join(f"{sign}{size}{name}" for sign, size, (_, name) in zip(signs, sizes, terms, strict=True))
    return said.removeprefix("+ ")


def _terms(one: Asked, content: Any, places: Places, by_label: Mapping[Hashable, str]) -> list[tuple[float, str]]:
    """Factors and names of an expression, a list of labels, or labels with factors."""
    if isinstance(content, str) and content in places:
        return [(1.0, content)]
    if isinstance(content, str):
        terms = _parsed(content, places, one)
    else:
        pairs = content.items() if isinstance(content, Mapping) else [(label, 1) for label in _labels(content)]
        terms = [
            (float(as_fraction(factor, one.name)), _found(label, places, by_label, one)) for label, factor in pairs
        ]
    if not terms:
        raise ParameterError(f"{one.title} has no categories", hint=f"its categories: {_known(places)}")
    return terms


def _labels(content: Any) -> list[Any]:
    if isinstance(content, list | tuple | set | frozenset):
        return list(content)
    return [content]


def _found(label: Any, places: Places, by_label: Mapping[Hashable, str], one: Asked) -> str:
    name = by_label.get(label, _text(label))
    if name not in places:
        raise _unknown(name, places, one)
    return name


def _parsed(text: str, places: Places, one: Asked | None = None) -> list[tuple[float, str]]:
    """Factors and names of ``often - 0.5*once``; commas are plus signs.

    >>> _parsed("often - 0.5*once, never", dict.fromkeys(["never", "once", "often"], ()))
    [(1.0, 'often'), (-0.5, 'once'), (1.0, 'never')]
    """
    names, rest, terms = sorted(places, key=len, reverse=True), text.strip(), []
    while rest:
        sign, rest = (-1.0 if rest[0] == "-" else 1.0, rest[1:].lstrip()) if rest[0] in "+-," else (1.0, rest)
        factor = _FACTOR.match(rest)
        rest = rest if factor is None else rest[factor.end() :]
        name = next((name for name in names if _starts(rest, name)), None)
        if name is None:
            raise _unknown(re.split(r"\s*[+,/-]", rest)[0].strip('" '), places, one)
        rest = rest[len(name) + (2 if rest.startswith('"') and not name.startswith('"') else 0) :].lstrip()
        terms.append((sign * (1.0 if factor is None else float(as_fraction(factor[1], "factor"))), name))
    return terms


def _starts(text: str, name: str) -> bool:
    """Whether a name stands at the beginning, bare or in quotes, and ends there."""
    if text.startswith(f'"{name}"'):
        return True
    return text.startswith(name) and (len(text) == len(name) or text[len(name)] in " +-,/")


def _unknown(name: str, places: Places, one: Asked | None) -> UnknownCategoryError:
    title = "" if one is None else f"{one.title}: "
    return UnknownCategoryError(f"{title}no category {name[:40]!r}", hint=f"known: {_known(places)}")


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


def labels_of(assignments: Sequence[Assignment]) -> Sequence[Hashable] | None:
    """The categories of one question, which are known before its rows are read; None for several."""
    if len({one.columns for one in assignments}) > 1:
        return None
    design = assignments[0].design
    place, labels = design.wanted_place, design.inputs.labels
    if place is None:
        return labels
    return [*dict.fromkeys(label[place] for label in labels if isinstance(label, tuple))]


def check_asked(asked: Sequence[Asked], assignments: Sequence[Assignment], by: Sequence[str]) -> None:
    """Raise for labels that are none, before any row is read; contrasts may be between domains, which rows tell."""
    labels = labels_of(assignments)
    if labels is not None:
        QuantityTerms.of([one for one in asked if one.what != "contrast" or not by], labels)


def sums_between(
    asked: Sequence[Asked], assignments: Sequence[Assignment], design: Design, domains: Sequence[Hashable]
) -> list[Mapping[Hashable, float]]:
    """The sums of domains that were asked for, with the factor of each; ``design`` is that of all columns together."""
    contrasts = [one for one in asked if one.what != "ratio"]
    if not domains or not contrasts:
        return []
    known = labels_of(assignments)
    terms = QuantityTerms.of(contrasts, design.inputs.labels if known is None else known, domains)
    return [one.groups for one in terms.groups if one.groups is not None]
