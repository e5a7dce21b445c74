"""Simulated attackers: how likely the unchanged columns of a record are with keys; each a class in `ATTACKERS`.

What they give is scaled to all counts that are known: probabilities of a record sum to one, those of a true state to
its number of records (`scaled_to_counts`). Any attacker is tried with and without. Derived.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from maskwell.core.arguments import Array, Real
from maskwell.core.verdicts import below
from maskwell.microdata.records.column_fit import ColumnFit, PairOdds

ROUNDS, NEAR, TINY = 20, 1e-3, 1e-9  # of the scaling: at most so many, until sums are so near; the least sum
TAUGHT, BESIDE, STEPS, PULL = 1000, 7, 8, 5.0  # records that weights are learned of, other cells; Newton steps, prior


LogLikelihood = Callable[[PairOdds], Real]  # shape (pairs,): of a record and a cell at a time


class Attacker(Protocol):
    """Says how well the other columns of a record go with keys."""

    @property
    def name(self) -> str:
        """As the report names it."""

    def learned(self, fit: ColumnFit) -> LogLikelihood | None:
        """What is learned from a drawn file of how the log odds of its columns add up; None where it cannot be."""


@dataclass(frozen=True)
class NaiveBayes:
    """Adds up the log odds of all values given the labels of so many keys at a time, every key once."""

    name: str
    keys: int
    in_turn: bool = False  # only of keys that follow each other; then of two keys each is counted twice

    def learned(self, fit: ColumnFit) -> LogLikelihood | None:
        """None where the labels of so many keys are not counted."""
        labels, every = fit.labels, len(fit.table.columns)
        if self.keys == 2 and not self.in_turn and len(labels.ways) > 1:
            return lambda odds: labels.ways[1] @ odds.by_labels[: labels.ways.shape[1]]
        sized = [len(one) == self.keys and (one[-1] - one[0] < self.keys or not self.in_turn) for one in labels.keys]
        scale = 1.0 if self.in_turn and self.keys == 2 else every / (self.keys * max(1, sum(sized)))
        return (lambda odds: scale * odds.by_labels[sized].sum(axis=0)) if any(sized) else None


class WeightedColumns:
    """Learns how much each column counts: by logistic regression, from records beside other cells."""

    name = "logistic regression on the columns"

    def learned(self, fit: ColumnFit) -> LogLikelihood:
        """Of all keys, or pairs of keys."""
        weights = column_weights(fit)
        return lambda odds: weights @ odds.by_column


class NearestNeighbours:
    """Adds up the log odds of all keys among the nearest records, of which nearer ones count more."""

    name = "nearest neighbours"

    def learned(self, fit: ColumnFit) -> LogLikelihood:
        """There is nothing to learn beside the neighbours."""
        return lambda odds: odds.by_neighbours[0].sum(axis=0)


class WeightedNeighbours:
    """Learns how much each column counts, and each key among several numbers of neighbours."""

    name = "logistic regression on the columns and nearest neighbours"

    def learned(self, fit: ColumnFit) -> LogLikelihood:
        """As of columns alone."""
        weights = column_weights(fit, _with_neighbours)
        return lambda odds: weights @ _with_neighbours(odds)


def _with_neighbours(odds: PairOdds) -> Real:
    """Shape (what is weighted, pairs)."""
    return np.concatenate([odds.by_column, *odds.by_neighbours[1:]])


def column_weights(fit: ColumnFit, told: Callable[[PairOdds], Real] = lambda odds: odds.by_column) -> Real:
    """Shape (columns,): with which weights the log odds of columns find the cell of a record among others."""
    random = np.random.default_rng(1)
    records = random.permutation(len(fit.cells))[:TAUGHT]
    others = fit.cells[random.integers(len(fit.cells), size=(len(records), BESIDE))]
    cells = np.column_stack([fit.cells[records], others])
    odds = told(fit.odds_of_pairs(cells.ravel(), np.repeat(records, 1 + BESIDE)))
    x = odds.reshape(len(odds), len(records), 1 + BESIDE).transpose(1, 2, 0)
    weights = np.full(x.shape[2], 0.5)
    for _ in range(STEPS):
        share = np.exp(x @ weights - (x @ weights).max(axis=1, keepdims=True))
        share /= share.sum(axis=1, keepdims=True)
        mean = np.einsum("rc,rcj->rj", share, x)
        slope = (x[:, 0] - mean).sum(axis=0) - PULL * (weights - 0.5)
        spread = x - mean[:, None]
        bend = np.einsum("rc,rci,rcj->ij", share, spread, spread, optimize=True) + PULL * np.eye(len(weights))
        weights = np.clip(weights + np.linalg.solve(bend, slope), 0.0, 2.0)
    return np.asarray(weights.round(6))


ATTACKERS: tuple[Attacker, ...] = (
    NaiveBayes("naive Bayes on single key variables", 1),
    NaiveBayes("naive Bayes on pairs of key variables", 2),
    NaiveBayes("naive Bayes on neighbouring pairs of key variables", 2, in_turn=True),
    NaiveBayes("naive Bayes on three key variables in turn", 3, in_turn=True),
    WeightedColumns(),
    NearestNeighbours(),
    WeightedNeighbours(),
)


@dataclass(frozen=True, eq=False)
class Origins:
    """Records of a drawn file beside the true states that they may come from, one pair after the other."""

    first: Array  # the first pair of each record
    record: Array  # the record of each pair
    place: Array  # the true state of each pair, as its place among ``counts``
    counts: Array  # how many records each true state has

    def as_they_are(self, odds: Real) -> Real:
        """Shape (pairs,): odds scaled so that those of each record sum to one."""
        return np.asarray(odds / np.add.reduceat(odds, self.first)[self.record])

    def scaled_to_counts(self, odds: Real) -> Real:
        """The same, and those of each true state to its count: Sinkhorn's iteration."""
        factor = np.ones(len(self.counts))
        for _ in range(ROUNDS):
            share = self.as_they_are(odds * factor[self.place])
            sums = np.bincount(self.place, share, minlength=len(factor))
            if below(float(np.abs(sums - self.counts).max()), NEAR):
                break
            factor *= self.counts / np.maximum(sums, TINY)
        return share


SCALINGS = {"": Origins.as_they_are, ", scaled to the true counts": Origins.scaled_to_counts}  # by words in a report
