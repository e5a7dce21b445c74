"""Tables from columns of reports, and from counts of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from maskwell.core.arguments import Array, as_array, as_list, as_mapping, check_kind, list_of
from maskwell.core.categories import Categories, Encoded, split_column
from maskwell.core.groups import Factor
from maskwell.core.labels import is_missing
from maskwell.core.phrases import listed
from maskwell.core.report_data import Reports
from maskwell.designs.design import Design
from maskwell.errors import ParameterError, ReportError
from maskwell.estimation.joint.joint_table import Table
from maskwell.estimation.joint.variables import Layout, Names, direct
from maskwell.estimation.maximum_likelihood import estimate_by
from maskwell.estimation.sampling.sampling_description import Sampling
from maskwell.estimation.share_estimate import Estimate, Sample


def cross_tabulate(
    columns: Any,
    designs: Mapping[Names, Design | None],
    *,
    plan: Sampling | None = None,
    method: str = "moments",
    missing: str = "error",
    match: str = "value",
) -> Table:
    """The table of several variables from their columns of reports.

    Parameters
    ----------
    columns
        The columns by name: a dictionary of lists or arrays, or a table of pandas, polars or Arrow.
    designs
        The design of each variable; ``None`` for a variable that was asked directly. A tuple of names stands for
        variables that share one device: its design has tuples as categories and reports, and tests of independence
        then know that the reports are not independent.
    plan
        How the rows were sampled; a simple random sample of a large population by default.
    method
        ``moments`` (unbiased) or ``ml`` (most likely; never outside [0, 1]).
    missing
        ``error``, or ``drop`` the rows where a report is missing.
    match
        ``value`` or ``text``: how labels are found, see ``Categories.encode``.

    >>> from maskwell.designs import Uniform
    >>> coin = Uniform.from_gamma(9, Categories.of(["yes", "no"]))
    >>> columns = {"smokes": ["yes", "no", "no", "yes"], "sex": ["f", "f", "m", "m"]}
    >>> table = cross_tabulate(columns, {"smokes": coin, "sex": None})
    >>> table.shape, float(table.margin("sex").pi_hat[0])   # half are women
    ((2, 2), 0.5)
    """
    check_kind(Sampling | None, plan=plan)
    check_kind(str, method=method)
    all_designs = {key: _design(columns, key, d) for key, d in _check_mapping(designs).items()}
    layout = Layout.of(all_designs)
    encoded = [v.outputs.encode(_column(columns, v.name), missing=missing, match=match) for v in layout.variables]
    codes, dropped = _common(encoded, layout.names)
    joint = np.ravel_multi_index(tuple(code.astype(np.int64) for code in codes), layout.report_shape)
    if plan is not None:
        return Table(_under_plan(joint, layout, plan, method, dropped), layout)
    counts = np.bincount(joint, minlength=int(np.prod(layout.report_shape)))
    table = Table(estimate_by(method, Sample.of(counts, layout.design)), layout)
    return table.with_flag(f"{dropped:,} rows without a report were left out") if dropped else table


def _under_plan(joint: Array, layout: Layout, plan: Sampling, method: str, dropped: int) -> Estimate:
    from maskwell.estimation.sampling.weighted_survey import estimate_survey

    if method != "moments":
        raise ParameterError("method-with-a-sampling-plan", method=method)
    if dropped:
        raise ParameterError("rows-have-no-report", dropped=dropped)
    design = layout.design
    return estimate_survey(Reports(design.fingerprint, design.k, "codes", joint), design, plan)


def cross_tabulate_counts(counts: Any, designs: Mapping[Names, Design | None], *, method: str = "moments") -> Table:
    """The table of several variables from counts of their reports.

    ``counts`` has one axis for each variable, in the order of ``designs``; the other parameters are those of
    :func:`cross_tabulate`. A variable that was asked directly (``None``) has the categories 0, 1, 2, ...

    >>> from maskwell.designs import Dense
    >>> warner = Dense.of([["0.8", "0.2"], ["0.2", "0.8"]], Categories.of(["yes", "no"]))
    >>> table = cross_tabulate_counts([[60, 140], [100, 200]], {"smokes": warner, "drinks": warner})
    >>> table.pi_hat.round(3).tolist()   # a third smokes, a fifth drinks, few do both
    [[0.044, 0.289], [0.156, 0.511]]
    """
    check_kind(str, method=method)
    try:
        values = as_array(counts, "counts")
    except ValueError as error:
        raise ReportError("rows-of-counts-of-different-lengths") from error
    layout = Layout.of(_numbered(_check_mapping(designs), values))
    if values.shape != layout.report_shape:
        raise ReportError(
            "counts-of-shape-the-reports",
            shape=values.shape,
            names=", ".join(layout.names),
            report_shape=layout.report_shape,
        )
    return Table(estimate_by(method, Sample.of(values.ravel(), layout.design)), layout)


def table_of(estimate: Estimate, design: Design, names: Sequence[str]) -> Table:
    """The table of an estimate that was made with the design of all variables together, such as one from a file."""
    names = list_of(str, names, "names")
    check_kind(Estimate, estimate=estimate)
    check_kind(Design, design=design)
    return Table(estimate, Layout.of_design(design, names))


def _check_mapping(designs: Any) -> Mapping[Names, Design | None]:
    if not isinstance(designs, Mapping):
        raise ParameterError("designs-must-name-a-design", name=type(designs).__name__)
    return designs


def _numbered(designs: Mapping[Names, Design | None], values: Array) -> dict[Names, Design]:
    axis, all_designs = 0, {}
    for key, design in designs.items():
        size = values.shape[axis] if axis < values.ndim else 2
        all_designs[key] = direct(Categories.numbered(size)) if design is None else design
        axis += 1 if isinstance(key, str) else len(key)
    return all_designs


def _column(columns: Any, name: str) -> Any:
    known = _column_names(columns)
    if name not in known:
        shown = listed((repr(str(one)) for one in known), len(known), 60)
        raise ParameterError("there-is-no-column", shown=shown, name=name)
    return columns[name]


def _column_names(columns: Any) -> list[str]:
    if hasattr(columns, "column_names"):
        return list(columns.column_names)
    return as_list(columns.columns if hasattr(columns, "columns") else as_mapping(columns, "columns"), "columns")


def _design(columns: Any, key: Names, design: Design | None) -> Design:
    if design is not None:
        return design
    if not isinstance(key, str):
        raise ParameterError("cannot-share-a-device", key=", ".join(key))
    return direct(Categories.of(_occurring(_column(columns, key))))


def _occurring(values: Any) -> list[Any]:
    """The labels that occur in a column, sorted."""
    column = split_column(values)
    data = column.data if column.missing is None else np.asarray(column.data)[~column.missing]
    plain = isinstance(data, np.ndarray) and data.dtype.kind != "O"
    distinct = np.unique(data).tolist() if plain else list(dict.fromkeys(data))
    if column.distinct is not None:
        distinct = [column.distinct[place] for place in distinct if place >= 0]
    labels: list[Any] = Factor.of([label for label in distinct if not is_missing(label)]).labels.tolist()
    return labels


def _common(encoded: Sequence[Encoded], names: Sequence[str]) -> tuple[list[Array], int]:
    """Codes of the rows that have a report of every variable, and how many rows have not."""
    sizes = [len(one.codes) if one.kept is None else len(one.kept) for one in encoded]
    if len(set(sizes)) > 1:
        lengths = ", ".join(f"{name}: {size:,}" for name, size in zip(names, sizes, strict=True))
        raise ReportError("columns-of-different-lengths-give", lengths=lengths)
    kept = np.logical_and.reduce([np.ones(sizes[0], dtype=bool), *(e.kept for e in encoded if e.kept is not None)])
    codes = [e.codes[kept if e.kept is None else kept[e.kept]] for e in encoded]
    return codes, sizes[0] - int(kept.sum())
