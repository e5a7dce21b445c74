"""Conditional shares ``Pi_hat[i, j] / Pi_hat[i, +]``, and their differences between groups: ratios r = a / b.

    Var(r) = (Var a - 2 r Cov(a, b) + r^2 Var b) / b^2;      Fieller: all r with (a - r b)^2 <= z^2 Var(a - r b)
Variances come from the covariance of all cells or, for tables too large to have one, by operators, U the indicator of
one report: ``E[U_ij U_i+] = sum_z lam[z] L_x[i, z_x]^2 L_y[j, z_y]``. Source: standard; [Adeshiyan2011, section 3.3]
for the covariances; the operators are derived from [NayakZhangAdeshiyan2016, eq. (1.3)].
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from maskwell.core.arguments import Array, Real, check_level
from maskwell.core.display import Inside, Result, data_frame, number_or_none
from maskwell.core.phrases import Printed
from maskwell.core.verdicts import at_most
from maskwell.designs.kronecker import along_axes
from maskwell.errors import ParameterError
from maskwell.estimation.joint.variables import Layout
from maskwell.estimation.share_estimate import Estimate
from maskwell.estimation.summed_shares import collapsed, covariance_of
from maskwell.notes import Note


def _ratios_of(estimate: Estimate, layout: Layout, order: Sequence[int], fixed: int) -> Ratios:
    """``a / b`` in the order of the axes, of which the first ``fixed`` are given: cells over the totals of slices."""
    shape, given = layout.shape, [layout.shape[axis] for axis in order[:fixed]]

    def rows(x: Real) -> Real:
        return x.reshape(shape).transpose(order).reshape(int(np.prod(given)), -1)

    a = rows(estimate.pi_hat)
    counted = estimate.covariance is None and estimate.method == "moments" and len(estimate.samples) == 1
    if counted and layout.whole_devices(sorted(order[:fixed])) is not None:
        total = collapsed(estimate, layout, [layout.names[axis] for axis in order[:fixed]])[0]
        b, var_a, var_b = total.pi_hat[:, None], rows(estimate.variance), total.variance[:, None]
        squared = {layout.variables[axis].device for axis in order[:fixed]}
        operators = [d.backward_squared if i in squared else d.backward for i, d in enumerate(layout.devices)]
        share = estimate.samples[0].counts.share()
        cov_ab = (rows(along_axes(share, [d.m for d in layout.devices], operators)) - a * b) / (estimate.n - 1)
    else:
        q = len(order)
        V = covariance_of(estimate).reshape(*shape, *shape).transpose([*order, *(q + axis for axis in order)])
        V = V.reshape(*a.shape, *a.shape)
        cov_ab = np.einsum("ijil->ij", V)
        b, var_a, var_b = a.sum(axis=1, keepdims=True), np.einsum("ijij->ij", V), cov_ab.sum(axis=1, keepdims=True)
    sizes = tuple(shape[axis] for axis in order)
    return Ratios(*(np.broadcast_to(x, a.shape).reshape(sizes) for x in (a, b, var_a, cov_ab, var_b)))


UNSTABLE = 2  # a denominator within so many standard errors of zero makes a ratio unstable


@dataclass(frozen=True, eq=False)
class Ratios:
    """Estimates ``a / b`` cell by cell."""

    # Numerators and denominators, shapes that broadcast
    a: Real
    b: Real
    # Their variances and covariances
    var_a: Real
    cov_ab: Real
    var_b: Real

    @property
    def value(self) -> Real:
        """Numerator over denominator, NaN where b is zero (which is then unstable)."""
        return _divided(self.a, self.b)

    @property
    def standard_error(self) -> Real:
        """By the delta method; NaN where the estimated variance is below zero or b is zero."""
        r = self.value
        variance = self.var_a - 2 * r * self.cov_ab + r**2 * self.var_b
        root = np.sqrt(variance, out=np.full(np.shape(r), np.nan), where=variance >= 0)
        return _divided(root, np.abs(self.b))

    @property
    def unstable(self) -> Array:
        """Where b is zero or less, or within two standard errors of zero."""
        near = (self.b <= 0) | (self.b <= UNSTABLE * np.sqrt(np.maximum(self.var_b, 0)))  # the error may be NaN
        return np.asarray(np.broadcast_to(near, np.shape(self.a)))

    def wald(self, z: float) -> Real:
        """``r - z SE`` and ``r + z SE``, shape (..., 2)."""
        half = z * self.standard_error
        return np.stack([self.value - half, self.value + half], axis=-1)

    def fieller(self, z: float) -> Real:
        """The smallest interval that holds Fieller's set, shape (..., 2); the whole line where it has no end."""
        A = self.b**2 - z**2 * self.var_b
        B = self.a * self.b - z**2 * self.cov_ab
        C = self.a**2 - z**2 * self.var_a
        bounded = np.broadcast_to(A > 0, np.shape(self.a))
        root = np.sqrt(np.maximum(B**2 - A * C, 0))
        ends = [
            np.divide(B + side * root, A, out=np.full(np.shape(self.a), side * np.inf), where=bounded)
            for side in (-1, 1)
        ]
        return np.stack(ends, axis=-1)


