"""Which design to take, as text for a terminal."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterable, Sequence

from maskwell.core.phrases import Printed
from maskwell.planning.design_choice import Choice, Option
from maskwell.reports.tables import WIDTH, broken, counted, facts, notes, number, rounded, table
from maskwell.reports.text import in_words, typed_categories
from maskwell.reports.words import factor_down

DOMINATED = "*"


def plan_text(choice: Choice, path: str | None, demand: str) -> list[str]:
    """What to take and what it costs; ``demand`` is how the demand was typed, ``path`` where the design was written."""
    lines = [*broken(_answer(choice, path)), *facts(_facts(choice)), "", *table(*_table(choice)), *_legend(choice)]
    lines += [*notes(choice.warnings, word="warning"), *notes(_remarks(choice)), *in_words(choice.design)]
    return [*lines, f"Next: {_following(choice, path, demand)}"]


def _answer(choice: Choice, path: str | None) -> str:
    written = "" if path is None else f", written to {path}"
    first = f"Take {choice.recommended.candidate.spoken} for {choice.demand.text}{written}"
    if choice.n is None:
        return f"{first}."
    give = "gives" if choice.n == 1 else "give"
    return f"{first}: {_counted(choice.n)} {give} each share within {number(choice.margin, 3)}."


def _facts(choice: Choice) -> list[tuple[str, str]]:
    shares = "equal shares" if choice.pi is None else f"shares {_shares(choice)}"
    level = "" if choice.n is None else f", {Printed(100 * choice.level):g} % intervals"
    shown = [
        ("why", choice.reason),
        ("parity", _allowed(choice)),
        ("planned for", f"{shares}{level}"),
    ]
    if choice.n is None:
        return shown
    worst, direct = (
        f"within {number(margin, 3)}; within {number(choice.margin, 3)} from {_counted(n)}"
        for margin, n in ((choice.worst_margin, choice.worst_n), (choice.direct_margin, choice.direct_n))
    )
    return [*shown, ("whatever the shares", worst), ("asked directly", f"{direct}, but without protection")]


def _allowed(choice: Choice) -> str:
    """The parity that designs may have; with more digits where it is close to 1."""
    demand = choice.demand
    gamma, limit = (demand.gamma_exact, "below") if demand.strict else (choice.gamma, "at most")
    shown = factor_down(gamma)
    return f"{limit} {rounded(gamma, 15, up=False) if shown == '1' else shown}"


def _counted(n: int | None) -> str:
    return counted(n or 0, "respondent", "respondents")


def _shares(choice: Choice) -> str:
    shares = [f"{Printed(float(p)):.4g}" for p in choice.pi or ()]
    return ", ".join(shares if len(shares) <= 8 else [*shares[:7], "..."])


def _table(choice: Choice) -> tuple[list[str], list[list[str]]]:
    ranked = choice.ranked
    columns = {"V_R": _figures([o.added_variance or 0.0 for o in ranked])}
    if choice.n is not None:
        columns["error"] = _figures([o.rms_error or 0.0 for o in ranked])
        columns["margin"] = _figures([o.margin or 0.0 for o in ranked])
        columns["n"] = _figures([o.n or 0 for o in ranked], decimals=1)
    columns["guess"] = _figures([o.guess_probability for o in ranked], decimals=1)
    columns["bits"] = _sizes([o.design.report_bits() for o in ranked])
    columns["sent"] = _sizes([o.candidate.wire_bits for o in ranked])
    return ["design", *columns], [list(row) for row in zip(map(_name, ranked), *columns.values(), strict=True)]


def _name(option: Option) -> str:
    return f"{option.rank} {option.label}{'' if option.dominated_by is None else DOMINATED}"


def _figures(values: Sequence[float], *, decimals: int = 2) -> list[str]:
    """A column of figures: three digits, whole numbers where that are more, and all as powers where some are extreme.

    >>> _figures([29.104, 3397.6]), _figures([0.00019, 2]), _figures([1_532_234_613, 12], decimals=1)
    (['29.1', '3,398'], ['1.90e-04', '2.00e+00'], ['1.5e+09', '1.2e+01'])
    """
    if min(values) < 1e-3 or max(values) >= 1e8:
        return [f"{Printed(value):.{decimals}e}" for value in values]
    return [f"{Printed(v):,.0f}" if v >= 100 or math.isclose(v, round(v)) else f"{Printed(v):.3g}" for v in values]


def _sizes(bits: Sequence[float]) -> list[str]:
    """Numbers of bits: with a decimal where they are few, in thousands where they are many.

    >>> _sizes([3.3219, 10]), _sizes([811268, 19.9])
    (['3.3', '10'], ['811k', '20'])
    """
    if max(bits) < 100:
        return [f"{Printed(size):.0f}" if math.isclose(size, round(size)) else f"{Printed(size):.1f}" for size in bits]
    return [f"{Printed(size / 1000):,.0f}k" if size >= 1e5 else f"{Printed(size):,.0f}" for size in bits]


def _legend(choice: Choice) -> list[str]:
    errors = "error: root mean square error of a share; n: respondents for the same margin; "
    return broken(
        f"V_R: n times the variance that randomization adds; {'' if choice.n is None else errors}guess: how often the "
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
            variance = "" if option.added_variance is None else f", V_R {_figures([option.added_variance])[0]}"
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
    parameters = design.provenance["parameters"]
    size = f" --size {parameters['size']}" if "size" in parameters else ""
    family = choice.recommended.candidate.family
    return f"maskwell design {family} {typed_categories(design.inputs)}{size} {demand} -o design.json"
