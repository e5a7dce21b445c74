"""Matrices that a plan gives: a file, rows of numbers or a design file, with categories by their text."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from maskwell.core.categories import Categories
from maskwell.designs.base import Design
from maskwell.designs.coded import CodedDesign
from maskwell.designs.dense import Dense
from maskwell.designs.wire import load_design
from maskwell.engines.handwritten_files import MatrixFile, read_matrix
from maskwell.errors import MatrixError, PlanError, UnknownCategoryError
from maskwell.release.plans.entries import by_text


def given_design(given: Any, options: Mapping[str, Any], where: str) -> Design:
    """A matrix of the plan as a design, its categories the labels of the plan or of the file, or else numbered."""
    file = read_matrix(given) if isinstance(given, str) else MatrixFile(given)
    named = options.get("categories")
    by_rows = options.get("orientation") == "rows"
    make = Dense.from_rows if by_rows else Dense.of
    try:
        design = make([list(row) for row in file.entries])
    except MatrixError as error:
        raise type(error)(
            f"{where}: {error.message}", hint=_orientation_hint(error), values=error.values, **error.objects
        ) from error
    inputs, outputs = file.column_labels, file.row_labels
    if by_rows:
        inputs, outputs = outputs, inputs
    if named is not None:
        inputs = Categories.of([label[0] if len(label) == 1 else label for label in named])
        outputs = None
    if inputs is None:
        return design
    return design.with_labels(inputs, outputs)


def _orientation_hint(error: MatrixError) -> str:
    if error.code == "orientation":
        return 'say so in the plan: orientation = "rows" for rows that sum to 1, "columns" for columns'
    return error.hint


def given_file(path: str, where: str) -> CodedDesign:
    """A design file whose reports are single labels."""
    design = load_design(path)
    if not isinstance(design, CodedDesign):
        raise PlanError(
            f"{where}: the reports of a {design.kind} design are sets, which cannot stand in place of a category",
            hint="use a design whose reports are categories, such as k-ary",
        )
    return design


def places_of(design: Design, labels: Sequence[tuple[Hashable, ...]], where: str) -> list[int]:
    """Where the design has each of these labels; matched by text. Numbered categories are taken in order."""
    if isinstance(design.inputs.labels, range) and design.k == len(labels):
        return list(range(len(labels)))
    known = {text_of(label): i for i, label in enumerate(design.inputs.labels)}
    found = []
    for label in labels:
        place = next((known[text] for text in texts_of(label) if text in known), None)
        if place is None:
            raise UnknownCategoryError(
                f"{where}: the matrix lacks a category that occurs in the file",
                hint="give categories = [...] in the order of the matrix, all that occur",
                values=repr(", ".join(map(str, label))),
                label=label,
            )
        found.append(place)
    return found


def text_of(label: Hashable) -> tuple[str, ...]:
    """A label of a design as the texts of its parts."""
    parts = label if isinstance(label, tuple) else (label,)
    return tuple(next(iter(by_text([part]))) for part in parts)


def texts_of(label: tuple[Hashable, ...]) -> list[tuple[str, ...]]:
    """All texts that a label of the file may be written as in a plan."""
    found: list[tuple[str, ...]] = [()]
    for part in label:
        found = [(*start, text) for start in found for text in by_text([part])]
    return found
