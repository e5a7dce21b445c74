"""Stages whose matrix was fixed before the file was seen: a matrix of one's own, a design file, or a demand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from datetime import date, datetime
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from maskwell.core.arrays import Array
from maskwell.core.categories import Categories
from maskwell.core.cell_table import CellTable
from maskwell.core.labels import read_text
from maskwell.core.phrases import listed, shorten, shown_values
from maskwell.designs.coded import CodedDesign
from maskwell.designs.sparse import Sparse
from maskwell.designs.uniform import Uniform
from maskwell.errors import PlanError, TooLargeError, UnknownCategoryError
from maskwell.release.plans.method_entries import demand_of
from maskwell.release.plans.plan_entries import by_text
from maskwell.release.stages.given_matrices import given_design, given_file, text_of, texts_of
from maskwell.release.stages.stage import Stage, state_categories

if TYPE_CHECKING:
    from maskwell.release.plans.protection import Protection
    from maskwell.release.plans.release_plan import ReleasePlan

MOST_STATES = 10**5
_READ_AS: Mapping[type, str] = {bool: "boolean", date: "date", datetime: "datetime"}
Labels = tuple[Hashable, ...]


def fixed_stage(plan: ReleasePlan, protection: Protection, table: CellTable, where: str) -> Stage:
    """The stage of a protection whose matrix does not depend on the file.

    ``table`` has the columns of ``within`` first, then the variables.
    """
    matrix = protection.options.get("matrix")
    if isinstance(matrix, Mapping):
        return _by_cell(plan, protection, table, matrix, where)
    design = _common(plan, protection, table, where)
    levels = [known_levels(plan, table, name) for name in protection.variables]
    labels, outputs = _typed(design.inputs, levels), _typed(design.outputs, levels)
    counts = _counts(plan, table.project(protection.variables), labels, where)
    return Stage(
        variables=protection.variables,
        states=labels,
        outputs=outputs,
        design=design,
        cells=np.zeros(len(labels), dtype=np.int64),
        method=protection.method,
        invariance="none",
        derived=False,
        notes=design.provenance.get("notes", ()),
        **counts,
    )


def _common(plan: ReleasePlan, protection: Protection, table: CellTable, where: str) -> CodedDesign:
    if protection.method == "design":
        return given_file(protection.options["file"], where)
    if protection.method == "uniform":
        demand = demand_of(protection.options)
        assert demand is not None
        levels = [known_levels(plan, table, name) for name in protection.variables]
        return Uniform.from_gamma(demand.gamma_exact, _product(levels, where))
    design = given_design(protection.options["matrix"], protection.options, where)
    assert isinstance(design, CodedDesign)
    if not isinstance(design.inputs.labels, range):
        return design
    levels = [known_levels(plan, table, name) for name in protection.variables]
    if len(levels) > 1 or len(levels[0]) != design.k:
        named = "give categories = [...] in the order of the matrix"
        raise PlanError(f"{where}: a matrix for {design.k} categories does not say which they are", hint=named)
    order = listed(map(str, levels[0]), len(levels[0]), 60)
    note = f"the matrix has no labels; its rows and columns are taken in the order {order}"
    return design.with_labels(state_categories([(level,) for level in levels[0]])).with_provenance(notes=(note,))


def _product(levels: Sequence[Sequence[Hashable]], where: str) -> Categories:
    if np.prod([len(own) for own in levels], dtype=object) > MOST_STATES:
        raise TooLargeError(f"{where}: too many combinations for one design", hint="protect the variables one by one")
    return state_categories([*product(*levels)])


def known_levels(plan: ReleasePlan, table: CellTable, column: str) -> list[Hashable]:
    """All labels of a column: those of the codebook in its order, in the type of the file, or those that occur."""
    found = [level for level in table.levels[table.place(column)] if level is not None or plan.missing == "category"]
    if column not in plan.codebook:
        return found
    known = by_text(found)
    listed_ = [known[text] if text in known else typed(text, found) for text in plan.codebook[column]]
    extra = [level for level in found if level not in listed_]
    if extra:
        times = table.project([column])
        counts = {times.label(i)[0]: int(n) for i, n in enumerate(times.counts)}
        what = "1 value is" if len(extra) == 1 else f"{len(extra):,} values are"
        raise UnknownCategoryError(
            f"column {shorten(column, 40)!r}: {what} not in its codebook",
            hint="add what is missing to [codebook], or correct the file; --show-values lists it",
            values=shown_values({level: counts[level] for level in extra}),
            offenders={level: counts[level] for level in extra},
        )
    return listed_


def typed(text: str, levels: Sequence[Hashable]) -> Hashable:
    """A label that does not occur, in the type of those that do.

    >>> typed("9", [1, 2]), typed("9", ["1", "2"]), typed("false", [True])
    (9, '9', False)
    """
    kinds = {type(level) for level in levels if level is not None}
    if kinds <= {int, float} and kinds:
        try:
            value = float(text)
        except ValueError:
            return text
        return int(value) if value.is_integer() else value
    name = _READ_AS.get(next(iter(kinds))) if len(kinds) == 1 else None
    found = None if name is None else read_text(text, name)
    return text if found is None else found


def _typed(categories: Categories, levels: Sequence[Sequence[Hashable]]) -> list[Labels]:
    """Labels of a design as labels of the file, matched by their text."""
    known = [({"missing": None} if None in own else {}) | by_text(own) for own in levels]

    def one(label: Hashable) -> Labels:
        parts = text_of(label)
        return tuple(k[t] if t in k else typed(t, own) for t, k, own in zip(parts, known, levels, strict=True))

    try:
        found = [one(label) for label in categories.labels]
    except ValueError as error:
        raise PlanError(
            f"the categories of the design have not {len(levels)} parts, one for each variable",
            hint="name as many variables as the design has, or give categories = [...]",
        ) from error
    if twice := [label for label, times in Counter(found).items() if times > 1]:
        raise PlanError(
            "two categories of the design stand for one value of the file",
            hint="give every category of the matrix a label of its own",
            values=_shown(twice[0]),
        )
    return found


def _counts(plan: ReleasePlan, table: CellTable, labels: Sequence[Labels], where: str) -> dict[str, Any]:
    """Records and weights of each state; an error for records that the design has no category for."""
    places = {label: i for i, label in enumerate(labels)}
    where_each = np.array([places.get(label, -1) for label in table.labels()], dtype=np.int64)
    missing = plan.missing != "category"
    lost = [i for i in np.flatnonzero(where_each < 0) if not (missing and None in table.label(int(i)))]
    if lost:
        what = "1 value of the file is" if len(lost) == 1 else f"{len(lost):,} values of the file are"
        raise UnknownCategoryError(
            f"{where}: {what} not in the matrix",
            hint="add what is missing to the matrix, or group it in the file; --show-values lists it",
            values=shown_values({_shown(table.label(int(i))): int(table.counts[i]) for i in lost}),
            offenders={table.label(int(i)): int(table.counts[i]) for i in lost},
        )
    kept = where_each >= 0

    def spread(values: Array | None, kind: Any) -> Any:
        if values is None:
            return None
        return np.bincount(where_each[kept], values[kept], minlength=len(labels)).astype(kind)

    return {
        "counts": spread(table.counts, np.int64),
        "weights": spread(table.weights, np.float64),
        "squares": spread(table.squares, np.float64),
    }


def _shown(label: Labels) -> str:
    return shorten(", ".join(map(str, label)), 30)


def _by_cell(
    plan: ReleasePlan, protection: Protection, table: CellTable, matrices: Mapping[tuple[str, ...], Any], where: str
) -> Stage:
    """One matrix for each cell of ``within``."""
    n_within = len(protection.within)
    table = table.project([*protection.within, *protection.variables])  # without columns that rules join to them
    cells = _reached(plan, protection, [*dict.fromkeys(label[:n_within] for label in table.labels())], table)
    levels = [known_levels(plan, table, name) for name in protection.variables]
    found = {cell: _matrix_of(cell, protection, matrices, levels, where) for cell in cells}
    labels = [(*cell, *label) for cell, own in found.items() for label in _typed(own.inputs, levels)]
    outputs = [(*cell, *label) for cell, own in found.items() for label in _typed(own.outputs, levels)]
    sizes = [own.k for own in found.values()]
    places = np.split(np.arange(sum(sizes)), np.cumsum(sizes)[:-1])
    whole = Sparse.stacked([Sparse.of_matrix(own.exact_matrix()) for own in found.values()], places)
    return Stage(
        variables=protection.variables,
        within=protection.within,
        states=labels,
        outputs=outputs,
        design=whole.with_labels(state_categories(labels), state_categories(outputs)),
        cells=np.repeat(np.arange(len(sizes)), sizes),
        method=protection.method,
        invariance="none",
        derived=False,
        notes=_unused(matrices, cells),
        **_counts(plan, table, labels, where),
    )


def _matrix_of(
    cell: Labels,
    protection: Protection,
    matrices: Mapping[tuple[str, ...], Any],
    levels: Sequence[Sequence[Hashable]],
    where: str,
) -> CodedDesign:
    """The matrix that a plan gives for one cell."""
    key = next((text for text in texts_of(cell) if text in matrices), None)
    if key is None:
        raise UnknownCategoryError(
            f"{where}: a cell of {' and '.join(protection.within)} has no matrix",
            hint="give a matrix for every cell that occurs or that an earlier randomization can lead to",
            values=_shown(cell),
        )
    design = given_design(matrices[key], protection.options, f"{where}, {_shown(cell)}")
    assert isinstance(design, CodedDesign)
    if isinstance(design.inputs.labels, range):
        return design.with_labels(state_categories([(level,) for level in levels[0]]))
    return design


def _unused(matrices: Mapping[tuple[str, ...], Any], cells: Sequence[Labels]) -> tuple[str, ...]:
    """That there is a matrix for a cell that does not occur."""
    used = {text for cell in cells for text in texts_of(cell)}
    unused = [key for key in matrices if key not in used]
    return (f"there is a matrix for {'/'.join(unused[0])}, which does not occur in the file",) if unused else ()


def _reached(plan: ReleasePlan, protection: Protection, cells: Sequence[Labels], table: CellTable) -> Sequence[Labels]:
    """The cells that occur, and those that earlier randomizations of ``within`` may lead to.

    Records that come into a cell without a matrix would stay as they are, and a published receipt would tell so.
    """
    before = plan.protections[: plan.protections.index(protection)]
    moved = {name for one in before for name in one.moved}
    levels = [known_levels(plan, table, name) if name in moved else None for name in protection.within]
    if not any(levels):
        return cells
    choices = (product(*(own or [part] for own, part in zip(levels, cell, strict=True))) for cell in cells)
    return [*dict.fromkeys([*cells, *(cell for some in choices for cell in some)])]


FIXED = {"fixed", "design", "uniform"}
"""Methods whose matrix does not depend on the file."""
