"""Average security: a promise on average only, shown because others use it. It is not recommended.

    l1 = max over truths j, l of sum_i |P[i, j] - P[i, l]|,     phi = 1 + l1 / 2

A design is phi-average secure when a yes-or-no guess about a person becomes at most phi times as reliable on average.
Single reports may still reveal the answer for sure: the best phi-secure binary design tells the plain truth with
probability phi - 1 and nothing otherwise. A bound gamma on parity gives phi <= 2 gamma / (gamma + 1); no phi bounds
parity.

Source: [NayakZhai2019, Definition 2.4, Theorems 2.1 and 3.1], after Boreale and Paolini.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from maskwell.core.arguments import check_kind
from maskwell.core.exact import Number, is_decimal, safe_below
from maskwell.designs.base import Design, big
from maskwell.errors import ParameterError, TooLargeError
from maskwell.privacy.slack import Verdict, verdict

CLOSE, ROUNDED = Fraction(1, 10**6), Fraction(1, 10**12)
"""How near to the limit a float decides nothing, and how far off it may be for large designs."""

NOT_RECOMMENDED = "not recommended: it holds on average, and single reports may still reveal the answer for sure"


@dataclass(frozen=True)
class AverageSecurity:
    """The demand that average security is at most phi.

    >>> from maskwell.designs.dense import Dense
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
            raise ParameterError(
                f"phi = {phi} is not strictly between 1 and 2", hint="at 1 nothing is told, at 2 everything", phi=phi
            )
        return cls(bound, f"average security phi = {phi}", is_decimal(phi))

    def met_by(self, design: Design) -> bool:
        """Whether ``l1 <= 2 (phi - 1)``."""
        check_kind(Design, design=design)
        return self.verdict(design).meets

    def verdict(self, design: Design) -> Verdict:
        """The same, and whether only the slack for decimals makes it so; see :mod:`.slack`."""
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
    """The smallest phi for which the design is phi-average secure.

    >>> from maskwell.core.categories import Categories
    >>> from maskwell.designs.uniform import Uniform
    >>> average_security(Uniform.from_gamma(3, Categories.numbered(2)))
    1.5
    """
    try:
        return 1 + design.total_variation() / 2
    except TooLargeError as error:
        raise TooLargeError(
            f"average security needs the matrix: {design.reports_in_words()} by {big(design.k)} entries are too many",
            hint="ask for a bound on parity, such as epsilon = 1: that needs no matrix",
            values=error.values,
            **error.objects,
        ) from error
