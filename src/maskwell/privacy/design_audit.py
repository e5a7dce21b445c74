"""Audit: what a design promises, from its exact numbers; from formulas where it cannot be written out.

**Average security** is a promise on average only, shown because others use it. It is not recommended.

    l1 = max over truths j, l of sum_i |P[i, j] - P[i, l]|,     phi = 1 + l1 / 2

A bound gamma on parity gives phi <= 2 gamma / (gamma + 1); no phi bounds parity.

Source: [NayakZhai2019, Definition 2.4, Theorems 2.1 and 3.1], after Boreale and Paolini.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from maskwell.core.arguments import Real, as_list, check_kind, shown_short
from maskwell.core.categories import Categories
from maskwell.core.display import Result
from maskwell.core.exact import Number, Parity, is_decimal, log_of, safe_below, to_digits, to_float, to_text
from maskwell.core.phrases import Printed
from maskwell.designs.design import Design, big
from maskwell.errors import ParameterError, TooLargeError, WrongTypeError
from maskwell.privacy.criteria import (
    SLACK_IN_WORDS,
    Demand,
    Verdict,
    in_every_language,
    largest_shift,
    posterior_range,
    verdict,
)
from maskwell.privacy.posterior_probabilities import find_sensitive, hazard_of, posterior
from maskwell.privacy.provable_claims import why_not

CLOSE, ROUNDED = Fraction(1, 10**6), Fraction(1, 10**12)  # where a float decides nothing; its error for large designs

NOT_RECOMMENDED = "not recommended: it holds on average, and single reports may still reveal the answer for sure"


@dataclass(frozen=True)
class AverageSecurity:
    """The demand that average security is at most phi.

    >>> from maskwell.designs import Dense
    >>> half_of_the_truth = Dense.of([["1/2", 0], [0, "1/2"], ["1/2", "1/2"]])
    >>> AverageSecurity.of("1.5").met_by(half_of_the_truth), half_of_the_truth.parity()   # "secure", and wide open
    (True, inf)
    """

    phi: Fraction
    text: str
    decimals: bool = False

    @classmethod
    def of(cls, phi: Number) -> AverageSecurity:
        """Checked: strictly between 1 and 2."""
        bound = safe_below(phi, "phi")
        if not 1 < bound < 2:
            raise ParameterError("phi-is-not-strictly-between-1", phi=phi)
        return cls(bound, f"average security phi = {phi}", is_decimal(phi))

    def met_by(self, design: Design) -> bool:
        """Whether ``l1 <= 2 (phi - 1)``."""
        check_kind(Design, design=design)
        return self.verdict(design).meets

    def verdict(self, design: Design) -> Verdict:
        """The same, and whether only the slack for decimals makes it so; see :mod:`.criteria`."""
        value = Fraction(average_security(design))
        if abs(value - self.phi) < CLOSE:
            value = _exact(design, value)
        return verdict(value, self.phi, decimals=design.decimals or self.decimals)

    def to_dict(self) -> dict[str, Any]:
        """What was asked; no parity follows from it."""
        asked = {"phi": float(self.phi), "decimals": self.decimals}
        return {"stated": self.text, "language": "average_security", **asked, "note": NOT_RECOMMENDED}


def _exact(design: Design, near: Fraction) -> Fraction:
    """Average security as a fraction; for designs too large for that, a little above the float that is near."""
    try:
        return 1 + design.total_variation_exact() / 2
    except TooLargeError:
        return near * (1 + ROUNDED)


def average_security(design: Design) -> float:
    """The smallest phi for which the design is phi-average secure."""
    try:
        return 1 + design.total_variation() / 2
    except TooLargeError as error:
        raise TooLargeError(
            "average-security-needs-the-matrix",
            shown_reports_in_words=design.reports_in_words(),
            shown_k=big(design.k),
            values=error.values,
            **error.objects,
        ) from error


SHOWN_ENTRIES = 10_000
MOST_REPORTS = 10**18
PRIORS = ("0.01", "0.1", "0.5", "0.9")
REPETITIONS = (2, 3, 5, 10)


@dataclass(frozen=True, eq=False, repr=False)
class Audit(Result):
    """What a design promises, and whether it meets a demand.

    >>> from maskwell import Categories
    >>> from maskwell.designs import Uniform
    >>> result = audit(Uniform.from_gamma(3, Categories.of(["yes", "no"])), Demand.from_epsilon(1))
    >>> result.parity_exact, result.meets
    (Fraction(3, 1), False)
    """

    design: Design
    demand: Demand | AverageSecurity | None
    prior: Real | None
    sensitive: tuple[int, ...]
    parity_exact: Parity

    @property
    def meets(self) -> bool | None:
        """Whether the demand is met; ``None`` without one."""
        return None if self.demand is None else self._verdict.meets

    @property
    def slack_used(self) -> bool | None:
        """Whether only the slack for decimals makes it so; ``None`` without a demand. See :mod:`.criteria`."""
        return None if self.demand is None else self._verdict.slack_used

    @cached_property
    def _verdict(self) -> Verdict:
        assert self.demand is not None
        return self.demand.verdict(self.design)

    def __repr__(self) -> str:
        design, content = self.design, self.to_dict()
        answer = f"{'met' if self.meets else 'not met'}{f' ({SLACK_IN_WORDS})' if self.slack_used else ''}"
        met = "" if self.demand is None else f"; {self.demand.text}: {answer}"
        guess = content["guess_probability"]
        right = "not computed" if guess is None else f"{Printed(guess):.4f}"
        lines = [
            f"Audit of {design!r}{met}",
            f"  parity {to_text(self.parity_exact)}, epsilon {Printed(design.epsilon()):.6g}",
            f"  best guess right: {right}, without report {Printed(content['guess_without_report']):.4f}",
            f"  identifiable: {content['identifiable']}, admissible: {content['admissible']}",
        ]
        return "\n".join([*lines, *(f"  note: {warning}" for warning in design.warnings())])

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values, for JSON."""
        design = self.design
        content: dict[str, Any] = {
            "kind": design.kind,
            "k": design.k,
            "m": counted_reports(design),
            "parity": design.parity(),
            "parity_exact": to_text(self.parity_exact),
            "decimals": design.decimals,
            "epsilon": design.epsilon(),
            **self._beliefs(),
            **_solvable(design),
            **_admissible(design),
            "guess_probability": self._guess(),
            "guess_without_report": 1 / design.k if self.prior is None else float(self.prior.max()),
            **_on_average(design),
            "added_variance": design.added_variance() if design.has_quick_rank() and design.identifiable else None,
            "wear_out": wear_out(self.parity_exact),
            "fingerprint": design.fingerprint,
            "provenance": dict(design.provenance),
            "warnings": [*design.warnings(), *self._left_out()],
            **design.details(),
        }
        if design.has_entries_up_to(SHOWN_ENTRIES):
            content |= {"matrix": design.matrix().tolist(), **self._posteriors()}
        if self.demand is not None:
            content |= {"demand": self.demand.to_dict(), "meets": self.meets, "slack_used": self.slack_used}
        return content

    def _beliefs(self) -> dict[str, Any]:
        """What any prior can become, by formula."""
        ranges = []
        for prior in PRIORS:
            low, high = posterior_range(self.parity_exact, Fraction(prior))
            ranges.append({"prior": float(prior), "lowest": float(low), "highest": float(high)})
        return {
            "rho": in_every_language(self.parity_exact)["rho"],
            "posteriors": ranges,
            "largest_shift": largest_shift(self.parity_exact),
        }

    def _left_out(self) -> list[str]:
        """What takes too long to be computed."""
        if self.design.has_entries_up_to(SHOWN_ENTRIES):
            return []
        asked = {"what the prior becomes": self.prior is not None, "the sensitive categories": bool(self.sensitive)}
        words = " and ".join(words for words, is_asked in asked.items() if is_asked)
        left = [f"left out: {words} after each report, for more than {SHOWN_ENTRIES:,} entries"] if words else []
        guess = "left out: how often the best guess is right under the prior, which needs a matrix too large for it"
        left += [guess] if self._guess() is None else []
        if not self.design.has_quick_rank():
            left.append("left out: whether shares can be estimated, and how well, for so many states that depend")
        return left

    def _guess(self) -> float | None:
        """Chance that the best guess is right; None where it needs the matrix and that is too large."""
        try:
            return self.design.guess_probability(self.prior)
        except TooLargeError:
            return None

    def _posteriors(self) -> dict[str, Any]:
        """What the given prior becomes after each report, and the hazard of the sensitive categories."""
        content: dict[str, Any] = {}
        if self.prior is not None:
            after = posterior(self.design, self.prior)
            content |= {"prior": self.prior.tolist(), "posterior": after.tolist()}
        if self.sensitive:
            content["hazard"] = hazard_of(self.design, self.sensitive, self.prior).to_dict()
        return content


