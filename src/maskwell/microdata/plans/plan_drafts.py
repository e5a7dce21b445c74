"""A first plan for a file: it works as it is, and says in comments what was guessed and what to look at."""

from __future__ import annotations

import re
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from shlex import quote
from textwrap import wrap

import numpy as np

from maskwell.core.arguments import check_option, list_of
from maskwell.core.cells import CellTable
from maskwell.core.exact import Number, check_probability, to_decimal
from maskwell.core.phrases import magnitude, one_line, shorten
from maskwell.core.verdicts import at_most
from maskwell.engines.cell_counts import MOST_LISTED
from maskwell.errors import PlanError
from maskwell.microdata.plans.plan_entries import write_entry, write_key
from maskwell.microdata.risk.intruders import ANY_LOOK, intruder_named

FEW = 30  # A column with at most so many labels can be randomized as it is
MANY = 100_000  # Beyond this, a column of categories has to be grouped before anything else
_WEIGHT = re.compile(r"weight|wgt|wght|^w$|^wt|^pw$|_wt$|gewicht|^pond", re.IGNORECASE)
_BODY = re.compile(r"^height|^bmi$|^birth", re.IGNORECASE)
_ID = re.compile(r"(^|_)id$|^id|[a-z]id$|uuid|serial|^pnr$|^hid$|record(no|nr)$|^[dhpr]b030$", re.IGNORECASE)
_NAME = re.compile(r"name|address|e_?mail|phone|street|postcode|zip|^ssn$|passport", re.IGNORECASE)
_KEY = re.compile(
    r"sex|gender|^age|age$|agegr|region|urb|rur|province|state|county|race|rac1|ethn|hisp|marit|marst|msp|civil"
    r"|nation|citizen|relat|educ|^edu|degree|occup|^job$|size|birth|hous",
    re.IGNORECASE,
)
_SENSITIVE = re.compile(
    r"income|salary|wage|earn|wealth|debt|asset|health|disab|disease|hiv|drug|alc|smok|abus|relig|vote|party|crim"
    r"|depress|benefit|poverty|pov|orient",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Guess:
    """What one column probably is."""

    # The column, records, different labels, and records without a value
    name: str
    n: int
    labels: int
    missing: int
    # "weights", "id", "drop" (names people), "few" (categories), "many" (too many of them), "numbers" or "constant"
    role: str
    # Whether the name is that of something an intruder may know, or of something nobody should learn
    key: bool
    sensitive: bool


def guess_column(table: CellTable, *, bodies: bool = False, unique: bool = False) -> Guess:
    """What a column probably is, from a table of it; beside the height of bodies, a weight is that of a body."""
    name = table.columns[0]
    labels = [label for label in table.levels[0] if label is not None]
    missing = sum(int(c) for label, c in zip(table.labels(), table.counts, strict=True) if label[0] is None)
    weights = not missing and bool(_WEIGHT.search(name)) and not (bodies and name.lower() == "weight")
    weights = weights and _are_numbers(labels) and all(_number(label) > 0 for label in labels)
    role = "weights" if weights else _role(name, labels, table.n, unique=unique)
    return Guess(name, table.n, len(labels), missing, role, bool(_KEY.search(name)), bool(_SENSITIVE.search(name)))


def _role(name: str, labels: Sequence[Hashable], n: int, *, unique: bool) -> str:
    k, numeric = len(labels), _are_numbers(labels)
    if k <= 1:
        return "constant"
    if (k == n or unique) and k > FEW:
        values = [_number(label) for label in labels] if numeric else []
        consecutive = numeric and not _has_fractions(labels) and max(values) - min(values) == k - 1
        if _ID.search(name) or consecutive:
            return "id"
    if k > FEW and (_ID.search(name) or (not numeric and (_NAME.search(name) or 2 * k > n))):
        return "drop"
    if k <= FEW:
        return "few"
    return "numbers" if numeric and k < MANY and (k > n / 50 or _has_fractions(labels)) else "many"


def _are_numbers(labels: Sequence[Hashable]) -> bool:
    try:
        return all(_number(label) == _number(label) for label in labels)
    except ValueError:
        return False


def _has_fractions(labels: Sequence[Hashable]) -> bool:
    return any(not _number(label).is_integer() for label in labels)


def _number(label: Hashable) -> float:
    if isinstance(label, bool) or not isinstance(label, int | float | str):
        raise ValueError(label)
    return float(label)


CLASSES = 5  # Classes that a recode of numbers is suggested with
MATCH = "0.5"
MIXING, INVERSE_FREQUENCY = "mixing", "inverse-frequency"
_MOST_KEYS = 6
_FEWEST_KEYS = 3
_RECORDS_PER_CELL = 4
_WIDTH = 100
_JOINED = "\u00a0"  # a space at which no line is broken


def starting_plan(
    tables: Iterable[CellTable],
    *,
    path: str = "FILE",
    plan: str = "plan.toml",
    telling: Mapping[str, str] | None = None,
    unique: Collection[str] = (),
    others: Sequence[str] = (),
    unit: tuple[str, str] | None = None,
    keys: Collection[str] = (),
    match: Number = MATCH,
    method: str = MIXING,
    intruder: str = ANY_LOOK.name,
) -> str:
    """The text of a plan for a file, from the counts of each column; each guess is marked in a comment.

    ``telling`` columns, with the reason in words, and ``others`` are not published; ``unique`` ones differ in every
    record; ``unit`` is a column that may name households, and why. Keys are guessed where none are given: columns of
    few categories with usual names, as long as there are some four records for each combination.
    """
    bound = check_probability(match, "match", open_=True)
    counted = [*tables]
    bodies = any(_BODY.search(table.columns[0]) for table in counted)
    guesses = [guess_column(table, bodies=bodies, unique=table.columns[0] in unique) for table in counted]
    named = list_of(str, keys, "keys")
    for name in named:
        check_option("keys", name, [guess.name for guess in guesses])
    keys = [*dict.fromkeys(named)] or choose_keys(guesses)
    if not keys:
        raise PlanError("no-column-of-has-between-2", path=shorten(path), few=FEW)
    sensitive = [g.name for g in guesses if g.sensitive and g.role == "few" and g.name not in keys]
    lacking = any(table.columns[0] in keys and None in table.levels[0] for table in counted)
    left_out, original = telling or {}, guesses
    guesses = [replace(g, role="drop") if g.name in left_out and g.role in _PUBLISHED else g for g in guesses]
    release = _release(
        guesses, keys, [name for name in sensitive if name not in left_out], others, bound, missing=lacking
    )
    why = intruder_named(intruder).comment
    release += _commented(write_entry("intruder", intruder), why) + "\n" if why else ""
    release += _unit(*unit) if unit is not None else ""
    parts = [_head(path, plan), release, _columns(guesses, keys, left_out, others)]
    how = f'method = "{method}"  # rare combinations are mixed with {_MIXED[method]}'
    parts.append("\n".join(["[[protect]]", write_entry("variables", [*keys]), how]) + "\n")
    parts += [_example(sensitive[0])] if sensitive else []
    parts += [*_recodes(counted, original, left_out, keys)]
    return "\n".join(parts)


def choose_keys(guesses: Sequence[Guess]) -> list[str]:
    """Columns that an intruder may know: few enough that the records still spread over their combinations."""
    few = sorted((g for g in guesses if g.role == "few"), key=lambda g: (not g.key, g.labels))
    chosen: list[str] = []
    cells = 1
    for guess in few:
        wanted = guess.key or len(chosen) < _FEWEST_KEYS
        fits = not chosen or cells * guess.labels * _RECORDS_PER_CELL <= guess.n
        if wanted and fits and len(chosen) < _MOST_KEYS:
            chosen.append(guess.name)
            cells *= guess.labels
    return [guess.name for guess in guesses if guess.name in chosen]


def _head(path: str, plan: str) -> str:
    name, plan = one_line(Path(path).name), one_line(plan)  # a comment ends with its line
    return (
        f"# A first plan for {shorten(name, 70)}\n"
        "# It works as it is. What was guessed has a question mark: read it, change it, and look at what it\n"
        "# does before anything is written:\n"
        "#\n"
        f"#   maskwell release {quote(name)} --plan {quote(plan)} --dry-run\n"
        f"#   maskwell release {quote(name)} --plan {quote(plan)} -o released\n"
    )


def _release(
    guesses: Sequence[Guess],
    keys: Sequence[str],
    sensitive: Sequence[str],
    others: Sequence[str],
    match: Fraction,
    *,
    missing: bool,
) -> str:
    def named(role: str) -> list[str]:
        return [guess.name for guess in guesses if guess.role == role and guess.name not in keys]

    weights, ids, drop = named("weights"), named("id"), named("drop")
    lines: list[tuple[str, str | list[str], str]] = [
        ("keys", [*keys], "what an intruder may know of a person: is this all?")
    ]
    lines += [("sensitive", [*sensitive], "what nobody should learn: is it?")] if sensitive else []
    more = f" ({', '.join(weights[1:])} could be too)" if len(weights) > 1 else ""
    lines += [("weights", weights[0], f"survey weights?{more}")] if weights else []
    lines += [("id", ids[0], "names the records; is not published")] if ids else []
    drop += [*ids[1:], *others]
    lines += [("drop", drop, "not published: the reasons are below")] if drop else []
    policy = "category" if missing else "unchanged"
    lines += [("missing", policy, _MISSING[policy])]
    written_lines = [_commented(write_entry(key, value), comment) for key, value, comment in lines]
    bound = write_entry("match", to_decimal(match))
    written_lines.append(_commented(bound, "no record may be matched correctly with a chance above this"))
    return "\n".join(["[release]", *written_lines]) + "\n"


_MISSING = {
    "unchanged": 'missing values stay; "category" treats them like the others',
    "category": 'keys have missing values, which are a category like others; "unchanged" would leave them open',
}


def _commented(entry: str, comment: str) -> str:
    """An entry and its comment: beside it where both fit a line, else above it."""
    beside = f"{entry}  # {comment}"
    return beside if len(beside) <= _WIDTH else f"# {comment}\n{entry}"


def _columns(guesses: Sequence[Guess], keys: Sequence[str], telling: Mapping[str, str], others: Sequence[str]) -> str:
    """What becomes of the columns that are not randomized, those of a kind together."""
    left = [guess for guess in guesses if guess.name not in keys and guess.name not in telling]
    kinds: dict[str, list[str]] = {}
    for guess in left:
        vast = guess.role == "many" and guess.labels >= MANY
        kinds.setdefault(_VAST if vast else _ADVICE[guess.role], []).append(_sized(guess))
    parts = ["# The other columns stay as they are, or are not published."]
    for advice, names in kinds.items():
        parts += ["#", *_wrapped(f"{advice}: {', '.join(names)}")]
    if others:
        parts += ["#", *_wrapped(f"{_OTHERS}: {', '.join(shorten(one_line(name), 30) for name in others)}")]
    if telling:
        parts += [
            "#",
            *_wrapped(_TELLING),
            *(line for words in telling.values() for line in _wrapped(f"  {one_line(words)}")),
        ]
    return "\n".join(parts).replace(_JOINED, " ") + "\n" if left or telling or others else ""


def _wrapped(text: str) -> list[str]:
    return wrap(text, _WIDTH, initial_indent="# ", subsequent_indent="#   ")


def _sized(guess: Guess) -> str:
    more = f"{_JOINED}or{_JOINED}more" if guess.labels >= MOST_LISTED else ""
    return f"{shorten(one_line(guess.name), 30)}{_JOINED}({guess.labels:,}{more})"


_VAST = "Too many categories to randomize; group them (100 are plenty), or drop the column"
_PUBLISHED = ("weights", "few", "many", "numbers", "constant")
_TELLING = "Not published, because they would undo the protection; publish them once they are coarser, or accept them:"
_OTHERS = "Neither texts nor numbers nor dates, so that nothing can be said of what they give away; not published"
_ADVICE = {
    "weights": "Survey weights; where a weight belongs to one category only, it gives the category away",
    "id": "Different for every record; not published",
    "drop": "Could name a person or a household; not published",
    "few": "Few categories; add to the keys what an intruder may know",
    "many": "Many categories; to randomize them, group them, or work within the cells of another column",
    "numbers": "Numbers; where they could tell who it is, group them into classes first",
    "constant": "The same for every record",
}


def _unit(column: str, why: str) -> str:
    """A suggestion: whose records belong together is for a person to say."""
    asked = f"{one_line(why)}: a household? If so, take the sign off; the risk of whole households is told, too:"
    return "\n".join([*_wrapped(asked), f"# {write_entry('unit', column)}"]) + "\n"


def _recodes(
    tables: Sequence[CellTable], guesses: Sequence[Guess], telling: Collection[str], keys: Collection[str]
) -> Iterator[str]:
    """Recodes to take the signs off: classes of numbers that people know of each other, and weights that tell."""
    for table, guess in zip(tables, guesses, strict=True):
        if guess.role == "weights" and guess.name in telling:
            yield _suggested(_ROUNDED, guess, f"round = {to_decimal(_rounding(min(_numbers(table))))}")
        is_known = (guess.key and guess.name not in telling) or guess.name in keys
        known = is_known and guess.role in ("many", "numbers")
        if known and (numbers := _numbers(table)) and (cuts := _cuts(numbers)):
            why = _FINE if guess.name in keys else _CLASSES
            yield _suggested(why, guess, f"cuts = [{', '.join(map(to_decimal, cuts))}]")


_ROUNDED = (
    "Users need weights to speak of the population. Rounded ones tell less: to publish them, take {name} out of drop,"
    " name it in weights, take the signs off these lines and look at the dry run:"
)
_CLASSES = (
    "People may know {name} of each other, too. To protect it in classes, add it to keys and to variables, and take"
    " the signs off these lines:"
)
_FINE = (
    "{name} has many values, and the rarer they are the more records change. To see what classes would save, take the"
    " signs off these lines and look at the dry run:"
)


def _suggested(why: str, guess: Guess, entry: str) -> str:
    lines = f"[recode.{write_key(guess.name)}]", entry
    told = why.format(name=f'"{shorten(one_line(guess.name), 30)}"')
    return "\n".join([*_wrapped(told), *(f"# {line}" for line in lines)]) + "\n"


def _numbers(table: CellTable) -> dict[float, int]:
    """How many records have each number; empty where the column holds something else."""
    counts: dict[float, int] = {}
    for (label,), n in zip(table.labels(), table.counts.tolist(), strict=True):
        if label is not None:
            try:
                number = _number(label)
            except ValueError:
                return {}
            counts[number] = counts.get(number, 0) + int(n)
    return counts


def _step(numbers: Collection[float]) -> Fraction:
    """A round number of which some twenty span the numbers: 5 for ages."""
    spread = max(numbers) - min(numbers)
    return Fraction(10) ** magnitude(spread / 2) / 2


def _rounding(least: float) -> Fraction:
    """The largest of the numbers 1, 2, 5, 10, 20 and so on by which no weight is rounded to nothing."""
    power = Fraction(10) ** magnitude(2 * least)
    return max(power * digit for digit in (1, 2, 5) if at_most(power * digit, 2 * least))


def _cuts(numbers: Mapping[float, int]) -> list[Fraction]:
    """Where classes of about equally many records could begin, as round numbers."""
    ordered, step = sorted(numbers), _step(numbers)
    reached = np.cumsum([numbers[x] for x in ordered])
    places = np.searchsorted(reached, [reached[-1] * part / CLASSES for part in range(1, CLASSES)])
    cuts = {step * round(Fraction(ordered[place]) / step) for place in places}
    return sorted(cut for cut in cuts if ordered[0] < cut <= ordered[-1])


def _example(sensitive: str) -> str:
    lines = ["[[protect]]", write_entry("variables", [sensitive]), 'method = "sequential"', "strength = 0.3"]
    return (
        "\n".join(["# To randomize a sensitive value too, take the signs off these lines:", *(f"# {x}" for x in lines)])
        + "\n"
    )


_MIXED = {
    MIXING: "each other, as much as match asks for",
    INVERSE_FREQUENCY: "others of their kind, as much as match asks for",
}
