"""Several releases of one record, each randomized anew: what they tell together.

    Pr(X = j | z_1, ..., z_m)  in the ratio of  pi_j p_{z_1 j} ... p_{z_m j}

Every release tells more. One draw for each record and variable, used again in every release, is the remedy.
Source: [Adeshiyan2011, Definition 4.2] for the joint release; derived.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from maskwell.core.arrays import Real
from maskwell.designs.given import design_of
from maskwell.errors import MatrixError, ParameterError, TooLargeError
from maskwell.release.risk.posteriors import check_prior

LIMIT = 10**7
"""Released combinations times categories that are looked at."""
DIGITS = 12
"""Posteriors that agree in so many digits are taken for one."""


def repeated_guess(designs: Sequence[Any], pi: Any) -> Real:
    """Chance that the best guess is right after the first release, the first two, ..., shape (releases,).

    Parameters
    ----------
    designs
        The design of each release, or its matrix; randomized independently, for the same true categories.
    pi
        Shares or counts of the true categories, shape (k,).

    >>> P = [["5/6", "1/8", "1/3"], ["1/12", "3/4", "1/3"], ["1/12", "1/8", "1/3"]]
    >>> repeated_guess([P] * 5, [12, 8, 3])[[0, 1, 2, 4]].round(3).tolist()   # five releases tell nearly all
    [0.739, 0.783, 0.839, 0.891]
    """
    if not len(designs):
        raise ParameterError("no release", hint="give the design of at least one")
    given = [design_of(P) for P in designs]
    if len({design.k for design in given}) > 1:
        raise MatrixError(
            "releases of different true categories", hint="give designs with the same number of true categories"
        )
    joint = check_prior(pi, given[0].k)[None, :]
    found = []
    for design in given:
        if joint.shape[0] * design.m * design.k > LIMIT:
            raise TooLargeError(
                f"{len(joint):,} combinations before a release of {design.m:,} values",
                hint="look at fewer releases, or at fewer categories",
            )
        joint = _merged((joint[:, None, :] * design.matrix()).reshape(-1, design.k))
        found.append(float(joint.max(axis=1).sum()))
    return np.array(found)


def _merged(joint: Real) -> Real:
    """Combinations with the same posterior added up: their best guess is the same."""
    joint = joint[joint.sum(axis=1) > 0]
    after = (joint / joint.sum(axis=1, keepdims=True)).round(DIGITS)
    groups: tuple[Any, Any] = np.unique(after, axis=0, return_inverse=True)
    total = np.zeros(groups[0].shape)
    np.add.at(total, groups[1].ravel(), joint)
    return total
