"""What a released value tells about the true one: posteriors, and the best guess.

    Pr(X = j | Z = i) = p_ij pi_j / lam_i,     lam = P pi
    D_P = sum_i max_j p_ij pi_j

where pi is the distribution of the file. D_P is the chance that the best guess from the released value is right. It is
never below the largest share pi_(1), because everybody can guess the largest category, and for a matrix that keeps the
counts it can be made as small as that.

Source: [Adeshiyan2011, eqs. (4.19) to (4.23), Definitions 4.1 and 4.2].
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from maskwell.core.arguments import as_floats
from maskwell.core.arrays import Array, Real
from maskwell.core.exact import Number, as_fraction, to_float
from maskwell.core.printed import Printed
from maskwell.designs.coded import CodedDesign
from maskwell.designs.given import design_of
from maskwell.errors import ParameterError
from maskwell.privacy.posterior import posterior

NEARLY_ONE = 1e-8
LARGE_CATEGORY = 0.9
NO_HELP = "one category holds {share:.0%} of the records: whoever guesses it is right that often, whatever is released"


def check_prior(pi: Any, k: int) -> Real:
    """Shares of k categories that sum to one; whole numbers are counts, and a sum within 1e-8 of one is put right.

    >>> check_prior([12, 8, 3], 3).round(4).tolist()
    [0.5217, 0.3478, 0.1304]
    """
    try:
        values = as_floats(pi, "pi", finite=False)
    except (TypeError, ValueError):
        values = np.empty((0, 0))
    if values.shape != (k,) or not np.isfinite(values).all() or (values < 0).any() or not values.sum() > 0:
        raise ParameterError(
            f"pi must be {k:,} shares or counts of 0 or more, not all 0", hint="give one for each category", pi=pi
        )
    whole = bool((values == np.floor(values)).all())
    if not whole and abs(values.sum() - 1) > NEARLY_ONE:
        raise ParameterError(
            f"pi sums to {values.sum():.10g}", hint="give shares that sum to 1, or whole numbers (counts)", pi=pi
        )
    return np.asarray(values / values.sum())


def posterior_matrix(P: Any, pi: Any) -> Real:
    """``p_ij pi_j / lam_i``: rows are released values, columns true ones, shape (m, k); NaN rows for what cannot come.

    Parameters
    ----------
    P
        A design, or a matrix whose columns sum to one.
    pi
        Shares or counts of the true categories, shape (k,).

    Source: [Adeshiyan2011, eq. (4.19)].

    >>> posterior_matrix([[0.9, 0.2], [0.1, 0.8]], [0.5, 0.5]).round(3).tolist()   # a released 0 is true with 82 %
    [[0.818, 0.182], [0.111, 0.889]]
    """
    design = design_of(P)
    return posterior(design, check_prior(pi, design.k))


@dataclass(frozen=True, eq=False)
class Guess:
    """The best guess of the true from the released value.

    Attributes
    ----------
    rule
        The category to guess for each released value, shape (m,); the first one of several that are as good.
    joint
        Chance of each released value together with the guessed category, shape (m,).
    released
        Chance of each released value, shape (m,).
    floor
        The largest share of a category: no release can bring the guess below it.
    agreement
        Chance that the released value is the true one; ``None`` where released values are others than true ones.
    """

    rule: Array
    joint: Real
    released: Real
    floor: float
    agreement: float | None

    @cached_property
    def probability(self) -> float:
        """``D_P``: the chance that the best guess is right."""
        return float(self.joint.sum())

    @property
    def posterior(self) -> Real:
        """The largest posterior after each released value, shape (m,); NaN for one that cannot come."""
        out = np.full(len(self.joint), np.nan)
        return np.asarray(np.divide(self.joint, self.released, out=out, where=self.released > 0))

    @property
    def greatest(self) -> float:
        """The largest of all posteriors."""
        return float(np.nanmax(self.posterior))

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader should know, in words."""
        return (NO_HELP.format(share=Printed(self.floor)),) if self.floor > LARGE_CATEGORY else ()

    def to_dict(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "guess_probability": self.probability,
            "floor": self.floor,
            "agreement": self.agreement,
            "max_posterior": self.greatest,
            "notes": list(self.notes),
        }


