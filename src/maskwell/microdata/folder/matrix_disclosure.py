"""Whether a matrix may be public: what its reader would learn about the counts of the true file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from maskwell.core.arguments import Array, Real
from maskwell.core.phrases import Printed, shorten
from maskwell.core.verdicts import at_least, at_most, below, tied
from maskwell.designs.uniform import Uniform
from maskwell.errors import PublishError
from maskwell.microdata.matrices.matrix_checks import check_publishable
from maskwell.microdata.stages.stage import Stage

if TYPE_CHECKING:
    from maskwell.microdata.plans.release_plan import ReleasePlan

MOST_STATES = 500  # larger matrices are not solved for the counts that they keep, but applied ``STEPS`` times
STEPS = 500

EXACT = 0.005  # counts that are off by less follow exactly, in words


def check_matrix(plan: ReleasePlan, stage: Stage) -> None:
    """Raise where a matrix that would be public reveals the counts of the file, wherever it is from, unless cleared."""
    if not plan.publishes(stage) or (plan.protection_of(stage).clearance or "").strip():
        return
    if isinstance(stage.design, Uniform) and not stage.derived:
        return  # it has a single number in it, whatever the file holds
    what = f"the matrix of {shorten(', '.join(stage.variables), 24)}"
    disclosure = next((one for one in (told(stage, *mass) for mass in _masses(stage)) if one is not None), None)
    if stage.derived:
        revealed = "its counts" if disclosure is None else disclosure.in_words()
        raise PublishError("was-worked-out-from-the-file", what=what, revealed=revealed)
    if disclosure is not None:
        raise PublishError(
            "what-reveals-in-words",
            what=what,
            in_words=disclosure.in_words(),
            off_by=disclosure.off_by,
            released_error=disclosure.released,
        )
    for mass, _ in _masses(stage):  # a matrix with more than one solution, of which the counts are one
        if stage.design.m == stage.design.k and list(stage.states) == list(stage.outputs):
            check_publishable(stage.design, mass, None)


def _masses(stage: Stage) -> list[tuple[Real, Real]]:
    """Counts and sums of weights that a matrix may keep, each with what its variance is made of."""
    masses: list[tuple[Any, Any]] = [(stage.counts, stage.counts)]
    if stage.weights is not None and stage.squares is not None:
        masses.append((stage.weights, stage.squares))
    return [(np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)) for a, b in masses if np.sum(a)]


@dataclass(frozen=True)
class Told:
    """How closely counts, or ``half`` of them, follow from a matrix: their error, and that of a released count."""

    off_by: float
    released: float
    half: bool = False

    def in_words(self) -> str:
        """For a message; counts themselves are not for it."""
        what = "half of the true counts" if self.half else "the true counts"
        within = f"to within {Printed(self.off_by):.2g}" if at_least(self.off_by, EXACT) else "exactly"
        return f"{what} {within} (the released file: {Printed(self.released):.2g})"


def told(stage: Stage, mass: Real, squares: Real) -> Told | None:
    """What a reader of the matrix learns about the counts beyond what the released file reveals; None for nothing.

    The reader tries what the methods of the literature have in common: that the counts are kept (``P N = N``), that
    two states exchange equal numbers of records (``p_ij N_j = p_ji N_i``), and that every state loses as many as every
    other (``(1 - p_jj) N_j`` constant). Where there are more reports than states, he tries the same given that the
    report is a state. Rounding a matrix disturbs these a little, and so the counts that follow. They
    are compared with the counts ``N`` of the file:

        revealed if    mean_i (r_i^2) <= 1,    median_i r_i <= 1/2    or    max_i |x_i - N_i| <= 1

    where ``x`` are the counts that follow, ``r_i = |x_i - N_i| / s_i``, and ``s_i^2 = sum_j N_j p_ij (1 - p_ij)`` is
    the variance of the released count i, given the file. In words: the matrix reveals the counts as closely as the
    released file does, or half of them twice as closely, or all of them within one. A matrix from elsewhere gives
    counts that have nothing to do with this file, and passes. Equal counts are what follows for any file from a matrix
    that treats its states alike: for those only the last condition is looked at. A state that records only leave is
    empty for any file: where one record is in it, an error of exactly one reveals nothing, and the last condition is
    strict.

    Source: [Adeshiyan2011, section 4.6] for exact matrices; for rounded ones derived.
    """
    from scipy.sparse.csgraph import connected_components

    unit = mass.sum() / max(1, int(stage.counts.sum()))
    P = _square(stage)
    groups = connected_components(P, directed=False)[1]
    spread = np.sqrt(np.maximum(P @ squares - P.power(2) @ squares, 0))
    every = _in_groups(groups)
    given, sums = [P], np.asarray(P.sum(axis=0), dtype=np.float64).ravel()
    if (sums > 0).all() and not np.allclose(sums, 1, rtol=1e-12, atol=0):
        given.append((P * (1 / sums)).tocsr())  # given that the report is one of the states
    ways = chain.from_iterable(_followed(one, groups, mass / unit) for one in given)
    tried = [_compared(_sums(every, x, mass / unit, spread / unit)) for x in ways]
    return min((one for one in tried if one is not None), key=lambda one: one.off_by, default=None)


def _in_groups(groups: Array) -> list[Array]:
    """The states of each group of two or more that exchange records."""
    order = np.argsort(groups, kind="stable")
    return [states for states in np.split(order, np.cumsum(np.bincount(groups))[:-1]) if len(states) > 1]


def _square(stage: Stage) -> Any:
    """The matrix over the true states, in their order whatever that of the reports; other labels are left out."""
    from scipy.sparse import csr_array

    place = np.full(stage.design.m, -1)
    place[stage.own[stage.own >= 0]] = np.flatnonzero(stage.own >= 0)
    released, true, p = stage.transitions
    kept = place[released] >= 0
    return csr_array((p[kept], (place[released][kept], true[kept])), shape=(stage.design.k, stage.design.k))


@dataclass
class _Sums:
    """Counts that follow, true ones and variances in the states of one matrix, over all cells that have it."""

    flat: bool
    follow: Real
    true: Real
    variance: Real

    def ratios(self) -> tuple[Real, Real]:
        """How far the counts are off, and the standard errors of the released ones, where records exist and move."""
        there = (self.true > 0) & (self.variance > 0)
        return np.abs(self.follow - self.true)[there], np.sqrt(self.variance[there])


_GRID, _OFF = 1e9, 0.2718  # shares are the same on this grid, whose lines lie apart from decimals and powers of two


def _sums(every: Sequence[Array], x: Real, counts: Real, spread: Real) -> list[_Sums]:
    """By matrix, distinguished by the shares that follow from it; equal ones (``flat``) follow for any file."""
    by_shares: dict[tuple[float, ...], _Sums] = {}
    for states in every:
        if not np.isfinite(x[states]).all() or not x[states].sum() > 0:
            continue
        shares = x[states] / x[states].sum()
        zero = np.zeros(len(states))
        flat = bool(np.allclose(shares, 1 / len(states), rtol=1e-9, atol=0))
        one = by_shares.setdefault(tuple(np.floor(shares * _GRID + _OFF).tolist()), _Sums(flat, zero, zero, zero))
        one.follow, one.true = one.follow + x[states], one.true + counts[states]
        one.variance = one.variance + spread[states] ** 2
    return [*by_shares.values()]


def _compared(matrices: Sequence[_Sums]) -> Told | None:
    """Whether counts follow closely, from all matrices together or from one of several."""
    if not matrices:
        return None
    off, released = (np.concatenate(parts) for parts in zip(*(one.ratios() for one in matrices), strict=True))
    # where no count follows for a state that has records, an error of exactly one reveals nothing
    emptied = (tied(one.follow[one.true > 0], 0, scale=float(one.follow.sum())).any() for one in matrices)
    is_close = below if any(emptied) else at_most
    if len(off) and is_close(float(off.max()), 1):
        return Told(float(off.max()), float(np.median(released)))
    telling = [one.ratios() for one in matrices if not one.flat]
    if not telling:
        return None
    together = tuple(np.concatenate(parts) for parts in zip(*telling, strict=True))
    for (off, released), most in [(together, 1.0), *((one, 1 / len(telling)) for one in telling)]:  # some by chance
        if not len(off):
            continue
        ratio = off / released
        if at_most(float(np.mean(ratio**2)), most**2):
            return Told(float(off.max()), float(np.median(released)))
        if at_most(float(np.median(ratio)), most / 2):
            return Told(float(np.median(off)), float(np.median(released)), half=True)
    return None


def _followed(P: Any, groups: Array, mass: Real) -> Iterator[Real]:
    """Counts that follow from a matrix and the totals of states that exchange records, which the file shows."""
    totals = np.asarray(np.bincount(groups, mass), dtype=np.float64)
    whole = None if P.shape[0] > MOST_STATES else P.toarray()
    keeps = P.diagonal()
    with np.errstate(divide="ignore"):  # (1 - p_jj) x_j the same for all states; none where a state never changes
        alike = np.where(keeps < 1, 1 / (1 - keeps), np.nan)
    lost_alike = _scaled(alike, groups, totals)
    yield lost_alike
    if whole is None:
        x = np.where(np.isfinite(lost_alike), lost_alike, (totals / np.bincount(groups))[groups])
        for _ in range(STEPS):  # what is kept, found by applying the matrix again and again
            x = _scaled((x + P @ x) / 2, groups, totals)
        yield x
        return
    for attack in (_kept, _exchanged):
        x = np.ones(len(whole))
        for states in _in_groups(groups):
            x[states] = attack(whole[np.ix_(states, states)])
        yield _scaled(x, groups, totals)


def _scaled(x: Real, groups: Array, totals: Real) -> Real:
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(x * (totals / np.bincount(groups, x))[groups], dtype=np.float64)


def _kept(P: Real) -> Real:
    k = len(P)
    return np.asarray(np.linalg.lstsq(np.vstack([P - np.eye(k), np.ones(k)]), np.eye(k + 1)[-1], rcond=None)[0])


def _exchanged(P: Real) -> Real:
    """``p_ij x_j = p_ji x_i``, by least squares of logarithms; pairs count as much as rounding leaves them digits."""
    both = (P > 0) & (P.T > 0) & ~np.eye(len(P), dtype=bool)
    a, b = np.where(both, P, 1.0), np.where(both, P.T, 1.0)
    weight = np.where(both, 1 / (1 / a**2 + 1 / b**2), 0.0)
    laplacian = np.diag(weight.sum(axis=1)) - weight
    logs = np.linalg.lstsq(laplacian, (weight * np.log(a / b)).sum(axis=1), rcond=None)[0]
    return np.asarray(np.exp(logs - logs.max()), dtype=np.float64)
