"""Methods whose matrix was fixed before the file was seen: a matrix of one's own, a design file, or a demand."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any, ClassVar

import numpy as np

from maskwell.core.categories import Categories
from maskwell.core.exact import to_decimal
from maskwell.core.phrases import listed, shorten
from maskwell.designs.coded import CodedDesign
from maskwell.designs.dense import Dense
from maskwell.designs.design import Design
from maskwell.designs.uniform import Uniform
from maskwell.designs.wire import load_design
from maskwell.engines.handwritten_files import MatrixFile, read_matrix
from maskwell.errors import MatrixError, PlanError, TooLargeError, UnknownCategoryError
from maskwell.microdata.plans import plan_entries as read
from maskwell.microdata.plans.method import DEMANDS, GivenMethod, Method, demand_option, option
from maskwell.microdata.plans.plan_entries import by_text
from maskwell.microdata.stages.stage import state_categories
from maskwell.notes import Note

MOST_STATES = 10**5
ORIENTATIONS = ("columns", "rows")
Labels = tuple[Hashable, ...]
Rows = tuple[tuple[Fraction, ...], ...]
GivenMatrix = str | Rows
# One matrix for each cell, by the texts of its labels in the order of ``within``.
PerCell = Mapping[tuple[str, ...], GivenMatrix]


def matrix_entry(value: Any, name: str) -> GivenMatrix | PerCell:
    """A matrix as it is given."""
    if isinstance(value, Mapping):
        return dict(_cells(value, name, ()))
    return _one_matrix(value, name)


def _cells(value: Mapping[Any, Any], name: str, before: tuple[str, ...]) -> list[tuple[tuple[str, ...], GivenMatrix]]:
    if not value:
        raise PlanError("is-an-empty-table", name=name)
    matrices: list[tuple[tuple[str, ...], GivenMatrix]] = []
    for key, entry in value.items():
        cell = (*before, *(key if isinstance(key, tuple) else (str(key),)))
        if isinstance(entry, Mapping):
            matrices += _cells(entry, name, cell)
        else:
            matrices.append((cell, _one_matrix(entry, f"{name} of {'/'.join(cell)}")))
    return matrices


def _one_matrix(value: Any, name: str) -> GivenMatrix:
    if isinstance(value, str):
        return read.text(value, name)
    rows = value.tolist() if hasattr(value, "tolist") else value
    if not isinstance(rows, list | tuple) or not rows or not all(isinstance(row, list | tuple) for row in rows):
        raise PlanError("is-neither-a-file-nor-rows", name=name)
    numbers = tuple(
        tuple(read.number(entry, f"{name}[{i}, {j}]") for j, entry in enumerate(row)) for i, row in enumerate(rows)
    )
    lengths = sorted({len(row) for row in numbers})
    if len(lengths) > 1 or lengths == [0]:
        raise PlanError("has-rows-of-different-lengths", name=name, lengths=lengths)
    return numbers


def matrix_contents(value: GivenMatrix | PerCell) -> Any:
    """The matrix as a plan writes it."""
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        return _nested({cell: matrix_contents(one) for cell, one in value.items()})
    return [[to_decimal(entry) for entry in row] for row in value]


def _nested(cells: Mapping[tuple[str, ...], Any]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for cell, content in cells.items():
        inside = out
        for label in cell[:-1]:
            inside = inside.setdefault(label, {})
        inside[cell[-1]] = content
    return out


def states_entry(value: Any, name: str) -> tuple[tuple[str, ...], ...]:
    """The categories that a matrix is written for, in its order; of several variables, lists of labels."""
    if isinstance(value, str) or not isinstance(value, list | tuple) or not value:
        raise PlanError("is-no-list-of-categories", name=name)
    states = tuple(read.state(one, name) for one in value)
    if len(set(states)) < len(states):
        raise PlanError("holds-a-category-twice", name=name)
    return states


def matrix_option() -> Any:
    """A matrix of one's own."""
    return option(matrix_entry, matrix_contents, names_files=True)


def categories_option() -> Any:
    """The categories that it is written for."""
    return option(states_entry, lambda states: [state[0] if len(state) == 1 else list(state) for state in states])


def design_of_matrix(
    matrix: GivenMatrix, orientation: str | None, categories: Sequence[tuple[str, ...]] | None, where: str
) -> CodedDesign:
    """A matrix of the plan as a design, its categories the labels of the plan or of the file, or else numbered."""
    file = read_matrix(matrix) if isinstance(matrix, str) else MatrixFile(matrix)
    by_rows = orientation == "rows"
    make = Dense.from_rows if by_rows else Dense.of
    try:
        design = make([list(row) for row in file.entries])
    except MatrixError as error:
        said = 'say so in the plan: orientation = "rows" for rows that sum to 1, "columns" for columns'
        hint = said if error.code == "orientation" else error.hint
        raise type(error)(f"{where}: {error.message}", hint=hint, values=error.values, **error.objects) from error
    inputs, outputs = file.column_labels, file.row_labels
    if by_rows:
        inputs, outputs = outputs, inputs
    if categories is not None:
        inputs = Categories.of([label[0] if len(label) == 1 else label for label in categories])
        outputs = None
    if inputs is None:
        return design
    return design.with_labels(inputs, outputs)


