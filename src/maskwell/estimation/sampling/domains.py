"""Which lines of the cells belong to which domain."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np

from maskwell.core.arrays import Array
from maskwell.core.cells import Cells


def lines_of_domains(cells: Cells) -> dict[Hashable, Array]:
    """The lines of each domain by its label, in ascending order; nothing where there are no domains.

    >>> cells = Cells.of([0, 1, 1], domain=["m", "f", "m"])
    >>> {label: lines.tolist() for label, lines in lines_of_domains(cells).items()}
    {'f': [0], 'm': [1, 2]}
    """
    if not cells.domain.given:
        return {}
    order = np.argsort(cells.domain.codes, kind="stable")
    ends = np.cumsum(np.bincount(cells.domain.codes, minlength=cells.domain.size))
    return dict(zip(cells.domain.labels.tolist(), np.split(order, ends[:-1]), strict=True))
