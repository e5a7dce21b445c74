"""A design and a better one in its place, with the garbling that gives the old reports back from the new."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from maskwell.core.arguments import Real
from maskwell.core.display import Result
from maskwell.core.exact import to_text
from maskwell.designs.design import EXACT_LIMIT, MATRIX_LIMIT, Design
from maskwell.designs.garbling import Garbling
from maskwell.errors import TooLargeError
from maskwell.privacy.certificate import Certificate, certify
from maskwell.privacy.criteria import Demand
from maskwell.privacy.design_audit import counted_reports
from maskwell.privacy.provable_claims import Improves

SHOWN_ENTRIES = 2 * 10**6
SHOWN_EXACT = 10**4


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Replacement(Result):
    """The original A, the design P that replaces it, and C with ``A = C P``."""

    original: Design  # original, design: A and P; the same where nothing is gained
    design: Design
    improved: bool  # whether P tells strictly more than A
    sparse: Garbling | None  # C by its positive entries; None where the design is the original

    def garbling(self) -> list[list[Fraction]]:
        """C in fractions, one row for each report of the original; refused when it would be huge."""
        return self._garbling(EXACT_LIMIT).exact()

    def garbling_matrix(self) -> Real:
        """C in floats, shape (reports of the original, reports of the new design); refused when it would be huge."""
        return self._garbling(MATRIX_LIMIT).matrix()

    def _garbling(self, limit: int) -> Garbling:
        if self.sparse is not None:
            return self.sparse
        if not self.original.has_reports_up_to(math.isqrt(limit)):
            raise TooLargeError("an-identity-matrix-of-rows", reports_in_words=self.original.reports_in_words())
        return Garbling.identity(self.original.m)

    def reproduced(self) -> Design:
        """The original as two steps, the new design and then the garbling: reports with the same law."""
        return self.original if self.sparse is None else self.sparse.after(self.design, self.original)

    def added_variances(self) -> tuple[float | None, float | None]:
        """Added variance before and after, of the linear estimator that is best at equal shares; None without one."""
        return best_added_variance(self.original), best_added_variance(self.design)

    def certificate(self, demand: Demand | None = None) -> Certificate:
        """What was proved of the new design: its parity, whether it is admissible, and what it improves."""
        proof = None if self.sparse is None else Improves.of(self.original, self.sparse.entries())
        return certify(self.design, demand, improvement=proof)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; C as a matrix where it is not too large, by its positive entries otherwise."""
        (before, after), both = self.added_variances(), (self.original, self.design)
        return {
            "improved": self.improved,
            "parity": _pair(*(d.parity() for d in both)),
            "parity_exact": _pair(*(to_text(d.parity_exact()) for d in both)),
            "added_variance": {**_pair(before, after), "estimator": "best linear at equal shares"},
            "identifiable": _pair(*(d.identifiable for d in both)),
            "m": _pair(*(counted_reports(d) for d in both)),
            "original": self.original.fingerprint,
            "design": self.design.to_dict(),
            **self._garbling_forms(),
        }

    def _garbling_forms(self) -> dict[str, Any]:
        counted = all(design.has_reports_up_to(SHOWN_ENTRIES) for design in (self.original, self.design))
        size = self.original.m * self.design.m if counted else math.inf
        if size > SHOWN_ENTRIES:
            entries = "identity" if self.sparse is None else [[i, u, float(c)] for i, u, c in self.sparse.entries()]
            return {"garbling": None, "garbling_entries": entries}
        content = {"garbling": self.garbling_matrix().tolist()}
        if size > SHOWN_EXACT:
            return content
        return {**content, "garbling_exact": [[to_text(c) for c in row] for row in self.garbling()]}


def _pair(before: Any, after: Any) -> dict[str, Any]:
    return {"before": before, "after": after}


def best_added_variance(design: Design) -> float | None:
    """Added variance at equal shares of the best linear unbiased estimator; None where there is none.

        V_R = tr M^-1 - 1,   M = P' D^-1 P,   D = diag(P 1 / k)

    A more informative design never has the larger one. Source: [NayakZhai2019, eqs. (6.1) and (6.3)].
    """
    if not design.identifiable:
        return None
    if not design.has_entries_up_to(EXACT_LIMIT) or not design.reports_are_sets:
        return design.added_variance()
    P = design.matrix()
    P = P[P.sum(axis=1) > 0]
    M = (P / P.mean(axis=1, keepdims=True)).T @ P
    return float(np.trace(np.linalg.inv(M)) - 1)
