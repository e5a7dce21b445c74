"""Sums ``T = sum_j Bin(N_j, p_j)`` of many independent binomials, row by row, from which distributions follow.

A row is kept as power sums ``A_m = sum N p^m`` of small p and ``B_m = sum N (1 - p)^m`` of the C records near one, and
the few terms between, each for itself. With v = 1 - exp(i w) and its conjugate v~,

    log phi(w) = i w C - sum_m (A_m v^m + B_m v~^m) / m + sum over listed terms of N log(1 - p v)

No term is ever divided out. Source: derived; after [Adeshiyan2011, section 4.7.4]; docs/theory/disclosure-risk.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace

import numpy as np

from maskwell.core.arguments import Array, Real
from maskwell.errors import TooLargeError

SMALL = 0.1  # probabilities up to this, or as near to one, enter by their power sums
_EXACT = 39.0  # natural logarithm of the accuracy at which the expansion is cut off
_NOTHING = 1e-30
_THINNED = (3, 6, 12)
ENTRIES = 4 * 10**7  # probabilities that are kept at once
_TAIL = 39.2  # -log of the mass left out on each side
_FADED = 20.8  # -log(1e-18) / 2: beyond, the characteristic function is nothing
_NEARLY_ALL = 0.9
_WORK = 1 << 19


@dataclass(frozen=True, eq=False)
class BinomialSums:
    """Rows of binomial terms."""

    shift: Array  # shape (rows,): records with p > 0.9, of whom few do not arrive
    # certain, reach: shape (rows,): records with p = 1, and with p > 0: the least and the most that can arrive
    certain: Array
    reach: Array
    ups: Real  # ups, downs: shape (rows, powers): power sums of p <= 0.1, and of 1 - p < 0.1
    downs: Real
    row: Array  # row, n, p: the terms between: which row, how many records, which probability; sorted by row
    n: Array
    p: Real
    # shape (rows,): ``sum N log(1 - p)`` and ``sum N p / (1 - p)`` over p < 1: chance of no arrival, and of one
    log_none: Real
    odds: Real
    highest: Real  # shape (rows,): the largest p

    def ends(self) -> BinomialSums:
        """What is known of the least and the most arrivals, and of none and one, without what costs more memory."""
        nothing = np.zeros((len(self.shift), 0))
        none, chance = np.zeros(0, dtype=np.int64), np.zeros(0)
        return replace(self, ups=nothing, downs=nothing, row=none, n=none, p=chance)

    @classmethod
    def joined(cls, parts: Sequence[BinomialSums]) -> BinomialSums:
        """The rows of all, one below the other."""
        first = np.cumsum([0, *(len(part.shift) for part in parts)])
        each = {one.name: [getattr(part, one.name) for part in parts] for one in fields(cls)}
        each["row"] = [row + rows for row, rows in zip(each["row"], first, strict=False)]
        for name in ("ups", "downs"):
            powers = max(sums.shape[1] for sums in each[name])
            each[name] = [with_powers(sums, powers) for sums in each[name]]
        return cls(**{name: np.concatenate(arrays) for name, arrays in each.items()})

    @property
    def mean(self) -> Real:
        """Expected arrivals, shape (rows,)."""
        return self.shift + self.ups[:, 0] - self.downs[:, 0] + self._listed(self.p)

    @property
    def variance(self) -> Real:
        """Variance of the arrivals, shape (rows,)."""
        spread = self.ups[:, 0] - self.ups[:, 1] + self.downs[:, 0] - self.downs[:, 1]
        return np.asarray(spread + self._listed(self.p * (1 - self.p)))

    @property
    def chance_of_one(self) -> Real:
        """Pr(T = 1), shape (rows,): ``Pr(T = 0) * odds``, or the same where one record is certain to arrive."""
        none = np.exp(self.log_none)
        return np.select([self.certain == 0, self.certain == 1], [none * self.odds, none], 0.0)

    def _listed(self, values: Real) -> Real:
        return row_sums(self.row, self.n * values, len(self.shift))


def powers_needed(largest: float) -> int:
    """How many powers of p leave nothing out above 1e-16, for p up to ``largest`` and |v| up to 2."""
    return max(2, int(np.ceil(_EXACT / -np.log(2 * min(max(largest, 1e-12), SMALL)))))


def sums_of_terms(row: Array, n: Array, p: Real, rows: int) -> BinomialSums:
    """From listed terms, in any order: row, number of records, probability."""
    kept = (n > 0) & (p > 0)
    row, n, p = row[kept], np.asarray(n[kept]), np.asarray(p[kept], dtype=np.float64)
    small, near = p <= SMALL, p >= 1 - SMALL
    between = np.flatnonzero(~small & ~near)
    between = between[np.argsort(row[between], kind="stable")]

    def total(values: Array, where: Array | slice = slice(None)) -> Real:
        return row_sums(row[where], values[where], rows)

    sure = p == 1
    q = np.where(sure, 0.5, p)
    return BinomialSums(
        shift=total(n, near).astype(np.int64),
        certain=total(n, sure).astype(np.int64),
        reach=total(n).astype(np.int64),
        ups=power_sums(row[small], n[small], p[small], rows),
        downs=power_sums(row[near], n[near], 1 - p[near], rows),
        row=row[between],
        n=n[between],
        p=p[between],
        log_none=total(np.where(sure, 0.0, n * np.log1p(-q))),
        odds=total(np.where(sure, 0.0, n * q / (1 - q))),
        highest=highest_of(row, p, rows),
    )


def chance_of_one(row: Array, n: Array, p: Real, rows: int) -> Real:
    """Pr(T = 1) of each row, from listed terms with n > 0 and p > 0."""
    sure = p == 1
    q = np.where(sure, 0.0, p)
    none = np.exp(row_sums(row, n * np.log1p(-q), rows))
    certain = row_sums(row, n * sure, rows)
    return np.select([certain == 0, certain == 1], [none * row_sums(row, n * q / (1 - q), rows), none], 0.0)


def row_sums(row: Array, values: Array, rows: int) -> Real:
    """Sums of the values of each row, shape (rows,)."""
    return np.asarray(np.bincount(row, weights=values, minlength=rows), dtype=np.float64)


def power_sums(row: Array, n: Array, p: Real, rows: int) -> Real:
    """``sum N p^m`` for m = 1, 2, ... as far as it matters, shape (rows, powers)."""
    powers = powers_needed(float(p.max(initial=0.0)))
    out = np.zeros((rows, powers))
    term = n * p
    for m in range(powers):
        out[:, m] = row_sums(row, term, rows)
        term = term * p
        if m in _THINNED:  # by then most are nothing
            left = term > _NOTHING
            row, p, term = row[left], p[left], term[left]
    return out


def with_powers(sums: Real, powers: int) -> Real:
    """Power sums with zeros for further powers."""
    return np.pad(sums, ((0, 0), (0, max(0, powers - sums.shape[1]))))


def highest_of(row: Array, p: Real, rows: int) -> Real:
    """The largest p of each row, 0 where there is none."""
    out = np.zeros(rows)
    np.maximum.at(out, row, p)
    return out


def check_few_entries(count: int) -> None:
    """Raise where there are more probabilities than are kept at once."""
    if count > ENTRIES:
        raise TooLargeError("probabilities-of-the-key-are-too", count=count, entries=ENTRIES)


def expanded(starts: Array, columns: Array) -> tuple[Array, Array]:
    """For each of some columns all its entries: the place of the column in the list, and the entry."""
    sizes = starts[columns + 1] - starts[columns]
    check_few_entries(total := int(sizes.sum()))
    taken = np.repeat(np.arange(len(columns)), sizes)
    offset = starts[columns] - (np.cumsum(sizes) - sizes)
    entry = np.arange(total)
    return taken, entry + np.repeat(offset, sizes) if offset.any() else entry


@dataclass(frozen=True, eq=False)
class CountDistributions:
    """Distributions of T' for some targets."""

    targets: Array  # which targets, by number
    first: Array  # shape (targets,): the value of T' in the first column
    pmf: Real  # shape (targets, length): Pr(T' = first + column); zero or more, with an absolute error near 1e-16


