"""Which design to take, as text for a terminal."""

from __future__ import annotations

import shlex
import textwrap
from collections.abc import Iterable

from maskwell.core.categories import Categories
from maskwell.designs.subset import Subset
from maskwell.planning.choice import Choice, Option
from maskwell.reports.tables import WIDTH, count, counted, facts, notes, number, table
from maskwell.reports.text import in_words, typed_labels

DOMINATED = "*"


def plan_text(choice: Choice, path: str | None, demand: str) -> list[str]:
    """What to take and what it costs; ``demand`` is how the demand was typed, ``path`` where the design was written."""
    lines = [*_broken(_answer(choice, path)), *facts(_facts(choice)), "", *table(*_table(choice)), *_legend(choice)]
    lines += [*notes(_remarks(choice)), *in_words(choice.design)]
    return [*lines, f"Next: {_following(choice, path, demand)}"]


def _broken(text: str, indent: str = "") -> list[str]:
    return textwrap.wrap(text, WIDTH, initial_indent=indent, subsequent_indent="  ")


def _answer(choice: Choice, path: str | None) -> str:
    written = "" if path is None else f", written to {path}"
    first = f"Take {choice.recommended.candidate.spoken} for {choice.demand.text}{written}"
    if choice.n is None:
        return f"{first}."
    give = "gives" if choice.n == 1 else "give"
    return f"{first}: {_counted(choice.n)} {give} shares within {number(choice.margin, 3)}."


def _facts(choice: Choice) -> list[tuple[str, str]]:
    shares = "equal shares" if choice.pi is None else f"shares {_shares(choice)}"
    level = "" if choice.n is None else f", {100 * choice.level:g} % intervals"
    shown = [
        ("why", choice.reason),
        ("parity", f"at most {number(float(choice.gamma))}"),
        ("planned for", f"{shares}{level}"),
    ]
    if choice.n is None:
        return shown
    worst, direct = (
        f"within {number(margin, 3)}; within {number(choice.margin, 3)} from {_counted(n)}"
        for margin, n in ((choice.worst_margin, choice.worst_n), (choice.direct_margin, choice.direct_n))
    )
    return [*shown, ("whatever the shares", worst), ("asked directly", f"{direct}, but without protection")]


def _counted(n: int | None) -> str:
    return counted(n or 0, "respondent", "respondents")


def _shares(choice: Choice) -> str:
    shares = [f"{float(p):.4g}" for p in choice.pi or ()]
    return ", ".join(shares if len(shares) <= 8 else [*shares[:7], "..."])


def _table(choice: Choice) -> tuple[list[str], list[list[str]]]:
    planned = choice.n is not None
    header = ["design", "V_R", *(["error", "margin", "n"] if planned else []), "guess", "bits", "sent"]
    return header, [_row(option, planned=planned) for option in choice.ranked]


def _row(option: Option, *, planned: bool) -> list[str]:
    mark = "" if option.dominated_by is None else DOMINATED
    errors = [number(option.rms_error, 3), number(option.margin, 3), count(option.n or 0)] if planned else []
    return [
        f"{option.rank}  {option.label}{mark}",
        _variance(option.added_variance),
        *errors,
        f"{option.guess_probability:.3g}",
        f"{option.design.report_bits():.4g}",
        count(option.candidate.wire_bits),
    ]


def _variance(value: float | None) -> str:
    """Four digits, and whole numbers where that are more.

    >>> _variance(29.104), _variance(339520.98), _variance(1e12)
    ('29.1', '339,521', '1e+12')
    """
    return f"{value:,.0f}" if value is not None and 1000 <= value < 1e8 else number(value, 4)


def _legend(choice: Choice) -> list[str]:
    errors = "error: root mean square error of a share; n: respondents for the same margin; "
    return _broken(
        f"V_R: variance that randomization adds, times 1/n; {'' if choice.n is None else errors}guess: how often the "
        "best guess of the truth is right; bits, sent: size of a report, at least and as it is sent",
        indent="  ",
    )


def _remarks(choice: Choice) -> Iterable[str]:
    """What must be known about some of the lines."""
    dominated = next((option for option in choice.options if option.dominated_by is not None), None)
    if dominated is not None:
        yield f"{DOMINATED} not admissible: {dominated.note} at the same parity, whatever the shares"
    for option in choice.options:
        if option.rank is None:
            variance = "" if option.added_variance is None else f", V_R {_variance(option.added_variance)}"
            yield f"{option.label}{variance}: {option.note}"
    yield from choice.notes


def _following(choice: Choice, path: str | None, demand: str) -> str:
    if path is not None:
        return f"maskwell audit {shlex.quote(path)} {demand}".rstrip()
    command = _command(choice, demand)
    return command if len(command) <= WIDTH - len("Next: ") else "keep it with -o design.json"


def _command(choice: Choice, demand: str) -> str:
    """The command that makes the recommended design."""
    design = choice.design
    size = f" --size {design.size}" if isinstance(design, Subset) else ""
    family = choice.recommended.candidate.family
    return f"maskwell design {family} {_categories(design.inputs)}{size} {demand} -o design.json"


def _categories(categories: Categories) -> str:
    labels = categories.labels
    return f"--k {len(labels)}" if isinstance(labels, range) else f"--categories {typed_labels(labels)}"
