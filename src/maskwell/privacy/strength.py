"""How far reports are protected, in four steps of gamma, the largest likelihood ratio of all reports of one person.

An even chance can become gamma / (1 + gamma): 4 in 5 at most where protection is strong, 20 in 21 where it is moderate,
100 in 101 where it is weak. The page in the browser has the same limits (``static/pieces.js``), and a test compares.
"""

from __future__ import annotations

from typing import Literal

from maskwell.core.exact import Parity

Strength = Literal["strong", "moderate", "weak", "none"]
LIMITS: dict[Strength, int] = {"strong": 4, "moderate": 20, "weak": 100}  # the largest gamma of each step


def strength_of(gamma: Parity) -> Strength:
    """The step of a gamma."""
    return next((name for name, limit in LIMITS.items() if gamma <= limit), "none")
