"""What a report is worth when the true shares are known: convex functions of a row of P, added over the rows.

A utility is ``U(P) = sum_i mu(row i)`` with mu convex and ``mu(c v) = c mu(v)``: splitting a row never loses, and the
best designs are made of rows that take two values. For shares pi and ``m = sum_j pi_j v_j``:

====================  =======================================  ====================================================
name                  mu(v)                                    U(P) is
====================  =======================================  ====================================================
mutual-information    ``sum_j pi_j v_j ln(v_j / m)``           what a report tells about the truth, in nats
chi-square            ``sum_j pi_j (v_j - m)^2 / m``           the same by chi-square; least added variance at equal pi
total-variation       ``sum_j pi_j |v_j - m|``                 the same by absolute differences
guess                 ``max_j pi_j v_j``                       the chance that the best guess of the truth is right
====================  =======================================  ====================================================

Source: after [Kairouz2016], as given in [ChaiNayak2018, section 4.2]; all but the last are f-divergences of the rows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from maskwell.core.arguments import shown_short
from maskwell.core.arrays import Real
from maskwell.errors import ParameterError

Utility: TypeAlias = Callable[[Real, Real], Real]
"""From rows, shape (r, k), and shares, shape (k,), to the worth of each row, shape (r,)."""


def mutual_information(rows: Real, pi: Real) -> Real:
    """``sum_j pi_j v_j ln(v_j / m)`` for each row v."""
    mean = rows @ pi
    return np.asarray((rows * np.log(rows / mean[:, None])) @ pi)


def chi_square(rows: Real, pi: Real) -> Real:
    """``sum_j pi_j (v_j - m)^2 / m`` for each row v."""
    mean = rows @ pi
    return np.asarray(((rows - mean[:, None]) ** 2 @ pi) / mean)


def total_variation(rows: Real, pi: Real) -> Real:
    """``sum_j pi_j |v_j - m|`` for each row v."""
    return np.asarray(np.abs(rows - (rows @ pi)[:, None]) @ pi)


def guess(rows: Real, pi: Real) -> Real:
    """``max_j pi_j v_j`` for each row v."""
    return np.asarray((rows * pi).max(axis=1))


UTILITIES: dict[str, Utility] = {
    "mutual-information": mutual_information,
    "chi-square": chi_square,
    "total-variation": total_variation,
    "guess": guess,
}


def utility_named(name: Any) -> Utility:
    """The utility of that name, or an error that lists them all.

    >>> truth, pi = np.array([[0.75, 0.25], [0.25, 0.75]]), np.array([0.5, 0.5])
    >>> float(utility_named("guess")(truth, pi).sum())   # three guesses in four are right
    0.75
    """
    if not isinstance(name, str) or name not in UTILITIES:
        raise ParameterError(
            f"no utility is called {shown_short(name)}", hint=f"the names are {', '.join(UTILITIES)}", utility=name
        )
    return UTILITIES[name]
