"""Estimates as text for a terminal, and as tables for a paper."""

from __future__ import annotations

import math
import shlex
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any

from maskwell.core.arrays import Real
from maskwell.core.printed import Printed, magnitude
from maskwell.estimation.intervals.interval_ends import Intervals
from maskwell.estimation.joint.collapse import of_sums
from maskwell.estimation.sampling.survey_estimate import SurveyEstimate
from maskwell.estimation.share_estimate import Estimate
from maskwell.reports.publish import Table
from maskwell.reports.tables import WIDTH, broken, count, counted, label, notes, shorten, table

SHOWN_ROWS = 40
NAMED = 5  # domains that a remark names
PARTS = ["estimate", "std. error", "from", "to"]


def estimate_text(
    estimate: Estimate,
    variables: Sequence[str],
    level: float,
    designs: Mapping[str, str],
    *,
    interval: str | None = None,
    by: str | None = None,
    wanted: tuple[str, Estimate] | None = None,
    grid: Sequence[str] | None = None,
) -> list[str]:
    """Estimated shares with their errors.

    ``interval`` names the method of the intervals, ``by`` the domains; ``wanted`` is the margin that answers the
    question, with its name, where categories are tuples; ``grid`` shows a table of two variables better than a list.
    """
    found = estimate.intervals(level, interval)
    answer = broken(_answer(estimate, found, variables, level))
    lines = answer if wanted is None else _margin(*wanted, level, of_sums(interval))
    lines += _listed(estimate, found, _all(estimate, variables, wanted)) if grid is None else grid
    lines += _beside(estimate)
    lines += _parts_of_variance(estimate) if designs else []
    if isinstance(estimate, SurveyEstimate):
        answering = estimate if wanted is None else wanted[1]
        lines += [*_totals(answering), *broken(f"Sampling plan: {estimate.plan_text}.")]
        own = interval if wanted is None else of_sums(interval)
        lines += domains_text(answering, level, own, by or "domain")
        lines += notes(dict.fromkeys((*estimate.flags, *found.flags)))
        lines += notes(_flags_of_domains(estimate, level, interval, by or "domain"))
    else:
        lines += notes(dict.fromkeys((*estimate.flags, *found.flags)))
    alone = len(designs) == 1 or _answers_of_one_design(estimate, variables, wanted)
    return [*lines, *_what_is_revealed([*dict.fromkeys(designs.values())], alone=alone)]


def _all(estimate: Estimate, variables: Sequence[str], wanted: tuple[str, Estimate] | None) -> str:
    """What stands above the list of all categories: combinations, or the shares of each variable on its own."""
    if wanted is None:
        return ", ".join(variables)
    own = any(isinstance(category, tuple) and category[0] == wanted[0] for category in estimate.categories)
    return "all answers" if own else "all combinations"


def _answers_of_one_design(estimate: Estimate, variables: Sequence[str], wanted: tuple[str, Estimate] | None) -> bool:
    """Whether the columns hold the answers of one report, whose parity is that of all of them together."""
    first = estimate.categories[0]
    return len(variables) == 1 or wanted is not None or not isinstance(first, tuple) or len(first) < len(variables)


def _listed(estimate: Estimate, found: Intervals, what: str) -> list[str]:
    return [*table([what, *PARTS], [*_rows(estimate, found, SHOWN_ROWS)]), *_more(len(estimate.pi_hat))]


def _answer(estimate: Estimate, found: Intervals, variables: Sequence[str], level: float) -> str:
    digits, best = digits_for(estimate.standard_error), 0 if len(estimate.pi_hat) == 2 else _largest(estimate.pi_hat)
    joined = (" x " if isinstance(estimate.categories[best], tuple) else ", ").join(variables)
    which = "" if len(estimate.pi_hat) == 2 else ", the largest share"
    what = shorten(label(estimate.categories[best]))
    return (
        f"{joined} = {what}: {_number(estimate.pi_hat[best], digits)}{which}"
        f" ({_interval(found, best, digits, level)}; {counted(estimate.n, 'report', 'reports')})."
    )


def _interval(found: Intervals, place: int, digits: int, level: float) -> str:
    low, high = found.to_array()[place]
    if math.isnan(low) or math.isnan(high):
        return "no interval"
    return f"{Printed(100 * level):g} % {found.name} interval {_number(low, digits)} to {_number(high, digits)}"


