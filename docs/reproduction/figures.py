"""What the text of [ChaiNayak2018] says about its four figures, checked on the demands that ours are drawn from.

The source gives no numbers with its figures, so the demands are ours, chosen to show what the text says of each.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import numpy as np
from docs.images.make import GENERAL, OVERLAPPING
from docs.reproduction.entries import Statement

import maskwell as mw
from maskwell.privacy.criteria import area_between
from maskwell.reports.pictures.demand_regions import GAMMAS

PRIORS = (np.arange(100_000) + 0.5) / 100_000


@dataclass(frozen=True)
class Figure:
    """One of the four figures: its number, the name of our picture, what it shows, and what the text says of it."""

    number: int
    picture: str
    caption: str
    statements: tuple[Statement, ...]


def figures() -> list[Figure]:
    """All four."""
    return [
        Figure(1, "two-demands", "ρ₁ = 0.2 to ρ₂ = 0.6, and β = 4", _two()),
        Figure(2, "demand", "a general demand: steps above, lines below", _general()),
        Figure(3, "canonical-general", "the same demand and its implied limits", _canonical()),
        Figure(4, "family-alone", "boundaries of parity 2, 5, 10, 20 and 100", _family()),
    ]


def breach_area(lower: np.ndarray, upper: np.ndarray) -> float:
    """Area above one boundary and below another."""
    return float((1 - upper + lower).mean())


def _two() -> tuple[Statement, ...]:
    lower, upper = zip(*((d.lower(PRIORS), d.upper(PRIORS)) for d in OVERLAPPING), strict=True)
    rho, beta = (breach_area(low, high) for low, high in zip(lower, upper, strict=True))
    both = breach_area(np.minimum(*lower), np.maximum(*upper))
    bounds = [d.gamma_exact for d in OVERLAPPING]
    return (
        Statement(
            "Figure 1",
            "neither region contains the other",
            "areas of ρ, β and both",
            _areas(rho, beta, both),
            both < rho,
        ),
        Statement("Figure 1", "the region of β is larger", "areas", f"{beta:.3g} against {rho:.3g}", beta > rho),
        Statement("Figure 1", "it covers most of the other", "share", f"{both / rho:.2%}", both / rho > 0.5),
        Statement(
            "Figure 1, section 3",
            "the two can still be compared by B alone",
            "B of ρ and of β",
            f"{bounds[0]} and {bounds[1]}: β is stricter",
            bounds == [6, 4],
        ),
    )


def _areas(*areas: float) -> str:
    return ", ".join(f"{area:.3g}" for area in areas)


def _general() -> tuple[Statement, ...]:
    low, high = GENERAL.lower(PRIORS), GENERAL.upper(PRIORS)
    inside = bool((low <= PRIORS).all() and (high >= PRIORS).all())
    rising = bool((np.diff(low) >= 0).all() and (np.diff(high) >= 0).all())
    return (
        Statement("Definition 2.2", "h_l(p) ≤ p ≤ h_u(p)", "100,000 priors", "at all of them", inside),
        Statement("section 2", "both boundaries should be non-decreasing", "the same priors", "at all of them", rising),
    )


def _canonical() -> tuple[Statement, ...]:
    stated = breach_area(GENERAL.lower(PRIORS), GENERAL.upper(PRIORS))
    high, low = GENERAL.canonical(PRIORS), 1 - GENERAL.canonical(1 - PRIORS)
    follows = breach_area(low, high)
    holds = bool((high <= GENERAL.upper(PRIORS)).all() and (low >= GENERAL.lower(PRIORS) - 1e-12).all())
    exact = mw.Demand.from_gamma(5)
    mirrored = np.abs(exact.canonical(PRIORS) - exact.upper(PRIORS)).max()
    return (
        Statement(
            "Figure 3",
            "the canonical region contains the stated one, and more",
            "areas",
            f"{stated:.3f}, then {follows:.3f}",
            holds and follows > stated,
        ),
        Statement(
            "section 3",
            "the two are the same only where h_l(p) = 1 − h_u(1 − p)",
            "the boundaries of γ = 5",
            "no difference" if mirrored < 1e-12 else f"{mirrored:.1e}",
            bool(mirrored < 1e-12),
        ),
    )


def _family() -> tuple[Statement, ...]:
    curves = [mw.Demand.from_gamma(gamma).upper(PRIORS) for gamma in GAMMAS]
    above = all(bool((high > low).all()) for low, high in pairwise(curves))
    areas = [1 - area_between(Fraction(gamma)) for gamma in GAMMAS]
    return (
        Statement("Figure 4", "the boundary rises with γ", f"γ = {', '.join(map(str, GAMMAS))}", "everywhere", above),
        Statement(
            "Figure 4",
            "the breach region shrinks with γ",
            "areas",
            ", ".join(f"{area:.3f}" for area in areas),
            all(a > b for a, b in pairwise(areas)),
        ),
    )
