"""Stages in JSON: everything that one randomization of a release was, for the internal receipt, and back."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, TypeAlias, TypeVar

import numpy as np

from maskwell.core import labels as rules
from maskwell.core.arrays import Array, Real
from maskwell.core.categories import Categories
from maskwell.designs.coded import CodedDesign
from maskwell.designs.sparse import Sparse
from maskwell.designs.wire import design_from_dict
from maskwell.release.stages.stage import Stage, state_categories

T = TypeVar("T")
State: TypeAlias = tuple[Hashable, ...]


def stage_to_dict(stage: Stage) -> dict[str, Any]:
    """All of a stage, with the counts of the original file: never to be published.

    >>> import numpy as np
    >>> from maskwell.designs.uniform import Uniform
    >>> from maskwell.core.categories import Categories
    >>> states = [("no",), ("yes",)]
    >>> stage = Stage(variables=("smokes",), states=states, outputs=states, counts=np.array([30, 10]),
    ...               design=Uniform.from_gamma(3, Categories.of(["no", "yes"])), cells=np.zeros(2, dtype=int),
    ...               method="uniform", invariance="none", derived=False)
    >>> stage_from_dict(stage_to_dict(stage)).counts.tolist()   # what went in comes back
    [30, 10]
    """
    return {
        "variables": list(stage.variables),
        "within": list(stage.within),
        "linked": {name: _pairs(table) for name, table in stage.linked.items()},
        "states": labels_json(stage.states),
        "outputs": labels_json(stage.outputs),
        "design": numbered(stage.design).to_dict(),
        "counts": stage.counts.tolist(),
        "weights": _numbers(stage.weights),
        "squares": _numbers(stage.squares),
        "cells": stage.cells.tolist(),
        "method": stage.method,
        "invariance": stage.invariance,
        "derived": stage.derived,
        "notes": list(stage.notes),
        **({} if stage.steps is None else {"steps": [numbered(step).to_dict() for step in stage.steps]}),
    }


def stage_from_dict(content: Mapping[str, Any]) -> Stage:
    """The stage that :func:`stage_to_dict` wrote."""
    variables, within = names_of(content, "variables"), names_of(content, "within")
    states, outputs = (labels_from(content[name], len(within + variables)) for name in ("states", "outputs"))
    design, k = matrix_from(content["design"]), len(states)
    if (design.k, design.m) != (k, len(outputs)):
        raise ValueError("states and matrix of a stage do not fit together")
    return Stage(
        variables=variables,
        within=within,
        linked={name: _table(pairs, len(variables)) for name, pairs in table_of(content, "linked").items()},
        states=states,
        outputs=outputs,
        design=labelled(design, states, outputs),
        counts=_whole(content["counts"], k, 1 << 53),
        weights=_array(content["weights"], k),
        squares=_array(content["squares"], k),
        cells=_whole(content["cells"], k, k),
        method=of_kind(str, content, "method"),
        invariance=of_kind(str, content, "invariance"),
        derived=of_kind(bool, content, "derived"),
        notes=names_of(content, "notes"),
        steps=_steps(content, states, outputs),
    )


def _steps(
    content: Mapping[str, Any], states: Sequence[State], outputs: Sequence[State]
) -> tuple[CodedDesign, CodedDesign] | None:
    if "steps" not in content:
        return None
    first, second = map(matrix_from, of_kind(list, content, "steps"))
    if (first.k, first.m, second.k, second.m) != (len(states), *[len(outputs)] * 3):
        raise ValueError("the two matrices of a stage do not fit together")
    return labelled(first, states, outputs), labelled(second, outputs, outputs)


def of_kind(kind: type[T], content: Mapping[str, Any], name: str) -> T:
    """A field that must be of one kind."""
    found = content[name]
    if not isinstance(found, kind):
        raise TypeError(f"{name} is a {type(found).__name__}")
    return found


def table_of(content: Mapping[str, Any], name: str) -> dict[str, Any]:
    """A field that must be an object."""
    found: dict[str, Any] = of_kind(dict, content, name)
    return found


def names_of(content: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """A field that lists texts."""
    return tuple(of_kind(str, {name: one}, name) for one in of_kind(list, content, name))


def matrix_from(content: Any) -> CodedDesign:
    """A design of which a receipt tells the matrix; TypeError for one whose reports are sets."""
    design = design_from_dict(content)
    if not isinstance(design, CodedDesign):
        raise TypeError(f"a {design.kind} design is no matrix of a release")
    return design


def numbered(design: CodedDesign) -> CodedDesign:
    """Without labels, which stand beside it as states: they may be missing values, and there may be a million."""
    if not isinstance(design, Sparse):
        return design
    return design.with_labels(Categories.numbered(design.k), Categories.numbered(design.m))


def labelled(design: CodedDesign, states: Sequence[State], outputs: Sequence[State]) -> CodedDesign:
    """Undo :func:`numbered`."""
    return labelled_as(design, states, outputs) if isinstance(design, Sparse) else design


def labelled_as(design: CodedDesign, states: Sequence[State], outputs: Sequence[State]) -> CodedDesign:
    """A design whose categories are the labels of states; a label alone where there is one column."""
    inputs, reports = state_categories(states), state_categories(outputs)
    if design.inputs == inputs and design.outputs == reports:
        return design
    return design.with_labels(inputs, reports)


def labels_json(states: Sequence[State]) -> list[list[Any]]:
    """Labels of states; a missing value is ``null``.

    >>> labels_json([("a", 1), ("b", None)])
    [['a', 1], ['b', None]]
    """
    return [[label_json(label) for label in state] for state in states]


def labels_from(content: Any, width: int) -> list[tuple[Hashable, ...]]:
    """Undo :func:`labels_json`, for states of so many columns."""
    if not isinstance(content, list) or any(type(state) is not list or len(state) != width for state in content):
        raise ValueError("states do not have one label for each column")
    return [tuple(None if form is None else rules.from_json(form) for form in state) for state in content]


def label_json(label: Hashable) -> Any:
    """One label, ``None`` for a missing value."""
    return None if label is None else rules.to_json(rules.plain(label))


def _pairs(table: Mapping[tuple[Hashable, ...], Hashable]) -> list[list[Any]]:
    return [[[label_json(part) for part in key], label_json(label)] for key, label in table.items()]


def _table(pairs: Any, width: int) -> dict[tuple[Hashable, ...], Hashable]:
    keys, labels = labels_from([key for key, _ in pairs], width), labels_from([[label] for _, label in pairs], 1)
    return {key: label for key, (label,) in zip(keys, labels, strict=True)}


def _numbers(values: Real | None) -> list[float] | None:
    return None if values is None else np.asarray(values, dtype=np.float64).tolist()


def _array(values: Any, k: int) -> Real | None:
    if values is None:
        return None
    if not isinstance(values, list) or len(values) != k or {*map(type, values)} - {int, float}:
        raise ValueError("weights of a stage are not a number for each state")
    return np.array(values, dtype=np.float64)


def _whole(values: Any, k: int, end: int) -> Array:
    """Whole numbers from 0 to below an end, one for each state."""
    if not isinstance(values, list) or len(values) != k or {*map(type, values)} - {int}:
        raise ValueError("counts and cells of a stage are not a whole number for each state")
    if values and not 0 <= min(values) <= max(values) < end:
        raise ValueError("counts or cells of a stage are out of range")
    return np.array(values, dtype=np.int64)
