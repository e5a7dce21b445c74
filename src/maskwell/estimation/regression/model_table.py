"""Regressions on a table that was made ready: which model its outcome and its predictors call for.

Two categories of the outcome give a logistic, more a multinomial regression, numbers a linear one.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from maskwell.core.arguments import Array, Real
from maskwell.core.categories import Categories
from maskwell.core.phrases import option
from maskwell.designs.design import Design
from maskwell.errors import InputError, ParameterError
from maskwell.estimation.regression.logit_models import Prepared, regress_lie_detector, regress_outcome
from maskwell.estimation.regression.named_coefficients import Coefficients
from maskwell.estimation.regression.predicted_chances import Change
from maskwell.estimation.regression.predictor_models import Randomized, regress_linear, regress_on_randomized
from maskwell.estimation.regression.regression_result import Regression, Source
from maskwell.estimation.regression.report_evidence import Evidence
from maskwell.estimation.regression.row_sampling import RowSampling, scale_free
from maskwell.estimation.sampling.replicate_weights import ReplicateRule


class _ReportColumn(Protocol):
    """Codes of the reports of each row, the designs, and which of them each row used."""

    @property
    def codes(self) -> Array: ...  # shape (n,)
    @property
    def designs(self) -> tuple[Design, ...]: ...  # all that rows may have used
    @property
    def groups(self) -> Array: ...  # number of the design of each row, shape (n,)


class _OutcomeColumn(Protocol):
    """The outcome: reports, codes of categories that were asked directly, or numbers; the other two are None."""

    @property
    def reports(self) -> _ReportColumn | None: ...
    @property
    def asked(self) -> tuple[Array, Categories] | None: ...  # codes, shape (n,); the last category is the reference
    @property
    def numbers(self) -> Real | None: ...
    @property
    def combined(self) -> Sequence[tuple[Hashable, Sequence[int]]]: ...  # the label and the codes of each group
    @property
    def reference(self) -> int | None: ...  # a code, None for the last category; groups come first


class _ModelTable(Protocol):
    """A table made ready for a regression."""

    @property
    def formula(self) -> str: ...
    @property
    def outcome_name(self) -> str: ...
    @property
    def outcome(self) -> _OutcomeColumn: ...
    @property
    def versions(self) -> tuple[Real, ...]: ...  # model matrices (n, p): one, or one for each randomized category
    @property
    def names(self) -> tuple[str, ...]: ...
    @property
    def predictor(self) -> _ReportColumn | None: ...  # the randomized predictors
    @property
    def predictor_name(self) -> str: ...
    @property
    def latent(self) -> Real: ...  # columns that the categories of the randomized predictors depend on, shape (n, q)
    @property
    def latent_names(self) -> tuple[str, ...]: ...
    @property
    def plan(self) -> Mapping[str, Any]: ...  # weight, stratum, clusters and population, as far as columns hold them
    @property
    def dropped(self) -> int: ...  # rows left out for missing values
    @property
    def matrix_of(self) -> Callable[[Any], Real]: ...  # the model matrix of another table with the same columns
    @property
    def group(self) -> Array | None: ...  # number of the group of each row that has an intercept of its own
    @property
    def group_name(self) -> str: ...
    def changed(self, values: Mapping[str, Any]) -> Real: ...  # the model matrix with one value in some columns
    # For each change of a variable its name, and dX / dx and None, or the model matrix after and before it
    def moved(self, dummy: bool) -> Iterator[tuple[str, Real, Real | None]]: ...  # noqa: FBT001 - there is nothing else


def fit_model_table(
    table: _ModelTable,
    *,
    lonely: str = "error",
    variance: str | None = None,
    replicates: ReplicateRule | None = None,
    model: str | None = None,
    interval: str | None = None,
) -> Regression:
    """Fit what the table, or one of :data:`MODELS`, calls for; with replicate weights once more for each of them."""
    _check_model(table, model)
    linear = "" if table.outcome.numbers is None else "a linear regression"
    check_interval(interval, "replicate weights" if replicates else linear)
    if replicates is not None:
        result = _replicated(table, np.asarray(table.plan["replicates"]), replicates, variance, model)
    else:
        sampled = RowSampling.from_columns(len(table.versions[0]), table.plan, lonely=lonely)
        result = _fitted(table, sampled, variance, model)
    latent = None if result.latent is None else replace(result.latent, asked=interval)
    return replace(
        result,
        asked=interval,
        source=Source(
            table.outcome_name,
            table.formula,
            table.dropped,
            table.matrix_of,
            lambda dummy: (Change.between(*moved) for moved in table.moved(dummy)),
            table.changed,
        ),
        besides=replace(result.besides, latent=latent),
    )


INTERVALS = ("wald", "profile")


def check_interval(interval: str | None, without: str) -> None:
    """Raise for an unknown method, or a profile without a likelihood: ``without`` names the model."""
    if interval is not None and interval not in INTERVALS:
        raise ParameterError("interval-must-be-wald-or-profile", interval=interval)
    if interval == "profile" and without:
        wald = option("interval", "wald", '"wald"')
        raise ParameterError("a-profile-interval-is-not-available", without=without, wald=wald)


MODELS = ("ordinal", "lie-detector")


def _check_model(table: _ModelTable, model: str | None) -> None:
    """Raise unless the table has what a model needs that was asked for."""
    if model is None:
        return
    if model not in MODELS:
        raise ParameterError("model-model", model=model, models=", ".join(MODELS))
    for what, is_there in [
        ("an outcome in numbers", table.outcome.numbers is not None),
        ("a randomized predictor", table.predictor is not None),
        ("a random intercept", table.group is not None),
        ("a reference category of the outcome", table.outcome.reference is not None),
        ("combined categories", bool(table.outcome.combined)),
    ]:
        if is_there:
            raise ParameterError("model-model-with-what", model=model, what=what)


def _fitted(table: _ModelTable, sampled: RowSampling, variance: str | None, model: str | None) -> Regression:
    """By the model that was asked for, or that the outcome, the groups and the predictors call for."""
    outcome, names = table.outcome, table.names
    designs = () if outcome.reports is None else outcome.reports.designs

    def rows(evidence: Evidence) -> Prepared:
        return Prepared(table.versions[0], names, evidence, sampled, designs, variance)

    if model == "ordinal":
        from maskwell.estimation.regression.ordinal_models import regress_ordinal

        return regress_ordinal(rows(_in_order(outcome)))
    if model is not None:
        return regress_lie_detector(rows(_outcome_evidence(outcome)))
    if table.group is not None:
        if table.predictor is not None or outcome.numbers is not None:
            what = "a randomized predictor" if table.predictor is not None else "an outcome in numbers"
            raise ParameterError("a-random-intercept-together-with", what=what)
        from maskwell.estimation.regression.mixed_models import regress_mixed

        return regress_mixed(rows(_outcome_evidence(outcome)), table.group, table.group_name)
    if table.predictor is None and outcome.numbers is None:
        return regress_outcome(rows(_outcome_evidence(outcome)))
    if table.predictor is None:
        alone = Evidence.direct(np.zeros(sampled.n, dtype=np.intp), Categories.of(["all"]))
        x = Randomized(alone, table.versions, names, np.zeros((sampled.n, 0)), (), "")
        return regress_linear(np.asarray(outcome.numbers), x, sampled, designs=())
    reported = _evidence(table.predictor)
    x = Randomized(reported, table.versions, names, table.latent, table.latent_names, table.predictor_name)
    every = (*designs, *table.predictor.designs)
    if outcome.numbers is None:
        return regress_on_randomized(_outcome_evidence(outcome), x, sampled, designs=every, variance=variance)
    if variance not in (None, "sandwich"):
        raise ParameterError("variance-for-a-linear-regression", variance=variance)
    return regress_linear(outcome.numbers, x, sampled, designs=every)


def _in_order(outcome: _OutcomeColumn) -> Evidence:
    """The outcome with its categories from the lowest to the highest: that asked directly has the lowest last."""
    evidence = _outcome_evidence(outcome)
    if outcome.reports is not None:
        return evidence
    labels = evidence.categories.labels
    return replace(
        evidence, table=np.roll(evidence.table, 1, axis=1), categories=Categories.of([labels[-1], *labels[:-1]])
    )


def _replicated(
    table: _ModelTable, replicates: Real, rule: ReplicateRule, variance: str | None, model: str | None
) -> Regression:
    """``V = sum_r c_r (b_r - b)(b_r - b)'`` with the factors of the rule. Standard, as in R's withReplicates."""
    if variance is not None:
        raise ParameterError("variance-with-replicate-weights", variance=variance)
    n, count = replicates.shape
    result = _fitted(table, RowSampling.of(n, weights=table.plan.get("weight", np.ones(n))), None, model)
    runs = [_fitted(table, RowSampling(n, weights=scale_free(weights)), None, model) for weights in replicates.T]
    lost = sum(not run.converged for run in runs)
    if lost:
        raise InputError("of-replicates-have-no-finite-coefficients", lost=lost, count=count)
    df, said = int(rule.degrees_of_freedom(count)), f"{count:,} replicates ({rule.method})"
    spread = _spread(result, runs, rule)
    search = replace(result.search, variance=said)
    result = replace(result, covariance=spread, degrees_of_freedom=df, search=search, profiles=None)
    if result.latent is None:
        return result
    hidden = [run.latent for run in runs if run.latent is not None]
    spread = _spread(result.latent, hidden, rule)
    latent = replace(result.latent, covariance=spread, degrees_of_freedom=df, profiles=None)
    return replace(result, besides=replace(result.besides, latent=latent))


def _spread(center: Coefficients, runs: Sequence[Coefficients], rule: ReplicateRule) -> Real:
    made = np.array([run.estimates for run in runs])
    away = made - rule.centre(made, center.estimates)
    return np.asarray((away * rule.factors(len(made))[:, None]).T @ away)


def _outcome_evidence(outcome: _OutcomeColumn) -> Evidence:
    if outcome.reports is not None:
        evidence = _evidence(outcome.reports)
    else:
        assert outcome.asked is not None
        evidence = Evidence.direct(*outcome.asked)
    evidence = evidence.combined(outcome.combined) if outcome.combined else evidence
    return evidence if outcome.reference is None else evidence.against(outcome.reference)


def _evidence(column: _ReportColumn) -> Evidence:
    """Of the designs that rows used: of several columns with groups not every combination need occur."""
    used, groups = np.unique(column.groups, return_inverse=True)
    return Evidence.of(column.codes, [column.designs[place] for place in used], groups, codes=True)
