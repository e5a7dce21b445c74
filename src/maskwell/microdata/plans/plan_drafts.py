"""A first plan for a file: it works as it is, and says in comments what was guessed and what to look at."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from shlex import quote
from textwrap import wrap
from typing import Any

from maskwell.core.arguments import check_option, list_of
from maskwell.core.cells import CellTable
from maskwell.core.exact import Number, check_probability, to_decimal
from maskwell.core.percentages import tenths
from maskwell.core.phrases import Printed, in_toml, magnitude, one_line, shorten
from maskwell.core.verdicts import at_most
from maskwell.engines.cell_counts import MOST_LISTED
from maskwell.errors import ParameterError, PlanError
from maskwell.microdata.plans.column_guesses import (
    FEW,
    MANY,
    TOPICS,
    Guess,
    guess_column,
    has_words,
    names_a_body,
    parts_of,
)
from maskwell.microdata.plans.key_choice import (
    Choice,
    Form,
    candidates_of,
    choose_keys,
    coarser_forms,
    named_keys,
    numbers_by_count,
)
from maskwell.microdata.plans.plan_entries import write_entry, write_key
from maskwell.microdata.plans.recodes import recode_contents
from maskwell.microdata.records.recoding import Recode
from maskwell.microdata.risk.intruders import ANY_LOOK, intruder_named

MATCH = Fraction(1, 2)
MIXING, INVERSE_FREQUENCY = "mixing", "inverse-frequency"
_WIDTH = 100
_MOST_SENSITIVE = 100  # values of a column that is named as sensitive: the report has a table of them
_JOINED = "\u00a0"  # a space at which no line is broken


@dataclass(frozen=True, kw_only=True)
class Findings:
    """What was measured in a file for its first plan.

    Attributes
    ----------
    revealing
        Columns that would identify records or reveal the keys, and what, in words. They are not published.
    coarser
        Of these, the form that would not, or None where no form was found.
    unique
        Columns that are known to be different in every record; tables of very long columns do not show it.
    others
        Columns that hold neither texts nor numbers nor dates, such as lists. They are not published.
    unit
        A column that may name households or other units, and why in words. The plan suggests it in a comment.
    """

    revealing: Mapping[str, str] = field(default_factory=dict)
    coarser: Mapping[str, Form | None] = field(default_factory=dict)
    unique: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    unit: tuple[str, str] | None = None


def limit_of(match: Number | None, k: Any, default: Fraction | None = MATCH) -> Fraction | None:
    """A limit from one of its two names: the largest probability of a correct match, or the k of which it is 1/k."""
    if k is None:
        return default if match is None else check_probability(match, "match", open_=True)
    if match is not None:
        raise ParameterError("match-and-k")
    if isinstance(k, bool) or not isinstance(k, int) or k < 2:
        raise ParameterError("k-must-be-2-or-more", name="k", k=shorten(repr(k), 20))
    return Fraction(1, k)


def guess_columns(tables: Sequence[CellTable], unique: Collection[str] = ()) -> list[Guess]:
    """What the columns of a file probably are, from a table of each."""
    bodies = any(names_a_body(table.columns[0]) for table in tables)
    return [guess_column(table, bodies=bodies, unique=table.columns[0] in unique) for table in tables]


def starting_plan(
    tables: Iterable[CellTable],
    *,
    path: str = "FILE",
    plan: str = "plan.toml",
    findings: Findings | None = None,
    keys: Collection[str] = (),
    choice: Choice | None = None,
    match: Number | None = None,
    k: int | None = None,
    method: str = MIXING,
    intruder: str = ANY_LOOK.name,
) -> str:
    """The text of a plan for a file.

    The keys are the columns whose names or labels are those of things that people know about each other, in the finest
    usual form in which few records are unique on them; they are randomized together. Every guess is marked in a
    comment.

    Parameters
    ----------
    tables
        The counts of each column of the file, one column a table.
    path, plan
        What the file and the plan are called.
    findings
        What was measured in the file.
    keys
        What an intruder may know, where that is known; guessed otherwise.
    choice
        The keys where their combinations were counted.
    match, k
        The largest probability of a correct match, 1/2 by default, or the k of which it is 1/k.
    method, intruder
        The method that reaches it, and the intruder model.

    >>> sex = CellTable.of(["sex"], {("f",): 50, ("m",): 50})
    >>> region = CellTable.of(["region"], {("north",): 70, ("south",): 30})
    >>> print(starting_plan([sex, region], path="people.csv").split("[[protect]]")[1])
    <BLANKLINE>
    variables = ["region", "sex"]
    method = "mixing"  # rare combinations are mixed with each other, as much as match asks for
    <BLANKLINE>
    """
    counted = list_of(CellTable, tables, "tables")
    check_option("method", method, tuple(_MIXED))
    limit, found = limit_of(match, k) or MATCH, findings or Findings()
    guesses = guess_columns(counted, found.unique)
    named = list_of(str, keys, "keys")
    for name in named:
        check_option("keys", name, [guess.name for guess in guesses])
    if choice is None:
        rows = guesses[0].n if guesses else 0
        choice = (
            named_keys([*dict.fromkeys(named)]) if named else choose_keys(candidates_of(counted, guesses), None, rows)
        )
    if not choice.forms:
        raise PlanError("no-column-of-has-between-2", path=shorten(path), few=FEW)
    draft = _Draft(counted, guesses, choice, found, named=bool(named))
    return "\n".join([_head(path, plan), draft.release(limit, k, intruder), *draft.below(method)])


class _Draft:
    """The text of a plan, part by part."""

    def __init__(
        self, tables: Sequence[CellTable], guesses: Sequence[Guess], choice: Choice, found: Findings, *, named: bool
    ) -> None:
        self.tables, self.guesses, self.choice, self.found, self.named = tables, guesses, choice, found, named
        self.of = {guess.name: guess for guess in guesses}
        self.keys = [*choice.forms]
        free = [guess for guess in guesses if guess.name not in choice.forms]
        revealing = found.revealing
        self.weights = sorted((one for one in free if one.role == "weights"), key=_best_weights)
        self.published_weights = [one for one in self.weights if one.name not in revealing]
        self.ids = sorted((one for one in free if one.role == "id"), key=_best_id)
        hidden = [one.name for one in free if one.role == "drop"] + [one.name for one in self.ids[1:]]
        refused = [one.name for one in free if one.role in _PUBLISHED and one.name in revealing]
        self.drop = [*hidden, *refused, *found.others]
        self.left = [one for one in free if one.name not in refused]
        self.sensitive = [
            one.name for one in self.left if one.sensitive and one.labels <= _MOST_SENSITIVE and one.role in _PUBLISHED
        ]

    # ---- the table [release]

    def release(self, limit: Fraction, k: int | None, intruder: str) -> str:
        """The settings of the release, each with its comment."""
        lines = [*self._keys()]
        if self.sensitive:
            lines.append(_commented(write_entry("sensitive", self.sensitive), "sensitive columns: are these all?"))
        if self.published_weights:
            lines += [*_wrapped(self._weights_guessed()), write_entry("weights", self.published_weights[0].name)]
        if self.ids:
            lines += [*_wrapped(self._ids_guessed()), write_entry("id", self.ids[0].name)]
        if self.drop:
            lines += ["# not published: the reasons, and what to publish instead, are below", "drop = ["]
            lines += [*(f"    {in_toml(name)}," for name in self.drop), "]"]
        missing = any(table.columns[0] in self.keys and None in table.levels[0] for table in self.tables)
        policy = "category" if missing else "unchanged"
        lines.append(_commented(write_entry("missing", policy), _MISSING[policy]))
        lines.append(_limit_written(limit, k))
        why = intruder_named(intruder).comment
        lines += [_commented(write_entry("intruder", intruder), why)] if why else []
        if self.found.unit is not None:
            column, reason = self.found.unit
            asked = f"households? {one_line(reason)}; if so, uncomment this line to see the risk of whole households:"
            lines += [*_wrapped(asked), f"# {write_entry('unit', column)}"]
        return "\n".join(["[release]", *lines]).replace(_JOINED, " ") + "\n"

    def _keys(self) -> Iterator[str]:
        if self.named:
            yield "# key variables, as they were named: what an intruder may know about a person"
        else:
            yield "# key variables: what an intruder may know about a person; are these right, and are these all?"
            reasons: dict[str, list[str]] = {}
            for name, form in self.choice.forms.items():
                guess = self.of[name]
                reason = f"{TOPICS[guess.topic]}, by {guess.why}" if guess.topic else _FILLED
                size = f"{guess.labels:,} values{f', {form.words}' if form.words else ''}"
                reasons.setdefault(reason, []).append(f"{_short(name)} ({size})")
            for reason, names in reasons.items():
                yield from _wrapped(f"  {', '.join(names)}: {reason}")
        yield write_entry("keys", self.keys)
        if self.choice.unique is not None:
            yield f"# {tenths(self.choice.unique, up=False)} of the records are unique on them".replace(_JOINED, " ")
        left = [
            f"{_short(name)} ({tenths(share, up=False)})"
            for name, share in self.choice.left.items()
            if name not in self.drop
        ]
        if left:
            yield from _wrapped(f"{_LEFT}: {', '.join(left).replace(' ', _JOINED).replace(',' + _JOINED, ', ')}")

    def _weights_guessed(self) -> str:
        best, *rest = self.published_weights
        said = f"survey weights? {_short(best.name)}, by its name; {_range(best)}"
        others = [f"{_short(one.name)} ({_range(one)}{', of households' * one.of_units})" for one in rest]
        zeros = [one for one in self.left if one.named_weights and one.role != "weights" and one.spread]
        others += [f"{_short(one.name)} ({_range(one)}: weights must be above 0)" for one in zeros]
        return said + (f"; also named like weights: {', '.join(others)}" if others else "")

    def _ids_guessed(self) -> str:
        best, *rest = self.ids
        others = f"; so are {', '.join(_short(one.name) for one in rest)}" if rest else ""
        return f"record ids? {_short(best.name)} is different in every record{others}; not published"

    # ---- what follows it

    def below(self, method: str) -> Iterator[str]:
        """The other columns, recodes of keys, the protection, and lines to uncomment."""
        yield from filter(None, [self._others()])
        for name, form in self.choice.forms.items():
            if form.recode is not None:
                yield "\n".join([*_wrapped(self._recode_reason(name, form)), *_recode_lines(name, form.recode)]) + "\n"
        how = f'method = "{method}"  # rare combinations are mixed with {_MIXED[method]}'
        yield "\n".join(["[[protect]]", write_entry("variables", self.keys), how]) + "\n"
        if self.sensitive:
            yield _example(self.sensitive[0])
        for table, guess in zip(self.tables, self.guesses, strict=True):
            yield from self._alternatives(table, guess)

    def _recode_reason(self, name: str, form: Form) -> str:
        if form.recode is not None and form.recode.step is not None:
            return f"{_short(name)}: {form.words}"
        ordered = self.of[name].topic in ("age", None) or has_words(name, "amount")
        codes = bool(form.recode and form.recode.cuts) and not ordered
        together = "; do neighbouring codes belong together?" if codes else "?"
        return f"{_short(name)} {form.words}{together} Finer forms make more records unique."

    def _others(self) -> str:
        """What becomes of the columns that are not randomized, those of a kind together."""
        kinds: dict[str, list[str]] = {}
        for guess in self.left:
            vast = guess.role == "many" and guess.labels >= MANY
            kinds.setdefault(_VAST if vast else _ADVICE[guess.role], []).append(_sized(guess))
        parts = ["# The other columns are published unchanged, except ids and those in drop."]
        for advice, names in kinds.items():
            parts += ["#", *_wrapped(f"{advice}: {', '.join(names)}")]
        revealed = [words for name, words in self.found.revealing.items() if self.of[name].role not in _PUBLISHED]
        if revealed:
            parts += ["#", *_wrapped(_IDENTIFYING)]
            parts += [line for words in revealed for line in _wrapped(f"  {one_line(words)}")]
        if self.found.others:
            parts += ["#", *_wrapped(f"{_OTHERS}: {', '.join(_short(name) for name in self.found.others)}")]
        return "\n".join(parts).replace(_JOINED, " ") + "\n" if len(parts) > 1 or self.drop else ""

    def _alternatives(self, table: CellTable, guess: Guess) -> Iterator[str]:
        """What can be published in place of a dropped column, and coarser forms of others, as lines to uncomment."""
        name, revealed = guess.name, self.found.revealing.get(guess.name)
        if revealed is not None and guess.role in _PUBLISHED and name not in self.keys:
            yield self._instead(table, guess, revealed)
        elif guess.role in ("many", "numbers", "few") and name not in self.choice.forms and guess.key:
            form = next(coarser_forms(guess, table), None) if guess.role != "few" else None
            if form is not None and form.recode is not None:
                yield _suggested(_CLASSES, name, form.recode)
        elif self.named and name in self.keys and guess.role in ("many", "numbers"):
            form = next(coarser_forms(guess, table), None)
            if form is not None and form.recode is not None:
                yield _suggested(_FINE, name, form.recode)

    def _instead(self, table: CellTable, guess: Guess, revealed: str) -> str:
        name, why = guess.name, one_line(revealed)
        form = self.found.coarser.get(name)
        if guess.role == "weights":
            rounded = form or next(forms_to_publish(guess, table))
            assert rounded.recode is not None
            return _suggested(f"{why}. {_ROUNDED}", name, rounded.recode)
        if form is not None and form.recode is not None:
            return _suggested(f"{why}. {_INSTEAD.format(name='{name}', words=form.words)}", name, form.recode)
        coarse = [*forms_to_publish(guess, table)]
        if name in self.found.coarser and coarse and coarse[-1].recode is not None:
            return _suggested(f"{why}. {_STILL}", name, coarse[-1].recode)
        if coarse and coarse[0].recode is not None:
            return _suggested(f"{why}. {_INSTEAD.format(name='{name}', words=coarse[0].words)}", name, coarse[0].recode)
        return "\n".join(_wrapped(f"{why}. {_NO_FORM.format(name=chr(34) + _short(name) + chr(34))}")) + "\n"


def forms_to_publish(guess: Guess, table: CellTable) -> Iterator[Form]:
    """Coarser forms in which a column may be published that as it is reveals too much."""
    numbers = numbers_by_count(table)
    if guess.role != "weights":
        yield from coarser_forms(guess, table)
    elif numbers:
        yield Form(Recode(step=_rounding(min(numbers))), "rounded")


_MISSING = {
    "unchanged": 'missing values stay; "category" treats them like the others',
    "category": 'keys have missing values, which become a category; "unchanged" would leave such records unprotected',
}
_FILLED = "chosen by its values, not by its name: it makes the most records unique"
_LEFT = (
    "An intruder may know these, too. They are left out because too many records would be unique with one of them (the"
    " share is in brackets), or because a key follows from them. They are published as they are, and the limit does not"
    " count on anybody knowing them: drop or coarsen those that an intruder may know"
)
_PUBLISHED = ("weights", "few", "many", "numbers", "constant")
_VAST = "Too many categories to randomize; group them (100 are plenty), or drop the column"
_IDENTIFYING = "What the columns that could identify somebody would reveal:"
_OTHERS = "Neither texts nor numbers nor dates, so that what they reveal is unknown; not published"
_ADVICE = {
    "weights": "Survey weights; a weight that belongs to one category only reveals that category",
    "id": "Different in every record; not published",
    "drop": "Could name a person or a household; not published, and no coarser form is safe",
    "few": "Few categories; add to keys what an intruder may know",
    "many": "Many categories; to randomize them, group them, or work within the cells of another column",
    "numbers": "Numbers; where they could identify somebody, group them into classes",
    "constant": "The same in every record",
}
_OUT = "delete its line in drop, and uncomment these lines:"
_INSTEAD = "To publish {name} {words}, " + _OUT
_STILL = (
    "Coarser forms reveal that, too. To publish {name}, randomize it with the keys: delete its line in drop, add"
    " it to keys and to variables, and uncomment these lines:"
)
_NO_FORM = "To publish {name}, group its values in the file first, or add it to keys and to variables."
_ROUNDED = (
    "Users need weights for estimates of the population, and rounded weights reveal less. To publish them, delete"
    " the line of {name} in drop, name it in weights, uncomment these lines, and look at the dry run:"
)
_CLASSES = (
    "An intruder may know {name}, too. To protect it in a coarser form, add it to keys and to variables, and uncomment"
    " these lines:"
)
_FINE = (
    "{name} has many values: the rarer they are, the more records change. To see what classes save, uncomment these"
    " lines and look at the dry run:"
)
_MIXED = {
    MIXING: "each other, as much as match asks for",
    INVERSE_FREQUENCY: "others of their kind, as much as match asks for",
}


def _head(path: str, plan: str) -> str:
    name, plan = one_line(Path(path).name), one_line(plan)  # a comment ends with its line
    return (
        f"# A starter plan for {shorten(name, 70)}\n"
        "# It works as it is. Every guess is explained in a comment: check it, change it, and see what\n"
        "# the plan does before anything is written:\n"
        "#\n"
        f"#   maskwell release {quote(name)} --plan {quote(plan)} --dry-run\n"
        f"#   maskwell release {quote(name)} --plan {quote(plan)} -o released\n"
    )


def _limit_written(limit: Fraction, k: int | None) -> str:
    said = f"no record may be matched correctly with a probability above {to_decimal(limit)}"
    if k is not None:
        return _commented(write_entry("k", k), f"match = 1/{k}: {said}")
    same = f" (or k = {limit.denominator})" if limit.numerator == 1 else ""
    return _commented(write_entry("match", to_decimal(limit)), said + same)


def _best_weights(one: Guess) -> tuple[bool, bool, int, str]:
    """Weights of persons before those of households, different ones before equal ones."""
    return one.of_units, one.labels == 1, -one.labels, one.name


def _best_id(one: Guess) -> tuple[bool, bool, int, str]:
    """Ids of persons before those of households, those called so before others, short names first."""
    return one.of_units, not {"id", "pid"} & {*parts_of(one.name)}, len(one.name), one.name


def _range(guess: Guess) -> str:
    low, high = guess.spread or (0.0, 0.0)
    return (
        f"always {Printed(low):g}"
        if low == high
        else f"{guess.labels:,} values from {Printed(low):g} to {Printed(high):g}"
    )


def _commented(entry: str, comment: str) -> str:
    """An entry and its comment: beside it where both fit a line, else above it."""
    beside = f"{entry}  # {comment}"
    return beside if len(beside) <= _WIDTH else "\n".join([*_wrapped(comment), entry])


def _wrapped(text: str) -> list[str]:
    return wrap(text, _WIDTH, initial_indent="# ", subsequent_indent="#   ")


def _short(name: str) -> str:
    return shorten(one_line(name), 30)


def _sized(guess: Guess) -> str:
    more = f"{_JOINED}or{_JOINED}more" if guess.labels >= MOST_LISTED else ""
    return f"{_short(guess.name)}{_JOINED}({guess.labels:,}{more})"


def _recode_lines(name: str, recode: Recode) -> list[str]:
    """A recode as a plan has it; groups have a line for each label."""
    contents = recode_contents(recode)
    groups = contents.pop("group", {})
    cuts = [f"cuts = [{', '.join(contents.pop('cuts'))}]"] if recode.cuts else []
    head = f"[recode.{write_key(name)}"
    lines = [f"{head}]", *cuts, *(write_entry(key, value) for key, value in contents.items())]
    return [*lines, *([f"{head}.group]"] if groups else []), *(write_entry(new, old) for new, old in groups.items())]


def _suggested(why: str, name: str, recode: Recode) -> str:
    said = why.replace("{name}", f'"{_short(name)}"')
    return (
        "\n".join([*_wrapped(said), *(f"# {line}" for line in _recode_lines(name, recode))]).replace(_JOINED, " ")
        + "\n"
    )


def _rounding(least: float) -> Fraction:
    """The largest of the numbers 1, 2, 5, 10, 20 and so on by which no weight is rounded to nothing."""
    power = Fraction(10) ** magnitude(2 * least)
    return max(power * digit for digit in (1, 2, 5) if at_most(power * digit, 2 * least))


def _example(sensitive: str) -> str:
    lines = ["[[protect]]", write_entry("variables", [sensitive]), 'method = "sequential"', "strength = 0.3"]
    said = "# To randomize a sensitive value too, uncomment these lines:"
    return "\n".join([said, *(f"# {x}" for x in lines)]) + "\n"
