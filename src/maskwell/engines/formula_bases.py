"""What the functions of a formula compute: splines, polynomials, scaled columns, and contrasts of categories.

The dictionary keeps what predictions need of the fit. Numbers and names are those of formulaic, patsy and R.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from maskwell.core.arguments import Real

State: TypeAlias = dict[str, Any]
Coded: TypeAlias = tuple[Real, Sequence[Any]]
"""A contrast of k categories: a matrix (k, columns), and a name for each column."""

Contrast: TypeAlias = Callable[[Sequence[Any]], Coded]


@dataclass(frozen=True, eq=False)
class Basis:
    """Several columns for one, shape (n, columns), and their names; where they add up to one, one can be left out."""

    values: Real
    names: Sequence[Any]
    spans_intercept: bool = False


def scale(x: Real, state: State, *, center: Any = True, scale: Any = True, ddof: float = 1) -> Real:
    """Less the mean, divided by the standard deviation, or by what is given for them."""
    if "center" not in state:
        state["center"] = (np.mean(x) if center else None) if isinstance(center, bool) else center
    x = x if state["center"] is None else x - state["center"]
    if "scale" not in state:
        spread = np.sqrt(np.sum(x**2) / (len(x) - ddof)) if scale is True else scale
        state["scale"] = None if scale is False else spread
    return x if state["scale"] is None else x / state["scale"]


def standardize(x: Real, state: State, *, center: bool = True, rescale: bool = True, ddof: float = 0) -> Real:
    """As :func:`scale`, with the divisor n."""
    return scale(x, state, center=center, scale=rescale, ddof=ddof)


def poly(x: Real, state: State, *, degree: int = 1, raw: bool = False) -> Basis:
    """Powers of x; unless ``raw``, polynomials that are orthonormal over the rows of the fit.

    From p_0 = 1, p_k = (x - a_k) p_{k-1} - b_k p_{k-2}, where ``a_k = <x p_{k-1}, p_{k-1}> / |p_{k-1}|^2``
    and ``b_k = |p_{k-1}|^2 / |p_{k-2}|^2`` over the rows of the fit.
    """
    if raw:
        return Basis(np.stack([np.power(x, power) for power in range(1, degree + 1)], axis=1), range(degree))
    known = ~np.isnan(x)
    inner, new = x[known], not state
    a, norms = state.setdefault("a", []), state.setdefault("norms", [])
    columns: list[Real] = []
    for k in range(degree + 1):
        column: Real = np.ones(len(inner)) if k == 0 else (inner - a[k - 1]) * columns[-1]
        if k >= 2:
            column -= norms[k - 1] / norms[k - 2] * columns[-2]
        columns.append(column)
        if new:
            norms.append(np.sum(column**2))
            a.append(np.sum(inner * column**2) / norms[-1])
    values = np.full((len(x), degree), np.nan)
    values[known] = np.stack([column / np.sqrt(norm) for column, norm in zip(columns, norms, strict=True)][1:], axis=1)
    return Basis(values, range(1, degree + 1))


def basis_spline(
    x: Real,
    state: State,
    *,
    df: int | None = None,
    knots: Sequence[float] | None = None,
    degree: int = 3,
    include_intercept: bool = False,
    lower_bound: float | None = None,
    upper_bound: float | None = None,
    extrapolation: str = "raise",
) -> Basis:
    """B-splines, by the recursion of Cox and de Boor."""
    x, inner, _ = _within(x, state, (lower_bound, upper_bound), extrapolation)
    if "knots" not in state:
        count = None if df is None else df - degree - include_intercept
        _check_count(count, 0, knots)
        shares = np.linspace(0, 1, (count or 0) + 2)[1:-1]
        between = np.nanquantile(inner, shares).tolist() if count else [*(knots or ())]
        low, high = state["bounds"]
        state["knots"] = [*[low] * (degree + 1), *between, *[high] * (degree + 1)]
    at, last = state["knots"], len(state["knots"]) - degree - 2
    first, beyond = (degree, last) if extrapolation == "extend" else (-1, -1)

    def rise(i: int, width: int) -> Any:
        return (x - at[i]) / (at[i + width] - at[i]) if at[i + width] != at[i] else 0

    columns: list[Real] = []
    for i in range(len(at) - 1):
        ends = x <= at[i + 1] if i == last else x < at[i + 1]
        columns.append((((x >= at[i]) | (i == first)) & (ends | (i == beyond))).astype(float))
    for d in range(1, degree + 1):
        columns = [rise(i, d) * columns[i] + (1 - rise(i + 1, d)) * columns[i + 1] for i in range(len(columns) - 1)]
    start = 0 if include_intercept else 1
    values = np.stack(columns[start:], axis=1) if columns[start:] else np.empty((len(x), 0))
    return Basis(values, range(start, len(columns)), spans_intercept=include_intercept)


def _within(
    x: Real, state: State, bounds: tuple[float | None, float | None], extrapolation: str
) -> tuple[Real, Real, Any]:
    """Values as a spline takes them, those that decide about knots, and which of them lie beyond its bounds."""
    if "bounds" not in state:
        given = zip(bounds, (np.nanmin, np.nanmax), strict=True)
        state["bounds"] = tuple(float(edge(x)) if bound is None else bound for bound, edge in given)
    low, high = state["bounds"]
    outside = (x < low) | (x > high)
    if extrapolation == "raise" and outside.any():
        raise ValueError("values beyond the bounds of a spline, which its extrapolation does not allow")
    inner = x if extrapolation in ("raise", "extend") else x[~outside]
    x = np.clip(x, low, high) if extrapolation == "clip" else x
    return (np.where(outside, np.nan, x) if extrapolation == "na" else x), inner, outside


def _check_count(count: int | None, least: int, knots: Any) -> None:
    if count is not None and (knots is not None or count < least):
        raise ValueError("a spline takes df or knots, and a df that is large enough")


def cubic_spline(
    x: Real,
    state: State,
    *,
    cyclic: bool,
    df: int | None = None,
    knots: Sequence[float] | None = None,
    lower_bound: float | None = None,
    upper_bound: float | None = None,
    constraints: str | None = None,
    extrapolation: str = "extend",
) -> Basis:
    """Cubic regression splines: natural ones, straight beyond the last knots, or cyclic ones that end as they begin."""
    x, inner, outside = _within(x, state, (lower_bound, upper_bound), extrapolation)
    if "knots" not in state:
        centred = constraints is not None
        count = None if df is None else df - 2 + centred + cyclic
        _check_count(count, 0, knots)
        state["knots"] = _sorted_knots(inner, state["bounds"], count, knots)
        if centred:
            means = _free_cubic_spline(x, state["knots"], cyclic=cyclic).mean(axis=0)
            state["absorbed"] = np.linalg.qr(means[:, None], mode="complete")[0][:, 1:]
    values = _free_cubic_spline(x, state["knots"], cyclic=cyclic)
    if "absorbed" in state:
        values = np.dot(values, state["absorbed"])
    if extrapolation == "zero":
        values[outside] = 0.0
    return Basis(values, range(1, values.shape[1] + 1))


def _sorted_knots(x: Real, bounds: tuple[float, float], count: int | None, knots: Sequence[float] | None) -> Real:
    """All knots, bounds included; ``count`` inner ones at quantiles of the different values where none are given."""
    low, high = bounds
    if knots is not None:
        inner = np.unique(knots)
    elif count is not None:
        x = np.unique(x[(low <= x) & (x <= high)])
        shares = np.linspace(0, 100, count + 2)[1:-1]
        inner = np.nanpercentile(x, shares) if x.size else np.array([])
        if len(inner) < count:
            raise ValueError("no values between the bounds of a spline")
    else:
        raise ValueError("a cubic spline needs df or knots")
    every = np.unique(np.concatenate(([low, high], inner)))
    if low > high or len(every) != len(inner) + 2 or every[0] != low or every[-1] != high:
        raise ValueError("the knots of a spline are not different values between its bounds")
    return every


def _free_cubic_spline(x: Real, knots: Real, *, cyclic: bool) -> Real:
    """Cubic splines by their values at the knots, one column less if cyclic: Wood (2006), pp. 145-147, as in patsy."""
    n, low, high = len(knots) - cyclic, knots[0], knots[-1]
    if cyclic:
        if low >= high:
            raise ValueError("a cyclic spline whose bounds are one value")
        x = np.where(x > high, low + (x - high) % (high - low), x)
        x = np.where(x < low, high - (low - x) % (high - low), x)
    j = np.clip(np.searchsorted(knots, x) - 1, 0, len(knots) - 2)
    h = np.diff(knots)
    width, after, before = h[j], knots[j + 1] - x, x - knots[j]
    # beyond the last knots a spline goes on as a straight line
    above = np.where(x > high, 0.0, after * after * after / (6.0 * width)) - width * after / 6.0
    below = np.where(x < low, 0.0, before * before * before / (6.0 * width)) - width * before / 6.0
    following = (j + 1) % n if cyclic else j + 1
    unit, curved = np.identity(n), _second_derivatives(h, cyclic=cyclic)
    columns = (after / width) * unit[j].T + (before / width) * unit[following].T
    return np.asarray((columns + above * curved[j].T + below * curved[following].T).T)


def _second_derivatives(h: Real, *, cyclic: bool) -> Real:
    """The matrix that takes the values of a spline at its knots to its second derivatives there."""
    if cyclic:
        n = len(h)
        b, d = np.zeros((n, n)), np.zeros((n, n))
        for i in range(n):
            b[i, i], d[i, i] = (h[i - 1] + h[i]) / 3.0, -1.0 / h[i - 1] - 1.0 / h[i]
        for i in range(n):
            b[i, i - 1] = b[i - 1, i] = h[i - 1] / 6.0
            d[i, i - 1] = d[i - 1, i] = 1.0 / h[i - 1]
        return np.asarray(np.linalg.solve(b, d))
    from scipy import linalg

    side = h[1:-1] / 6.0
    banded = np.array([[0.0, *side], (h[:-1] + h[1:]) / 3.0, [*side, 0.0]])
    d = np.zeros((len(h) - 1, len(h) + 1))
    for i in range(len(h) - 1):
        d[i, i], d[i, i + 2] = 1.0 / h[i], 1.0 / h[i + 1]
        d[i, i + 1] = -d[i, i] - d[i, i + 2]
    flat = np.zeros((1, len(h) + 1))
    return np.vstack([flat, linalg.solve_banded((1, 1), banded, d), flat])


def treatment_contrast(levels: Sequence[Any], base: Any = None, reference: Any = None) -> Coded:
    """Each category against one of them, the first if none is given."""
    base = reference if base is None else base
    place = 0 if base is None else [*levels].index(base)
    return np.delete(np.eye(len(levels)), place, axis=1), [f"T.{x}" for i, x in enumerate(levels) if i != place]


def sas_contrast(levels: Sequence[Any], base: Any = None) -> Coded:
    """Each category against one of them, the last if none is given."""
    return treatment_contrast(levels, levels[-1] if base is None else base)


def sum_contrast(levels: Sequence[Any]) -> Coded:
    """Each category but the last against the mean of all."""
    matrix = np.eye(len(levels), len(levels) - 1)
    matrix[-1] = -1
    return matrix, [f"S.{x}" for x in levels[:-1]]


def helmert_contrast(levels: Sequence[Any], reverse: bool = True, scale: bool = False) -> Coded:  # noqa: FBT001, FBT002 - as R and patsy have them
    """Each category against the mean of those before it, or after it."""
    k = len(levels)
    ups = np.arange(1, k) if reverse else np.arange(k - 1, 0, -1)
    matrix: Real = np.vstack([np.zeros(k - 1), np.diag(ups)] if reverse else [np.diag(ups), np.zeros(k - 1)])
    matrix[np.triu_indices(k - 1) if reverse else np.tril_indices(k, k=-1, m=k - 1)] = -1
    return (np.asarray(matrix / (ups + 1)) if scale else matrix), [
        f"H.{x}" for x in (levels[1:] if reverse else levels[:-1])
    ]


def diff_contrast(levels: Sequence[Any], backward: bool = True) -> Coded:  # noqa: FBT001, FBT002 - as patsy has it
    """Each category against the one before it, or after it."""
    k = len(levels)
    matrix = np.repeat([np.arange(1, k)], k, axis=0) / k
    matrix[np.triu_indices(k, m=k - 1)] -= 1
    return (matrix if backward else -matrix), [f"D.{x}" for x in (levels[1:] if backward else levels[:-1])]


def poly_contrast(levels: Sequence[Any], scores: Sequence[float] | None = None) -> Coded:
    """Orthonormal polynomials of the scores of categories, which are 0, 1, 2, ... if none are given."""
    if scores and len(scores) != len(levels):
        raise ValueError("a contrast needs one score for each category")
    at = np.array(scores or range(len(levels)), dtype=np.float64)
    names = [".L", ".Q", ".C", *(f"^{power}" for power in range(4, len(levels)))]
    return poly(at, {}, degree=len(levels) - 1).values, names[: len(levels) - 1]


def given_contrast(levels: Sequence[Any], rows: Sequence[Sequence[float]]) -> Coded:
    """A matrix that the user wrote, with a row for each category."""
    matrix = np.array(rows, dtype=np.float64)
    if matrix.shape[0] != len(levels):
        raise ValueError("a contrast needs one row for each category")
    return matrix, range(1, matrix.shape[1] + 1)
