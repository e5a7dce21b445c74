"""One demand in every language, as text for a terminal: what is allowed rounded down, what can happen rounded up."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from maskwell.core.exact import Parity
from maskwell.privacy.certificate import parity_from_text
from maskwell.privacy.criteria import RHO_EXAMPLES, posterior_range
from maskwell.reports.tables import broken, facts, number, rounded, table

INFORMATIVE = 1 + Fraction(1, 10**15)
"""The least parity for which designs are offered: below it a report says next to nothing."""
TELL_NOTHING = "allow more than gamma = 1, at which a report says nothing about the truth"
LOGARITHM = 1 + Fraction(1, 10**14)
"""Above 1 by more than the error of a logarithm, so that the epsilon that was typed is not shown a digit smaller."""


def convert_text(found: Mapping[str, Any], option: str) -> list[str]:
    """One demand in every language; ``option`` is how it is typed."""
    gamma = parity_from_text(found["gamma_exact"])
    if isinstance(gamma, float):
        nothing = f"{found['stated']} allows any parity: nothing is asked, and every design meets it."
        return [*broken(nothing), "Next: a demand that protects: maskwell convert --epsilon 1"]
    strict = found["closed"] and found["attained"]
    lines = [*broken(_answer(found, gamma, strict=strict)), *facts(_facts(found, gamma, strict=strict))]
    return [*lines, "", *_rises(found, gamma, strict=strict), f"Next: {_following(found, gamma, option)}"]


def _answer(found: Mapping[str, Any], gamma: Fraction, *, strict: bool) -> str:
    limit = "below" if strict else "at most"
    says = "is as accurate as subset selection of parity" if "l" in found else f"means that parity is {limit}"
    return f"{found['stated']} {says} {rounded(gamma, 10, up=False)}."


def _facts(found: Mapping[str, Any], gamma: Fraction, *, strict: bool) -> list[tuple[str, str]]:
    below = "below " if strict else ""
    epsilon = rounded(Fraction(found["epsilon"]) * LOGARITHM, 10, up=False)
    itself = [("l-diversity itself", "no bound on parity: a suspicion can rise to certainty")] if "l" in found else []
    pairs = [
        *itself,
        ("gamma, beta, Bayes factor", f"{below}{rounded(gamma, 10, up=False)}"),
        ("epsilon", f"{below}{epsilon}"),
    ]
    if "q" in found:
        pairs.append((f"best subset size, k = {found['k']}", " or ".join(map(str, found["q_all"]))))
    if "l_real" in found:
        pairs.append((f"as accurate as l, k = {found['k']}", _matching_l(found)))
    return pairs


def _rises(found: Mapping[str, Any], gamma: Parity, *, strict: bool) -> list[str]:
    """What a suspicion can become; local diversity bounds nothing, so that the table is that of subset selection."""
    rows = [[number(float(p)), rounded(posterior_range(gamma, p)[1], 6, up=True)] for p in RHO_EXAMPLES]
    whose = "with subset selection " if "l" in found else ""
    return table(["a suspicion of", f"{whose}{'stays below' if strict else 'can rise to at most'}"], rows)


def _following(found: Mapping[str, Any], gamma: Fraction, option: str) -> str:
    if gamma < INFORMATIVE:
        return TELL_NOTHING
    if "l" in found:
        return f"maskwell design subset --k {found['k']} --gamma {rounded(gamma, 10, up=False)} -o design.json"
    family = "subset" if found.get("q", 1) > 1 else "k-ary"
    return f"maskwell design {family} --k {found.get('k', 4)} {option} -o design.json"


def _matching_l(found: Mapping[str, Any]) -> str:
    """The l of local diversity beside a demand, and what rounding it either way means.

    >>> _matching_l({"k": 10, "l_real": 2.06, "l_floor": 2, "l_ceiling": 3})
    '2.06: l = 2 adds less variance, l = 3 hides the truth among more answers; neither bounds parity'
    >>> _matching_l({"k": 3, "l_real": 1.4, "l_floor": 1, "l_ceiling": 2})
    '1.4: no l adds so little variance, l = 2 hides the truth among more answers; it bounds no parity'
    """
    low, high, real = found["l_floor"], found["l_ceiling"], number(found["l_real"])
    if found["k"] < 3:
        return f"{real}: there is no l-diversity of two categories"
    if low == high:
        return f"{real}, which bounds no parity"
    less = f"l = {low} adds less variance" if low >= 2 else "no l adds so little variance"
    more = f"l = {high} hides the truth among more answers" if high < found["k"] else "no l hides it among more answers"
    both = low >= 2 and high < found["k"]
    return f"{real}: {less}, {more}; {'neither bounds parity' if both else 'it bounds no parity'}"
