"""Comparing two designs fairly: which one is more informative, as given and at equal protection."""

from __future__ import annotations

from typing import Literal

from maskwell.core.arguments import Real
from maskwell.core.exact import Number
from maskwell.designs.wire import read_design
from maskwell.planning.comparison import FairComparison
from maskwell.planning.comparison import compare as compare_designs
from maskwell.privacy.measures import Measure
from maskwell.verbs.inputs import DesignOrPath


def compare(
    first: DesignOrPath,
    second: DesignOrPath,
    *,
    pi: Real | None = None,
    measure: Measure | str = "parity",
    at: Literal["first", "second"] | Number | None = None,
) -> FairComparison:
    """Compare two designs over the same categories, as they are and at equal protection.

    Parameters
    ----------
    first, second
        The designs, or the paths of their files.
    pi
        Expected shares of the categories; equal by default.
    measure
        How protection is measured: ``parity``, ``ratio``, or a :class:`~maskwell.privacy.measures.Measure`.
    at
        Compare at the protection of one of them, or at a value; at that of the better protected one by default.

    >>> from maskwell.verbs.design import design
    >>> fair = compare(design("warner", p="0.8"), design("warner", p="0.7"))
    >>> fair.changed   # the one that protects less is made as private as the other
    'first'
    """
    return compare_designs(read_design(first, "first"), read_design(second, "second"), pi=pi, measure=measure, at=at)
