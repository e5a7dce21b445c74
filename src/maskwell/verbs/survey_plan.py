"""How the rows were sampled, as verbs and commands take it: names of columns and a few choices."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, fields
from typing import Any

from maskwell.core.arguments import Flag, check_kind
from maskwell.core.exact import as_fraction, to_float
from maskwell.core.phrases import option
from maskwell.engines.plan_columns import PlanColumns, population_of
from maskwell.engines.report_counts import SurveyTally
from maskwell.errors import ParameterError
from maskwell.estimation.sampling.replicate_weights import (
    ReplicateRule,
    factors_of_replicates,
    fay_factor,
    strata_of_replicates,
)
from maskwell.estimation.sampling.sample_stages import Lonely
from maskwell.estimation.sampling.sampling_plan import Scheme
from maskwell.verbs.inputs import Names, names_of


@dataclass(frozen=True)
class SurveyPlan:
    """Columns that say how the rows of a table were sampled; nothing said is a simple random sample.

    Attributes
    ----------
    weights, inclusion
        One of them: how many people a row stands for, or the chance with which it was drawn.
    strata, clusters
        Clusters are nested in strata; two names for two stages.
    population
        Units there were to draw from: a number, or a column that holds that of each stratum; two for two stages.
    denominator
        Known size of the population: shares are totals over it, in place of the sum of the weights.
    replicates, replicate_method, fay
        How the names of replicate weights start, how they were made, and Fay's factor.
    poisson
        Whether rows were drawn independently of each other, each with its own chance.
    lonely
        A stratum with one unit: ``"error"``, ``"certainty"`` or ``"centre"``.
    """

    weights: str | None = None
    inclusion: str | None = None
    strata: str | None = None
    clusters: Names = None
    population: Any = None
    denominator: Any = None
    replicates: str | None = None
    replicate_method: str | None = None
    fay: Any = None
    poisson: bool = False
    lonely: Lonely = "error"

    def __post_init__(self) -> None:
        columns = {name: getattr(self, name) for name in ("weights", "inclusion", "strata", "replicates")}
        check_kind(str | None, **columns)
        check_kind(Flag, poisson=self.poisson)

    @property
    def named(self) -> dict[str, Any]:
        """What was said about the sampling."""
        return {one.name: value for one in fields(self) if (value := getattr(self, one.name)) != one.default}

    def columns(self, by: Names = None) -> PlanColumns:
        """The columns that are named, with those of the domains."""
        sizes = self.population
        typed = names_of(sizes, "population") if isinstance(sizes, str | None) else _several(sizes)
        return PlanColumns(
            weights=self.weights,
            inclusion=self.inclusion,
            strata=self.strata,
            clusters=names_of(self.clusters, "clusters"),
            population=population_of([str(size) for size in typed]),
            replicates=self.replicates,
            by=names_of(by, "by"),
            chances=self.poisson,
        )

    def check(self) -> None:
        """Raise for what would be left aside."""
        if self.denominator is not None and not (self.inclusion or self.weights or self.population):
            raise ParameterError(
                f"{option('denominator')} without {option('weights')}, {option('inclusion')} or {option('population')}",
                hint="without them every row stands for itself, and shares are shares of the rows",
            )
        if self.replicate_method and not self.replicates:
            raise ParameterError(
                f"{option('replicate_method')} without {option('replicates')}",
                hint=f"name the columns: {option('replicates', 'repw')}",
            )
        if self.replicates and not self.replicate_method:
            raise ParameterError(
                f"{option('replicates')} without {option('replicate_method')}",
                hint="say how they were made: jkn, brr, fay or bootstrap",
            )
        if self.fay is not None and self.replicate_method != "fay":
            raise ParameterError(
                f"{option('fay')} without {option('replicate_method', 'fay')}",
                hint="leave it out, or name the method",
            )
        if self.poisson and not (self.inclusion or self.weights):
            raise ParameterError(
                f"{option('poisson')} without {option('inclusion')} or {option('weights')}",
                hint=f"name the column of the chances: {option('inclusion', 'COL')}",
            )

    def scheme(self, tally: SurveyTally) -> Scheme:
        """How the rows were drawn."""
        if self.replicates is not None:
            return Scheme("replicates", replicates=self._replicate_rule(tally))
        return Scheme("poisson" if self.poisson else "stages", lonely=self.lonely)

    @property
    def size(self) -> float | None:
        """The size of the population that shares are to be taken of, None for the sum of the weights."""
        return None if self.denominator is None else to_float(as_fraction(self.denominator, "denominator"))

    @property
    def assumed(self) -> tuple[str, ...]:
        """What is taken for granted because nothing says otherwise."""
        if self.replicate_method == "jkn" and self.strata is None:
            return (f"no {option('strata')}: the strata of the jackknife are taken from the replicate weights",)
        return ()

    def _replicate_rule(self, tally: SurveyTally) -> ReplicateRule:
        method, rho = self.replicate_method, None if self.fay is None else float(as_fraction(self.fay, "fay"))
        if method == "fay" and rho is None and tally.ratios is not None:
            rho = fay_factor(tally.ratios)
        if method == "jkn" and self.strata is None and tally.ratios is not None:
            return ReplicateRule("jkn", rscales=factors_of_replicates(tally.ratios))
        strata = strata_of_replicates(tally.cells) if method == "jkn" else None
        return ReplicateRule(str(method), rho=rho, strata=strata)


def _several(sizes: Any) -> list[Any]:
    return list(sizes) if isinstance(sizes, list | tuple) else [sizes]


def check_no_reports(plan: PlanColumns, reports: Collection[str]) -> None:
    """Raise where a column of the plan holds randomized reports."""
    for name in plan.labelled:
        if name in reports:
            raise ParameterError(
                f"column {name!r} holds randomized reports: its values are no true groups",
                hint=f"make a table of two variables, with a {option('design')} for each column",
                column=name,
            )
    for name in plan.numeric:
        if name in reports:
            raise ParameterError(
                f"column {name!r} holds randomized reports, not weights or populations",
                hint="name the column that holds them",
                column=name,
            )
