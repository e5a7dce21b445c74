"""What a choice among designs consists of: the lines of the table, and the one that is recommended."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from maskwell.core.exact import to_float, to_text
from maskwell.designs.base import Design
from maskwell.planning.candidates import Candidate
from maskwell.privacy.criteria import Demand


@dataclass(frozen=True, eq=False, repr=False)
class Option:
    """A line of the table.

    Attributes
    ----------
    candidate
        The design and its estimator.
    meets
        Whether the demand is met.
    guess_probability
        Chance that the best guess of the truth from one report is right, for somebody who believes in equal shares, or
        in those that were assumed.
    rank
        From 1 for the least added variance; None for designs that cannot be compared.
    added_variance
        V_R; None where shares cannot be estimated.
    variance
        The largest ``n Var(pi_hat_j)`` of one share.
    rms_error, margin
        With a number of respondents: the root mean square error of one share, and the half width of its interval.
    n
        How many respondents would give the margin of the choice.
    dominated_by
        For designs that are not admissible: the line that adds less variance at the same parity, whatever the shares.
    note
        What must be known about it.
    """

    candidate: Candidate
    meets: bool
    guess_probability: float
    rank: int | None = None
    added_variance: float | None = None
    variance: float | None = None
    rms_error: float | None = None
    margin: float | None = None
    n: int | None = None
    dominated_by: str | None = None
    note: str = ""

    @property
    def name(self) -> str:
        """For programs."""
        return self.candidate.name

    @property
    def label(self) -> str:
        """For people."""
        return self.candidate.label

    @property
    def design(self) -> Design:
        """The design."""
        return self.candidate.design

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values, for JSON."""
        design = self.design
        return {
            "rank": self.rank,
            "name": self.name,
            "label": self.label,
            "family": self.candidate.family,
            "estimator": self.candidate.estimator,
            "parity": design.parity(),
            "meets": self.meets,
            "identifiable": design.identifiable,
            "added_variance": self.added_variance,
            "rms_error": self.rms_error,
            "margin": self.margin,
            "n": self.n,
            "guess_probability": self.guess_probability,
            "report_bits": design.report_bits(),
            "wire_bits": self.candidate.wire_bits,
            "admissible": design.is_admissible(),
            "dominated_by": self.dominated_by,
            "note": self.note,
        }

    def __repr__(self) -> str:
        return f"Option({self.rank}, {self.label!r}, V_R={self.added_variance})"


@dataclass(frozen=True, eq=False, repr=False)
class Choice:
    """The ranked designs for a demand, and the one that is recommended.

    Attributes
    ----------
    options
        Ranked by added variance, those that cannot be compared last.
    recommended
        One of them.
    reason
        Why, in words.
    n, margin, level
        How many respondents, the half width of the intervals of the recommended design, and their level; n and margin
        are None when neither was given.
    pi
        The shares that were assumed; None for equal shares.
    notes, warnings
        What must be known about the table, and what the margin cannot tell.
    worst_n, worst_margin
        The same for the recommended design whatever the true shares are.
    direct_n, direct_margin
        The same if the question were asked directly, without any protection.

    >>> from maskwell.planning.choosing import choose
    >>> choice = choose(3, Demand.from_epsilon(1), n=1000)
    >>> choice.recommended.label, round(choice.margin, 3)   # shares are known to eight points
    ('gamma-diagonal', 0.08)
    """

    demand: Demand
    gamma: Fraction
    options: tuple[Option, ...]
    recommended: Option
    reason: str
    level: float
    n: int | None
    margin: float | None
    pi: tuple[Fraction, ...] | None
    notes: tuple[str, ...]
    warnings: tuple[str, ...] = ()
    worst_n: int | None = None
    worst_margin: float | None = None
    direct_n: int | None = None
    direct_margin: float | None = None

    @property
    def design(self) -> Design:
        """The recommended design."""
        return self.recommended.design

    @property
    def ranked(self) -> tuple[Option, ...]:
        """The options that can be compared."""
        return tuple(option for option in self.options if option.rank is not None)

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values, for JSON."""
        return {
            "k": self.design.k,
            "demand": self.demand.to_dict(),
            "gamma": to_float(self.gamma),
            "n": self.n,
            "margin": self.margin,
            "level": self.level,
            "pi": None if self.pi is None else list(map(to_text, self.pi)),
            "recommended": self.recommended.name,
            "reason": self.reason,
            "notes": list(self.notes),
            "warnings": list(self.warnings),
            "worst_case": {"n": self.worst_n, "margin": self.worst_margin},
            "asked_directly": {"n": self.direct_n, "margin": self.direct_margin},
            "designs": [option.to_dict() for option in self.options],
            "design": self.design.to_dict(),
        }

    def __repr__(self) -> str:
        lines = [f"Choice for {self.demand.text}: {self.recommended.label}"]
        return "\n".join([*lines, *(f"  {option!r}" for option in self.options)])