def best_guess(P: Any, pi: Any) -> Guess:
    """The best rule to guess the true from the released value; for designs of any number of categories.

    Where records are randomized within the cells of other columns, cells are part of the states, and the guess uses
    them: ``sum_y Pr(y) D`` over the cells y. Source: [Adeshiyan2011, Definitions 4.1 and 4.2, eq. (4.23)].

    >>> P = [["7/12", "1/2", "1/3"], ["1/3", "3/8", "1/3"], ["1/12", "1/8", "1/3"]]
    >>> found = best_guess(P, [12, 8, 3])   # the released value tells nothing beyond the largest category
    >>> round(found.probability, 4), round(found.floor, 4), found.rule.tolist()
    (0.5217, 0.5217, [0, 0, 0])
    """
    design = design_of(P)
    prior = check_prior(pi, design.k)
    joint, rule = design.largest_in_rows(prior)
    return Guess(rule, joint, design.forward(prior), float(prior.max()), _agreement(design, prior))


def guess_probability(P: Any, pi: Any) -> float:
    """``sum_i max_j p_ij pi_j``: the chance that the best guess from the released value is right.

    Source: [Adeshiyan2011, Definition 4.2].

    >>> round(guess_probability([["5/6", "1/8", "1/3"], ["1/12", "3/4", "1/3"], ["1/12", "1/8", "1/3"]], [12, 8, 3]), 4)
    0.7391
    """
    return best_guess(P, pi).probability


def _agreement(design: CodedDesign, prior: Real) -> float | None:
    if design.m != design.k:
        return None
    places = np.flatnonzero(prior)
    at = getattr(design, "entries_at", None)
    own = at(places, places) if at else np.array([design.entries(np.array([j]), np.array([j]))[0, 0] for j in places])
    return float(own @ prior[places])


@dataclass(frozen=True)
class BinaryGuess:
    """Two categories: what the best guess can be for one parameter of a matrix that keeps the shares.

    Attributes
    ----------
    probability
        Chance that the best guess is right.
    minimax
        Whether it is as small as can be: the share of the larger category.
    minimax_range
        The parameters for which it is; ``(1/2, 1/2)`` is the least perturbing of them.
    determinant
        Of the matrix; 0 makes the released value independent of the true one.
    """

    probability: Fraction
    minimax: bool
    minimax_range: tuple[Fraction, Fraction]
    determinant: Fraction


def binary_guess(theta: Number, pi_1: Number) -> BinaryGuess:
    """The best guess for ``P = [[1 - theta pi_2 / pi_1, theta], [theta pi_2 / pi_1, 1 - theta]]``, which keeps pi.

        D = max(1 - 2 theta pi_2, 2 theta pi_2, pi_1),     minimax for 1/2 <= theta <= min(1, pi_1 / (2 pi_2))

    where ``theta`` is the chance that the second category is released as the first, and ``pi_1`` the share of the first
    category, which must be the larger one. Source: [Adeshiyan2011, Theorem 4.3].

    >>> found = binary_guess("1/2", "0.7")
    >>> found.probability, found.minimax, found.determinant   # no better than guessing the larger category
    (Fraction(7, 10), True, Fraction(2, 7))
    """
    t, large = as_fraction(theta, "theta"), as_fraction(pi_1, "pi_1")
    small = 1 - large
    if not Fraction(1, 2) <= large <= 1:
        raise ParameterError(
            f"pi_1 = {to_float(large):g}: the first category must be the larger one",
            hint="give a share from 0.5 to 1; exchange the categories otherwise",
        )
    if not 0 <= t <= 1:
        raise ParameterError(f"theta = {to_float(t):g} is out of range", hint="give a number from 0 to 1")
    probability = max(1 - 2 * t * small, 2 * t * small, large)
    upper = min(Fraction(1), large / (2 * small)) if small else Fraction(1)
    return BinaryGuess(probability, probability == large, (Fraction(1, 2), upper), 1 - t / large)
