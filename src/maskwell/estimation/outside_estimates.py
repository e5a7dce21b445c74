"""Estimates outside [0, 1]: what is said of them, and whether chance explains them.

Given the truth the distance of an estimate from [0, 1] is randomization alone. One count (a and b: the chances that a
report counts) has a binomial tail; else Bennett's inequality bounds it, v the largest variance of a recovery, s its
largest step. What accuses the data has the level 1 % for all estimates of one result together. Standard; derived.
    Pr(x or fewer) <= Bin(x; n, b),     Pr(x or more) <= 1 - Bin(x - 1; n, a),
    Pr(distance >= t) <= exp(-(V / s^2) h(t s / V)),     V = v sum w_i^2,     h(u) = (1 + u) ln(1 + u) - u
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from maskwell.core.arguments import Real
from maskwell.core.verdicts import at_most, below, is_outside
from maskwell.designs.coded import CodedDesign
from maskwell.designs.design import Design
from maskwell.estimation.left_inverse import LeftInverse
from maskwell.estimation.share_estimate import COVARIANCE_LIMIT, ROUNDING
from maskwell.notes import Note

DOUBTFUL = 0.01  # the chance that right data are accused of not fitting, for all estimates of a result together
MISFIT = NormalDist().cdf(-4)  # rarer reports are said not to fit, and not only to be doubtful
FINE = 0.3  # estimates to which one report adds at most this share of their standard error are judged as normal
FlagKind: TypeAlias = Literal[
    "misfit", "outside", "boundary", "inconsistent", "no-error", "least-error", "no-interval", "small-sampling"
]


class Flag(str):
    """A remark for people that says to programs what it is about: they need not look at its words."""

    __slots__ = ("chance", "kind", "limit", "otherwise")
    kind: FlagKind
    chance: float | None
    limit: float
    otherwise: Flag | None

    def __new__(
        cls,
        words: str,
        kind: FlagKind,
        *,
        chance: float | None = None,
        limit: float = 1.0,
        otherwise: Flag | None = None,
    ) -> Flag:
        """Words with their kind; for a test the chance of what was seen, and what to say where it reaches the limit."""
        flag = super().__new__(cls, words)
        flag.kind, flag.chance, flag.limit, flag.otherwise = kind, chance, limit, otherwise
        return flag

    def after(self, words: str) -> Flag:
        """The same remark behind some words."""
        otherwise = None if self.otherwise is None else self.otherwise.after(words)
        return Flag(words + self, self.kind, chance=self.chance, limit=self.limit, otherwise=otherwise)

    def among(self, looks: int) -> Flag:
        """What is left to say where ``looks`` estimates of one result are tested: each has its part of the level."""
        if self.otherwise is None or self.chance is None or below(self.chance * looks, self.limit):
            return self
        return self.otherwise

    def __getnewargs_ex__(self) -> tuple[tuple[str, FlagKind], dict[str, Any]]:
        return (str(self), self.kind), {"chance": self.chance, "limit": self.limit, "otherwise": self.otherwise}


def flags_of_moments(
    pi_hat: Real, variance: Real, sampling: Real, *, full: bool, n: int = 1, chance: float | None = None
) -> tuple[str, ...]:
    """What a reader of moment estimates should know; ``full`` where covariances were computed."""
    flags: list[str] = []
    if is_outside(pi_hat).any():
        if chance is None:
            error = np.sqrt(np.maximum(0, np.maximum(variance, variance - sampling)))
            chance = chance_of_farthest(pi_hat, variance, error)
        count = int(is_outside(pi_hat).sum())
        harmless = Flag(Note("estimates-outside-as-unbiased-ones-may", count=count, of=len(pi_hat)), "outside")
        words = Note("these-reports-do-not-fit-the-design")
        flags.append(Flag(words, "misfit", chance=chance, limit=MISFIT, otherwise=harmless).among(1))
    if (variance <= ROUNDING / n).any():
        flags.append(Flag(Note("a-standard-error-is-zero-or-not"), "no-error"))
    if (sampling < -ROUNDING).any():
        flags.append(Flag(Note("the-sampling-part-of-a-variance"), "small-sampling"))
    return (*flags, *(() if full else (Note("covariances-are-left-out-more", covariance_limit=COVARIANCE_LIMIT),)))


def among_looks(flags: Sequence[str], looks: int) -> tuple[str, ...]:
    """The flags of one of ``looks`` estimates of a result, so that all of them together keep the level of a test."""
    return tuple(flag.among(looks) if isinstance(flag, Flag) else flag for flag in flags)


def is_doubted(flags: Sequence[str]) -> bool:
    """Whether a test accused the reports of not fitting the design."""
    return any(isinstance(flag, Flag) and flag.otherwise is not None for flag in flags)


def nearest_shares(pi_hat: Real) -> Real:
    """Shares inside [0, 1] that are about the nearest: cut and rescaled; for judging only, never for estimating."""
    inside = np.clip(pi_hat, 0, 1)
    total = float(inside.sum())  # estimates from bits do not sum to one, and may all be below zero
    return np.asarray(inside / total if total > 0 else np.full(len(pi_hat), 1 / len(pi_hat)))


class Recovered(NamedTuple):
    """Reports of one design; of their weights, which sum to 1 over all designs, the sum of squares and the largest."""

    design: Design
    squares: float
    largest: float
    inverse: LeftInverse | None = None

    @property
    def reports(self) -> int | None:
        """Their number if they are all the reports and have equal weights, else None."""
        n = round(1 / self.largest)
        return n if abs(n * self.largest - 1) <= WHOLE and abs(n * self.squares - 1) <= WHOLE else None


WHOLE = 1e-9


def chance_given_truth(pi_hat: Real, parts: Sequence[Recovered]) -> float:
    """The chance of an estimate as far outside [0, 1], at most, among all categories; 1 where none lies outside."""
    if not is_outside(pi_hat).any():
        return 1.0
    exact = _binomial_tails(pi_hat, parts[0]) if len(parts) == 1 else None
    tails = _bennett_tails(pi_hat, parts) if exact is None else exact
    tests = 2 * len(pi_hat) if len(pi_hat) > 2 else 2  # of two categories one is below 0 where the other is above 1
    return min(1.0, tests * float(min(tail.min() for tail in tails)))


def _binomial_tails(pi_hat: Real, part: Recovered) -> list[Real] | None:
    """Of counts as small where the share is 0, and as large where it is 1; None where no plain count determines it."""
    from scipy.special import bdtr, bdtrc

    n, chances = part.reports, part.design.count_chances() if part.inverse is None else None
    if n is None or chances is None:
        return None
    a, b = chances
    x = np.clip(np.rint(n * (b + (a - b) * pi_hat)), 0, n)
    return [np.asarray(bdtr(x, n, b)), np.asarray(np.where(x > 0, bdtrc(np.maximum(x - 1, 0), n, a), 1.0))]


def _bennett_tails(pi_hat: Real, parts: Sequence[Recovered]) -> list[Real]:
    """``exp(-(V / s^2) h(t s / V))`` on either side; 1 where t is not above rounding, 0 where nothing varies."""
    noises = [_noise(part.design, part.inverse) for part in parts]
    tails = []
    for side, t in enumerate((-pi_hat, pi_hat - 1)):
        V = np.asarray(sum(part.squares * noise[side][0] for part, noise in zip(parts, noises, strict=True)))
        s = np.max([part.largest * noise[side][1] for part, noise in zip(parts, noises, strict=True)], axis=0)
        far, varies = t > ROUNDING, (V > 0) & (s > 0)
        u = np.divide(t * s, V, out=np.zeros(len(t)), where=far & varies)
        exponent = np.divide(V, s**2, out=np.zeros(len(t)), where=varies) * ((1 + u) * np.log1p(u) - u)
        tails.append(np.asarray(np.where(far, np.where(varies, np.exp(-exponent), 0.0), 1.0)))
    return tails


def _noise(design: Design, inverse: LeftInverse | None) -> tuple[tuple[Real, Real], tuple[Real, Real]]:
    """Below 0 and above 1: at most the variance of a recovery given the truth, and its step in that direction."""
    chances = design.count_chances() if inverse is None else None
    if chances is not None:
        (a, b), d = chances, chances[0] - chances[1]
        return (b * (1 - b) / d**2, b / d), (a * (1 - a) / d**2, (1 - a) / d)
    if isinstance(design, CodedDesign) and design.has_entries_up_to(COVARIANCE_LIMIT**2):
        L = design.backward(np.eye(design.m)).T if inverse is None else inverse.L
        columns = design.forward(np.eye(design.k))
        second = design.backward_squared(columns) if inverse is None else columns @ (L**2).T
        v = (second - np.eye(design.k)).max(axis=0)
        return (v, 1 - np.minimum(L.min(axis=1), 0)), (v, L.max(axis=1))
    solver = design if inverse is None else inverse
    size = design.k if design.reports_are_sets else design.m
    length = np.sqrt(size * solver.second_moment_diagonal(np.full(size, 1 / size)))
    return (length**2, 1 + length), (length**2, length)


def chance_of_farthest(pi_hat: Real, variance: Real, error: Real, steps: Real | None = None) -> float:
    """The chance of an estimate so far outside, times their number: normal where ``steps`` are small, else a bound."""
    outside = np.maximum(-pi_hat, pi_hat - 1)
    fine = np.ones(len(pi_hat), dtype=bool) if steps is None else at_most(steps, FINE * error)
    chances = [0.5]
    if fine.any():
        out, fine_error = outside[fine], error[fine]
        farthest = np.divide(out, fine_error, out=np.where(out > ROUNDING, np.inf, 0.0), where=fine_error > 0).max()
        chances.append(NormalDist().cdf(-float(farthest)))
    coarse = ~fine & (outside > ROUNDING)
    if steps is not None and coarse.any():
        coarse_error = np.sqrt(np.maximum(variance[coarse], 0))
        chances.append(_bounded_chance(outside[coarse], coarse_error, steps[coarse], len(pi_hat)))
    return min(1.0, len(pi_hat) * min(chances))


def _bounded_chance(outside: Real, error: Real, steps: Real, count: int) -> float:
    """The least chance of estimates this far outside: ``exp(-x)`` where ``_exponent(x) = x``. Derived."""
    evidence = math.log(2 * count / DOUBTFUL)
    farthest = int(np.argmax(_exponent(evidence, outside, error, steps)))
    at_farthest = [float(values[farthest]) for values in (outside, error, steps)]
    low, high = 0.0, 1e4
    while high - low > 1e-3 * high and high > 1e-3:
        middle = (low + high) / 2
        low, high = (middle, high) if _exponent(middle, *at_farthest) >= middle else (low, middle)
    return min(0.5, 2 * float(np.exp(-low)))


def _exponent(x: float, outside: Any, error: Any, step: Any) -> Any:
    """``(v / s^2) h(t s / v)`` of :func:`_bounded_chance` at x: of one estimate or, as arrays, of several."""
    v = (error + step * math.sqrt(2 * x)) ** 2
    u = outside * step / v
    return v / step**2 * ((1 + u) * np.log1p(u) - u)
