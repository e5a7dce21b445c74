"""The nearest value of each bound that goes with all the others: one bound is freed at a time.

Source: derived. All bounds but factor and parity are linear in the flows and in themselves, so that the smallest value
is the solution of one more program; those two are tried in steps.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np

from maskwell.core.arrays import Array
from maskwell.release.matrices.bounds import Bounds
from maskwell.release.matrices.program import Pairs, program_of
from maskwell.release.matrices.solver import TIED_FLOWS, Model, solve

FROM_BELOW = ("least_kept", "changed_at_least")
"""Bounds from below: a looser one is smaller."""

_RATIOS = ("factor", "parity")

STEPS = 10_000
"""Bounds that are suggested have four decimals, and are rounded so that they work."""


def nearest(bounds: Bounds, v: Array, pairs: Pairs) -> dict[str, float]:
    """The nearest value of each bound that goes with all the others, rounded so that it works."""
    plain = [name for name in bounds.asked() if name not in _RATIOS]
    found = {name: nearest_of(name, bounds, v, pairs) for name in plain}
    if len(pairs) <= TIED_FLOWS or not any(value is not None for value in found.values()):
        found |= {name: _by_halving(name, bounds, v, pairs) for name in bounds.asked() if name in _RATIOS}
    return {name: value for name, value in found.items() if value is not None}


def nearest_of(name: str, bounds: Bounds, v: Array, pairs: Pairs) -> float | None:
    """The nearest value of one bound, neither a factor nor a parity; None where the others alone are too much."""
    others = bounds.with_bound(name, None)
    program = program_of(v, pairs, others)
    if np.any(program.least > program.most):
        return None
    model = Model(replace(program, guess=program.total) if name == "guess" else program)
    found = _freed(name, model, np.array([*bounds.caps], dtype=np.int64))
    if found is None or (name == "odds" and found >= 1 - 1 / STEPS):
        return None
    room = 0.0 if bounds.parity is None else 1 / STEPS  # a parity cannot be met without any
    if name in FROM_BELOW:
        return downwards(-found - room)
    return upwards((found / (1 - found) if name == "odds" else max(found, 0.0)) + room)


def _freed(name: str, model: Model, capped: Array) -> float | None:
    """The smallest value of one bound in a program without it; its negative where the bound is one from below.

    States with a cap of their own are not held to a bound on own values.
    """
    free = model.unknowns(np.array([-1.0]), np.array([1.0]))
    own, share = model.staying()
    none = np.zeros(1)
    if name == "guess":
        model.rows.add(none, (model.largest * 0, model.largest, model.v / model.n), (free * 0, free, -1.0))
    elif name in ("changed_at_most", "changed_at_least"):
        sign = -1.0 if name == "changed_at_most" else 1.0
        model.rows.add(none + sign, (own * 0, own, sign * share), (free * 0, free, -1.0))
    else:
        bound = own[~np.isin(model.i[own], capped)] if name in ("posterior_own", "odds") else own
        _freed_flows(name, model, free, bound)
    costs = np.zeros(model.count)
    costs[free] = 1
    found = model.minimise(costs)
    return None if found is None else found[1]


def _freed_flows(name: str, model: Model, free: Array, own: Array) -> None:
    which = model.flows if name == "posterior" else own
    sign = -1.0 if name == "least_kept" else 1.0
    per = sign * (model.unit / model.v[model.i])[which]
    each = np.arange(len(which))
    model.rows.add(np.zeros(len(which)), (each, which, per), (each, np.repeat(free, len(which)), -1.0))


def _by_halving(name: str, bounds: Bounds, v: Array, pairs: Pairs) -> float | None:
    """A bound that is no unknown of a linear program: tried, in geometric steps, to one per cent."""

    def works(value: Fraction) -> bool:
        return solve(program_of(v, pairs, bounds.with_bound(name, value))) is not None

    low, high = float(getattr(bounds, name)), 1e6
    if not works(Fraction(int(high))):
        return None
    while high > low * 1.01:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if works(Fraction(middle)) else (middle, high)
    return math.ceil(high * 100) / 100


def upwards(value: Fraction | float) -> float:
    """The next number of four decimals that is not smaller."""
    return math.ceil(float(value) * STEPS - 1e-6) / STEPS


def downwards(value: Fraction | float) -> float:
    """The next number of four decimals that is not larger."""
    return math.floor(float(value) * STEPS + 1e-6) / STEPS
