"""The dense twin of a design: everything by brute force from the exact matrix and the list of reports."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from tests.support.arrays import Real

from maskwell import Design

Rows = list[list[Fraction]]


@dataclass(frozen=True)
class Twin:
    """P written out, and what is counted of each report; uses none of the design's formulas."""

    rows: Rows
    indicator: Real
    """(m, s): what report i adds to the statistic."""
    sets: bool

    @classmethod
    def of(cls, design: Design) -> Twin:
        space = design.report_space()
        if design.reports_are_sets:
            indicator = np.unpackbits(space, axis=1, count=design.k, bitorder="little").astype(float)
        else:
            indicator = np.eye(design.m)[space.astype(int)]
        return cls(design.exact_matrix(), indicator, design.reports_are_sets)

    @property
    def k(self) -> int:
        return len(self.rows[0])

    @cached_property
    def P(self) -> Real:
        return np.array([[float(p) for p in row] for row in self.rows])

    @cached_property
    def scores(self) -> Real:
        """(m, k): the recovered vector of each report."""
        if self.sets:
            inclusion = self.indicator.T @ self.P
            p, r = inclusion[0, 0], inclusion[1, 0]
            return (self.indicator - r) / (p - r)
        P = self.P
        if P.shape[0] == P.shape[1]:
            return np.linalg.inv(P).T
        live = P.sum(axis=1) > 0
        weighted = P[live].T / P[live].mean(axis=1)
        L = np.zeros((P.shape[1], P.shape[0]))
        L[:, live] = np.linalg.solve(weighted @ P[live], weighted)
        return L.T

    def apply(self, pi: Real) -> Real:
        return self.indicator.T @ self.P @ pi

    def second_moment(self, pi: Real) -> Real:
        return (self.scores.T * (self.P @ pi)) @ self.scores

    def guess(self, prior: Real) -> float:
        return float((self.P * prior).max(axis=1).sum())

    def total_variation(self) -> float:
        P = self.P
        return max(float(np.abs(P - P[:, [j]]).sum(axis=0).max()) for j in range(self.k))

    def parity(self) -> Fraction | float:
        return self._parity

    @cached_property
    def _parity(self) -> Fraction | float:
        return max(row_parity(row) for row in self.rows)

    def is_admissible(self) -> bool:
        """Conditions C1 and C2 on the rows without zeros and proportional ones, in fractions."""
        merged: dict[tuple[Fraction, ...], list[Fraction]] = {}
        for row in self.rows:
            if total := sum(row):
                shares = {p: p / total for p in set(row)}  # rows of many entries have few that differ
                shape = tuple(shares[p] for p in row)
                merged[shape] = [a + b for a, b in zip(merged.get(shape, [Fraction(0)] * self.k), row, strict=True)]
        reduced, parity = list(merged.values()), self.parity()
        if parity == math.inf:
            return len(reduced) == self.k and all(sum(p > 0 for p in row) == 1 for row in reduced)
        return parity > 1 and all(row_parity(row) == parity and len(set(row)) == 2 for row in reduced)


def row_parity(row: list[Fraction]) -> Fraction | float:
    """Largest over smallest, with 0/0 = 1."""
    low, high = min(row), max(row)
    if high == low:
        return Fraction(1)
    return high / low if low else math.inf
