"""A first plan for a file: works as it is, and says in comments what was guessed and what to look at."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from shlex import quote
from textwrap import wrap

from maskwell.core.arguments import check_kind, list_of
from maskwell.core.cell_table import CellTable
from maskwell.core.escaping import one_line
from maskwell.core.phrases import shorten
from maskwell.engines.cell_counts import MOST_LISTED
from maskwell.errors import PlanError
from maskwell.release.plans.column_guesses import FEW, MANY, Guess, guess_columns
from maskwell.release.plans.plan_text import write_entry

MATCH = "0.5"
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
    others: Collection[str] = (),
) -> str:
    """The text of a plan for a file.

    The keys are the columns of few categories whose names are those of things that people know about each other, as
    long as there are some four records for each combination; they are randomized together, so that no record can be
    matched with a chance above one half. Everything that was guessed is said in a comment.

    Parameters
    ----------
    tables
        The counts of each column of the file, one column a table.
    path, plan
        What the file and the plan are called.
    telling
        Columns that would identify records or give the keys away, with what they give away in words. They are not
        published.
    unique
        Columns that are known to be different for every record; tables of very long columns do not tell.
    others
        Columns that hold neither texts nor numbers nor dates, such as lists. They are not published.

    >>> sex = CellTable.of(["sex"], {("f",): 50, ("m",): 50})
    >>> region = CellTable.of(["region"], {("north",): 70, ("south",): 30})
    >>> print(starting_plan([sex, region], path="people.csv").split("[[protect]]")[1])
    <BLANKLINE>
    variables = ["sex", "region"]
    method = "inverse-frequency"  # rare combinations are mixed with others of their kind
    xi = 0.5                      # no record is matched correctly with a chance above this
    <BLANKLINE>
    """
    tables = list_of(CellTable, tables, "tables")
    check_kind(str, path=path, plan=plan)
    check_kind(Mapping | None, telling=telling)
    unique, others = list_of(str, unique, "unique"), list_of(str, others, "others")
    counted = [*tables]
    guesses = guess_columns(counted, unique)
    keys = choose_keys(guesses)
    if not keys:
        raise PlanError(
            f"no column of {shorten(path)} has between 2 and {FEW} different values",
            hint="group values into classes first: nothing here can be randomized as it is",
        )
    sensitive = [g.name for g in guesses if g.sensitive and g.role == "few" and g.name not in keys]
    lacking = any(table.columns[0] in keys and None in table.levels[0] for table in counted)
    left_out = telling or {}
    guesses = [replace(g, role="drop") if g.name in left_out and g.role in _PUBLISHED else g for g in guesses]
    release = _release(guesses, keys, [name for name in sensitive if name not in left_out], others, missing=lacking)
    parts = [_head(path, plan), release, _columns(guesses, keys, left_out, others), _protect(keys)]
    parts += [_example(sensitive[0])] if sensitive else []
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
    guesses: Sequence[Guess], keys: Sequence[str], sensitive: Sequence[str], others: Sequence[str], *, missing: bool
) -> str:
    def named(role: str) -> list[str]:
        return [guess.name for guess in guesses if guess.role == role]

    weights, ids, drop = named("weights"), named("id"), named("drop")
    lines: list[tuple[str, str | list[str], str]] = [
        ("keys", [*keys], "what an intruder may know of a person: is this all?")
    ]
    lines += [("sensitive", [*sensitive], "what nobody should learn: is it?")] if sensitive else []
    lines += [("weights", weights[0], "survey weights?" + _others(weights))] if weights else []
    lines += [("id", ids[0], "names the records; is not published")] if ids else []
    drop += [*ids[1:], *others]
    lines += [("drop", drop, "not published: the reasons are below")] if drop else []
    policy = "category" if missing else "unchanged"
    lines += [("missing", policy, _MISSING[policy])]
    shown = [_commented(write_entry(key, value), comment) for key, value, comment in lines]
    shown.append(_commented(f"match = {MATCH}", "no record may be matched correctly with a chance above this"))
    return "\n".join(["[release]", *shown]) + "\n"


_MISSING = {
    "unchanged": 'missing values stay; "category" treats them like the others',
    "category": 'keys have missing values, which are a category like others; "unchanged" would leave them open',
}


def _others(names: Sequence[str]) -> str:
    return f" ({', '.join(names[1:])} could be too)" if len(names) > 1 else ""


def _commented(entry: str, comment: str) -> str:
    """An entry and its comment: beside it where both fit a line, else above it."""
    beside = f"{entry}  # {comment}"
    return beside if len(beside) <= _WIDTH else f"# {comment}\n{entry}"


def _columns(guesses: Sequence[Guess], keys: Sequence[str], telling: Mapping[str, str], others: Sequence[str]) -> str:
    """What becomes of the columns that are not randomized, those of a kind together."""
    left = [guess for guess in guesses if guess.name not in keys and guess.name not in telling]
    kinds = {advice: [_sized(guess) for guess in left if _advice(guess) == advice] for advice in map(_advice, left)}
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


def _advice(guess: Guess) -> str:
    if guess.role == "many" and guess.labels >= MANY:
        return "Too many categories to randomize; group them (100 are plenty), or drop the column"
    return _ADVICE[guess.role]


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


def _example(sensitive: str) -> str:
    lines = ["[[protect]]", write_entry("variables", [sensitive]), 'method = "sequential"', "strength = 0.3"]
    return (
        "\n".join(["# To randomize a sensitive value too, take the signs off these lines:", *(f"# {x}" for x in lines)])
        + "\n"
    )


def _protect(keys: Sequence[str]) -> str:
    method = _aligned('method = "inverse-frequency"', "rare combinations are mixed with others of their kind")
    xi = _aligned(f"xi = {MATCH}", "no record is matched correctly with a chance above this")
    return "\n".join(["[[protect]]", write_entry("variables", [*keys]), method, xi]) + "\n"


def _aligned(entry: str, comment: str) -> str:
    return f"{entry:<28}  # {comment}"
