"""Sampling: how the rows of a survey were drawn, by names of columns or arrays; its Scheme is that without rows."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, fields, replace
from typing import Any, Self

import numpy as np

from maskwell.core.arguments import (
    Flag,
    Real,
    as_array,
    as_floats,
    as_mapping,
    check_inclusion,
    check_kind,
    check_population,
    check_replicates,
    check_weights,
    kind_of,
    numbers_of_rows,
)
from maskwell.core.exact import as_fraction, to_float
from maskwell.core.groups import Factor
from maskwell.core.phrases import VALUES, listed
from maskwell.core.row_sums import Cells
from maskwell.core.verdicts import below
from maskwell.errors import InputError, LabelError, ParameterError, WrongTypeError
from maskwell.estimation.sampling.replicate_weights import ReplicateRule
from maskwell.estimation.sampling.sample_stages import Lonely, Scheme, check_joint, weight_factor


@dataclass(frozen=True, eq=False, kw_only=True)
class Sampling:
    """How the rows were drawn. Each column is given by its name, or as an array with one value for each row.

    Attributes
    ----------
    weights, inclusion, draw_probabilities
        At most one of them: the sampling weight of each row; its inclusion probability; for draws with replacement
        (Hansen-Hurwitz) the probability of one draw.
    strata, clusters
        Strata, and clusters (PSUs) nested in them: one column, or a tuple of columns, the first stage first;
        ``["psu", "ssu"]`` or ``"psu,ssu"`` names those of two stages.
    population
        Population sizes, for the finite population correction: a number, a column with that of the stratum of each
        row, or a mapping from strata to numbers; a tuple for several stages. Draws are then without replacement, and
        weights follow unless they are given. A tuple with one entry more than there are stages of clusters has the
        number of rows in each last cluster; without that entry the last clusters were taken whole.
    denominator
        Known size of the population: shares are totals over it, in place of the sum of the weights.
    replicates
        Replicate weights: how the names of their columns start, or an array of shape (n, R).
    replicate_method, fay
        How they were made, and Fay's factor. The variance is ``sum_r c_r (theta_r - theta)(theta_r - theta)'`` with
        ``c_r = (R - 1) / R`` for ``"jk1"``, ``(n_h - 1) / n_h`` for ``"jkn"``, ``1 / R`` for ``"brr"`` and
        ``"bootstrap"``, and ``1 / (R (1 - fay)^2)`` for ``"fay"``; other factors by a ``ReplicateRule``.
    mse
        Whether theta is the estimate with all rows, as in R's survey package with ``mse = TRUE``; else it is the mean
        of the replicates, R's default.
    poisson
        Whether every row was drawn independently of the others, each with its own probability.
    joint_inclusion
        Pairwise inclusion probabilities, shape (n, n), the single ones on the diagonal.
    method
        One of the names of ``METHODS``; by default what the columns say.
    lonely
        How a stratum with one sampled unit counts: ``"error"``, ``"certainty"`` or ``"centre"``.
    auxiliary
        Made by :meth:`calibrated`: the values that the weights were calibrated with, and their factors.

    >>> Sampling(weights="w", strata="region", clusters="psu")
    Sampling(weights='w', strata='region', clusters='psu')
    >>> Sampling(weights="w", clusters=["psu", "ssu"], population=["N", "M"]).clusters
    ('psu', 'ssu')
    >>> Sampling(weights=[10, 10, 20, 20], strata=["a", "a", "b", "b"])
    Sampling(4 rows: weights, strata)
    """

    weights: Any = None
    inclusion: Any = None
    draw_probabilities: Any = None
    strata: Any = None
    clusters: Any = ()
    population: Any = ()
    denominator: Any = None
    replicates: Any = None
    replicate_method: ReplicateRule | str | None = None
    fay: Any = None
    mse: bool = True
    poisson: bool = False
    joint_inclusion: Any = None
    method: str | None = None
    lonely: Lonely = "error"
    auxiliary: Any = None

    def __post_init__(self) -> None:
        check_kind(str | None, method=self.method)
        check_kind(str, lonely=self.lonely)
        check_kind(Flag, poisson=self.poisson, mse=self.mse)
        check_kind(ReplicateRule | str | None, replicate_method=self.replicate_method)
        for name in (*ONE_COLUMN, *BY_STAGE):
            if isinstance(given := getattr(self, name), Set):
                raise WrongTypeError("must-be-the-name", name=name, given_kind=kind_of(given))
        object.__setattr__(self, "clusters", _columns(self.clusters))
        object.__setattr__(self, "population", tuple(map(self._spread, _columns(self.population), range(8))))
        lengths = self._lengths()
        if len(set(lengths.values())) > 1:
            told = ", ".join(f"{count:,} {name}" for name, count in lengths.items())
            raise InputError("columns-of-different-lengths-give-one", shown_told=told, **lengths)
        self._check_together()
        rule_follows = self.replicate_method == "jkn" or (self.replicate_method == "fay" and self.fay is None)
        if not self.names and not rule_follows:
            self.scheme  # noqa: B018 (says what does not go together)
        if self.n is not None:
            self._check_values(self.n)

    @classmethod
    def from_shares(cls, strata: Any, shares: Mapping[Any, float], **options: Any) -> Self:
        """A sample whose strata make known shares W_h of a large population: each row has the weight ``W_h / n_h``.

        With a Warner device in each stratum it is the plan of Kim and Warde. Source: [Adeshiyan2011, Remark 2.5].

        >>> Sampling.from_shares(["a", "a", "b", "b"], {"a": 0.6, "b": 0.4}).weights.tolist()
        [0.3, 0.3, 0.2, 0.2]
        """
        as_mapping(shares, "shares")
        factor = Factor.of(strata, "strata")
        parts, total = _of_each_stratum(shares, factor, "share"), float(sum(shares.values()))
        rows = np.bincount(factor.codes, minlength=factor.size)
        if abs(total - 1) > 1e-9 or not (parts[rows > 0] > 0).all():
            percent = " (these look like percentages: divide by 100)" if abs(total - 100) < 1e-6 else ""
            raise ParameterError("the-shares-of-the-strata-add", total=total, percent=percent, shares=dict(shares))
        return cls(strata=strata, weights=(parts / np.maximum(rows, 1))[factor.codes], **options)

    def _spread(self, population: Any, stage: int) -> Any:
        """The population of each row where it was given by stratum; one number for several strata is refused."""
        if isinstance(population, Mapping):
            if self.strata is None or stage > 0 or isinstance(self.strata, str):
                raise ParameterError("a-population-by-stratum-without-strata")
            strata = Factor.of(self.strata, "strata")
            return _of_each_stratum(population, strata, "population")[strata.codes]
        if isinstance(self.strata, str) or isinstance(population, str):
            return population
        if self.strata is not None and stage == 0 and np.ndim(population) == 0:
            strata = Factor.of(self.strata, "strata")
            if strata.size > 1:
                raise ParameterError("one-population-of-for-strata-give", population=population, size=strata.size)
        return population

    @property
    def n(self) -> int | None:
        """Number of rows; None where no column gives it."""
        return next(iter(self._lengths().values()), None)

    def _lengths(self) -> dict[str, int]:
        named = {name: getattr(self, name) for name in ONE_COLUMN}
        named |= {f"clusters of stage {s}": column for s, column in enumerate(self.clusters, start=1)}
        named |= {f"population of stage {s}": column for s, column in enumerate(self.population, start=1)}
        columns = {name: column for name, column in named.items() if column is not None}
        return {name: len(column) for name, column in columns.items() if as_array(column, name).ndim > 0}

    @property
    def names(self) -> dict[str, Any]:
        """What is said of the rows by names of columns."""
        named = {name: value for name in ONE_COLUMN if isinstance(value := getattr(self, name), str)}
        several = {name: getattr(self, name) for name in BY_STAGE}
        return named | {name: many for name, many in several.items() if any(isinstance(one, str) for one in many)}

    @property
    def arrays(self) -> dict[str, Any]:
        """What is said of the rows by arrays."""
        columns = {name: getattr(self, name) for name in ONE_COLUMN}
        for name in BY_STAGE:
            columns |= {f"{name} {stage}": one for stage, one in enumerate(getattr(self, name), start=1)}
        return {name: value for name, value in columns.items() if value is not None and np.ndim(value) > 0}

    def __bool__(self) -> bool:
        """Whether anything is said of how the rows were drawn: else they are a simple random sample."""
        return bool(self.names or self.arrays or self.population or self.poisson)

    def _check_together(self) -> None:
        """Raise for what would be said twice, or be left aside."""
        weights = [name for name in WEIGHTS if getattr(self, name) is not None]
        if len(weights) > 1:
            raise ParameterError("say-the-same-thing-twice", given_shown=" and ".join(weights), given=weights)
        if self.denominator is not None and not (weights or _is_given(self.population)):
            raise ParameterError("denominator-without-weights-inclusion-or-population")
        if self.replicate_method and self.replicates is None:
            raise ParameterError("replicate-method-without-replicates")
        if self.replicates is not None and not self.replicate_method:
            raise ParameterError("replicates-without-replicate-method")
        if self.fay is not None and self.replicate_method != "fay":
            raise ParameterError("fay-without-replicate-method")
        if self.poisson and not weights:
            raise ParameterError("poisson-without-inclusion-or-weights")

    def _check_values(self, n: int) -> None:
        if self.weights is not None and not isinstance(self.weights, str) and self.auxiliary is None:
            weights = check_weights(self.weights, n)
            if self.poisson and below(weights, 1).any():
                raise ParameterError(
                    "weights-row-is-below-1-so", argmin_number=int(weights.argmin()) + 1, values=f"{weights.min():g}"
                )
        for name in ("inclusion", "draw_probabilities"):
            if not isinstance(getattr(self, name), str | None):
                check_inclusion(getattr(self, name), n, name=name.replace("_", " "))
        for stage, sizes in enumerate(self.population, start=1):
            if not isinstance(sizes, str):
                check_population(sizes, n, stage=stage)
        if not isinstance(self.replicates, str | None):
            check_replicates(self.replicates, n)
        if self.joint_inclusion is not None:
            check_joint(self.joint_inclusion, n)

    @property
    def scheme(self) -> Scheme:
        """How the variance is to be estimated."""
        joint, rule = self.joint_inclusion, self.replicate_method
        usual = {"replicates": self.replicates is not None, "syg": joint is not None, "poisson": self.poisson}
        usual |= {"pps": self.draw_probabilities is not None, "stages": True}
        method = self.method or next(name for name, fits in usual.items() if fits)
        if self.poisson and method != "poisson":
            raise ParameterError("poisson-beside-the-method", method=method)
        if isinstance(rule, str):
            rule = ReplicateRule(rule, rho=self.rho, mse=self.mse)
        pairs = None if joint is None else np.asarray(joint, dtype=np.float64)
        return Scheme(method, lonely=self.lonely, replicates=rule, joint=pairs)

    @property
    def rho(self) -> float | None:
        """Fay's factor, where it is given."""
        return None if self.fay is None else float(as_fraction(self.fay, "fay"))

    @property
    def size(self) -> float | None:
        """The size of the population that shares are to be taken of, None for the sum of the weights."""
        return None if self.denominator is None else to_float(as_fraction(self.denominator, "denominator"))

    def calibrated(self, x: Any, totals: Any, *, distance: str = "linear") -> Sampling:
        """The same with weights that reproduce the known ``totals`` of the columns of ``x`` in the population.

        ``distance`` is linear or raking. Weights, strata and clusters are arrays here. Calibrate on openly asked
        variables only: a recovery is an estimate, and its totals are not known.
        """
        check_kind(str, distance=distance)
        if self.replicates is not None:
            raise ParameterError("calibration-of-replicate-weights")
        rows = len(np.atleast_1d(as_array(x, "auxiliary values")))
        known = numbers_of_rows(x, "auxiliary values", rows, columns=True)
        base = self.base_weights(rows)
        g = calibrating_factors(base, known, as_floats(totals, "totals", finite=False), distance)
        return replace(self, weights=base * g, inclusion=None, auxiliary=np.column_stack([known, g]))

    def check_rows(self, n: int) -> None:
        """Raise unless the sampling is about so many rows."""
        if self.names:
            name, value = next(iter(self.names.items()))
            raise ParameterError("names-a-column-and-there", name=name, value=value)
        if self.n is not None and self.n != n:
            raise InputError("a-plan-of-rows-for-reports", n=self.n, n_shown=n)
        if self.n is None:
            self._check_values(n)

    def columns(self, n: int) -> dict[str, Any]:
        """What :meth:`Cells.of` takes, for n rows."""
        self.check_rows(n)
        pairs = self.joint_inclusion is not None  # with pairs every row keeps its own line
        inclusion = np.diagonal(self.joint_inclusion) if pairs else self.inclusion
        chance = None if inclusion is None else check_inclusion(inclusion, n)
        weight: Any = None if chance is None else 1 / chance
        if self.weights is not None:
            weight = np.broadcast_to(np.asarray(self.weights, dtype=np.float64), n)
        elif self.draw_probabilities is not None:
            weight = 1 / np.broadcast_to(np.asarray(self.draw_probabilities, dtype=np.float64), n)
        columns = {
            "weight": weight,
            "stratum": None if pairs else self.strata,
            "clusters": (np.arange(n),) if pairs else self.clusters,
            "population": () if pairs else self.population,
            "replicates": self.replicates,
            "chance": chance,
            "auxiliary": self.auxiliary,
        }
        return {name: column for name, column in columns.items() if column is not None}

    def base_weights(self, n: int) -> Real:
        """The weight of each row: as given, or what the population says, or one."""
        columns = self.columns(n)
        if "weight" in columns:
            return np.asarray(columns["weight"], dtype=np.float64)
        if not self.population:
            return np.ones(n)
        lines = Cells.of(np.arange(n), **columns)
        weights = np.empty(n)
        weights[lines.report] = weight_factor(lines)
        return weights

    def __repr__(self) -> str:
        if not self.names and self.n is not None:
            named = [name for name in (*ONE_COLUMN, *BY_STAGE) if _is_given(getattr(self, name))]
            return f"Sampling({self.n:,} rows: {', '.join([*named, *(['poisson'] if self.poisson else [])])})"
        parts, by_array = [], {name.partition(" ")[0] for name in self.arrays}
        for one in (one for one in fields(self) if one.name not in by_array):
            value = getattr(self, one.name)
            if _is_given(value) and value != one.default:
                shown = value[0] if isinstance(value, tuple) and len(value) == 1 else value
                parts.append(f"{one.name}={shown!r}")
        return f"Sampling({', '.join([*parts, *(f'{name}=array' for name in self.arrays)])})"


