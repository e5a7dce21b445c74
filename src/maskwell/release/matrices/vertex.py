"""The corner that the solver found, worked out again in fractions; for bounds that can only be met with equality.

Where bounds leave no room at all, no grid may hold the answer. A small program is then solved exactly: what the floats
say is met with equality is taken as equations, which a corner of the program solves alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

import numpy as np

from maskwell.core.arrays import Array, Real
from maskwell.core.exact import common_denominator
from maskwell.designs.rational import Equation, solve_sparse
from maskwell.release.matrices.program import Program

CORNER_FLOWS = 400
"""Programs with more flows are not solved in fractions: it would take minutes."""

_SAME = 1e-8
_ONE = Fraction(1)


def corner(program: Program, flows: Real) -> tuple[Program, Array] | None:
    """The exact corner near some flows, in counts, as integers of the program on a finer grid; None if it is none."""
    if len(flows) > CORNER_FLOWS:
        return None
    found = solve_sparse(_equations(program, flows))
    if found is None:
        return None
    exact = [found[e] for e in range(len(flows))]
    finer = common_denominator(exact)
    units = np.array([int(x * finer) for x in exact], dtype=object)
    return _on_finer_grid(program, finer), units


def _on_finer_grid(program: Program, times: int) -> Program:
    kept = [None if bound is None else bound * times for bound in program.kept]
    return replace(
        program,
        scale=program.scale * times,
        least=program.least * times,
        most=program.most * times,
        guess=None if program.guess is None else program.guess * times,
        kept=(kept[0], kept[1]),
    )


def _equations(program: Program, flows: Real) -> Iterator[Equation]:
    """All that is met with equality. Unknowns: the flows in units, then the largest and the least share of each row."""
    units = flows * float(program.scale)
    close = _SAME * np.minimum(*(program.v.astype(np.float64)[x] for x in (program.pairs.released, program.pairs.true)))
    close = close * float(program.scale)
    yield from _sums(program)
    yield from _on_bounds(program, units, close)
    if program.guess is not None:
        yield from _guess(program, units, close, program.guess)
    if program.parity is not None:
        yield from _parity(program, units, close, program.parity)
    own = np.flatnonzero(program.pairs.own)
    for bound in program.kept:
        if bound is not None and abs(units[own].sum() - float(bound)) <= _SAME * float(program.total):
            yield dict.fromkeys(own.tolist(), _ONE), Fraction(bound)


def _sums(program: Program) -> Iterator[Equation]:
    for places in (program.pairs.released, program.pairs.true):
        for state, total in enumerate(program.sums.tolist()):
            yield dict.fromkeys(np.flatnonzero(places == state).tolist(), _ONE), Fraction(total)


def _on_bounds(program: Program, units: Real, close: Real) -> Iterator[Equation]:
    for bound in (program.least, program.most):
        for e in np.flatnonzero(np.abs(units - bound.astype(np.float64)) <= close).tolist():
            yield {e: _ONE}, Fraction(int(bound[e]))


def _guess(program: Program, units: Real, close: Real, guess: int) -> Iterator[Equation]:
    i, first = program.pairs.released, len(units)
    largest = np.zeros(len(program.v))
    np.maximum.at(largest, i, units)
    if abs(largest.sum() - float(guess)) > _SAME * float(program.total):
        return
    yield {first + state: _ONE for state in range(len(largest))}, Fraction(guess)
    for e in np.flatnonzero(largest[i] - units <= close).tolist():
        yield {e: _ONE, first + int(i[e]): -_ONE}, Fraction(0)


def _parity(program: Program, units: Real, close: Real, eta: Fraction) -> Iterator[Equation]:
    i, v, first = program.pairs.released, program.v[program.pairs.true], len(units) + len(program.v)
    counts = v.astype(np.float64)
    least = np.full(len(program.v), math.inf)
    np.minimum.at(least, i, units / counts)
    for ratio in (_ONE, eta):
        level = float(ratio) * least[i] * counts
        for e in np.flatnonzero(np.abs(units - level) <= close).tolist():
            yield {e: _ONE, first + int(i[e]): -ratio * int(v[e])}, Fraction(0)
