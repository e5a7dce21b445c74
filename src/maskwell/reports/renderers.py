"""What draws and prints results when they are asked to show themselves, by name (core/display.py)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from maskwell.core.display import Result, flat_lines
from maskwell.core.phrases import Printed
from maskwell.designs.design import Design
from maskwell.errors import WrongTypeError
from maskwell.estimation.joint.conditionals import Conditional
from maskwell.estimation.joint.joint_table import Table as JointTable
from maskwell.estimation.named_quantities import Quantity
from maskwell.estimation.regression.named_coefficients import Coefficients
from maskwell.estimation.regression.regression_result import Regression
from maskwell.estimation.share_estimate import Estimate
from maskwell.microdata.release_values import AnyRelease
from maskwell.microdata.risk.risk_report import RiskReport
from maskwell.microdata.utility.utility_report import UtilityReport
from maskwell.planning.comparison import FairComparison
from maskwell.planning.design_choice import Choice
from maskwell.planning.improvement import Improvement
from maskwell.planning.one_sided import OneSided
from maskwell.planning.power import PowerPlan
from maskwell.planning.sample_size import SamplePlan
from maskwell.planning.several_questions import QuestionsPlan
from maskwell.planning.stratum_allocation import Allocation
from maskwell.privacy.certificate_check import Verified
from maskwell.privacy.criteria import Demand, stands_for
from maskwell.privacy.design_audit import Audit
from maskwell.procedures.realisation import Device
from maskwell.reports.device.device_report import device_report
from maskwell.reports.pages.paper_tables import Table, document, to_html
from maskwell.reports.pictures.canvas import Picture, styled
from maskwell.reports.pictures.choice_picture import plot_choice
from maskwell.reports.pictures.demand_regions import plot_demand
from maskwell.reports.pictures.estimate_picture import plot_learned
from maskwell.reports.pictures.forest_plot import plot_coefficients
from maskwell.reports.pictures.precision_picture import plot_margins
from maskwell.reports.pictures.revelation import plot_revealed
from maskwell.reports.pictures.risk_curves import plot_release_risk, plot_risk_report
from maskwell.reports.pictures.utility_pictures import plot_associations
from maskwell.reports.plain_words import label
from maskwell.reports.report import Facts, Grid, Notes, Paragraph, Report, in_notebook
from maskwell.reports.text import planning_report
from maskwell.reports.text.crosstab_report import conditional_table, crosstab_report, crosstab_table
from maskwell.reports.text.estimate_report import estimate_report, estimate_table, quantity_table
from maskwell.reports.text.order_report import compare_report, improved_report, one_sided_report
from maskwell.reports.text.privacy_report import audit_report, verified_report
from maskwell.reports.text.regression_report import coefficients_table, regression_report, regression_table
from maskwell.reports.text.release_report import release_report, risk_report

ANY = TypeVar("ANY")
LEVEL = 0.95
THE_DESIGN = "the design"


def _by_class(table: Mapping[type, ANY], result: object) -> ANY | None:
    """What is kept for the class of a result, or for the nearest class that it is made from."""
    return next((table[one] for one in type(result).__mro__ if one in table), None)


REPORTS: dict[type, Callable[[Any], Report]] = {
    Allocation: planning_report.allocation_report,
    Audit: lambda audit: audit_report(audit.to_dict(), audit.design, THE_DESIGN),
    Choice: lambda choice: planning_report.choice_report(choice, None, ""),
    Device: lambda device: device_report(device, THE_DESIGN, output=None, realised=None, remarks=[], command=""),
    Estimate: lambda estimate: estimate_report(estimate, ["category"], LEVEL, {}),
    FairComparison: lambda comparison: compare_report(comparison, "the first", "the second"),
    Improvement: lambda gain: improved_report(gain, THE_DESIGN, None),
    JointTable: lambda table: estimate_report(
        table.estimate, table.names, LEVEL, {}, grid=crosstab_report(table, LEVEL)
    ),
    OneSided: lambda gain: one_sided_report(gain, THE_DESIGN, None),
    PowerPlan: lambda plan: planning_report.power_report(plan, THE_DESIGN),
    QuestionsPlan: planning_report.questions_report,
    Regression: lambda regression: regression_report(regression, LEVEL, {}),
    AnyRelease: lambda release: release_report(release, None),
    RiskReport: lambda risk: risk_report(risk, file=""),
    SamplePlan: lambda plan: planning_report.sample_report(plan, THE_DESIGN),
    Verified: lambda verified: verified_report(verified, "the certificate"),
}


def report_of(result: Result) -> Report:
    """The report of a result; one that no command prints is shown by its values."""
    make = _by_class(REPORTS, result)
    if make is None and _by_class(TABLES, result) is None:
        return _plain_report(result)
    if make is None:  # the tables for a paper
        tables = tables_of(result)
        grids = [Grid(one.header, one.rows, names=one.names) for one in tables]
        return Report(tables[0].caption, [*grids, Notes([note for one in tables for note in one.notes])])
    report = make(result)
    first = [replace(one, text=re.sub("^the ", "The ", one.text)) for one in report.opening]  # "the design ..."
    return replace(report, headline=first, next_step="")


MOST_COLUMNS = 7


def _plain_report(result: Result) -> Report:
    """The first line of what Python prints, then the values: a table, or one to a line where a row would be long."""
    lines = flat_lines(result.to_dict(), result.LINES)
    names = dict.fromkeys(name for line in lines for name, value in line.items() if value is not None)
    header = [name.replace("_", " ") for name in names]
    rows = [[_cell(line.get(name)) for name in names] for line in lines]
    few = len(rows) != 1 or len(header) <= MOST_COLUMNS
    block = Grid(header, rows) if few else Facts([*zip(header, rows[0], strict=True)])
    return Report(_in_words(result), [block, Notes(getattr(result, "flags", ()))])


def _in_words(result: Result) -> str:
    """What Python prints in one line, or the name of the class where that is a call."""
    first, name = repr(result).partition("\n")[0], type(result).__name__
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower()
    return f"{words.capitalize()}." if first.startswith(f"{name}(") else first


def _cell(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "-"}[value]
    if isinstance(value, float):
        return f"{Printed(value):.4g}"
    return f"{value:,}" if isinstance(value, int) else label(value)


TABLES: dict[type, Callable[..., list[Table]]] = {
    Coefficients: lambda part, *, level=LEVEL: [coefficients_table(part, level)],
    Conditional: lambda shares, *, level=LEVEL: [conditional_table(shares, level)],
    Estimate: lambda estimate, *, level=LEVEL, interval=None, variables=("category",), by=None: [
        estimate_table(estimate, list(variables), level, interval=interval, by=by)
    ],
    JointTable: lambda table, *, level=LEVEL, given=None: [crosstab_table(table, level, given)],
    Quantity: lambda one: [quantity_table([one], one.level, "")],
    Regression: lambda fitted, *, level=LEVEL, exponentiate=False: [
        regression_table(fitted, level, exponentiate=exponentiate)
    ],
}
"""Tables that are made for a paper; the others are those of the report."""


def tables_of(result: Result, **options: Any) -> list[Table]:
    """Tables for a paper."""
    make = _by_class(TABLES, result)
    return make(result, **options) if make is not None else report_tables(result.to_report(**options))


def report_tables(report: Report) -> list[Table]:
    """The tables and facts of a report; what it answers stands above the first, what it remarks below the last."""
    tables = [table for block in report.body for table in _tables_in(block)] or [Table(["", ""], [])]
    said = " ".join(one.text.strip() for one in report.opening)
    notes = [block.text.strip() for block in report.body if isinstance(block, Paragraph)]
    tables[0] = replace(tables[0], caption=f"{said} {tables[0].caption}".strip())
    tables[-1] = replace(tables[-1], notes=[*tables[-1].notes, *notes, *report.notes])
    return tables


def _tables_in(block: object) -> list[Table]:
    if isinstance(block, Grid):
        return [block.table()]
    return [Table(["", ""], block.pairs, names=2)] if isinstance(block, Facts) and block.pairs else []


def written(tables: Sequence[Table], *, style: str, caption: str | None, label: str | None) -> str:
    """Tables in a style; the caption and the label are those of the first."""
    first, *others = tables
    first = first if caption is None else replace(first, caption=caption)
    first = first if label is None else replace(first, label=label)
    return "\n".join(document([first, *others], style))


def notebook_page(result: Result) -> str:
    """What a notebook shows: the answer, the tables and the remarks of the report."""
    report = replace(result.to_report(), next_step="")
    parts = [(block, _tables_in(block)) for block in report.blocks]
    lines = [
        [line for table in tables for line in to_html(table)] if tables else block.to_html() for block, tables in parts
    ]
    return in_notebook("\n".join(line for part in lines for line in part))


def _of_design(design: Design, **options: Any) -> Picture:
    return plot_revealed(stands_for(design), **{"decimals": design.decimals, **options})


def _of_audit(audit: Audit, **options: Any) -> Picture:
    demand = audit.demand if isinstance(audit.demand, Demand) else None
    return _of_design(audit.design, **{"demand": demand, **options})


PICTURES: dict[type, Callable[..., Picture]] = {
    Audit: _of_audit,
    Choice: plot_choice,
    Coefficients: plot_coefficients,
    Demand: plot_demand,
    Design: _of_design,
    Estimate: plot_learned,
    JointTable: lambda table, **options: plot_learned(table.estimate, **options),
    AnyRelease: plot_release_risk,
    RiskReport: plot_risk_report,
    SamplePlan: plot_margins,
    UtilityReport: plot_associations,
}


def picture_of(value: Any, **options: Any) -> Picture:
    """The picture of a value, or an error that says where pictures are."""
    draw = _by_class(PICTURES, value)
    if draw is None:
        raise WrongTypeError("no-picture-for-a-name", name=type(value).__name__, type=type(value))
    return styled(draw, value, **options)


RENDERERS: dict[str, Callable[..., Any]] = {
    "notebook": notebook_page,
    "picture": picture_of,
    "report": report_of,
    "tables": tables_of,
    "written": written,
}