def _margin(name: str, margin: Estimate, level: float, interval: str | None) -> list[str]:
    found = margin.intervals(level, interval)
    rows = table([name, *PARTS], [*_rows(margin, found)])
    return [_answer(margin, found, [name], level), *rows, *notes(margin.flags)]


def _largest(shares: Real) -> int:
    return max(range(len(shares)), key=lambda j: -math.inf if math.isnan(shares[j]) else float(shares[j]))


def _rows(estimate: Estimate, found: Intervals, most: int | None = None, *, exact: bool = False) -> Iterator[list[str]]:
    """One line for each category: label, estimate, error and interval."""
    digits = digits_for(estimate.standard_error)
    lines = zip(estimate.categories, estimate.pi_hat, estimate.standard_error, found.to_array(), strict=True)
    for place, (category, share, error, (low, high)) in enumerate(lines):
        if place == most:
            return
        values = (share, error, low, high)
        yield [label(category), *(_all_digits(x) if exact else _number(x, digits) for x in values)]


def _all_digits(value: float) -> str:
    """For a program; what is not known is empty."""
    return "" if math.isnan(value) else repr(float(value))


def _number(value: float, digits: int) -> str:
    """So many decimals; what is not known is a dash.

    >>> _number(0.25, 3), _number(float("nan"), 3), _number(-1e-17, 3)
    ('0.250', '-', '0.000')
    """
    return "-" if math.isnan(value) else f"{Printed(value):.{digits}f}"


def _more(rows: int) -> list[str]:
    return [f"  ... and {rows - SHOWN_ROWS:,} more: --json gives all"] if rows > SHOWN_ROWS else []


def _beside(estimate: Estimate) -> list[str]:
    """The raw moment estimate, where one that was held to [0, 1] differs from it."""
    if estimate.moments is None or len(estimate.moments) > 8 or abs(estimate.moments - estimate.pi_hat).max() < 1e-9:
        return []
    shown = ", ".join(
        f"{label(c)} {Printed(m):.4f}" for c, m in zip(estimate.categories, estimate.moments, strict=True)
    )
    return notes([f"the unbiased moment estimates are {shown}; use those for totals, differences and pooling"])


def _parts_of_variance(estimate: Estimate) -> list[str]:
    total = float(estimate.variance.sum())
    part = float(estimate.randomization_variance.sum())
    if not total > 0 or math.isnan(part):
        return []
    share = max(0.0, part / total)
    return [f"Randomization makes up {Printed(100 * min(1.0, share)):.0f} % of the variance, sampling the rest."]


def _totals(estimate: Estimate) -> list[str]:
    """Estimated numbers of people, where weights or a population tell them."""
    if not isinstance(estimate, SurveyEstimate):
        return []
    if abs(estimate.population - estimate.n) < 1e-9 * estimate.n or len(estimate.pi_hat) > SHOWN_ROWS:
        return []
    rows = [
        [label(c), f"{Printed(t):,.1f}", "-" if math.isnan(s) else f"{Printed(s):,.1f}"]
        for c, t, s in zip(estimate.categories, estimate.total, estimate.total_standard_error, strict=True)
    ]
    return [f"In numbers, of {Printed(estimate.population):,.0f}:", *table(["", "total", "std. error"], rows)]


def domains_text(estimate: Estimate, level: float, interval: str | None, by: str) -> list[str]:
    """A table of the domains: one line for each, or one for each of its categories."""
    if not isinstance(estimate, SurveyEstimate) or not estimate.domains:
        return []
    header, rows = _domain_rows(estimate, level, interval, [by])
    what = f", share of {label(estimate.categories[0])}" if len(estimate.pi_hat) == 2 else ""
    return ["", f"By {' and '.join(by.split(','))}{what}:", *table(header, rows[:SHOWN_ROWS]), *_more(len(rows))]


def _flags_of_domains(estimate: Estimate, level: float, interval: str | None, by: str) -> list[str]:
    """What is to be said of single domains, each remark once; what all estimates share was said of the whole."""
    if not isinstance(estimate, SurveyEstimate):
        return []
    found: dict[str, list[Hashable]] = {}
    everywhere = 0
    for name, one in estimate.domains.items():
        estimated = not all(map(math.isnan, one.pi_hat))
        everywhere += estimated
        for flag in dict.fromkeys((*one.flags, *(one.intervals(level, interval).flags if estimated else ()))):
            found.setdefault(flag, []).append(name)
    new = {flag: own for flag, own in found.items() if len(own) < everywhere or flag not in estimate.flags}
    return [f"{_which(own, by, everywhere)}: {flag}" for flag, own in new.items()]