MOST_STAGES = 4  # of sampling whose columns can be named by a list
BY_STAGE = ("clusters", "population")
WEIGHTS = ("weights", "inclusion", "draw_probabilities", "joint_inclusion")
ONE_COLUMN = (
    "weights", "inclusion", "draw_probabilities", "strata", "replicates", "joint_inclusion", "auxiliary",
)  # fmt: skip


def _of_each_stratum(values: Mapping[Any, Any], strata: Factor, what: str) -> Real:
    """What is known of each stratum; an error for strata without it, and for those of which no row was drawn."""
    labels, rows = strata.labels.tolist(), np.bincount(strata.codes, minlength=strata.size)
    missing = [repr(label) for label, n in zip(labels, rows, strict=True) if n and label not in values]
    if missing:
        count = "1 stratum" if len(missing) == 1 else f"{len(missing):,} strata"
        raise LabelError("no-what-of-count", what=what, count=count, values=listed(missing, len(missing), VALUES))
    drawn = {label for label, n in zip(labels, rows, strict=True) if n}
    empty = [label for label, value in values.items() if label not in drawn and value != 0]
    if empty:
        raise LabelError(
            "no-row-of-stratum-which", empty=listed(map(repr, empty), len(empty), 40), what=what, strata=empty
        )
    return np.array([float(values.get(label, 0)) for label in labels])


