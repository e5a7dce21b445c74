"""Count the reports in columns of a table or of a file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from maskwell.core.arguments import check_kind, check_option
from maskwell.core.report_data import Counts
from maskwell.engines.rows import Rows
from maskwell.errors import ParameterError
from maskwell.verbs.inputs import Designs, assignments_of, check_missing_codes, check_progress

if TYPE_CHECKING:
    from maskwell.engines.row_sources import Progress


def tally(
    data: Any,
    designs: Designs,
    *,
    missing: str = "error",
    missing_codes: Any = None,
    counts: str | None = None,
    progress: Progress | None = None,
) -> dict[str, Counts]:
    """Count the reports of columns, each column with its design.

    Parameters
    ----------
    data, missing_codes, progress
        As in :func:`maskwell.randomize`.
    designs
        For each column the design that made its reports, or the path of a design file: ``{"answer": design}``. The
        columns of a product of designs are counted jointly: ``{"first,second": design}``.
    missing
        ``"error"``, ``"drop"`` the rows that have no report in a column, or ``"category"``: count them as the report
        "missing" of the design.
    counts
        A column with the number of reports that each row represents.

    >>> import maskwell as mw
    >>> design = mw.design("k-ary", categories=mw.Categories.of(["never", "once", "often"]), epsilon=1)
    >>> reports = {"drugs": ["never", "often", "once", "never"]}
    >>> tally(reports, {"drugs": design})["drugs"].values.tolist()   # two reports of "never"
    [2, 1, 1]
    """
    from maskwell.engines.report_counts import tally_columns

    check_kind(str | None, counts=counts)
    check_option("missing", missing, ("error", "drop", "category"))
    check_progress(progress)
    assignments = assignments_of(designs)
    grouped = next((assignment for assignment in assignments if assignment.when), None)
    if grouped is not None:
        raise ParameterError("column-has-a-design-for-some-rows", column=grouped.columns[0])
    check_missing_codes(missing_codes, assignments)
    rows = Rows.of(data, missing_codes, [name for one in assignments for name in one.columns])
    return tally_columns(rows, assignments, missing=missing, counts=counts, progress=progress)
