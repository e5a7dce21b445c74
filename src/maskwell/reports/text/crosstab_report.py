"""Tables of several variables in words: rows by columns with margins, then what goes with what."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from itertools import combinations, islice, product
from typing import Any

import numpy as np

from maskwell.core.arguments import Real
from maskwell.core.phrases import Printed, shorten
from maskwell.core.verdicts import above, below, largest
from maskwell.designs.design import Design
from maskwell.errors import MaskwellError
from maskwell.estimation.joint.conditionals import Conditional
from maskwell.estimation.joint.independence import IndependenceTest
from maskwell.estimation.joint.joint_table import Table
from maskwell.estimation.joint.odds import ON_REQUEST, PROFILED, OddsRatio, without_profile
from maskwell.estimation.joint.variables import Layout
from maskwell.estimation.share_estimate import Estimate
from maskwell.estimation.summed_shares import OWN_MARGIN
from maskwell.reports.pages import paper_tables
from maskwell.reports.plain_words import counted, decimals, digits_for, gives_all, label
from maskwell.reports.report import GAP, WIDTH, Block, Grid, Notes, Paragraph, Report, line
from maskwell.reports.text.design_report import asked_by
from maskwell.reports.text.estimate_report import devices_of, sampled

SHOWN_ROWS = 40
SHOWN_COLUMNS = 12
LABEL_WIDTH = 30
SHOWN_PAIRS = 10
MOST_PAIRS = 45
SMALL = 400  # cells of a table for which everything is worked out without being asked for
MOST_ODDS = 100
SILENT = f"an interval from below 1/{MOST_ODDS} to above {MOST_ODDS} is uninformative"
ALL = "all"


def table_in(estimate: Estimate, parts: Sequence[tuple[Design, tuple[str, ...]]]) -> Table | None:
    """The table that an estimate holds, from each design and its columns; None where it is about one variable."""
    designs: dict[str | tuple[str, ...], Design] = {}
    for design, names in parts:
        tuples = all(isinstance(one, tuple) and len(one) == len(names) for one in design.inputs.labels[:SHOWN_ROWS])
        designs[names if len(names) > 1 and tuples else ", ".join(names)] = design
    layout = Layout.of(designs)
    fits = len(layout.variables) > 1 and int(np.prod(layout.shape)) == len(estimate.pi_hat)
    return Table(estimate, layout) if fits else None


def crosstab_report(joint: Table, level: float, given: str | None = None) -> Report:
    """The table with its margins; for two variables also shares ``given`` one of them, odds ratios and independence."""
    tests, remarks = tests_of(joint)
    body: list[Block] = [_grid(joint), line("  (standard errors in brackets)")]
    if len(joint.names) == 2 and any(OWN_MARGIN in joint.margin(name).flags for name in joint.names):
        remarks.append(OWN_MARGIN)
    if joint.HAS_CONDITIONALS and (given is not None or _is_small(joint)):
        conditional = joint.conditional(given=given or joint.names[0])
        header, rows = _conditional_cells(conditional)
        body += [
            GAP,
            _fitting(lambda n: Grid(header[: n + 1], [row[: n + 1] for row in rows[:SHOWN_ROWS]]), len(header) - 1)[1],
            GAP,
        ]
        remarks += conditional.flags
    if _is_small(joint):
        telling, silent = telling_odds(joint, level)
        body += [Paragraph(f"{odds_sentence(one, level)}.") for one in telling[:SHOWN_PAIRS]]
        remarks += [*(flag for one in telling[:SHOWN_PAIRS] for flag in one.flags), *silent]
    body += [Paragraph(f"{test.sentence()}.") for test in tests[:SHOWN_PAIRS]]
    left_out = len(tests) - SHOWN_PAIRS
    body += [line(f"... and {left_out} more pairs: {gives_all()}")] if left_out > 0 else []
    remarks += [flag for test in tests[:SHOWN_PAIRS] for flag in test.flags]
    return Report(body=[*body, Notes([*dict.fromkeys(remarks)])])


def crosstab_content(joint: Table, level: float, given: str | None = None) -> dict[str, Any]:
    """The same for JSON, beside the estimates: ``independence``, ``conditionals`` and ``odds_ratios``."""
    tests, remarks = tests_of(joint)
    content: dict[str, Any] = {"independence": [test.to_dict() for test in tests], "not_tested": remarks}
    if _is_small(joint):
        content["conditionals"] = [joint.conditional(given=name).to_dict(level) for name in joint.names]
        content["odds_ratios"] = [one.to_dict(level) for one in joint.odds_ratios()]
    elif given is not None:
        content["conditionals"] = [joint.conditional(given=given).to_dict(level)]
    return content


def conditional_table(conditional: Conditional, level: float) -> paper_tables.Table:
    """Conditional shares to paste into a paper: a line for each, with its interval."""
    given, others = len(conditional.given), conditional.names
    digits = digits_for(conditional.standard_error.ravel())
    cells = zip(
        product(*conditional.labels),
        conditional.share.ravel(),
        conditional.standard_error.ravel(),
        *conditional.confidence_interval(level).reshape(-1, 2).T,
        strict=True,
    )
    rows = [[*map(label, of), *(decimals(float(x), digits) for x in numbers)] for of, *numbers in cells]
    percent = f"{Printed(100 * level):g} %"
    header = [*conditional.given, *others, "share", "std. error", f"{percent} low", f"{percent} high"]
    caption = f"Shares of {', '.join(others)} given {', '.join(conditional.given)}"
    about = f"n = {conditional.estimate.n:,}; {sampled(conditional.estimate)}."
    return paper_tables.Table(
        header, rows, caption=caption, notes=[about, *conditional.flags], names=given + len(others)
    )


def crosstab_table(
    joint: Table, level: float, given: str | None = None, *, devices: Sequence[str] = ()
) -> paper_tables.Table:
    """The table to paste into a paper: rows by columns, standard errors in brackets, the test below."""
    header, rows = (
        _cells(joint, joint.shape[-1], width=None)
        if given is None
        else _conditional_cells(joint.conditional(given=given), width=None)
    )
    tests, _ = tests_of(joint)
    about = f"n = {joint.n:,}; standard errors in brackets; method: {joint.estimate.method}; {sampled(joint.estimate)}."
    said = [about, *asked_by(devices or devices_of(joint.estimate))]
    telling = telling_odds(joint, level)[0] if _is_small(joint) else []
    said += [f"{odds_sentence(one, level)}." for one in telling[:SHOWN_PAIRS]]
    said += [f"{test.sentence()}." for test in tests[:SHOWN_PAIRS]]
    return paper_tables.Table(header, rows, caption=" x ".join(joint.names), notes=said)


def _grid(joint: Table) -> Grid:
    """Rows for the combinations of all but the last variable, columns for the last, and its margins."""
    columns, widest = _fitting(lambda count: Grid(*_cells(joint, count, SHOWN_ROWS)), joint.shape[-1])
    hidden = joint.pi_hat.size - min(SHOWN_ROWS, joint.pi_hat.size // joint.shape[-1]) * columns
    return replace(widest, more=f"  ... and {hidden:,} more cells: {gives_all()}" if hidden > 0 else "")


def _conditional_cells(
    conditional: Conditional, *, width: int | None = LABEL_WIDTH
) -> tuple[list[str], list[list[str]]]:
    """Header and rows of all such shares; without a ``width``, labels are whole."""
    fixed_names = conditional.given
    fixed = [_label(one, width) for one in product(*conditional.labels[: len(fixed_names)])]
    others = [_label(one, width) for one in product(*conditional.labels[len(fixed_names) :])]
    header = [f"{', '.join(conditional.names)} given {', '.join(fixed_names)}", *others]
    shares = _shares_with_errors(conditional.share, conditional.standard_error, len(others))
    return header, [[one, *cells] for one, cells in zip(fixed, shares, strict=True)]


def telling_odds(joint: Table, level: float) -> tuple[list[OddsRatio], list[str]]:
    """The odds ratios whose intervals say something, and how many are left out for which reason."""
    every: Sequence[OddsRatio] = joint.odds_ratios()
    telling = _telling(every, level)
    if not telling and max(joint.shape) > 2:  # the last category is too rare to compare with
        largest_of = [
            labels[largest(joint.margin(name).pi_hat)] for name, labels in zip(joint.names, joint.labels, strict=True)
        ]
        pairs = zip(joint.labels, largest_of, strict=True)
        rows, columns = ([(one, top) for one in labels if one != top] for labels, top in pairs)
        every = [joint.odds_ratio(row, column) for row in rows for column in columns]
        every = [*map(without_profile, every)] if joint.pi_hat.size > PROFILED else every
        telling = _telling(every, level)
    on_request = sum(map(_is_on_request, every))
    left_out = {SILENT: len(every) - len(telling) - on_request, ON_REQUEST: on_request}
    return telling, [
        f"{counted(number, 'odds ratio', 'odds ratios')} left out: {why}" for why, number in left_out.items() if number
    ]


def _telling(every: Sequence[OddsRatio], level: float) -> list[OddsRatio]:
    ends = [one.confidence_interval(level) for one in every]
    silent = [below(low, 1 / MOST_ODDS) and above(high, MOST_ODDS) for low, high in ends]
    says = [one for one, nothing in zip(every, silent, strict=True) if one.method == "none" or not nothing]
    return [one for one in says if not _is_on_request(one)]


def _is_on_request(one: OddsRatio) -> bool:
    """Whether its interval takes a search that is made only where it is asked for."""
    return ON_REQUEST in one.flags


def odds_sentence(one: OddsRatio, level: float) -> str:
    """An odds ratio in one sentence."""
    low, high = one.confidence_interval(level)
    pairs = zip(one.names, (one.rows, one.columns), strict=True)
    what = " by ".join(f"{name} ({label(a)} to {label(b)})" for name, (a, b) in pairs)
    if one.method == "none":
        return f"Odds ratio, {what}: not available"
    value = {"inf": "infinite", "nan": "not defined"}.get(f"{one.value}", f"{Printed(one.value):.4g}")
    if low != low or high != high:
        return f"Odds ratio, {what}: {value} (no interval)"
    ends = " to ".join("infinity" if end == float("inf") else f"{Printed(end):.4g}" for end in (low, high))
    kind = "profile interval" if one.interval_method == "profile" else "interval"
    return f"Odds ratio, {what}: {value} ({Printed(100 * level):g} % {kind} {ends})"


def tests_of(joint: Table) -> tuple[list[IndependenceTest], list[str]]:
    """A test of independence for each pair of variables, and why one could not be done."""
    tests, remarks = [], []
    for pair in list(combinations(joint.names, 2))[:MOST_PAIRS]:
        try:
            part = joint.collapse_to(*pair)
            tests.append(part.independence(method="wald" if part.layout.shares_devices() else None))
        except MaskwellError as error:
            remarks.append(f"independence of {' and '.join(pair)} is not tested: {error.message}")
    return tests, remarks


def _is_small(joint: Table) -> bool:
    """Whether everything about two variables is computed by default."""
    return len(joint.names) == 2 and joint.pi_hat.size <= SMALL and min(joint.shape) > 1


def _cells(
    joint: Table, columns: int, most: int | None = None, *, width: int | None = LABEL_WIDTH
) -> tuple[list[str], list[list[str]]]:
    """Header and rows, with the margins of a table of two variables; without a ``width``, labels are whole."""
    size = joint.shape[-1]
    first = islice(product(*joint.labels[:-1]), most)
    shares, errors = (array.reshape(-1, size)[:most] for array in (joint.pi_hat, joint.standard_error))
    cells = _shares_with_errors(shares, errors, size)
    header = [" \\ ".join(joint.names), *(_label((one,), width) for one in joint.labels[-1][:columns])]
    rows = [[_label(of, width), *row[:columns]] for of, row in zip(first, cells, strict=True)]
    if len(joint.names) != 2:
        return header, rows
    digits = digits_for(joint.estimate.standard_error)
    beside, below = (
        [_cell(p, e, digits) for p, e in zip(margin.pi_hat, margin.standard_error, strict=True)]
        for margin in map(joint.margin, joint.names)
    )
    whole = [[*row, more] for row, more in zip(rows, beside, strict=False)]
    return [*header, ALL], [*whole, [ALL, *below[:columns], "1"]]


def _fitting(make: Callable[[int], Grid], most: int) -> tuple[int, Grid]:
    """How many columns fit, and the widest table that does."""
    for columns in range(min(most, SHOWN_COLUMNS), 1, -1):
        grid = make(columns)
        if max(map(len, grid.to_text())) <= WIDTH:
            return columns, grid
    return 1, make(1)


def _shares_with_errors(shares: Real, errors: Real, size: int) -> list[list[str]]:
    digits = digits_for(errors.ravel())
    pairs = zip(shares.reshape(-1, size).tolist(), errors.reshape(-1, size).tolist(), strict=True)
    return [[_cell(p, e, digits) for p, e in zip(s, r, strict=True)] for s, r in pairs]


def _cell(share: float, error: float, digits: int) -> str:
    """A share with its error; what is not known is a dash."""
    return f"{decimals(share, digits)} ({decimals(error, digits)})"


def _label(of: tuple[Hashable, ...], width: int | None) -> str:
    whole = label(of[0] if len(of) == 1 else of)
    return whole if width is None else shorten(whole, width)
