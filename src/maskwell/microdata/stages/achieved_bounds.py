"""What a stage achieves in terms of :class:`~maskwell.microdata.matrices.bounds.Bounds`; all records count alike."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np

from maskwell.core.arguments import Array, Real
from maskwell.core.verdicts import at_least, at_most, below
from maskwell.microdata.stages.stage import Stage

AT_LEAST = ("least_kept", "changed_at_least")


def achieved(stage: Stage, bound: str) -> float | None:
    """The value that a stage reaches for one of the bounds by its name; ``None`` for one that is about whole files."""
    measure = _MEASURES.get(bound)
    return None if measure is None else measure(stage)


def bound_is_kept(bound: str, asked: float | Fraction, value: float) -> bool:
    """Whether a value keeps to what was asked, up to what floats cannot tell of numbers of the size of one."""
    return (at_least if bound in AT_LEAST else at_most)(value, asked, scale=1)


def own_posteriors(stage: Stage) -> Real:
    """Shape (k,): the chance that a record released with a state has it in truth; 0 where none is."""
    released, true, flow, sums = stage.occurring_flows()
    same = released == stage.own[true]
    posteriors = np.zeros(len(stage.states))
    posteriors[true[same]] = (flow / sums[released])[same]
    return posteriors


def _posterior_own(stage: Stage) -> float:
    return float(own_posteriors(stage).max(initial=0.0))


def _odds(stage: Stage) -> float:
    posterior = _posterior_own(stage)
    return posterior / (1 - posterior) if below(posterior, 1) else np.inf


def guessed(stage: Stage) -> float:
    """Share of all records whose true state is the best guess from the released one."""
    released, _, flow, sums = stage.occurring_flows()
    best = np.zeros(len(sums))
    np.maximum.at(best, released, flow)
    return float(best.sum() / sums.sum()) if sums.sum() else 0.0


def _guess(stage: Stage) -> float:
    """The same in the cell where it is largest: the bound is asked of every cell."""
    released, true, flow, sums = stage.occurring_flows()
    best, cell = np.zeros(len(sums)), np.zeros(len(sums), dtype=np.int64)
    np.maximum.at(best, released, flow)
    cell[released] = stage.cells[true]
    right, records = (np.bincount(cell, values) for values in (best, sums))
    return float((right[records > 0] / records[records > 0]).max(initial=0.0))


def _factor(stage: Stage) -> float:
    """How much likelier or less likely a released value makes a truth, within its cell."""
    released, true, p = stage.transitions
    sums = np.bincount(released, p * stage.counts[true], minlength=len(stage.outputs))
    there = stage.counts[true] > 0
    totals = np.bincount(stage.cells, stage.counts)
    ratio = (p * totals[stage.cells[true]])[there] / sums[released[there]]
    rows = np.bincount(released[there], minlength=len(stage.outputs))
    return _whole(stage, released[there], true[there], rows) * float(np.maximum(ratio, 1 / ratio).max(initial=1.0))


def _parity(stage: Stage) -> float:
    """The largest ratio of two chances of one released value, within its cell."""
    released, true, p = stage.transitions
    there = stage.counts[true] > 0
    released, true, p = released[there], true[there], p[there]
    least, most = np.full(len(stage.outputs), np.inf), np.zeros(len(stage.outputs))
    np.minimum.at(least, released, p)
    np.maximum.at(most, released, p)
    rows = np.bincount(released, minlength=len(stage.outputs))
    some = rows > 0
    return _whole(stage, released, true, rows) * float((most[some] / least[some]).max(initial=1.0))


def _whole(stage: Stage, released: Array, true: Array, rows: Array) -> float:
    """One where each released value can come from every truth of its cell, else infinite: a zero rules truths out."""
    sizes = np.bincount(stage.cells[stage.counts > 0], minlength=int(stage.cells.max(initial=0)) + 1)
    cell = np.zeros(len(rows), dtype=np.int64)
    cell[released] = stage.cells[true]
    some = rows > 0
    return 1.0 if (rows[some] == sizes[cell[some]]).all() else np.inf


_MEASURES: dict[str, Callable[[Stage], float]] = {
    "posterior": Stage.max_posterior,
    "posterior_own": _posterior_own,
    "odds": _odds,
    "guess": _guess,
    "factor": _factor,
    "parity": _parity,
    "least_kept": lambda stage: float(stage.keeps[stage.counts > 0].min(initial=1.0)),
    "changed_at_most": Stage.expected_changed,
    "changed_at_least": Stage.expected_changed,
}
