"""All ways in which units can have become the released counts, as products of polynomials."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from maskwell.core.arguments import Array, Real

STATES = 20_000  # ways to share out the released counts of a block of units that are kept at once
_BITS = 62  # powers are told apart by one number

Label = tuple[Hashable, ...]


@dataclass(eq=False)
class UnitWays:
    """Units of several cells, ``counts`` of each, that add up to the released counts.

    A polynomial is kept as its powers, shape (states, axes), none above the released counts, and its coefficients.
    """

    released: Array
    counts: Sequence[int]
    steps: Sequence[Array]
    chances: Sequence[Real]
    values: Sequence[Sequence[Label]]
    done: int = 0

    def placed(self, work: int) -> list[dict[Label, float]] | None:
        """For each cell the chances of a unit to be released with each value, given all released counts."""
        if np.log2(self.released + 1.0).sum() > _BITS:
            return None
        one = np.zeros((1, len(self.released)), dtype=np.int64), np.ones(1)
        before, after = [one], [one]
        last = len(self.counts) - 1
        for j in range(last):
            before.append(self._times(before[-1], j, self.counts[j]))
            after.append(self._times(after[-1], last - j, self.counts[last - j]))
            if self.done > work or max(len(before[-1][1]), len(after[-1][1])) > STATES:
                return None
        places = []
        for j, n in enumerate(self.counts):
            without = self._times(before[j], j, n - 1)
            if self.done > work or len(without[1]) > STATES:
                return None
            joint = self.chances[j] * self._coefficients(without, after[last - j], self.released - self.steps[j])
            if not joint.sum() > 0:
                return None
            places.append(dict(zip(self.values[j], (joint / joint.sum()).tolist(), strict=True)))
        return places

    @property
    def _radix(self) -> Array:
        return np.cumprod(np.append(1, self.released[:-1] + 1))

    def _times(self, polynomial: tuple[Array, Real], j: int, n: int) -> tuple[Array, Real]:
        """A polynomial times that of n units of a cell, scaled so that its largest coefficient is one."""
        powers, values = polynomial
        for _ in range(n):
            self.done += len(values) * len(self.steps[j])
            if len(values) > STATES:
                break
            reached = (powers[:, None, :] + self.steps[j]).reshape(-1, powers.shape[1])
            possible = (reached <= self.released).all(axis=1)
            reached, added = reached[possible], (values[:, None] * self.chances[j]).reshape(-1)[possible]
            _, first, place = np.unique(reached @ self._radix, return_index=True, return_inverse=True)
            powers, sums = (
                reached[first],
                np.bincount(place.reshape(-1), added, minlength=len(first)).astype(np.float64),
            )
            values = sums / sums.max(initial=1e-300)
        return powers, values

    def _coefficients(self, left: tuple[Array, Real], right: tuple[Array, Real], powers: Array) -> Real:
        """Coefficients of a product of two polynomials at some powers, up to a common factor; 0 at negative ones."""
        places = left[0] @ self._radix
        order = np.argsort(places)
        out = np.zeros(len(powers))
        for i, power in enumerate(powers):
            rest = power - right[0]
            possible = (rest >= 0).all(axis=1)
            at = np.searchsorted(places[order], rest[possible] @ self._radix)
            at = np.minimum(at, len(places) - 1)
            same = places[order][at] == rest[possible] @ self._radix
            out[i] = float((left[1][order][at] * right[1][possible])[same].sum())
        return out
