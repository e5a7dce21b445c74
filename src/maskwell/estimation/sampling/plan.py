"""SamplingPlan: how the rows of a survey were drawn, described once and used for every estimate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from maskwell.core.arrays import Real
from maskwell.core.cells import Cells
from maskwell.core.survey_columns import check_inclusion, check_population, check_replicates, check_weights
from maskwell.errors import InputError, ParameterError
from maskwell.estimation.sampling.pairwise import check_joint
from maskwell.estimation.sampling.replicates import ReplicateRule
from maskwell.estimation.sampling.scheme import Scheme
from maskwell.estimation.sampling.stages import Lonely, weight_factor


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
        How many units there were to draw from, in each stratum: a number or a column; a tuple of them for several
        stages. Draws are then without replacement, and weights follow unless they are given.
    replicates, rule
        Replicate weights, shape (n, R), and how they become a variance.
    joint_inclusion
        Pairwise inclusion probabilities, shape (n, n), the single ones on the diagonal.
    method
        One of the names of :data:`~maskwell.estimation.sampling.scheme.METHODS`; by default what the columns say.
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
    rule: ReplicateRule | None = None
    joint_inclusion: Any = None
    method: str | None = None
    lonely: Lonely = "error"
    auxiliary: Any = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "clusters", _columns(self.clusters))
        object.__setattr__(self, "population", _columns(self.population))
        self._check_one_weight()
        self._check_lengths()
        self.scheme  # noqa: B018 (says what does not go together)
        if self.n is not None:
            self._check_values(self.n)

    # ---- what was given

    @property
    def n(self) -> int | None:
        """Number of rows; None where no column tells it."""
        return next(iter(self._lengths().values()), None)

    def _lengths(self) -> dict[str, int]:
        named = {name: getattr(self, name) for name in ONE_COLUMN}
        named |= {f"clusters of stage {s}": column for s, column in enumerate(self.clusters, start=1)}
        named |= {f"population of stage {s}": column for s, column in enumerate(self.population, start=1)}
        return {name: len(column) for name, column in named.items() if column is not None and np.ndim(column) > 0}

    def _check_one_weight(self) -> None:
        given = [name for name in ("weights", "inclusion", "draw_probabilities") if getattr(self, name) is not None]
        if len(given) > 1:
            raise ParameterError(
                f"{' and '.join(given)} say the same thing twice", hint="give one of them", given=given
            )

    def _check_lengths(self) -> None:
        lengths = self._lengths()
        if len(set(lengths.values())) > 1:
            told = ", ".join(f"{count:,} {name}" for name, count in lengths.items())
            raise InputError(f"columns of different lengths: {told}", hint="give one value for each row", **lengths)

    def _check_values(self, n: int) -> None:
        if self.weights is not None and self.auxiliary is None:
            check_weights(self.weights, n)
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
        return Scheme(self.method or self._usual_method(), lonely=self.lonely, replicates=self.rule, joint=joint)

    def _usual_method(self) -> str:
        if self.replicates is not None or self.rule is not None:
            return "replicates"
        if self.joint_inclusion is not None:
            return "syg"
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
        chance = self._chance(n)
        found = {
            "weight": self._weight(n, chance),
            "stratum": self.strata,
            "clusters": (np.arange(n),) if self.joint_inclusion is not None else self.clusters,
            "population": self.population,
            "replicates": self.replicates,
            "chance": chance,
            "auxiliary": self.auxiliary,
        }
        return {name: column for name, column in found.items() if column is not None}

    def _chance(self, n: int) -> Real | None:
        given = np.diagonal(self.scheme.joint) if self.scheme.joint is not None else self.inclusion
        return None if given is None else check_inclusion(given, n)

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
        return f"SamplingPlan({rows}: {', '.join(named) or 'a simple sample'})"


ONE_COLUMN = (
    "weights", "inclusion", "draw_probabilities", "strata", "replicates", "joint_inclusion", "auxiliary",
)  # fmt: skip


def _is_given(value: Any) -> bool:
    return value is not None and not (isinstance(value, tuple) and not value)


def _columns(given: Any) -> tuple[Any, ...]:
    """One column, or a tuple of columns, as a tuple of columns."""
    if isinstance(given, tuple):
        return given
    if given is None:
        return ()
    if isinstance(given, Sequence) and not isinstance(given, str) and given and np.ndim(given[0]) > 0:
        return tuple(given)
    return (given,)