def _is_given(value: Any) -> bool:
    return value is not None and not (isinstance(value, tuple) and not value)


def _columns(columns: Any) -> tuple[Any, ...]:
    """One column, or several, as a tuple; a short list of different strings names columns."""
    if isinstance(columns, tuple):
        return columns
    if isinstance(columns, list) and all(isinstance(one, str) for one in columns) and len(columns) <= MOST_STAGES:
        return tuple(columns) if len({*columns}) == len(columns) else (columns,)
    if columns is None:
        return ()
    if isinstance(columns, str):
        return tuple(one.strip() for one in next(csv.reader([columns], skipinitialspace=True), []))
    if isinstance(columns, range):
        return (as_array(columns, "a column"),)
    several = isinstance(columns, Sequence) and columns and as_array(columns[0], "a column").ndim > 0
    return tuple(columns) if several else (columns,)


DISTANCES = ("linear", "raking")
STEPS = 100
REACHED = 1e-10  # of the totals


def calibrating_factors(d: Real, x: Real, totals: Real, distance: str) -> Real:
    """``g``, by Newton's method; of the linear distance in one step."""
    if distance not in DISTANCES:
        raise ParameterError("distance-distance", distance=distance, distances=", ".join(DISTANCES))
    for name, values in (("auxiliary values", x), ("totals", totals)):
        if not np.isfinite(values).all():
            raise ParameterError("hold-values-that-are-not-finite", name=name)
    if totals.shape != x.shape[1:]:
        raise InputError("totals-for-columns", size=totals.size, shape=x.shape[1], totals=totals)
    nobody = np.flatnonzero(~(x[d != 0] != 0).any(axis=0))  # nobody in the sample can stand for such a total
    if len(nobody):
        number = int(nobody[0]) + 1
        raise ParameterError("auxiliary-column-is-zero-in-every", nobody_number=number, columns=nobody.tolist())
    linear, lam, g = distance == "linear", np.zeros(x.shape[1]), np.ones(len(x))
    for _ in range(1 if linear else STEPS):
        lam = lam + _solved((x.T * (d * (1 if linear else g))) @ x, totals - (d * g) @ x)
        g = 1 + x @ lam if linear else np.exp(np.minimum(x @ lam, 100))
        if np.abs(totals - (d * g) @ x).max() <= REACHED * max(1.0, np.abs(totals).max()):
            return np.asarray(g)
    raise ParameterError("no-weights-reproduce-these-totals" if linear else "raking-found-no-weights-for-these")


def _solved(moments: Real, gap: Real) -> Real:
    scale = np.sqrt(np.diagonal(moments))
    if (scale == 0).any() or np.linalg.cond(moments / np.outer(scale, scale)) > 1e12:
        raise ParameterError("the-auxiliary-columns-depend-on-each")
    return np.asarray(np.linalg.solve(moments, gap), dtype=np.float64)
