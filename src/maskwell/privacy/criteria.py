"""Privacy demands in the words people use; each is one number, an upper bound gamma on parity.

============  ===================================================================  =================================
demand        a breach is                                                          parity must be
============  ===================================================================  =================================
gamma         the odds of a statement about the truth change by more than gamma    <= gamma (also: Bayes factor)
epsilon       a report is more than e**epsilon times likelier for another truth    <= e**epsilon
beta          a probability rises or falls by more than the factor beta            <= beta
rho1-to-rho2  a probability below rho1 rises above rho2, or the reverse            <= rho2 (1-rho1) / (rho1 (1-rho2))
curves        a posterior is above h_u or below h_l of the prior                   <= B(h), see :mod:`.curves`
============  ===================================================================  =================================

Where reaching the limit is a breach already (closed demands), parity must stay below the bound if that is attained.

Source: [ChaiNayak2018, Theorems 1.2 and 3.1, eq. (1.6)], [NayakZhangAdeshiyan2016, Theorem 3.2].

**Slack**: fractions and integers are compared exactly. A decimal or a float represents a number nearby, as
0.6666666666666666 does for 2/3: where the design or the demand was given as decimals, parity meets a bound gamma if
``parity <= gamma (1 + 1e-9)``, and where this decides, the answer and the certificate say so. A bound that must not be
reached (a closed demand) has no slack, which would allow the breach itself.

Source: derived; why it is so is in docs/adr/0017-decimals-and-fractions.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from maskwell.core.arguments import Flag, Real, check_kind, kind_of
from maskwell.core.exact import (
    Number,
    Parity,
    as_fraction,
    exp_below,
    is_decimal,
    log_of,
    percent_meant,
    safe_above,
    safe_below,
    to_float,
    to_text,
)
from maskwell.core.verdicts import EXACT_SLACK
from maskwell.designs.design import Design
from maskwell.errors import ParameterError, WrongTypeError
from maskwell.privacy.curves import NO_DEMAND, Boundary, Curve, Lines, Steps, least, odds_ratio

SLACK = EXACT_SLACK  # what decimals may exceed a limit by, relative to it
SLACK_IN_WORDS = "within 1e-9; given as decimals"


@dataclass(frozen=True)
class Verdict:
    """Whether a limit is kept, and whether that is so only because of the slack for decimals."""

    meets: bool
    slack_used: bool = False


def verdict(value: Parity, limit: Parity, *, decimals: bool, strict: bool = False) -> Verdict:
    """Whether a value keeps to a limit (stays below, if ``strict``); ``decimals``: one was given as decimals."""
    if isinstance(limit, float) or (value < limit if strict else value <= limit):
        return Verdict(meets=True)
    kept = decimals and not strict and not isinstance(value, float) and value <= limit * (1 + SLACK)
    return Verdict(meets=kept, slack_used=kept)


def stands_for(design: Design) -> Parity:
    """The parity to show to people: for decimals a number of at most six digits that it is within slack of, if any."""
    parity = design.parity_exact()
    if isinstance(parity, float) or not design.decimals:
        return parity
    near = max(Fraction(1), Fraction(f"{to_float(parity):.6g}")) if parity < 10**300 else parity
    return near if alike(parity, near, decimals=True) else parity


def alike(one: Parity, two: Parity, *, decimals: bool) -> bool:
    """Whether two values are the same: exactly, or each within the slack of the other."""
    return all(verdict(a, b, decimals=decimals).meets for a, b in ((one, two), (two, one)))


RHO_EXAMPLES = (Fraction(1, 100), Fraction(1, 10), Fraction(1, 2))
FUNCTION = "function"  # stands for a curve that only a program knows
STRICTLY = Fraction(1, 2**32)  # how far below a bound that must not be reached designs are made, relative to gamma - 1


@dataclass(frozen=True)
class Demand:
    """An upper bound on parity.

    Attributes
    ----------
    name, text
        The language it was stated in, and the words.
    gamma_exact
        The bound: a fraction that never exceeds what was asked; infinite when nothing is asked.
    closed
        Whether reaching the limit is already a breach (the closed form of rho1-to-rho2).
    decimals
        Whether it was given as decimals or floats, whose last digit is not meant; see the head of this module.
    attained
        Whether some prior reaches the bound, and not only approaches it.
    sampled
        The least value seen, where the bound could only be bracketed; for display.
    certified
        False when the bound is only what samples of a curve showed.
    notes
        What a reader must know about the bound.
    stated
        What is held to, as exact text, so that another program can work out the bound anew.
    upper_curve, lower_curve
        h_u and h_l: what a posterior may be for each prior.

    >>> Demand.from_rho("0.1", "0.5").gamma_exact
    Fraction(9, 1)
    """

    name: str
    text: str
    gamma_exact: Parity
    closed: bool = False
    decimals: bool = False
    attained: bool = True
    sampled: Parity | None = None
    certified: bool = True
    notes: tuple[str, ...] = ()
    stated: Mapping[str, Any] = field(default_factory=dict)
    upper_curve: Curve | None = None
    lower_curve: Curve | None = None

    @classmethod
    def from_gamma(cls, gamma: Number) -> Demand:
        """Odds may change by at most the factor gamma, up or down."""
        return cls._ratio("gamma", gamma)

    @classmethod
    def from_bayes_factor(cls, factor: Number) -> Demand:
        """The same under its other name."""
        return cls._ratio("bayes_factor", factor)

    @classmethod
    def from_beta(cls, beta: Number) -> Demand:
        """Probabilities may change by at most the factor beta, up or down."""
        return cls._ratio("beta", beta)

    @classmethod
    def _ratio(cls, name: str, value: Number) -> Demand:
        bound = safe_below(value, name)
        if bound < 1:
            raise ParameterError("is-below-1", shown_name=name, shown_value=value, **{name: value})
        return cls._in_one_number(name, value, bound, gamma=bound)

    @classmethod
    def from_epsilon(cls, epsilon: Number) -> Demand:
        """Local differential privacy at level epsilon."""
        bound = safe_below(epsilon, "epsilon")
        if not 0 <= bound <= 700:
            raise ParameterError("epsilon-is-not-from-0", epsilon=epsilon)
        return cls._in_one_number("epsilon", epsilon, bound, gamma=exp_below(bound))

    @classmethod
    def _in_one_number(cls, name: str, value: Number, bound: Fraction, *, gamma: Fraction) -> Demand:
        upper: Curve
        lower: Curve
        upper, lower = (Boundary(gamma, upward=upward) for upward in (True, False))
        if name == "beta":  # min(1, beta p) and p / beta
            corners: list[tuple[Number, Number]] = [(0, 0), (1 / gamma, 1), (1, 1)]
            upper, lower = Lines.of(corners if gamma > 1 else [(0, 0), (1, 1)]), Lines.of([(0, 0), (1, 1 / gamma)])
        return cls(
            name,
            f"{name} = {value}",
            gamma,
            decimals=is_decimal(value),
            attained=name != "beta",
            stated={"language": name, name: to_text(bound)},
            upper_curve=upper,
            lower_curve=lower,
        )

    @classmethod
    def from_rho(cls, rho1: Number, rho2: Number, *, closed: bool = False) -> Demand:
        """Nobody's suspicion may rise from below rho1 to above rho2, nor fall from above rho2 to below rho1.

        Closed: nor from rho1 itself, or to rho2 itself.
        """
        check_kind(Flag, closed=closed)
        low, high = safe_above(rho1, "rho1"), safe_below(rho2, "rho2")
        if not 0 < low < high < 1:
            named = {"rho1": rho1, "rho2": rho2}
            name, beyond = next(((name, x) for name, x in named.items() if not 0 < as_fraction(x) < 1), ("", 0))
            raise ParameterError(
                "is-not-strictly-between-0-and" if name else "rho1-is-not-below-rho2",
                name=name,
                beyond=beyond,
                percent_meant=percent_meant(rho1, rho2),
                rho1=rho1,
                rho2=rho2,
            )
        return cls(
            "rho",
            f"rho1 = {rho1} to rho2 = {rho2}{', closed' if closed else ''}",
            odds_ratio(high, low),
            closed,
            is_decimal(rho1) or is_decimal(rho2),
            attained=closed,
            stated={"language": "rho", "rho1": to_text(low), "rho2": to_text(high), "closed": closed},
            upper_curve=Steps.of([low], [high, 1], closed_right=[closed]),
            lower_curve=Steps.of([high], [0, low], closed_right=[not closed]),
        )

    @classmethod
    def from_curves(
        cls, *, lower: Curve | None = None, upper: Curve | None = None, closed: bool = False, text: str = "curves"
    ) -> Demand:
        """A prior p may become anything from lower(p) to upper(p): :class:`Steps`, :class:`Lines` or :class:`Smooth`.

        A curve that is left out forbids nothing.

        >>> steps = Steps.of(["0.2", "0.5"], ["0.4", "0.8", 1])
        >>> Demand.from_curves(upper=steps).gamma_exact
        Fraction(8, 3)
        """
        for name, curve in (("lower", lower), ("upper", upper)):
            if curve is not None and (isinstance(curve, type) or not hasattr(curve, "bound")):
                raise WrongTypeError("must-be-a-curve-not", name=name, curve_kind=kind_of(curve))
        check_kind(Flag, closed=closed)
        bounds = [c.bound(upper=is_upper) for c, is_upper in ((lower, False), (upper, True)) if c is not None]
        bound = least([*bounds, NO_DEMAND])
        sides = {"lower": lower, "upper": upper}
        curves = {name: None if c is None else c.to_json() or FUNCTION for name, c in sides.items()}
        return cls(
            "curves",
            text,
            bound.lower,
            closed,
            any(c.decimals for c in (lower, upper) if c is not None),
            attained=bound.attained,
            sampled=bound.upper if bound.upper != bound.lower else None,
            certified=bound.certified,
            notes=bound.notes,
            stated={"language": "curves", **curves, "closed": closed},
            upper_curve=upper,
            lower_curve=lower,
        )

    def upper(self, p: Real) -> Real:
        """h_u: the most that a posterior may be, for priors p."""
        return np.ones_like(p) if self.upper_curve is None else self.upper_curve.values(p)

    def lower(self, p: Real) -> Real:
        """h_l: the least that a posterior may be, for priors p."""
        return np.zeros_like(p) if self.lower_curve is None else self.lower_curve.values(p)

    def canonical(self, p: Real) -> Real:
        """``min(h_u(p), 1 - h_l(1 - p))``: what both curves ask of every rise. Source: [ChaiNayak2018, Lemma 3.1]."""
        return np.minimum(self.upper(p), 1 - self.lower(1 - p))

    @property
    def breaks(self) -> tuple[float, ...]:
        """Priors at which a curve jumps or bends."""
        curves = [c for c in (self.upper_curve, self.lower_curve) if c is not None]
        return tuple(sorted({p for c in curves for p in c.breaks}))

    @property
    def reachable(self) -> Fraction:
        """The parity to make a design with: the bound, or just below it where reaching it is a breach."""
        if isinstance(self.gamma_exact, float):
            raise ParameterError("allows-any-parity-there-is-nothing-to", text=self.text)
        return self.gamma_exact - (self.gamma_exact - 1) * STRICTLY * self.strict

    @property
    def strict(self) -> bool:
        """Whether parity must stay below the bound: reaching it is a breach, and some prior does, or a function may."""
        return self.closed and (self.attained or FUNCTION in self.stated.values())

    def verdict(self, design: Design) -> Verdict:
        """Whether the design's exact parity is allowed, and whether only the slack for decimals makes it so."""
        return self.judge(design.parity_exact(), decimals=design.decimals)

    def met_by(self, design: Design) -> bool:
        """Whether the design meets the demand."""
        return self.verdict(design).meets

    def allows(self, parity: Parity, *, decimals: bool = False) -> bool:
        """The same for a parity; ``decimals`` says that it comes from a design that was given as decimals."""
        return self.judge(parity, decimals=decimals).meets

    def judge(self, parity: Parity, *, decimals: bool) -> Verdict:
        """The verdict on a parity."""
        return verdict(parity, self.gamma_exact, decimals=decimals or self.decimals, strict=self.strict)

    def to_dict(self) -> dict[str, Any]:
        """The privacy requirement in all its forms."""
        names = ("closed", "attained", "strict", "decimals", "certified")
        content = {"stated": self.text, "language": self.name, **{name: getattr(self, name) for name in names}}
        content |= {"notes": list(self.notes), **in_every_language(self.gamma_exact)}
        return content if self.sampled is None else {**content, "gamma_seen": to_float(self.sampled)}