def places_of(design: Design, labels: Sequence[Labels], where: str) -> list[int]:
    """Where the design has each of these labels; matched by text. Numbered categories are taken in order."""
    if isinstance(design.inputs.labels, range) and design.k == len(labels):
        return list(range(len(labels)))
    known = {text_of(label): i for i, label in enumerate(design.inputs.labels)}
    places = []
    for label in labels:
        place = next((known[text] for text in texts_of(label) if text in known), None)
        if place is None:
            raise UnknownCategoryError(
                "the-matrix-lacks-a-category", where=where, values=repr(", ".join(map(str, label))), label=label
            )
        places.append(place)
    return places


def text_of(label: Hashable) -> tuple[str, ...]:
    """A label of a design as the texts of its parts."""
    parts = label if isinstance(label, tuple) else (label,)
    return tuple(next(iter(by_text([part]))) for part in parts)


def texts_of(label: Labels) -> list[tuple[str, ...]]:
    """All texts that a label of the file may be written as in a plan."""
    texts: list[tuple[str, ...]] = [()]
    for part in label:
        texts = [(*start, text) for start in texts for text in by_text([part])]
    return texts


@dataclass(frozen=True, kw_only=True)
class Fixed(GivenMethod):
    """A matrix of your own."""

    name: ClassVar[str] = "fixed"
    needs: ClassVar[tuple[str, ...]] = ("matrix", "orientation")
    moves: ClassVar[bool] = True

    matrix: Any = matrix_option()
    orientation: str | None = option(read.choice(*ORIENTATIONS))
    categories: tuple[tuple[str, ...], ...] | None = categories_option()

    @property
    def by_cell(self) -> Mapping[tuple[str, ...], Any] | None:
        """A matrix for each cell, where the plan gives them so."""
        return self.matrix if isinstance(self.matrix, Mapping) else None

    def given_design(self, levels: Sequence[Sequence[Hashable]], where: str) -> CodedDesign:
        """One matrix for all records."""
        design = design_of_matrix(self.matrix, self.orientation, self.categories, where)
        if not isinstance(design.inputs.labels, range):
            return design
        if len(levels) > 1 or len(levels[0]) != design.k:
            raise PlanError("a-matrix-for-categories-does-not", where=where, k=design.k)
        order = listed(map(str, levels[0]), len(levels[0]), 60)
        note = Note("the-matrix-has-no-labels", order=order)
        return design.with_labels(state_categories([(level,) for level in levels[0]])).with_provenance(notes=(note,))

    def cell_design(
        self, cell: Labels, within: Sequence[str], levels: Sequence[Sequence[Hashable]], where: str
    ) -> CodedDesign:
        """The matrix that the plan gives for one cell."""
        matrices = self.by_cell or {}
        key = next((text for text in texts_of(cell) if text in matrices), None)
        if key is None:
            raise UnknownCategoryError(
                "a-cell-of-has-no-matrix", where=where, within=" and ".join(within), values=short_label(cell)
            )
        design = design_of_matrix(matrices[key], self.orientation, self.categories, f"{where}, {short_label(cell)}")
        if isinstance(design.inputs.labels, range):
            return design.with_labels(state_categories([(level,) for level in levels[0]]))
        return design

    def unused_cells(self, cells: Sequence[Labels]) -> tuple[str, ...]:
        """A note that there is a matrix for a cell that does not occur."""
        used = {text for cell in cells for text in texts_of(cell)}
        unused = [key for key in self.by_cell or () if key not in used]
        return (f"there is a matrix for {'/'.join(unused[0])}, which does not occur in the file",) if unused else ()


def short_label(label: Labels) -> str:
    """A label of several parts in a message."""
    return shorten(", ".join(map(str, label)), 30)


@dataclass(frozen=True, kw_only=True)
class DesignFile(GivenMethod):
    """A design file."""

    name: ClassVar[str] = "design"
    needs: ClassVar[tuple[str, ...]] = ("file",)
    moves: ClassVar[bool] = True

    file: str | None = option(read.text, names_files=True)

    def given_design(self, levels: Sequence[Sequence[Hashable]], where: str) -> CodedDesign:
        """As in the file."""
        assert self.file is not None
        design = load_design(self.file)
        if not isinstance(design, CodedDesign):
            raise PlanError("the-reports-of-a-design", where=where, kind=design.kind)
        return design


@dataclass(frozen=True, kw_only=True)
class ByDemand(Method):
    """A method that may follow from a demand on privacy."""

    gamma: Fraction | None = demand_option("gamma")
    epsilon: Fraction | None = demand_option("epsilon")
    beta: Fraction | None = demand_option("beta")
    bayes_factor: Fraction | None = demand_option("bayes_factor")
    rho: tuple[Fraction, Fraction] | None = demand_option("rho")


@dataclass(frozen=True, kw_only=True)
class UniformByDemand(ByDemand, GivenMethod):
    """The truth with one chance, every other category with another, by a demand on privacy."""

    name: ClassVar[str] = "uniform"
    one_of: ClassVar[tuple[str, ...]] = tuple(DEMANDS)

    def promises(self) -> dict[str, Fraction]:
        """The demand is a bound on the parity, where it is an exact number."""
        exact = None if self.demand is None else self.demand.gamma_exact
        return {"parity": exact} if isinstance(exact, Fraction) else {}

    def given_design(self, levels: Sequence[Sequence[Hashable]], where: str) -> CodedDesign:
        """Over all combinations of the labels."""
        if np.prod([len(labels) for labels in levels], dtype=object) > MOST_STATES:
            raise TooLargeError("too-many-combinations-for-one-design", where=where)
        assert self.demand is not None
        return Uniform.from_gamma(self.demand.gamma_exact, state_categories([*product(*levels)]))


GIVEN_METHODS: tuple[type[Method], ...] = (Fixed, DesignFile, UniformByDemand)
