"""Variance inflation: how many times larger the variance of each share is than in an open file of the same records.

For a matrix that keeps counts or weights, with Q the rows of P added up to the categories of one variable, s the counts
(or sums of squared weights) of the states and p the shares of the categories,

    VIF_i = 1 + C_i / V_i,   C_i = sum_j s_j q_ij (1 - q_ij),   V_i = sum over records of w^2 (e_i - p_i)^2

which is between 1 and 2 for counts. For any other matrix the estimate is ``P^-1 M / n``, and there is no upper limit.
``n / VIF_i`` is the effective number of records. Source: [Adeshiyan2011, section 4.6, eq. (4.4)]; for single variables
and weights derived.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np

from maskwell.core.arrays import Array, Real
from maskwell.release.stages.stage import Stage

SOLVED_LIMIT = 2000
"""States of a matrix that does not keep counts, up to which it is turned around."""


@dataclass(frozen=True, eq=False)
class Inflation:
    """Of the shares of one variable.

    Attributes
    ----------
    categories
        Labels, shape (k,).
    factors
        How many times larger each variance is, shape (k,).
    added
        The part of the variance of each share that randomization adds, shape (k,).
    shift
        By how much each share moves on average, shape (k,): zero for a matrix that keeps what is counted.
    n
        Records.
    """

    categories: tuple[Hashable, ...]
    factors: Real
    added: Real
    shift: Real
    n: int

    @property
    def worst(self) -> float:
        """The largest factor."""
        return float(self.factors.max(initial=1.0))

    @property
    def effective(self) -> Real:
        """``n / factor``: records of an open file that would tell as much."""
        return np.asarray(self.n / self.factors)


def inflation_of(stage: Stage, variable: str) -> Inflation | None:
    """The inflation of the shares of one variable of a stage; None where the matrix cannot be turned around.

    >>> from maskwell.designs.dense import Dense
    >>> P = Dense.of([["7/12", "1/2", "1/3"], ["1/3", "3/8", "1/3"], ["1/12", "1/8", "1/3"]])
    >>> states = [("a",), ("b",), ("c",)]
    >>> stage = Stage(variables=("x",), states=states, outputs=states, design=P, counts=np.array([12, 8, 3]),
    ...     cells=np.zeros(3, dtype=int), method="sequential", invariance="counts", derived=True)
    >>> found = inflation_of(stage, "x")
    >>> found.factors.round(3).tolist(), round(float(found.effective.min()), 2)   # 23 records tell as much as 11.5
    ([1.973, 1.998, 1.942], 11.51)
    """
    true, released, labels = _categories(stage, variable)
    s, mass = _squares(stage), stage.mass
    if not mass.sum() > 0:
        return None
    moved, variance = _released(stage, true, released, len(labels), s)
    spread = _open_spread(true, len(labels), s, mass)
    if stage.method == "swap":
        added = np.zeros(len(labels))  # margins are kept exactly
    elif stage.invariance in ("counts", "weights"):
        added = variance
    else:
        solved = _solved(stage, true, len(labels), s)
        if solved is None:
            return None
        added = solved
    factors = 1 + np.divide(np.maximum(added, 0), spread, out=np.zeros(len(labels)), where=spread > 0)
    scale, still = float(mass.sum()), stage.method == "swap"
    noise = np.zeros(len(labels)) if still else variance / scale**2
    return Inflation(tuple(labels), factors, noise, moved / scale, int(stage.counts.sum()))


def _categories(stage: Stage, variable: str) -> tuple[Array, Array, list[Hashable]]:
    """The category of one variable in each true and in each released state, and the labels."""
    place = stage.columns.index(variable)
    places: dict[Hashable, int] = {}
    true = np.array([places.setdefault(state[place], len(places)) for state in stage.states], dtype=np.int64)
    released = np.array([places.setdefault(output[place], len(places)) for output in stage.outputs], dtype=np.int64)
    return true, released, [*places]


def _released(stage: Stage, true: Array, released: Array, k: int, s: Real) -> tuple[Real, Real]:
    """By how much the mass of each category moves on average, and ``sum_j s_j q_ij (1 - q_ij)``."""
    Q = _collapsed(stage, released, k)
    moved = Q @ stage.mass - np.bincount(true, stage.mass, minlength=k)
    return np.asarray(moved), np.asarray(Q @ s - Q.multiply(Q) @ s)


def _collapsed(stage: Stage, released: Array, k: int) -> Any:
    """The rows of P added up to the categories, as a sparse matrix of shape (k, states)."""
    from scipy.sparse import coo_array, csr_array

    i, j, p = stage.transitions
    return csr_array(coo_array((p, (released[i], j)), shape=(k, len(stage.states))))


def _solved(stage: Stage, true: Array, k: int, s: Real) -> Real | None:
    """What turning the matrix around adds: the diagonal of ``A (L D_{Ps} L' - D_s) A'``."""
    design = stage.design
    if design.k > SOLVED_LIMIT or not design.identifiable:
        return None
    A = np.zeros((k, design.k))
    A[true, np.arange(design.k)] = 1
    return np.asarray(np.diag(A @ (design.second_moment(design.forward(s)) - np.diag(s)) @ A.T))


def _squares(stage: Stage) -> Real:
    own = stage.squares if stage.invariance == "weights" and stage.squares is not None else stage.counts
    return np.asarray(own, dtype=np.float64)


def _open_spread(true: Array, k: int, s: Real, mass: Real) -> Real:
    share = np.bincount(true, mass, minlength=k) / mass.sum()
    own = np.bincount(true, s, minlength=k)
    return np.asarray(own * (1 - share) ** 2 + (s.sum() - own) * share**2)