def posterior_range(gamma: Parity, prior: Fraction) -> tuple[Fraction, Fraction]:
    """From ``p / (gamma - (gamma - 1) p)`` to ``gamma p / (1 + (gamma - 1) p)``. Source: [ChaiNayak2018, eq. (3.5)]."""
    if isinstance(gamma, float):
        return Fraction(0), Fraction(1)
    return prior / (gamma - (gamma - 1) * prior), gamma * prior / (1 + (gamma - 1) * prior)


def in_every_language(gamma: Parity) -> dict[str, Any]:
    """A parity bound as gamma, epsilon, beta, Bayes factor, and pairs [rho1, rho2]."""
    value = to_float(gamma)
    pairs = [[float(p), float(posterior_range(gamma, p)[1])] for p in RHO_EXAMPLES]
    return {
        **dict.fromkeys(("gamma", "beta", "bayes_factor"), value),
        "gamma_exact": to_text(gamma),
        "epsilon": log_of(gamma),
        "rho": pairs,
        "average_security": average_security_bound(gamma),
    }


def average_security_bound(gamma: Parity) -> float:
    """The largest average security of a design of that parity; no phi bounds parity. Source: derived."""
    return 2.0 if isinstance(gamma, float) else float(2 * gamma / (gamma + 1))


def largest_shift(gamma: Parity) -> float:
    """The most by which a report can raise or lower a probability: ``(sqrt(gamma) - 1) / (sqrt(gamma) + 1)``."""
    return math.tanh(log_of(gamma) / 4)


def area_between(gamma: Parity) -> float:
    """The area between the two boundary curves: 0 when a report says nothing, 1 when it may say everything.

        2 gamma / (gamma - 1) - 2 gamma ln(gamma) / (gamma - 1)^2 - 1

    Source: derived from [ChaiNayak2018, eq. (3.5)]; close to gamma = 1 by its series.
    """
    g, beyond = to_float(gamma), to_float(gamma - 1)
    if math.isinf(g):
        return 1.0
    if beyond < 1e-2:
        return sum(-2 * math.pow(-beyond, n) / ((n + 1) * (n + 2)) for n in range(1, 12))
    return 2 * g / beyond - 2 * (g / beyond) * (math.log(g) / beyond) - 1


DEMANDS: dict[str, Callable[..., Demand]] = {
    "gamma": Demand.from_gamma,
    "epsilon": Demand.from_epsilon,
    "beta": Demand.from_beta,
    "bayes_factor": Demand.from_bayes_factor,
    "rho": Demand.from_rho,
}
"""Every way to state a demand, by name."""
