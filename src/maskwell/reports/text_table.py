"""Tables of several variables as text: rows by columns with margins, then what goes with what."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from itertools import combinations, islice, product
from typing import Any

import numpy as np

from maskwell.core.arrays import Real
from maskwell.core.phrases import shorten
from maskwell.core.printed import Printed
from maskwell.designs.base import Design
from maskwell.errors import MaskwellError
from maskwell.estimation.joint.collapse import OWN_MARGIN
from maskwell.estimation.joint.conditionals import Conditional
from maskwell.estimation.joint.joint_table import Table
from maskwell.estimation.joint.odds import OddsRatio
from maskwell.estimation.joint.report_independence import IndependenceTest
from maskwell.estimation.joint.variables import Layout
from maskwell.estimation.share_estimate import Estimate
from maskwell.reports import publish
from maskwell.reports.tables import WIDTH, broken, counted, label, notes, table
from maskwell.reports.text_estimate import digits_for

SHOWN_ROWS = 40
SHOWN_COLUMNS = 12
LABEL_WIDTH = 30
SHOWN_PAIRS = 10
MOST_PAIRS = 45
SMALL = 400
"""Cells of a table for which everything is worked out without being asked for."""

MOST_ODDS = 100
SILENT = f"an interval from below 1/{MOST_ODDS} to above {MOST_ODDS} says nothing"
ALL = "all"


def table_in(estimate: Estimate, parts: Sequence[tuple[Design, tuple[str, ...]]]) -> Table | None:
    """The table that an estimate holds, from each design and its columns; None where it is about one variable.

    A design with several columns is a device that its variables share, where its categories are tuples of answers; else
    its columns are several answers about one variable.
    """
    designs: dict[str | tuple[str, ...], Design] = {}
    for design, names in parts:
        tuples = all(isinstance(one, tuple) and len(one) == len(names) for one in design.inputs.labels[:SHOWN_ROWS])
        designs[names if len(names) > 1 and tuples else ", ".join(names)] = design
    layout = Layout.of(designs)
    fits = len(layout.variables) > 1 and int(np.prod(layout.shape)) == len(estimate.pi_hat)
    return Table(estimate, layout) if fits else None


def joint_lines(found: Table, level: float) -> list[str]:
    """The table with its margins; for two variables also conditional shares, odds ratios and independence."""
    tests, remarks = tests_of(found)
    lines = [*grid(found), "  (standard errors in brackets)"]
    if len(found.names) == 2 and any(OWN_MARGIN in found.margin(name).flags for name in found.names):
        remarks.append(OWN_MARGIN)
    if _is_small(found):
        given = found.conditional(given=found.names[0])
        lines += ["", *conditional_lines(given), ""]
        told, silent = odds_told(found, level)
        lines += [line for one in told[:SHOWN_PAIRS] for line in broken(f"{odds_line(one, level)}.")]
        remarks += [*given.flags, *(flag for one in told for flag in one.flags), *silent]
    lines += [line for test in tests[:SHOWN_PAIRS] for line in broken(f"{test.sentence()}.")]
    lines += [f"... and {len(tests) - SHOWN_PAIRS} more pairs: --json gives all"] if len(tests) > SHOWN_PAIRS else []
    remarks += [flag for test in tests[:SHOWN_PAIRS] for flag in test.flags]
    return [*lines, *notes(dict.fromkeys(remarks))]


def joint_content(found: Table, level: float) -> dict[str, Any]:
    """The same for JSON, beside the estimates: ``independence``, ``conditionals`` and ``odds_ratios``."""
    tests, remarks = tests_of(found)
    content: dict[str, Any] = {"independence": [test.to_dict() for test in tests], "not_tested": remarks}
    if _is_small(found):
        content["conditionals"] = [found.conditional(given=name).to_dict(level) for name in found.names]
        content["odds_ratios"] = [one.to_dict(level) for one in found.odds_ratios()]
    return content


def published(found: Table, level: float) -> publish.Table:
    """The table to paste into a paper: rows by columns, standard errors in brackets, the test below."""
    header, rows = _cells(found, found.shape[-1])
    tests, _ = tests_of(found)
    said = [f"n = {found.n:,}; standard errors in brackets; method: {found.estimate.method}"]
    told = odds_told(found, level)[0] if _is_small(found) else []
    said += [f"{odds_line(one, level)}." for one in told[:SHOWN_PAIRS]]
    said += [f"{test.sentence()}." for test in tests[:SHOWN_PAIRS]]
    return publish.Table(header, rows, caption=" x ".join(found.names), notes=said)


# ---- parts


def grid(found: Table) -> list[str]:
    """Rows for the combinations of all but the last variable, columns for the last, and its margins."""
    columns, lines = _fitting(lambda count: table(*_cells(found, count, SHOWN_ROWS)), found.shape[-1])
    hidden = found.pi_hat.size - min(SHOWN_ROWS, found.pi_hat.size // found.shape[-1]) * columns
    return lines + ([f"  ... and {hidden:,} more cells: --json gives all"] if hidden > 0 else [])


def conditional_lines(given: Conditional) -> list[str]:
    """Shares within each category of the given variables."""
    fixed = [_label(one) for one in product(*given.labels[: len(given.given)])]
    others = [_label(one) for one in product(*given.labels[len(given.given) :])]
    header = [f"{', '.join(given.names)} given {', '.join(given.given)}", *others]
    rows = [
        [one, *cells] for one, cells in zip(fixed, _shown(given.share, given.standard_error, len(others)), strict=True)
    ]
    _, lines = _fitting(lambda n: table(header[: n + 1], [row[: n + 1] for row in rows[:SHOWN_ROWS]]), len(others))
    return lines


def odds_told(found: Table, level: float) -> tuple[list[OddsRatio], list[str]]:
    """The odds ratios whose intervals say something, and how many are left out because theirs say nothing."""
    every: Sequence[OddsRatio] = found.odds_ratios()
    told = _telling(every, level)
    if not told and max(found.shape) > 2:  # the last category is too rare to compare with
        every = _against_largest(found)
        told = _telling(every, level)
    silent = len(every) - len(told)
    return told, [f"{counted(silent, 'odds ratio', 'odds ratios')} left out: {SILENT}"] if silent else []


def _telling(every: Sequence[OddsRatio], level: float) -> list[OddsRatio]:
    ends = [one.confidence_interval(level) for one in every]
    silent = [low < 1 / MOST_ODDS and high > MOST_ODDS for low, high in ends]
    return [one for one, nothing in zip(every, silent, strict=True) if not nothing]


def _against_largest(found: Table) -> list[OddsRatio]:
    """Odds ratios of every category against the largest of its variable."""
    largest = [
        own[int(found.margin(name).pi_hat.argmax())] for name, own in zip(found.names, found.labels, strict=True)
    ]
    rows, columns = ([(one, top) for one in own if one != top] for own, top in zip(found.labels, largest, strict=True))
    return [found.odds_ratio(row, column) for row in rows for column in columns]


def odds_line(one: OddsRatio, level: float) -> str:
    """An odds ratio in one sentence."""
    low, high = one.confidence_interval(level)
    pairs = zip(one.names, (one.rows, one.columns), strict=True)
    what = " by ".join(f"{name} ({label(a)} to {label(b)})" for name, (a, b) in pairs)
    if one.method == "none":
        return f"Odds ratio, {what}: not available"
    ends = " to ".join("infinity" if end == float("inf") else f"{Printed(end):.4g}" for end in (low, high))
    value = (
        "infinite"
        if one.value == float("inf")
        else "not defined"
        if one.value != one.value
        else f"{Printed(one.value):.4g}"
    )
    kind = "profile interval" if one.interval_method == "profile" else "interval"
    return f"Odds ratio, {what}: {value} ({Printed(100 * level):g} % {kind} {ends})"


def tests_of(found: Table) -> tuple[list[IndependenceTest], list[str]]:
    """A test of independence for each pair of variables, and why one could not be done."""
    tests, remarks = [], []
    for pair in list(combinations(found.names, 2))[:MOST_PAIRS]:
        try:
            part = found.collapse_to(*pair)
            tests.append(part.independence(method="wald" if part.layout.shares_devices() else None))
        except MaskwellError as error:
            remarks.append(f"independence of {' and '.join(pair)} is not tested: {error.message}")
    return tests, remarks


def _is_small(found: Table) -> bool:
    """Whether everything that two variables have to say is worked out without being asked for."""
    return len(found.names) == 2 and found.pi_hat.size <= SMALL and min(found.shape) > 1


def _cells(found: Table, columns: int, most: int | None = None) -> tuple[list[str], list[list[str]]]:
    """Header and rows, with the margins of a table of two variables."""
    size = found.shape[-1]
    first = islice(product(*found.labels[:-1]), most)
    cells = _shown(found.pi_hat.reshape(-1, size)[:most], found.standard_error.reshape(-1, size)[:most], size)
    header = [" \\ ".join(found.names), *(_label((one,)) for one in found.labels[-1][:columns])]
    rows = [[_label(of), *row[:columns]] for of, row in zip(first, cells, strict=True)]
    return ([*header, ALL], _with_margins(found, rows, columns)) if len(found.names) == 2 else (header, rows)


def _with_margins(found: Table, rows: list[list[str]], columns: int) -> list[list[str]]:
    first, last = (found.margin(name) for name in found.names)
    digits = digits_for(found.estimate.standard_error)
    beside = (_cell(p, e, digits) for p, e in zip(first.pi_hat, first.standard_error, strict=True))
    below = [_cell(p, e, digits) for p, e in zip(last.pi_hat, last.standard_error, strict=True)]
    return [*([*row, more] for row, more in zip(rows, beside, strict=False)), [ALL, *below[:columns], "1"]]


def _fitting(make: Callable[[int], list[str]], most: int) -> tuple[int, list[str]]:
    """The widest table that fits, and how many columns it shows."""
    for columns in range(min(most, SHOWN_COLUMNS), 1, -1):
        lines = make(columns)
        if max(map(len, lines)) <= WIDTH:
            return columns, lines
    return 1, make(1)


def _shown(shares: Real, errors: Real, size: int) -> list[list[str]]:
    digits = digits_for(errors.ravel())
    pairs = zip(shares.reshape(-1, size).tolist(), errors.reshape(-1, size).tolist(), strict=True)
    return [[_cell(p, e, digits) for p, e in zip(s, r, strict=True)] for s, r in pairs]


def _cell(share: float, error: float, digits: int) -> str:
    """A share with its error; what is not known is a dash."""
    shown = ["-" if math.isnan(x) else f"{Printed(x):.{digits}f}" for x in (share, error)]
    return f"{shown[0]} ({shown[1]})"


def _label(of: tuple[Hashable, ...]) -> str:
    return shorten(label(of[0] if len(of) == 1 else of), LABEL_WIDTH)