def counted_reports(design: Design) -> int | str:
    """The number of reports; without its digits, "C(k, q)" or "2^k", where they would be many."""
    if design.has_reports_up_to(MOST_REPORTS):
        return design.m
    outputs = design.outputs
    if isinstance(outputs, Categories):
        return to_digits(design.m)
    return f"2^{design.k}" if outputs.size is None else f"C({design.k}, {outputs.size})"


def _solvable(design: Design) -> dict[str, Any]:
    """Whether shares can be estimated, and the numbers behind it; None where that takes longer than a few seconds."""
    if not design.has_quick_rank():
        return {"identifiable": None, "rank": None, "condition": None}
    return {"identifiable": design.identifiable, "rank": design.rank(), "condition": design.condition()}


def _admissible(design: Design) -> dict[str, Any]:
    """Whether it is, within 1e-8 if it was given as decimals; whether exactly; which row fails and why."""
    try:
        admissible, reason = design.is_admissible(), why_not(design)
    except TooLargeError as error:
        return {"admissible": None, "admissible_exactly": None, "inadmissible_because": error.message}
    return {"admissible": admissible, "admissible_exactly": reason is None, "inadmissible_because": reason}


def _on_average(design: Design) -> dict[str, Any]:
    """l1 and ``1 + l1 / 2``: for comparison, not recommended as a demand. Source: [NayakZhai2019, Theorem 2.1]."""
    try:
        l1 = design.total_variation()
    except TooLargeError:
        return {"l1": None, "average_security": None}
    return {"l1": l1, "average_security": 1 + l1 / 2}


def wear_out(parity: Parity, times: Sequence[int] = REPETITIONS) -> list[dict[str, Any]]:
    """How protection wears out when the same person is asked again, each time with fresh randomness: ``parity**t``."""
    powers = [(t, parity if isinstance(parity, float) else parity**t) for t in times]
    return [{"reports": t, "parity": to_float(power), "epsilon": log_of(power)} for t, power in powers]


def audit(
    design: Design,
    demand: Demand | AverageSecurity | None = None,
    prior: Real | None = None,
    *,
    sensitive: Iterable[Hashable] = (),
) -> Audit:
    """What a design promises, against a demand, a prior and sensitive labels (or codes, if no label is a number)."""
    check_kind(Design, design=design)
    if demand is not None and not isinstance(demand, Demand | AverageSecurity):
        raise WrongTypeError("demand-is-no-demand", demand_shown=shown_short(demand), demand=demand)
    checked = None if prior is None else design.check_distribution(prior, "prior")
    named = as_list(sensitive, "sensitive")
    codes = find_sensitive(design, named) if named else ()
    return Audit(design, demand, checked, codes, design.parity_exact())
