"""SampledRows: the rows of a table together with how they were drawn, both as columns that engines read."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from maskwell.core.arguments import kind_of
from maskwell.core.phrases import option
from maskwell.engines.rows import Rows
from maskwell.engines.survey_columns import SamplingColumns, population_of
from maskwell.errors import ParameterError
from maskwell.estimation.sampling.sampling_description import Sampling
from maskwell.verbs.inputs import Names, names_of

if TYPE_CHECKING:
    from maskwell.engines.report_counts import SurveyTally
    from maskwell.estimation.sampling.replicate_weights import ReplicateRule
    from maskwell.estimation.sampling.sample_stages import Scheme

ONE_FOR_EACH_ROW = ("weights", "inclusion", "strata", "replicates")
NAMED = (
    *("weights", "inclusion", "strata", "clusters", "population", "denominator", "replicates", "replicate_method"),
    *("fay", "poisson", "lonely"),
)
BY_ARRAYS_ONLY = ("draw_probabilities", "joint_inclusion", "method")


@dataclass(frozen=True)
class SampledRows:
    """Rows, with a sampling that names columns of them; arrays have become further columns."""

    rows: Rows
    sampling: Sampling
    auxiliary: tuple[str, ...] = ()  # columns of the values that weights were calibrated with, and of their factors

    @classmethod
    def of(cls, rows: Rows, sampling: Sampling) -> SampledRows:
        """The rows with a column for each array of the sampling."""
        for name in BY_ARRAYS_ONLY:
            if getattr(sampling, name) is not None:
                raise ParameterError("is-not-available-for-the-rows", name=name)
        for name in ONE_FOR_EACH_ROW:
            value = getattr(sampling, name)
            if not isinstance(value, str | None) and np.ndim(value) == 0:
                raise ParameterError("must-be-the-name-of-a", name=name, value_kind=kind_of(value))
        new: dict[str, Any] = {}
        named: dict[str, Any] = {"auxiliary": None}
        auxiliary: tuple[str, ...] = ()
        for name in ("weights", "inclusion", "strata"):
            if name in sampling.arrays:
                new[f"({name})"], named[name] = sampling.arrays[name], f"({name})"
        for name in ("clusters", "population"):
            stages = {f"({one})": values for one, values in sampling.arrays.items() if one.startswith(name)}
            names = (f"({name} {stage})" for stage in range(1, 9))
            if stages:
                new |= stages
                named[name] = tuple(
                    one if one in stages else given for one, given in zip(names, getattr(sampling, name), strict=False)
                )
        for name in ("replicates", "auxiliary"):
            if name in sampling.arrays:
                table = np.asarray(sampling.arrays[name], dtype=np.float64)
                columns = {f"({name} {place})": column for place, column in enumerate(table.T, start=1)}
                new |= columns
                named |= {"replicates": "(replicates "} if name == "replicates" else {}
                auxiliary = tuple(columns) if name == "auxiliary" else auxiliary
        return cls(rows.with_columns(new), replace(sampling, **named), auxiliary) if new else cls(rows, sampling)

    @property
    def named(self) -> dict[str, Any]:
        """What is said of the sampling, None where nothing is, with the names of columns."""
        said = {name: getattr(self.sampling, name) for name in NAMED}
        return said | {name: said[name] or None for name in ("clusters", "population")}

    def columns(self, by: Names = None) -> SamplingColumns:
        """The columns that are named, with those of the domains."""
        s = self.sampling
        return SamplingColumns(
            **{name: getattr(s, name) for name in ("weights", "inclusion", "strata", "clusters", "replicates")},
            population=population_of([str(size) for size in s.population]),
            by=names_of(by, "by"),
            chances=s.poisson,
            auxiliary=self.auxiliary,
        )

    def scheme(self, tally: SurveyTally) -> Scheme:
        """How the rows were drawn."""
        from maskwell.estimation.sampling.sample_stages import Scheme

        s = self.sampling
        if s.replicates is not None:
            return Scheme("replicates", replicates=self._replicate_rule(tally))
        return Scheme("poisson" if s.poisson else "stages", lonely=s.lonely)

    @property
    def assumed(self) -> tuple[str, ...]:
        """What is taken for granted because nothing says otherwise."""
        if self.sampling.replicate_method == "jkn" and self.sampling.strata is None:
            return (f"no {option('strata')}: the strata of the jackknife are taken from the replicate weights",)
        return ()

    def rule_of_rows(self, weight: Any, replicates: Any, stratum: Any) -> ReplicateRule:
        """How replicate weights of rows, shape (n, R), become a variance."""
        from maskwell.core.row_sums import Cells, products_of_replicates
        from maskwell.engines.report_counts import SurveyTally

        n = len(replicates)
        weight = np.ones(n) if weight is None else weight
        ratio = replicates / weight[:, None]
        ratios = np.array([np.where(ratio > 0, ratio, np.inf).min(axis=0), ratio.max(axis=0)])
        plan = {"weight": weight, "replicates": replicates} | ({} if stratum is None else {"stratum": stratum})
        cells = Cells.of(np.arange(n), **plan)  # a line for each row: sums of rows would hide what a replicate changes
        return self._replicate_rule(SurveyTally(cells, (), n, 0, ratios, products_of_replicates(replicates, weight)))

    def _replicate_rule(self, tally: SurveyTally) -> ReplicateRule:
        from maskwell.estimation.sampling.replicate_weights import (
            ReplicateRule,
            factors_of_replicates,
            fay_factor,
            rank_of_replicates,
            strata_of_replicates,
        )

        s, rho = self.sampling, self.sampling.rho
        rank = None if tally.products is None else rank_of_replicates(tally.products)
        if isinstance(s.replicate_method, ReplicateRule):
            return replace(s.replicate_method, rank=rank)
        method = s.replicate_method
        if method == "fay" and rho is None and tally.ratios is not None:
            rho = fay_factor(tally.ratios)
        if method == "jkn" and s.strata is None and tally.ratios is not None:
            return ReplicateRule("jkn", rscales=factors_of_replicates(tally.ratios), rank=rank, mse=s.mse)
        strata = strata_of_replicates(tally.cells) if method == "jkn" else None
        return ReplicateRule(str(method), rho=rho, strata=strata, rank=rank, mse=s.mse)


def check_by_rows(sampling: Sampling, what: str) -> None:
    """Raise for what estimates from the scores of single rows do not take into account, or replicates hold already."""
    if sampling.poisson:
        raise ParameterError("what-does-not-take-independent-draws", what=what)
    if sampling.denominator is not None:
        raise ParameterError("what-does-not-take-a-denominator", what=what)
    if sampling.replicates is not None and (sampling.clusters or sampling.population):
        raise ParameterError("replicate-weights-with-clusters")


def check_no_reports(roles: SamplingColumns, reports: Collection[str]) -> None:
    """Raise where a column of these roles holds randomized reports."""
    for name in roles.labelled:
        if name in reports:
            raise ParameterError("column-holds-randomized-reports-its-values", column=name)
    for name in roles.numeric:
        if name in reports:
            raise ParameterError("column-holds-randomized-reports-not-weights", column=name)
