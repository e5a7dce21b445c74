"""Margins of a stage: what its matrix means for tables of some of its columns."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from maskwell.core.arrays import Array, Real
from maskwell.release.stages import Stage

COVARIANCE_LIMIT = 2000


def label_codes(labels: Sequence[Hashable], known: dict[Hashable, int] | None = None) -> tuple[Array, list[Hashable]]:
    """Codes of labels in the order in which they are met, and the labels themselves.

    >>> codes, labels = label_codes(["b", "a", "b"])
    >>> codes.tolist(), labels
    ([0, 1, 0], ['b', 'a'])
    """
    places: dict[Hashable, int] = {} if known is None else known
    codes = np.array([places.setdefault(label, len(places)) for label in labels], dtype=np.int64)
    return codes, [*places]


def collapsed(stage: Stage, codes: Array, count: int) -> Any:
    """``A P`` as a sparse matrix, where A adds the released states that have one code: shape (count, k)."""
    from scipy.sparse import coo_array

    released, true, p = stage.transitions
    return coo_array((p, (codes[released], true)), shape=(count, len(stage.states))).tocsc()


def worst_inflation(stage: Stage, variable: str) -> float | None:
    """The largest factor by which randomizing inflates the variance of a category's share; None if it cannot be told.

    For a matrix that keeps counts or weights, ``1 + C_ii / V_i``, where C is the covariance of the released shares
    given the file and V that of the shares of an open file; else that of the estimate ``P^-1 M / n``.
    Source: [Adeshiyan2011, section 4.6]; for margins and weights derived.
    """
    place = stage.columns.index(variable)
    if stage.method == "swap":
        return 1.0
    if stage.invariance in ("counts", "weights"):
        return _kept(stage, place)
    return _solved(stage, place)


def _kept(stage: Stage, place: int) -> float:
    known: dict[Hashable, int] = {}
    true, _ = label_codes([state[place] for state in stage.states], known)
    released, labels = label_codes([state[place] for state in stage.outputs], known)
    Q = collapsed(stage, released, len(labels))
    s = _squares(stage)
    added = Q @ s - Q.multiply(Q) @ s
    return _largest(added, _open(stage, true, len(labels), s))


def _solved(stage: Stage, place: int) -> float | None:
    design = stage.design
    if design.k > COVARIANCE_LIMIT or not design.identifiable or not stage.counts.sum():
        return None
    true, labels = label_codes([state[place] for state in stage.states])
    s = _squares(stage)
    A = np.zeros((len(labels), design.k))
    A[true, np.arange(design.k)] = 1
    randomization = design.second_moment(design.forward(s)) - np.diag(s)
    return _largest(np.diag(A @ randomization @ A.T), _open(stage, true, len(labels), s))


def _squares(stage: Stage) -> Real:
    own = stage.squares if stage.invariance == "weights" and stage.squares is not None else stage.counts
    return np.asarray(own, dtype=np.float64)


def _open(stage: Stage, codes: Array, count: int, s: Real) -> Real:
    """Sums of squared weights times squared deviations: W^2 times the variance of the shares of an open file."""
    share = np.bincount(codes, stage.mass, minlength=count) / stage.mass.sum()
    own = np.bincount(codes, s, minlength=count)
    return np.asarray(own * (1 - share) ** 2 + (s.sum() - own) * share**2)


def _largest(added: Real, spread: Real) -> float:
    factors = np.divide(added, spread, out=np.zeros(len(spread)), where=spread > 0)
    return float(1 + max(0.0, factors.max(initial=0.0)))
