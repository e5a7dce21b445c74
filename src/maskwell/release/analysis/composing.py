"""Several randomizations after each other as one matrix over the cells of a table.

    P = P_m ... P_1,    later ones on the left

Only cells that occur are kept, by their labels. A cell whose state a group does not know, such as one without a value,
stays as it is. Source: [Adeshiyan2011, Theorem 4.2 and Remark 4.1].
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from maskwell.core.arrays import Array
from maskwell.core.labels import texts
from maskwell.errors import TooLargeError
from maskwell.release.folder.receipt import Group

MOST_TRANSITIONS = 2 * 10**6
MOST_CELLS = 3000
Cell = tuple[Hashable, ...]
TextKey = tuple[str | None, ...]


def composed(groups: Sequence[Group], columns: Sequence[str], cells: Sequence[Cell]) -> tuple[Any, list[Cell]]:
    """The matrix that takes true cells (columns of the matrix) to released ones, and the released cells.

    ``columns`` are those of the cells; they hold all that tell the states of the groups.
    """
    from scipy.sparse import identity

    P, current = identity(len(cells), format="csc"), list(cells)
    for group in groups:
        step, current = _step(group, columns, current)
        P = step @ P
    return P, current


def _step(group: Group, columns: Sequence[str], cells: Sequence[Cell]) -> tuple[Any, list[Cell]]:
    from scipy.sparse import csc_array

    starts, rows, values = _by_state(group)
    states = {text_key(state): place for place, state in enumerate(group.states)}
    own = [columns.index(name) for name in group.cells]
    known: dict[Cell, int] = {}
    into: list[int] = []
    out: list[int] = []
    chances: list[float] = []
    for number, cell in enumerate(cells):
        state = states.get(text_key([cell[place] for place in own]))
        part = slice(0, 0) if state is None else slice(starts[state], starts[state + 1])
        targets = [cell] if state is None else [_replaced(cell, own, group.outputs[i]) for i in rows[part]]
        into += [known.setdefault(target, len(known)) for target in targets]
        out += [number] * len(targets)
        chances += [1.0] if state is None else values[part].tolist()
        if len(into) > MOST_TRANSITIONS:
            raise TooLargeError(
                f"the matrices of these columns have more than {MOST_TRANSITIONS:,} entries together",
                hint="estimate fewer columns together",
            )
    return csc_array((chances, (into, out)), shape=(len(known), len(cells))), [*known]


def _by_state(group: Group) -> tuple[Array, Array, Array]:
    """The non-zeros of the matrix of a group, column by column."""
    from scipy.sparse import csc_array

    assert group.design is not None
    design: Any = group.design
    P = design.csc() if hasattr(design, "csc") else csc_array(design.matrix())
    return P.indptr, P.indices, P.data


def _replaced(cell: Cell, places: Sequence[int], labels: Cell) -> Cell:
    new = list(cell)
    for place, label in zip(places, labels, strict=True):
        new[place] = label
    return tuple(new)


def text_key(labels: Sequence[Hashable]) -> TextKey:
    """Labels by their texts: a file may have been saved with numbers for texts."""
    return tuple(None if label is None else texts(label)[-1] for label in labels)


def joined_states(
    groups: Sequence[Group], columns: Sequence[str], levels: Mapping[str, Sequence[Hashable]]
) -> list[Cell]:
    """All cells whose part in each group is one of its states; columns of no group have all their levels."""
    cells: list[dict[str, Hashable]] = [{}]
    for group in groups:
        cells = [
            {**cell, **dict(zip(group.cells, state, strict=True))}
            for cell in cells
            for state in group.states
            if all(cell.get(name, label) == label for name, label in zip(group.cells, state, strict=True))
        ]
        _check_few(len(cells))
    for name in columns:
        if not any(name in group.cells for group in groups):
            _check_few(len(cells) * len(levels[name]))
            cells = [{**cell, name: label} for cell in cells for label in levels[name]]
    return [tuple(cell[name] for name in columns) for cell in cells]


def _check_few(count: int) -> None:
    if count > MOST_CELLS:
        raise TooLargeError(
            f"a table of more than {MOST_CELLS:,} cells cannot be estimated with its matrices",
            hint="estimate fewer columns together",
        )


def parts_of(cells: Sequence[Cell], columns: Sequence[str], wanted: Sequence[str]) -> list[Cell]:
    """The labels of each cell in the wanted columns."""
    places = [columns.index(name) for name in wanted]
    return [tuple(cell[i] for i in places) for cell in cells]


def numbered_by_text(parts: Sequence[Cell], known: dict[TextKey, int]) -> Array:
    """A number for each cell, the same for those with the same texts; new ones are added to ``known``."""
    return np.array([known.setdefault(text_key(part), len(known)) for part in parts], dtype=np.int64)
