"""Risk under an exchange that keeps all counts exactly: records are not drawn independently, and T is known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from maskwell.release.risk.cell_risks import CellRisks
from maskwell.release.risk.components import acting
from maskwell.release.risk.listed import Listed
from maskwell.release.risk.summands import highest_of, row_sums
from maskwell.release.stages.stage import Stage


def keeps_counts(stages: Sequence[Stage], keys: Sequence[str]) -> bool:
    """Whether every released cell of the key has as many records as the true one: one exchange of the whole key."""
    own = acting(stages, keys)
    return len(own) == 1 and own[0].method == "swap" and {*keys} <= {*own[0].columns, *own[0].linked}


def has_exchange(stages: Sequence[Stage], keys: Sequence[str]) -> bool:
    """Whether a part of the key is exchanged between records."""
    return any(stage.method == "swap" for stage in acting(stages, keys))


def exchanged_risks(risks: CellRisks) -> CellRisks:
    """The risks where only a part of the key is exchanged: those that nothing can exceed, ``1 / N`` for a cell of N.

    How many arrive then depends on who else does, and can tell who is there: of 36 records of six values, where each
    value takes one record of every value, a sixth that is released with some other key proves that the one which had
    it before has stayed. The N records of a cell are still alike. So of t released ones at most t / N of each are
    expected, and none of them is found with more than 1 / N. Derived.
    """
    most = 1 / risks.counts
    return replace(risks, in_range=most, strict=most, any_release=most)


def swapped_risks(arrivals: Listed) -> CellRisks:
    """The chance of a correct match, ``p_xx / N_x`` for every record of x. Derived; no range and no luck is in it."""
    sizes = row_sums(arrivals.own, arrivals.counts, arrivals.rows)
    cells = np.flatnonzero(arrivals.counts > 0)
    alike, kept = sizes[arrivals.own[cells]], arrivals.kept[cells]
    risk = kept / alike
    elsewhere = arrivals.p / np.maximum(sizes[arrivals.row], 1)
    return CellRisks(
        cells=cells,
        counts=arrivals.counts[cells],
        before=1 / alike,
        kept=kept,
        unconditional=risk,
        in_range=risk,
        t_low=alike.astype(np.int64),
        t_high=alike.astype(np.int64),
        strict=risk,
        any_release=highest_of(arrivals.cell, elsewhere, len(arrivals.counts))[cells],
        p_unique=(alike == 1).astype(np.float64),
        true_unique=np.where(alike == 1, kept, 0.0),
    )
