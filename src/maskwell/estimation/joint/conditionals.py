"""Conditional shares: the distribution of some variables within each category of others.

    pi_hat[j | i] = Pi_hat[i, j] / Pi_hat[i, +]

with the errors of a ratio of two estimates (ratios.py).

Source: the delta method and Fieller's interval are standard.
"""

from __future__ import annotations

import importlib
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from maskwell.core.arguments import check_level
from maskwell.core.arrays import Real
from maskwell.core.phrases import Printed
from maskwell.errors import MissingExtraError, ParameterError
from maskwell.estimation.joint.ratios import NO_ERROR, Ratios
from maskwell.estimation.joint.slices import slices_of
from maskwell.estimation.joint.variables import Layout
from maskwell.estimation.result import Estimate
from maskwell.estimation.shown import number_or_none

METHODS = ("wald", "fieller")
SHOWN = 20


@dataclass(frozen=True, eq=False, repr=False)
class Conditional:
    """Shares of some variables within each category of others.

    Attributes
    ----------
    given, names
        The variables that are held fixed, and those whose shares are given.
    labels
        Categories of the given variables, then of the others.
    ratios
        Shares with their errors; the axes of the given variables come first.
    estimate
        What the shares were found from.
    """

    given: tuple[str, ...]
    names: tuple[str, ...]
    labels: tuple[Sequence[Hashable], ...]
    ratios: Ratios
    estimate: Estimate

    @property
    def share(self) -> Real:
        """Conditional shares, one axis for each variable, the given ones first. They sum to one over the others."""
        return self.ratios.value

    @property
    def standard_error(self) -> Real:
        """By the delta method, in the same shape."""
        return self.ratios.standard_error

    @property
    def unstable(self) -> Any:
        """Where the share of the given category is zero or less, or within two standard errors of zero."""
        return self.ratios.unstable

    def confidence_interval(self, level: float = 0.95, method: str = "wald") -> Real:
        """Intervals with two ends as the last axis.

        ``wald``: from the standard error. ``fieller``: also right where the given category is rare; it has no end where
        that category might not exist at all.
        """
        check_level(level)
        if method not in METHODS:
            raise ParameterError(f"method = {method!r}", hint=f"method is one of {', '.join(METHODS)}")
        z = self.estimate.critical_value((1 + level) / 2)
        return self.ratios.wald(z) if method == "wald" else self.ratios.fieller(z)

    @property
    def flags(self) -> tuple[str, ...]:
        """What a reader should know, in words."""
        missing = int(np.isnan(self.standard_error).sum())
        none = f"{missing} of {self.share.size} shares have no standard error: {NO_ERROR}"
        return (*self._rare(), *((none,) if missing else ()))

    def _rare(self) -> tuple[str, ...]:
        if not self.unstable.any():
            return ()
        rare = [
            ", ".join(map(str, of)) for of, bad in zip(self._given_labels(), self._rows_unstable(), strict=True) if bad
        ]
        shown = "; ".join(rare[:3]) + ("; ..." if len(rare) > 3 else "")
        return (
            f"unstable: the share of {', '.join(self.given)} = {shown} is within two standard errors of zero; "
            "prefer Fieller intervals",
        )

    def to_dict(self, level: float = 0.95) -> dict[str, Any]:
        """Everything as plain values, for JSON."""
        shown = zip(
            product(*self.labels),
            self.share.ravel().tolist(),
            self.standard_error.ravel().tolist(),
            self.confidence_interval(level).reshape(-1, 2).tolist(),
            self.confidence_interval(level, "fieller").reshape(-1, 2).tolist(),
            self.unstable.ravel().tolist(),
            strict=True,
        )
        fixed = len(self.given)
        rows = [
            {
                "given": list(of[:fixed]),
                "category": list(of[fixed:]),
                "estimate": number_or_none(share),
                "standard_error": number_or_none(error),
                "interval": list(map(number_or_none, wald)),
                "fieller_interval": fieller,
                "unstable": bad,
            }
            for of, share, error, wald, fieller, bad in shown
        ]
        names = {"given": list(self.given), "variables": list(self.names)}
        return {**names, "level": level, "shares": rows, "flags": list(self.flags)}

    def to_frame(self, level: float = 0.95, method: str = "wald") -> Any:
        """A pandas table: one row for each share, indexed by the labels of the variables."""
        try:
            pandas = importlib.import_module("pandas")
        except ImportError as error:
            raise MissingExtraError("pandas is not installed", hint="pip install 'maskwell[pandas]'") from error
        index = pandas.MultiIndex.from_product(self.labels, names=[*self.given, *self.names])
        low, high = self.confidence_interval(level, method).reshape(-1, 2).T
        columns = {"share": self.share.ravel(), "standard_error": self.standard_error.ravel()}
        return pandas.DataFrame({**columns, "low": low, "high": high, "unstable": self.unstable.ravel()}, index=index)

    def _given_labels(self) -> list[tuple[Hashable, ...]]:
        return list(product(*self.labels[: len(self.given)]))

    def _rows_unstable(self) -> list[bool]:
        rows = self.unstable.reshape(len(self._given_labels()), -1)
        return [bool(row.any()) for row in rows]

    def __repr__(self) -> str:
        lines = [f"Shares of {' x '.join(self.names)} given {' x '.join(self.given)} (95 % intervals)"]
        cells = list(zip(product(*self.labels), self.share.ravel(), self._intervals(), strict=True))
        lines += [
            f"  {_said(of, len(self.given)):<24} {Printed(p):8.4f}  [{Printed(a):.4f}, {Printed(b):.4f}]"
            for of, p, (a, b) in cells[:SHOWN]
        ]
        lines += [f"  ... and {len(cells) - SHOWN:,} more"] if len(cells) > SHOWN else []
        return "\n".join([*lines, *(f"  note: {flag}" for flag in self.flags)])

    def _intervals(self) -> Real:
        return self.confidence_interval().reshape(-1, 2)


def conditional_of(estimate: Estimate, layout: Layout, given: Sequence[str]) -> Conditional:
    """Conditional shares of all variables but ``given``."""
    others = [name for name in layout.names if name not in given]
    if not given or not others:
        raise ParameterError(
            f"given {', '.join(given) or 'nothing'} of {', '.join(layout.names)}",
            hint="hold at least one variable fixed and leave at least one",
        )
    order = [*layout.axes(given), *layout.axes(others)]
    shape = tuple(layout.shape[axis] for axis in order)
    ratios = Ratios(*(x.reshape(shape) for x in slices_of(estimate, layout, order, len(given))))
    labels = tuple(layout.variables[axis].inputs.labels for axis in order)
    return Conditional(tuple(given), tuple(others), labels, ratios, estimate)


def _said(of: Sequence[Hashable], fixed: int) -> str:
    return f"{', '.join(map(str, of[:fixed]))}: {', '.join(map(str, of[fixed:]))}"
