"""SamplingPlan: how the rows of a survey were drawn, described once and used for every estimate.

Its Scheme (in ``sample_stages``) is the same without the rows: how they were drawn, how the variance is estimated.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from maskwell.core.arguments import (
    Flag,
    Real,
    as_array,
    as_mapping,
    check_inclusion,
    check_kind,
    check_population,
    check_replicates,
    check_weights,
)
from maskwell.core.cells import Cells
from maskwell.core.groups import Factor
from maskwell.core.phrases import VALUES, listed
from maskwell.core.verdicts import below
from maskwell.errors import InputError, LabelError, ParameterError, WrongTypeError
from maskwell.estimation.sampling.replicate_weights import ReplicateRule
from maskwell.estimation.sampling.sample_stages import Lonely, Scheme, weight_factor
from maskwell.estimation.sampling.unequal_chances import check_joint


@dataclass(frozen=True, eq=False, kw_only=True)
class SamplingPlan:
    """How the rows were drawn; every column has one value for each row.

    Attributes
    ----------
    weights, inclusion, draw_probabilities
        At most one of them: how many units a row stands for; the chance that it was drawn; for draws with replacement
        (Hansen-Hurwitz) the chance of one draw.
    strata
        Labels of the strata.
    clusters
        Labels of the clusters: one column, or a tuple of columns, the first stage first. Clusters are nested.
    population
        How many units there were to draw from, in each stratum: a number, a mapping from strata to numbers, or a
        column; a tuple of them for several stages. Draws are then without replacement, and weights follow unless they
        are given. A tuple with one entry more than there are stages of clusters says how many rows there were in each
        last cluster; without that entry the last clusters were taken whole.
    replicates, rule
        Replicate weights, shape (n, R), and how they become a variance: a rule, or the name of its method.
    poisson
        Whether every row was drawn by its own chance, independently of the others.
    joint_inclusion
        Pairwise inclusion probabilities, shape (n, n), the single ones on the diagonal.
    method
        One of the names of ``METHODS``; by default what the columns say.
    lonely
        What to do with a stratum of which one unit was drawn: ``"error"``, ``"certainty"`` or ``"centre"``.
    auxiliary
        Made by :func:`~maskwell.estimation.sampling.calibration.calibrate`: the values that the weights were calibrated
        with, and their factors.

    >>> plan = SamplingPlan(weights=[10, 10, 20, 20], strata=["a", "a", "b", "b"])
    >>> plan
    SamplingPlan(4 rows: weights, strata)
    """

    weights: Any = None
    inclusion: Any = None
    draw_probabilities: Any = None
    strata: Any = None
    clusters: Any = ()
    population: Any = ()
    replicates: Any = None
    rule: ReplicateRule | str | None = None
    poisson: bool = False
    joint_inclusion: Any = None
    method: str | None = None
    lonely: Lonely = "error"
    auxiliary: Any = None

    def __post_init__(self) -> None:
        check_kind(str | None, method=self.method)
        check_kind(str, lonely=self.lonely)
        check_kind(Flag, poisson=self.poisson)
        object.__setattr__(self, "clusters", _columns(self.clusters))
        object.__setattr__(self, "population", tuple(map(self._spread, _columns(self.population), range(8))))
        object.__setattr__(self, "rule", ReplicateRule(self.rule) if isinstance(self.rule, str) else self.rule)
        self._check_one_weight()
        self._check_lengths()
        self.scheme  # noqa: B018 (says what does not go together)
        if self.n is not None:
            self._check_values(self.n)

    @classmethod
    def from_shares(cls, strata: Any, shares: Mapping[Any, float], **options: Any) -> Self:
        """A sample whose strata make known shares W_h of a large population: each row has the weight ``W_h / n_h``.

        With a Warner device in each stratum it is the plan of Kim and Warde. Source: [Adeshiyan2011, Remark 2.5].

        >>> SamplingPlan.from_shares(["a", "a", "b", "b"], {"a": 0.6, "b": 0.4}).weights.tolist()
        [0.3, 0.3, 0.2, 0.2]
        """
        as_mapping(shares, "shares")
        factor = Factor.of(strata, "strata")
        parts, total = _of_each_stratum(shares, factor, "share"), float(sum(shares.values()))
        rows = np.bincount(factor.codes, minlength=factor.size)
        if abs(total - 1) > 1e-9 or not (parts[rows > 0] > 0).all():
            percent = " (these look like percentages: divide by 100)" if abs(total - 100) < 1e-6 else ""
            raise ParameterError(
                f"the shares of the strata add up to {total:g}, not to 1{percent}",
                hint="give each stratum its share of the population, above 0",
                shares=dict(shares),
            )
        return cls(strata=strata, weights=(parts / np.maximum(rows, 1))[factor.codes], **options)

    def _spread(self, population: Any, stage: int) -> Any:
        """The population of each row where it was given by stratum; one number for several strata is refused."""
        if isinstance(population, Mapping):
            if self.strata is None or stage > 0:
                raise ParameterError("a population by stratum without strata", hint="give the strata of the rows")
            strata = Factor.of(self.strata, "strata")
            return _of_each_stratum(population, strata, "population")[strata.codes]
        if self.strata is not None and stage == 0 and np.ndim(population) == 0:
            strata = Factor.of(self.strata, "strata")
            if strata.size > 1:
                raise ParameterError(
                    f"one population of {population} for {strata.size:,} strata",
                    hint="give each stratum its own: population={stratum: number, ...}",
                )
        return population

    # ---- what was given

    @property
    def n(self) -> int | None:
        """Number of rows; None where no column tells it."""
        return next(iter(self._lengths().values()), None)

    def _lengths(self) -> dict[str, int]:
        named = {name: getattr(self, name) for name in ONE_COLUMN}
        named |= {f"clusters of stage {s}": column for s, column in enumerate(self.clusters, start=1)}
        named |= {f"population of stage {s}": column for s, column in enumerate(self.population, start=1)}
        columns = {name: column for name, column in named.items() if column is not None}
        return {name: len(column) for name, column in columns.items() if as_array(column, name).ndim > 0}

    def _check_one_weight(self) -> None:
        names = ("weights", "inclusion", "draw_probabilities", "joint_inclusion")
        given = [name for name in names if getattr(self, name) is not None]
        if len(given) > 1:
            raise ParameterError(
                f"{' and '.join(given)} say the same thing twice", hint="give one of them", given=given
            )

    def _check_lengths(self) -> None:
        if isinstance(self.strata, str | bytes):
            raise WrongTypeError("strata must be a list, not a text", hint="give the stratum of each row")
        lengths = self._lengths()
        if len(set(lengths.values())) > 1:
            told = ", ".join(f"{count:,} {name}" for name, count in lengths.items())
            raise InputError(f"columns of different lengths: {told}", hint="give one value for each row", **lengths)

    def _check_values(self, n: int) -> None:
        if self.weights is not None and self.auxiliary is None:
            weights = check_weights(self.weights, n)
            if self.scheme.method == "poisson" and below(weights, 1).any():
                raise ParameterError(
                    f"weights: row {int(weights.argmin()) + 1} is below 1, so it is no 1 / chance",
                    hint="poisson needs chances up to 1",
                    values=f"{weights.min():g}",
                )
        for name in ("inclusion", "draw_probabilities"):
            if getattr(self, name) is not None:
                check_inclusion(getattr(self, name), n, name=name.replace("_", " "))
        for stage, sizes in enumerate(self.population, start=1):
            check_population(sizes, n, stage=stage)
        if self.replicates is not None:
            check_replicates(self.replicates, n)
        if self.joint_inclusion is not None:
            check_joint(self.joint_inclusion, n)

    # ---- what an estimate asks

    @property
    def scheme(self) -> Scheme:
        """How the variance is to be estimated."""
        joint = None if self.joint_inclusion is None else np.asarray(self.joint_inclusion, dtype=np.float64)
        method = self.method or self._usual_method()
        if self.poisson and method != "poisson":
            raise ParameterError(f"poisson beside the method {method!r}", hint="a sample is drawn in one way: give one")
        rule = self.rule if isinstance(self.rule, ReplicateRule) else None
        return Scheme(method, lonely=self.lonely, replicates=rule, joint=joint)

    def _usual_method(self) -> str:
        if self.replicates is not None or self.rule is not None:
            return "replicates"
        if self.joint_inclusion is not None:
            return "syg"
        if self.poisson:
            return "poisson"
        return "pps" if self.draw_probabilities is not None else "stages"

    def check_rows(self, n: int) -> None:
        """Raise unless the plan is about so many rows."""
        if self.n is not None and self.n != n:
            raise InputError(
                f"a plan of {self.n:,} rows for {n:,} reports", hint="describe the rows of the reports, in their order"
            )
        if self.n is None:
            self._check_values(n)

    def columns(self, n: int) -> dict[str, Any]:
        """What :meth:`Cells.of` takes, for n rows."""
        self.check_rows(n)
        chance, pairs = self._chance(n), self.joint_inclusion is not None  # with pairs every row keeps its own line
        columns = {
            "weight": self._weight(n, chance),
            "stratum": None if pairs else self.strata,
            "clusters": (np.arange(n),) if pairs else self.clusters,
            "population": () if pairs else self.population,
            "replicates": self.replicates,
            "chance": chance,
            "auxiliary": self.auxiliary,
        }
        return {name: column for name, column in columns.items() if column is not None}

    def _chance(self, n: int) -> Real | None:
        inclusion = np.diagonal(self.scheme.joint) if self.scheme.joint is not None else self.inclusion
        return None if inclusion is None else check_inclusion(inclusion, n)

    def _weight(self, n: int, chance: Real | None) -> Real | None:
        if self.weights is not None:
            return np.broadcast_to(np.asarray(self.weights, dtype=np.float64), n)
        if self.draw_probabilities is not None:
            return 1 / np.broadcast_to(np.asarray(self.draw_probabilities, dtype=np.float64), n)
        return None if chance is None else 1 / chance

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
        named = [name for name in (*ONE_COLUMN, "clusters", "population") if _is_given(getattr(self, name))]
        rows = "any rows" if self.n is None else f"{self.n:,} rows"
        named += ["poisson"] if self.poisson else []
        return f"SamplingPlan({rows}: {', '.join(named) or 'a simple sample'})"


ONE_COLUMN = (
    "weights", "inclusion", "draw_probabilities", "strata", "replicates", "joint_inclusion", "auxiliary",
)  # fmt: skip


def _of_each_stratum(values: Mapping[Any, Any], strata: Factor, what: str) -> Real:
    """What is known of each stratum; an error for strata without it, and for those of which no row was drawn."""
    labels, rows = strata.labels.tolist(), np.bincount(strata.codes, minlength=strata.size)
    missing = [repr(label) for label, n in zip(labels, rows, strict=True) if n and label not in values]
    if missing:
        count = "1 stratum" if len(missing) == 1 else f"{len(missing):,} strata"
        raise LabelError(
            f"no {what} of {count}",
            hint=f"give the {what} of each stratum",
            values=listed(missing, len(missing), VALUES),
        )
    drawn = {label for label, n in zip(labels, rows, strict=True) if n}
    empty = [label for label, value in values.items() if label not in drawn and value != 0]
    if empty:
        raise LabelError(
            f"no row of stratum {listed(map(repr, empty), len(empty), 40)}, which has a {what}",
            hint=f"join it with another stratum, or leave it out of the {what}s and estimate for the rest",
            strata=empty,
        )
    return np.array([float(values.get(label, 0)) for label in labels])


def _is_given(value: Any) -> bool:
    return value is not None and not (isinstance(value, tuple) and not value)


def _columns(columns: Any) -> tuple[Any, ...]:
    """One column, or a tuple of columns, as a tuple of columns."""
    if isinstance(columns, tuple):
        return columns
    if columns is None:
        return ()
    if isinstance(columns, range):
        return (as_array(columns, "a column"),)
    if (
        isinstance(columns, Sequence)
        and not isinstance(columns, str)
        and columns
        and as_array(columns[0], "a column").ndim > 0
    ):
        return tuple(columns)
    return (columns,)
