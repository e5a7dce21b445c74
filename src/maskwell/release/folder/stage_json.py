"""Stages in JSON: everything that one randomization of a release was, for the internal receipt, and back."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from maskwell.core import labels as rules
from maskwell.core.arrays import Real
from maskwell.core.categories import Categories
from maskwell.designs.coded import CodedDesign
from maskwell.designs.sparse import Sparse
from maskwell.designs.wire import design_from_dict
from maskwell.release.stages.stage import Stage, state_categories

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
    states, outputs = labels_from(content["states"]), labels_from(content["outputs"])
    first, *then = map(matrix_from, content.get("steps", [content["design"]]))
    design, counts, cells = matrix_from(content["design"]), content["counts"], content["cells"]
    if not (design.k == len(states) == len(counts) == len(cells) and design.m == len(outputs) and min(counts) >= 0):
        raise ValueError("states, counts, cells and matrix of a stage do not fit together")
    steps = (labelled(first, states, outputs), labelled(then[0], outputs, outputs)) if then else None
    return Stage(
        variables=tuple(content["variables"]),
        within=tuple(content["within"]),
        linked={name: _table(pairs) for name, pairs in content["linked"].items()},
        states=states,
        outputs=outputs,
        design=labelled(design, states, outputs),
        counts=np.array(counts, dtype=np.int64),
        weights=_array(content["weights"]),
        squares=_array(content["squares"]),
        cells=np.array(cells, dtype=np.int64),
        method=content["method"],
        invariance=content["invariance"],
        derived=content["derived"],
        notes=tuple(content["notes"]),
        steps=steps,
    )


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


def labels_from(content: Any) -> list[tuple[Hashable, ...]]:
    """Undo :func:`labels_json`."""
    return [tuple(None if form is None else rules.from_json(form) for form in state) for state in content]


def label_json(label: Hashable) -> Any:
    """One label, ``None`` for a missing value."""
    return None if label is None else rules.to_json(rules.plain(label))


def _pairs(table: Mapping[tuple[Hashable, ...], Hashable]) -> list[list[Any]]:
    return [[[label_json(part) for part in key], label_json(label)] for key, label in table.items()]


def _table(pairs: Any) -> dict[tuple[Hashable, ...], Hashable]:
    keys, labels = labels_from([key for key, _ in pairs]), labels_from([[label] for _, label in pairs])
    return {key: label for key, (label,) in zip(keys, labels, strict=True)}


def _numbers(values: Real | None) -> list[float] | None:
    return None if values is None else np.asarray(values, dtype=np.float64).tolist()


def _array(values: Any) -> Real | None:
    return None if values is None else np.array(values, dtype=np.float64)