def _which(names: Sequence[Hashable], by: str, everywhere: int) -> str:
    """Domains by name, the first of many.

    >>> _which([1, 2], "x", 5), _which([("f", "north")], "sex,region", 4), _which([1, 2], "x", 2)
    ('x = 1, 2', 'sex,region = (f, north)', 'every x')
    """
    if len(names) == everywhere > 1:
        return f"every {by}"
    more = f" and {len(names) - NAMED:,} more" if len(names) > NAMED else ""
    return f"{by} = {', '.join(shorten(label(name)) for name in names[:NAMED])}{more}"


def _domain_rows(
    estimate: SurveyEstimate, level: float, interval: str | None, by: Sequence[str], *, exact: bool = False
) -> tuple[list[str], list[list[str]]]:
    """Header and rows; several columns of ``by`` stand beside each other, one holds the whole label of a domain."""
    two = len(estimate.pi_hat) == 2
    header = [*by, "reports", *([] if two else ["category"]), *PARTS]
    rows = []
    for name, one in estimate.domains.items():
        parts = name if isinstance(name, tuple) and len(by) > 1 else (name,)
        names = [str(part) if exact else label(part) for part in parts]
        lines = _rows(one, one.intervals(level, interval), 1 if two else None, exact=exact)
        rows += [_domain_row(names, one.n, cells, two=two, exact=exact) for cells in lines]
    return header, rows


def _domain_row(names: Sequence[str], n: int, cells: Sequence[str], *, two: bool, exact: bool) -> list[str]:
    return [*names, str(n) if exact else count(n), *(cells[1:] if two else cells)]


def estimate_table(
    estimate: Estimate,
    variables: Sequence[str],
    level: float,
    *,
    interval: str | None = None,
    by: str | None = None,
    exact: bool = False,
) -> Table:
    """The estimates as a table for a paper: shares, errors and intervals, domains below each other.

    ``exact`` for programs: all digits.
    """
    found = estimate.intervals(level, interval)
    percent = f"{Printed(100 * level):g} %"
    ends = [f"{percent} low", f"{percent} high"]
    if isinstance(estimate, SurveyEstimate) and estimate.domains:
        columns = (by or "domain").split(",")
        header, rows = _domain_rows(estimate, level, interval, columns, exact=exact)
        two = len(estimate.pi_hat) == 2
        overall = [*_rows(estimate, found, 1 if two else None, exact=exact)]
        rows += [_domain_row(["all"] * len(columns), estimate.n, cells, two=two, exact=exact) for cells in overall]
        header, names = [*header[:-2], *ends], len(columns)
    else:
        header, rows, names = [", ".join(variables), *PARTS[:2], *ends], [*_rows(estimate, found, exact=exact)], 1
    return Table(header, rows, caption=_caption(estimate, variables), notes=[_about(estimate, found)], names=names)


def _caption(estimate: Estimate, variables: Sequence[str]) -> str:
    what = " by ".join(variables)
    if len(estimate.pi_hat) == 2 and isinstance(estimate, SurveyEstimate) and estimate.domains:
        what += f" = {label(estimate.categories[0])}"
    return f"Estimated shares: {what}"


def _about(estimate: Estimate, found: Intervals) -> str:
    plan = f"; {estimate.plan_text}" if isinstance(estimate, SurveyEstimate) else ""
    how = {"moments": "moment estimates", "ml": "maximum likelihood"}.get(estimate.method, estimate.method)
    return f"n = {estimate.n:,} randomized responses; {how}, {found.name} intervals{plan}."


def _what_is_revealed(paths: Sequence[str], *, alone: bool) -> list[str]:
    if not paths:
        return ["Next: a table for a paper: the same with --format md, latex or csv"]
    audits = "; ".join(f"maskwell audit {shlex.quote(path)}" for path in paths)
    if alone:
        following = f"Next: what a report reveals: {audits}"
        return [following if len(following) <= WIDTH else "Next: what a report reveals: maskwell audit D, for each D"]
    following = f"Next: what each report reveals: {audits}"
    if len(following) > WIDTH:
        following = f"Next: what each report reveals: maskwell audit D, for each of the {len(paths)} design files"
    return ["The reports of one person reveal more together: their parities multiply.", following]


def digits_for(errors: Any) -> int:
    """Decimals that show two digits of the smallest error."""
    positive = [float(e) for e in errors if e > 0]
    return 4 if not positive else min(9, max(3, 1 - magnitude(min(positive))))
