"""Tables estimated from a released file, as text for a terminal and as tables for a paper."""

from __future__ import annotations

import math
import shlex
from collections.abc import Hashable, Mapping, Sequence

from maskwell.core.printed import Printed
from maskwell.estimation.share_estimate import Estimate
from maskwell.release.analysis.analysis import Analysis
from maskwell.release.analysis.routes import EXACT, KEPT, OPEN, SOLVED
from maskwell.reports.publish import Table
from maskwell.reports.tables import broken, counted, label, notes, shorten, table
from maskwell.reports.text_estimate import digits_for, estimate_table

SHOWN_ROWS = 40
HOW = {
    OPEN: "Counted as they stand: nothing moved these columns.",
    EXACT: "Counted as they stand: values were swapped, which keeps these counts exactly.",
    KEPT: "Counted as they stand: the randomization keeps these counts on average.",
    SOLVED: "Estimated with the matrices of the receipt: counts as they stand would be biased.",
}
BY_WEIGHT = "Summed as they stand: the randomization keeps these sums of weights on average."
Domains = Mapping[tuple[Hashable, ...], Estimate]


def analysis_text(
    found: Analysis, level: float, interval: str | None, *, by: str | None = None, domains: Domains | None = None
) -> list[str]:
    """The shares of one table with their errors, and how they were found."""
    estimate = found.estimate
    first = [f"{remark[0].upper()}{remark[1:]}." for remark in found.remarks]
    lines = [line for text in (_answer(found, level, interval), *first, _how(found)) for line in broken(text)]
    lines += _rows([", ".join(found.route.columns)], [((), estimate)], level, interval)
    if domains:
        names = (by or "domain").split(",")
        what = ", ".join(found.route.columns)
        lines += ["", f"By {' and '.join(names)}:", *_rows([*names, what], [*domains.items()], level, interval)]
    if found.dropped:
        missing = f"{found.dropped:,} of {found.rows:,} records had no value and were left out"
        lines += notes([missing])
    flags = dict.fromkeys((*estimate.flags, *estimate.intervals(level, interval).flags))
    return [*lines, *notes(flag for flag in flags if flag not in found.remarks)]


def next_line(file: str, receipt: str, options: Mapping[str, str | None], columns: Sequence[str] = ()) -> str:
    """What to do next: a table of two columns, or one for a paper, with the options that were used."""
    start = ["maskwell", "estimate", file, "--receipt", receipt]
    used = {**options, **({"--columns": ",".join(columns[:2])} if columns else {"--format": "md"})}
    words = [*start, *(word for name, value in used.items() if value is not None for word in (name, value))]
    line = f"Next: {shlex.join(words)}"
    return line if len(line) <= 100 else "Next: a table for a paper: the same with --format md, latex or csv"


def analysis_table(found: Analysis, level: float, interval: str | None, *, exact: bool) -> Table:
    """The table to paste into a paper; ``exact`` for programs: all digits."""
    made = estimate_table(found.estimate, list(found.route.columns), level, interval=interval, exact=exact)
    name = found.estimate.intervals(level, interval).name
    about = f"n = {found.estimate.n:,} released records; {_how(found).lower().rstrip('.')}; {name} intervals."
    first = [f"{remark[0].upper()}{remark[1:]}." for remark in found.remarks]
    return Table(made.header, made.rows, caption=made.caption, notes=[*first, about], names=made.names)


def _how(found: Analysis) -> str:
    route = found.route
    return BY_WEIGHT if route.kind == KEPT and route.weighted else HOW[route.kind]


def _answer(found: Analysis, level: float, interval: str | None) -> str:
    estimate = found.estimate
    digits, ends = digits_for(estimate.standard_error), estimate.intervals(level, interval)
    best = 0 if len(estimate.pi_hat) == 2 else int(estimate.pi_hat.argmax())
    which = "" if len(estimate.pi_hat) == 2 else ", the largest share"
    what = f"{' x '.join(found.route.columns)} = {shorten(label(estimate.categories[best]))}"
    low, high = (_number(x, digits) for x in ends.to_array()[best])
    share, records = _number(float(estimate.pi_hat[best]), digits), counted(estimate.n, "record", "records")
    return f"{what}: {share}{which} ({Printed(100 * level):g} % {ends.name} interval {low} to {high}; {records})."


def _rows(
    header: Sequence[str],
    estimates: Sequence[tuple[tuple[Hashable, ...], Estimate]],
    level: float,
    interval: str | None,
) -> list[str]:
    rows = []
    for domain, estimate in estimates:
        digits, ends = digits_for(estimate.standard_error), estimate.intervals(level, interval).to_array()
        numbers = zip(estimate.categories, estimate.pi_hat, estimate.standard_error, ends, strict=True)
        for category, share, error, (low, high) in numbers:
            shown = [_number(float(x), digits) for x in (share, error, low, high)]
            rows.append([*(label(part) for part in domain), label(category), *shown])
    more = [f"  ... and {len(rows) - SHOWN_ROWS:,} more: --json gives all"] if len(rows) > SHOWN_ROWS else []
    return [*table([*header, "estimate", "std. error", "from", "to"], rows[:SHOWN_ROWS]), *more]


def _number(value: float, digits: int) -> str:
    return "-" if math.isnan(value) else f"{Printed(value):.{digits}f}"
