"""``regress``: from a table or a file, a formula and the designs of its randomized columns to a regression."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np

from maskwell.core.arguments import as_mapping, check_inclusion, check_kind, pairs_of
from maskwell.designs.design import Design
from maskwell.engines.assignments import Assignment
from maskwell.engines.formula_references import References
from maskwell.engines.model_frame import assignments_of, read_model_frame
from maskwell.errors import InputError, ParameterError
from maskwell.estimation.regression.model_table import fit_model_table
from maskwell.estimation.regression.regression_result import Regression
from maskwell.estimation.sampling.sampling_plan import SamplingPlan
from maskwell.verbs.inputs import DesignOrPath, SurveyPlan, rows_of
from maskwell.verbs.row_designs import When, designs_by_group

Designs: TypeAlias = Mapping[str, DesignOrPath | Sequence[tuple[Mapping[str, Any], DesignOrPath]]] | list[Assignment]


def regress(
    data: Any,
    formula: str,
    designs: Designs,
    *,
    weights: Any = None,
    inclusion: Any = None,
    strata: Any = None,
    clusters: Any = None,
    population: Any = None,
    replicates: str | None = None,
    replicate_method: str | None = None,
    fay: Any = None,
    lonely: str = "error",
    plan: SamplingPlan | None = None,
    latent: str | None = None,
    variance: str | None = None,
    missing: str = "error",
    reference: Any = None,
) -> Regression:
    """Regression where the outcome, a predictor or both were randomized.

    Two categories of the outcome give a logistic, more a multinomial regression; numbers, which only an outcome that
    was asked directly can be, a linear one on a randomized predictor. The last category of a design is the reference,
    unless ``reference`` names another: for a yes-or-no question coefficients are about "yes".

    Parameters
    ----------
    data
        A table of pandas, polars or Arrow, a dictionary of columns, or the path of a file.
    formula
        Such as ``"y ~ age + C(region)"``. Text columns become categories; needs the extra ``regress``. It may also
        come before the data.
    designs
        The design of each randomized column: ``{"y": design}``. Where groups of rows used different designs, a list:
        ``{"y": [({"group": 1}, first), ({"group": 2}, second)]}``. In place of a design there may be the path of its
        file, or a procedure whose parameters stand in columns: ``{"y": "warner(p=chance)"}``.
    weights, strata, clusters, population
        Names of columns, or one value for each row; the population may be one number. ``"A,B"`` names the clusters or
        populations of two stages. See :func:`fit_logistic`.
    replicates, replicate_method, fay
        How the names of columns of replicate weights start, how they were made ("jk1", "jkn", "brr", "fay" or
        "bootstrap"), and Fay's factor: the model is fitted with each of them, and standard errors come from the spread.
    inclusion
        The chance with which each row was drawn, in place of weights.
    plan
        A sampling plan in place of these, with one value for each row of the table.
    latent
        For a randomized predictor: what its shares depend on, such as ``"~ age"``; by default all other terms.
    missing
        "error", or "drop" rows without a value in one of the columns.
    reference
        The category that the others are compared with: ``"never"`` where one column of the formula has it, or by
        column, ``{"region": "north"}``. Otherwise it is the last category of a design, and the first one of a column
        that was not randomized: categories of pandas, and Enum of polars, keep their order, others are sorted.

    >>> import pandas as pd
    >>> from maskwell.procedures import make_design
    >>> warner = make_design("warner", p="0.8")
    >>> table = pd.DataFrame({"evaded": ["yes"] * 225 + ["no"] * 275 + ["yes"] * 175 + ["no"] * 325,
    ...                       "place": ["town"] * 500 + ["country"] * 500})
    >>> result = regress(table, "evaded ~ place", {"evaded": warner})
    >>> result.params.round(3).to_dict()     # a quarter in the country, five twelfths in towns: twice the odds
    {'Intercept': -1.099, 'place[T.town]': 0.762}
    >>> result.predict({"place": ["town"]}).round(3)
    array([0.417])
    """
    if _is_formula(data) and not _is_formula(formula):
        data, formula = formula, data
    sampling = {
        "weights": weights,
        "inclusion": inclusion,
        "strata": strata,
        "clusters": clusters,
        "population": population,
    }
    check_kind(str, formula=formula)
    check_kind(str | None, latent=latent, variance=variance)
    named: dict[str, Any] = {name: value for name, value in sampling.items() if isinstance(value, str)}
    survey = SurveyPlan(**named, replicates=replicates, replicate_method=replicate_method, fay=fay)
    survey.check()
    columns = survey.columns()
    if replicates is not None and (plan is not None or clusters is not None or population is not None):
        raise ParameterError(
            "replicate weights with clusters, a population or a plan", hint="replicates hold all that: leave these out"
        )
    values = {name: value for name, value in sampling.items() if not isinstance(value, str | None)}
    assigned = _assigned(designs, data)
    table = read_model_frame(
        data,
        formula,
        assigned,
        plan=columns,
        latent=latent,
        missing=missing,
        reference=References.of(reference),
    )
    if table.dropped and (plan is not None or any(np.ndim(value) for value in values.values())):
        raise InputError(
            f"{table.dropped:,} rows are left out, and arrays of the sampling cannot follow",
            hint="put weights, strata, clusters and population into the table and name their columns",
        )
    if "inclusion" in values:
        if "weights" in values or columns.weights is not None:
            raise ParameterError("both weights and inclusion chances are given", hint="a weight is one over the chance")
        values["weights"] = 1 / check_inclusion(values.pop("inclusion"), len(table.versions[0]))
    rule = None
    if replicates is not None:
        told = table.plan
        rule = survey.rule_of_rows(told.get("weight"), told["replicates"], told.get("stratum"))
    fitted = fit_model_table(table, lonely=lonely, plan=plan, variance=variance, replicates=rule, **values)
    return replace(fitted, designs=tuple((",".join(one.columns), one.design) for one in assigned))


def _assigned(designs: Designs, data: Any) -> Sequence[Assignment]:
    """Columns with their designs, which a command has assigned already."""
    if isinstance(designs, list) and all(isinstance(one, Assignment) for one in designs):
        return designs
    return assignments_of({name: _designs_of(choice, data) for name, choice in as_mapping(designs, "designs").items()})


def _designs_of(choice: Any, data: Any) -> Any:
    """What a column was randomized with: paths are opened, and parameters are looked up in the data."""
    if isinstance(choice, str | os.PathLike):
        return _by_group([((), choice)], data)
    if not isinstance(choice, list | tuple):
        return choice  # a design, or something that whoever assigns designs refuses
    pairs = pairs_of(choice, "the designs of a column")
    if not any(isinstance(design, str | os.PathLike) for _, design in pairs):
        return choice
    for when, _ in pairs:
        check_kind(Mapping, **{"the condition of a design": when})
    return _by_group([(tuple((str(n), str(v)) for n, v in when.items()), design) for when, design in pairs], data)


def _by_group(choices: Sequence[tuple[When, DesignOrPath]], data: Any) -> Design | list[tuple[dict[str, str], Design]]:
    made = designs_by_group(choices, rows_of(data))
    return made[0][1] if len(made) == 1 and not made[0][0] else [(dict(when), design) for when, design in made]


def _is_formula(text: Any) -> bool:
    return isinstance(text, str) and "~" in text
