"""Regression by formula on tables of any kind."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from maskwell.core.arguments import as_mapping, check_kind, kind_of, pairs_of
from maskwell.core.categories import Categories
from maskwell.designs.base import Design
from maskwell.errors import InputError, ParameterError, WrongTypeError
from maskwell.estimation.regression.evidence import Evidence
from maskwell.estimation.regression.linear import regress_linear
from maskwell.estimation.regression.logistic import regress_outcome
from maskwell.estimation.regression.predictor import Randomized, regress_on_randomized
from maskwell.estimation.regression.result import Regression
from maskwell.estimation.regression.sampled import Sampled, sampled_rows
from maskwell.estimation.sampling.sampling_plan import SamplingPlan

ENGINE = "maskwell.engines.model_frame"
PLAN = ("weights", "strata", "clusters", "population")

Given = Design | Sequence[tuple[Mapping[str, Any], Design]]


def regress(
    formula: str,
    data: Any,
    designs: Mapping[str, Given],
    *,
    weights: Any = None,
    strata: Any = None,
    clusters: Any = None,
    population: Any = None,
    lonely: str = "error",
    plan: SamplingPlan | None = None,
    latent: str | None = None,
    variance: str | None = None,
    missing: str = "error",
) -> Regression:
    """Regression where the outcome, a predictor or both were randomized.

    Two categories of the outcome give a logistic, more a multinomial regression; numbers, which only an outcome that
    was asked directly can be, a linear one on a randomized predictor. The last category of a design is the reference:
    for a yes-or-no question coefficients are about "yes".

    Parameters
    ----------
    formula
        Such as ``"y ~ age + C(region)"``. Text columns become categories; needs the extra ``regress``.
    data
        A table of pandas, polars or Arrow, a dictionary of columns, or the path of a file.
    designs
        The design of each randomized column: ``{"y": design}``. Where groups of rows used different designs, a list:
        ``{"y": [({"group": 1}, first), ({"group": 2}, second)]}``.
    weights, strata, clusters, population
        Names of columns, or one value for each row; the population may be one number. See :func:`fit_logistic`.
    plan
        A sampling plan in place of these, with one value for each row of the table.
    latent
        For a randomized predictor: what its shares depend on, such as ``"~ age"``; by default all other terms.
    missing
        "error", or "drop" rows without a value in one of the columns.

    >>> import pandas as pd
    >>> from maskwell.procedures.registry import make_design
    >>> warner = make_design("warner", p="0.8")
    >>> table = pd.DataFrame({"evaded": ["yes"] * 225 + ["no"] * 275 + ["yes"] * 175 + ["no"] * 325,
    ...                       "place": ["town"] * 500 + ["country"] * 500})
    >>> found = regress("evaded ~ place", table, {"evaded": warner})
    >>> found.params.round(3).to_dict()     # a quarter in the country, five twelfths in towns: twice the odds
    {'Intercept': -1.099, 'place[T.town]': 0.762}
    >>> found.predict({"place": ["town"]}).round(3)
    array([0.417])
    """
    check_kind(str, formula=formula)
    check_kind(str | None, latent=latent, variance=variance)
    as_mapping(designs, "designs")
    engine = importlib.import_module(ENGINE)
    given = {"weights": weights, "strata": strata, "clusters": clusters, "population": population}
    columns = {name: value for name, value in given.items() if isinstance(value, str)}
    arrays = {name: value for name, value in given.items() if value is not None and name not in columns}
    frame = engine.read_model_frame(
        data,
        formula,
        _assignments(designs, engine),
        plan=_plan_columns(columns, engine),
        latent=latent,
        missing=missing,
    )
    if frame.dropped and (plan is not None or any(np.ndim(value) for value in arrays.values())):
        raise InputError(
            f"{frame.dropped:,} rows are left out, and arrays of the sampling cannot follow",
            hint="put weights, strata, clusters and population into the table and name their columns",
        )
    return regress_frame(frame, lonely=lonely, plan=plan, variance=variance, **arrays)


def regress_frame(
    frame: Any,
    *,
    lonely: str = "error",
    plan: SamplingPlan | None = None,
    variance: str | None = None,
    **arrays: Any,
) -> Regression:
    """Fit a table that an engine made ready; ``arrays`` hold what its own columns do not say about the sampling."""
    n = len(frame.versions[0])
    sampled = sampled_rows(n, plan, lonely=lonely, **{**_plan(frame.plan), **arrays})
    found = (
        _on_randomized(frame, sampled, variance) if frame.predictor is not None else _plain(frame, sampled, variance)
    )
    return replace(
        found, outcome=frame.outcome_name, formula=frame.formula, dropped=frame.dropped, frame=frame.matrix_of
    )


def _plain(frame: Any, sampled: Sampled, variance: str | None) -> Regression:
    evidence = _evidence(frame.outcome)
    return regress_outcome(
        frame.versions[0],
        frame.names,
        evidence,
        sampled,
        designs=frame.outcome.designs,
        variance=variance,
        with_ones=False,
    )


def regress_open(frame: Any) -> Regression:
    """Fit a table none of whose columns was randomized: an ordinary regression, by the same code."""
    n = len(frame.versions[0])
    sampled = sampled_rows(n, None, **_plan(frame.plan))
    if frame.outcome_kind == "numbers":
        alone = Evidence.direct(np.zeros(n, dtype=np.intp), Categories.of(["all"]))
        x = Randomized(alone, frame.versions, frame.names, np.zeros((n, 0)), (), "")
        found = regress_linear(frame.outcome, x, sampled, designs=None)
    else:
        evidence = Evidence.direct(frame.outcome, frame.outcome_categories)
        found = regress_outcome(
            frame.versions[0], frame.names, evidence, sampled, designs=None, variance=None, with_ones=False
        )
    return replace(
        found, outcome=frame.outcome_name, formula=frame.formula, dropped=frame.dropped, frame=frame.matrix_of
    )


def _on_randomized(frame: Any, sampled: Sampled, variance: str | None) -> Regression:
    x = Randomized(
        _evidence(frame.predictor),
        frame.versions,
        frame.names,
        frame.latent,
        frame.latent_names,
        frame.predictor_name,
    )
    designs = frame.predictor.designs
    if frame.outcome_kind == "numbers":
        if variance not in (None, "sandwich"):
            raise ParameterError(f"variance = {variance!r} for a linear regression", hint="it is always the sandwich")
        return regress_linear(frame.outcome, x, sampled, designs=designs)
    if frame.outcome_kind == "reports":
        outcome = _evidence(frame.outcome)
        designs = (*frame.outcome.designs, *designs)
    else:
        outcome = Evidence.direct(frame.outcome, frame.outcome_categories)
    return regress_on_randomized(outcome, x, sampled, designs=designs, variance=variance)


def _evidence(column: Any) -> Evidence:
    """Of the designs that rows used: of several columns with groups not every combination need occur."""
    used, groups = np.unique(column.groups, return_inverse=True)
    return Evidence.of(column.codes, [column.designs[place] for place in used], groups, codes=True)


def _plan(plan: Mapping[str, Any]) -> dict[str, Any]:
    """What an engine read about the sampling, in the words of a regression; later stages add nothing."""
    clusters, population = plan.get("clusters", []), plan.get("population", [])
    if population and len(clusters) > 1:
        raise InputError(
            "a finite population with clusters of several stages is not taken into account in a regression",
            hint="leave out the population: standard errors are then a little too large",
        )
    found = {
        "weights": plan.get("weight"),
        "strata": plan.get("stratum"),
        "clusters": clusters[0] if clusters else None,
        "population": population[0] if population else None,
    }
    return {name: value for name, value in found.items() if value is not None}


def _assignments(designs: Mapping[str, Given], engine: Any) -> list[Any]:
    if not isinstance(designs, Mapping):
        raise WrongTypeError(
            f"designs must be a mapping from columns to designs, not {type(designs).__name__}",
            hint="write designs={'y': design}",
        )
    found = []
    for name, given in designs.items():
        for when, design in [({}, given)] if isinstance(given, Design) else _parts(given):
            check_kind(Mapping, **{"the condition of a design": when})
            check_kind(Design, **{"each of designs": design})
            conditions = [(str(column), str(value)) for column, value in when.items()]
            found.append(engine.Assignment.of(name, design, conditions))
    return found


def _parts(given: Any) -> list[tuple[Any, Any]]:
    """Designs for parts of the rows, each with the condition that the rows fulfil."""
    if isinstance(given, list | tuple):
        return pairs_of(given, "the designs of a column")
    raise WrongTypeError(
        f"each of designs must be a Design or a list of pairs, not {kind_of(given)}",
        hint="write designs={'y': design} or designs={'y': [({'sex': 'f'}, design), ...]}",
    )


def _plan_columns(columns: Mapping[str, str], engine: Any) -> Any:
    return engine.PlanColumns(
        weights=columns.get("weights"),
        strata=columns.get("strata"),
        clusters=(columns["clusters"],) if "clusters" in columns else (),
        population=(columns["population"],) if "population" in columns else (),
    )
