"""Privacy demands in the words people use; each is one number, an upper bound gamma on parity.

============  ===================================================================  =================================
demand        a breach is                                                          parity must be
============  ===================================================================  =================================
gamma         the odds of a statement about the truth change by more than gamma    <= gamma (also: Bayes factor)
epsilon       a report is more than e**epsilon times likelier for another truth    <= e**epsilon
beta          a probability rises or falls by more than the factor beta            <= beta
rho1-to-rho2  a probability below rho1 rises above rho2, or the reverse            <= rho2 (1-rho1) / (rho1 (1-rho2))
============  ===================================================================  =================================

Source: [ChaiNayak2018, Theorems 1.2 and 3.1, eq. (1.6)], [NayakZhangAdeshiyan2016, Theorem 3.2].
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from maskwell.core.exact import Number, Parity, exp_below, is_float, log_of, safe_above, safe_below, to_float, to_text
from maskwell.errors import ParameterError

RHO_EXAMPLES = (Fraction(1, 100), Fraction(1, 10), Fraction(1, 2))


@dataclass(frozen=True)
class Demand:
    """An upper bound on parity.

    Attributes
    ----------
    name, text
        The language it was stated in, and the words.
    gamma_exact
        The bound: a fraction that never exceeds what was asked.
    closed
        Whether reaching the bound is already a breach (the closed form of rho1-to-rho2).
    slack
        Slack of the comparison, relative to gamma - 1: none for integers, fractions and text; 1e-9 for floats, whose
        last digit is not meant.

    >>> Demand.from_rho("0.1", "0.5").gamma_exact
    Fraction(9, 1)
    """

    name: str
    text: str
    gamma_exact: Fraction
    closed: bool = False
    slack: Fraction = Fraction(0)

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
            raise ParameterError(f"{name} = {value} is below 1", hint=f"give {name} of 1 or more", **{name: value})
        return cls(name, f"{name} = {value}", bound, slack=_slack(value))

    @classmethod
    def from_epsilon(cls, epsilon: Number) -> Demand:
        """Local differential privacy at level epsilon."""
        bound = safe_below(epsilon, "epsilon")
        if not 0 <= bound <= 700:
            raise ParameterError(
                f"epsilon = {epsilon} is not from 0 to 700", hint="give a number such as 1", epsilon=epsilon
            )
        return cls("epsilon", f"epsilon = {epsilon}", exp_below(bound), slack=_slack(epsilon))

    @classmethod
    def from_rho(cls, rho1: Number, rho2: Number, *, closed: bool = False) -> Demand:
        """Nobody's suspicion may rise from below rho1 to above rho2, nor fall from above rho2 to below rho1."""
        low, high = safe_above(rho1, "rho1"), safe_below(rho2, "rho2")
        if not 0 < low < high < 1:
            raise ParameterError(
                f"rho1 = {rho1}, rho2 = {rho2}", hint="give 0 < rho1 < rho2 < 1, such as 0.1 0.5", rho1=rho1, rho2=rho2
            )
        return cls(
            "rho", f"rho1 = {rho1} to rho2 = {rho2}", high * (1 - low) / (low * (1 - high)), closed, _slack(rho1, rho2)
        )

    def allows(self, parity: Parity) -> bool:
        """Whether a design of this parity meets the demand."""
        if self.closed:
            return parity < self.gamma_exact
        return parity <= self.gamma_exact + self.slack * (self.gamma_exact - 1)

    def to_dict(self) -> dict[str, Any]:
        """The demand in every language."""
        return {"stated": self.text, "closed": self.closed, **in_every_language(self.gamma_exact)}


def _slack(*given: Number) -> Fraction:
    return Fraction(1, 10**9) if any(map(is_float, given)) else Fraction(0)


def posterior_range(gamma: Parity, prior: Fraction) -> tuple[Fraction, Fraction]:
    """What a prior probability can become after a report.

        p / (gamma - (gamma - 1) p)   to   gamma p / (1 + (gamma - 1) p)

    Source: [ChaiNayak2018, eq. (3.5)].

    >>> posterior_range(Fraction(9), Fraction(1, 10))
    (Fraction(1, 82), Fraction(1, 2))
    """
    if isinstance(gamma, float):
        return Fraction(0), Fraction(1)
    return prior / (gamma - (gamma - 1) * prior), gamma * prior / (1 + (gamma - 1) * prior)


def in_every_language(gamma: Parity) -> dict[str, Any]:
    """A parity bound as gamma, epsilon, beta, Bayes factor, and pairs [rho1, rho2].

    >>> in_every_language(Fraction(9))["rho"][1]
    [0.1, 0.5]
    """
    value = to_float(gamma)
    pairs = [[float(p), float(posterior_range(gamma, p)[1])] for p in RHO_EXAMPLES]
    names = dict.fromkeys(("gamma", "beta", "bayes_factor"), value)
    return {**names, "gamma_exact": to_text(gamma), "epsilon": log_of(gamma), "rho": pairs}


DEMANDS: dict[str, Callable[..., Demand]] = {
    "gamma": Demand.from_gamma,
    "epsilon": Demand.from_epsilon,
    "beta": Demand.from_beta,
    "bayes_factor": Demand.from_bayes_factor,
    "rho": Demand.from_rho,
}
"""Every way to state a demand, by name."""