def count_distributions(rows: BinomialSums, row: Array, p: Real) -> Iterator[CountDistributions]:
    """The windows of all targets, in groups of equal length; target i looks at ``row[i]`` with probability ``p[i]``."""
    variance = np.maximum(rows.variance[row] - p * (1 - p), 0.0)
    mean = rows.mean[row] - p
    reach = 13.1 + np.sqrt(171.7 + 2 * _TAIL * variance)  # Bernstein's inequality, solved for the distance
    first = np.maximum(rows.certain[row] - (p == 1), np.floor(mean - reach)).astype(np.int64)
    last = np.minimum(rows.reach[row] - (p > 0), np.ceil(mean + reach)).astype(np.int64)
    length = 1 << np.ceil(np.log2(last - first + 2)).astype(np.int64)  # with room for T = T' + 1
    starts = np.searchsorted(rows.row, np.arange(len(rows.shift) + 1))
    for size in np.unique(length).tolist():
        same = np.flatnonzero(length == size)
        least = float(variance[same].min())  # |phi| <= exp(-2 var sin^2(w / 2)) fades
        sine = 1.0 if least <= _FADED else np.sqrt(_FADED / least)
        count = min(size // 2, int(np.ceil(2 * np.arcsin(sine) * size / (2 * np.pi)))) + 1
        frequencies = 2 * np.pi * np.arange(count) / size
        step = max(1, _WORK // max(size, len(frequencies) * 8))
        for begin in range(0, len(same), step):
            own = same[begin : begin + step]
            log_size, angle = _logarithm(rows, starts, row[own], p[own], first[own], frequencies)
            phi = np.exp(log_size) * np.exp(-1j * angle)
            # what rounding makes negative, near 1e-17, is zero
            yield CountDistributions(own, first[own], np.maximum(np.fft.irfft(phi, n=size, axis=1), 0.0))


def _logarithm(rows: BinomialSums, starts: Array, row: Array, p: Real, first: Array, w: Real) -> tuple[Real, Real]:
    """Modulus (its logarithm) and angle of ``phi(w) exp(-i w first)`` of T', shape (targets, frequencies)."""
    ups = _without(rows.ups[row], p, p <= SMALL)
    downs = _without(rows.downs[row], 1 - p, p >= 1 - SMALL)
    powers = np.arange(1, max(ups.shape[1], downs.shape[1]) + 1)[:, None]
    v = (2 * np.sin(w / 2) ** 2 - 1j * np.sin(w)) ** powers / powers
    v.imag[0] += w  # the mean is taken out of the angle and put back below, so that large counts lose no digits
    log_size = -(ups @ v.real[: ups.shape[1]] + downs @ v.real[: downs.shape[1]])
    angle = downs @ v.imag[: downs.shape[1]] - ups @ v.imag[: ups.shape[1]]
    moved = rows.shift[row] - (p >= 1 - SMALL) - first + ups[:, 0] - downs[:, 0]
    angle += moved[:, None] * w
    looked_at, place = np.unique(row, return_inverse=True)
    for out, listed in zip((log_size, angle), _listed(rows, starts, looked_at, w), strict=True):
        out += listed[place]
    between = np.flatnonzero((p > SMALL) & (p < 1 - SMALL))
    for out, one in zip((log_size, angle), _terms(np.ones(len(between)), p[between], w), strict=True):
        out[between] -= one
    return log_size, angle


def _without(sums: Real, p: Real, counted: Array) -> Real:
    """Power sums after taking out one record where it is counted in them."""
    powers = np.arange(1, sums.shape[1] + 1)
    return sums - np.where(counted[:, None], p[:, None] ** powers, 0.0)


def _listed(rows: BinomialSums, starts: Array, looked_at: Array, w: Real) -> tuple[Real, Real]:
    place, term = expanded(starts, looked_at)
    log_size, angle = np.zeros((2, len(looked_at), len(w)))
    step = max(1, _WORK // len(w))
    for begin in range(0, len(term), step):
        own, at = term[begin : begin + step], place[begin : begin + step]
        first = np.flatnonzero(np.diff(at, prepend=-1))
        for out, values in zip((log_size, angle), _terms(rows.n[own], rows.p[own], w), strict=True):
            out[at[first]] += np.add.reduceat(values, first, axis=0)
    return log_size, angle


def _terms(n: Array, p: Real, w: Real) -> tuple[Real, Real]:
    """``N log(1 - p + p exp(i w))`` as logarithm of the modulus and angle, shape (terms, frequencies)."""
    half = np.sin(w / 2) ** 2
    lost = np.outer(4 * p * (1 - p), half)
    real, imaginary = 1 - np.outer(2 * p, half), np.outer(p, np.sin(w))
    # near p = 1/2 and w = pi nothing is left of 1 - lost but rounding, which the root would make a million times larger
    near = lost > _NEARLY_ALL
    log_size = np.log1p(-np.where(near, 0.0, lost))
    log_size[near] = 2 * np.log(np.hypot(real[near], imaginary[near]))
    return n[:, None] / 2 * log_size, n[:, None] * np.arctan2(imaginary, real)