def _divided(a: Real, b: Real) -> Real:
    return np.asarray(np.divide(a, b, out=np.full(np.shape(a), np.nan), where=b != 0))


METHODS = ("wald", "fieller")
SHOWN = 20


@dataclass(frozen=True, eq=False, repr=False)
class Conditional(Result):
    """Shares of some variables within each category of others."""

    LINES = "shares"

    # The variables that are held fixed, and those whose shares are given
    given: tuple[str, ...]
    names: tuple[str, ...]
    labels: tuple[Sequence[Hashable], ...]  # Categories of the given variables, then of the others
    ratios: Ratios  # Shares with their errors; the axes of the given variables come first
    estimate: Estimate  # What the shares were found from

    share = Inside[Real](
        "ratios.value",
        "Conditional shares, one axis for each variable, the given ones first. They sum to one over the others.",
    )

    standard_error = Inside[Real]("ratios.standard_error", "By the delta method, in the same shape.")
    unstable = Inside[Any](
        "ratios.unstable",
        "Where the share of the given category is zero or less, or within two standard errors of zero.",
    )

    def confidence_interval(self, level: float = 0.95, method: str = "wald") -> Real:
        """Intervals with two ends as the last axis."""
        check_level(level)
        if method not in METHODS:
            raise ParameterError("method-method", method=method, methods=", ".join(METHODS))
        z = self.estimate.critical_value((1 + level) / 2)
        return self.ratios.wald(z) if method == "wald" else self.ratios.fieller(z)

    @property
    def flags(self) -> tuple[str, ...]:
        """What a reader should know, in words."""
        flags: list[str] = []
        if self.unstable.any():
            labels = list(product(*self.labels[: len(self.given)]))
            bad = self.unstable.reshape(len(labels), -1).any(axis=1)
            rare = [", ".join(map(str, label)) for label, is_rare in zip(labels, bad, strict=True) if is_rare]
            groups = "; ".join(rare[:3]) + ("; ..." if len(rare) > 3 else "")
            flags.append(Note("unstable-prefer-fieller-intervals", given=", ".join(self.given), groups=groups))
        missing = int(np.isnan(self.standard_error).sum())
        if missing:
            flags.append(Note("shares-have-no-standard-error", missing=missing, shares=self.share.size))
        return tuple(flags)

    def to_dict(self, level: float = 0.95) -> dict[str, Any]:
        """Everything as plain values, for JSON."""
        cells = zip(
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
            for of, share, error, wald, fieller, bad in cells
        ]
        names = {"given": list(self.given), "variables": list(self.names)}
        return {**names, "level": level, "shares": rows, "flags": list(self.flags)}

    def to_frame(self, level: float = 0.95, method: str = "wald") -> Any:
        """A pandas table: one row for each share, indexed by the labels of the variables."""
        low, high = self.confidence_interval(level, method).reshape(-1, 2).T
        columns = {"share": self.share.ravel(), "standard_error": self.standard_error.ravel()}
        labels = dict(zip([*self.given, *self.names], self.labels, strict=True))
        return data_frame({**columns, "low": low, "high": high, "unstable": self.unstable.ravel()}, labels=labels)

    def __repr__(self) -> str:
        lines = [f"Shares of {' x '.join(self.names)} given {' x '.join(self.given)} (95 % intervals)"]
        intervals = self.confidence_interval().reshape(-1, 2)
        for of, p, (a, b) in list(zip(product(*self.labels), self.share.ravel(), intervals, strict=True))[:SHOWN]:
            fixed, rest = (", ".join(map(str, part)) for part in (of[: len(self.given)], of[len(self.given) :]))
            lines.append(f"  {f'{fixed}: {rest}':<24} {Printed(p):8.4f}  [{Printed(a):.4f}, {Printed(b):.4f}]")
        lines += [f"  ... and {len(intervals) - SHOWN:,} more"] if len(intervals) > SHOWN else []
        return "\n".join([*lines, *(f"  note: {flag}" for flag in self.flags)])


def conditional_of(estimate: Estimate, layout: Layout, given: Sequence[str]) -> Conditional:
    """Conditional shares of all variables but ``given``."""
    others = [name for name in layout.names if name not in given]
    if not given or not others:
        raise ParameterError("given-given-of-names", given=", ".join(given) or "nothing", names=", ".join(layout.names))
    order = [*layout.axes(given), *layout.axes(others)]
    ratios = _ratios_of(estimate, layout, order, len(given))
    labels = tuple(layout.variables[axis].inputs.labels for axis in order)
    return Conditional(tuple(given), tuple(others), labels, ratios, estimate)


@dataclass(frozen=True, repr=False)
class Difference(Result):
    """A difference of two conditional shares."""

    of: str  # What the shares are of, in words
    # The difference, first group minus second, and its error
    value: float
    standard_error: float
    shares: tuple[float, float]  # The two shares
    estimate: Estimate
    flags: tuple[str, ...] = ()  # What a reader should know, in words

    def confidence_interval(self, level: float = 0.95) -> tuple[float, float]:
        """Wald interval."""
        check_level(level)
        half = self.estimate.critical_value((1 + level) / 2) * self.standard_error
        return self.value - half, self.value + half

    @property
    def p_value(self) -> float:
        """Two-sided, for no difference; NaN without a standard error above zero."""
        return self.estimate.p_value(self.value, self.standard_error)

    def to_dict(self, level: float = 0.95) -> dict[str, Any]:
        """Everything as plain values, for JSON."""
        return {
            "of": self.of,
            "estimate": self.value,
            "standard_error": number_or_none(self.standard_error),
            "interval": [number_or_none(end) for end in self.confidence_interval(level)],
            "shares": list(self.shares),
            "p_value": number_or_none(self.p_value),
            "flags": list(self.flags),
        }

    def __repr__(self) -> str:
        low, high = self.confidence_interval()
        lines = [
            f"{self.of}: difference {Printed(self.value):.4f}, standard error {Printed(self.standard_error):.4f} "
            f"[{Printed(low):.4f}, {Printed(high):.4f}]"
        ]
        return "\n".join([*lines, *(f"  note: {flag}" for flag in self.flags)])


def difference_of(
    estimate: Estimate, layout: Layout, of: Mapping[str, Hashable], given: str, between: tuple[Hashable, Hashable]
) -> Difference:
    """The difference with its error."""
    asked: Any = of
    if not isinstance(asked, Mapping) or not asked or given in asked:
        raise ParameterError("of-of-given-given", of=of, given=given)
    part, small = collapsed(estimate, layout, [given, *of])
    codes = [v.inputs.code(label) for v, label in zip(small.variables[1:], of.values(), strict=True)]
    groups = [small.variables[0].inputs.code(label) for label in between]
    pi, V = part.pi_hat.reshape(small.shape), covariance_of(part)
    shares, gradients = zip(*(_share(pi, (group, *codes)) for group in groups), strict=True)
    gradient = (gradients[0] - gradients[1]).ravel()
    variance = float(gradient @ V @ gradient)
    names = ", ".join(f"{name} = {label}" for name, label in of.items())
    said = f"{names} among {given} = {between[0]} against {between[1]}"
    error = float(np.sqrt(variance)) if variance >= 0 else float("nan")
    return Difference(said, shares[0] - shares[1], error, shares, estimate, _flags(part, small, groups, error))


def _share(pi: Real, cell: tuple[int, ...]) -> tuple[float, Real]:
    """A conditional share and its slope in every cell."""
    total = float(pi[cell[0]].sum())
    if total == 0:
        raise ParameterError("the-estimated-share-of-a-group")
    share, gradient = float(pi[cell]) / total, np.zeros(pi.shape)
    gradient[cell[0]] -= share / total
    gradient[cell] += 1 / total
    return share, gradient


def _flags(part: Estimate, small: Layout, groups: list[int], error: float) -> tuple[str, ...]:
    total = collapsed(part, small, [small.names[0]])[0]
    rare = at_most(total.pi_hat, np.maximum(0, UNSTABLE * np.nan_to_num(total.standard_error)), scale=1)
    name, labels = small.names[0], small.variables[0].inputs.labels
    flags = [
        f"unstable: the share of {name} = {labels[g]} is within two standard errors of zero" for g in groups if rare[g]
    ]
    return (*flags, *((Note("the-standard-error-is-not-defined"),) if np.isnan(error) else ()))
