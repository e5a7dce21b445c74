"""``regress``: from a table or a file, a formula and the designs of its randomized columns to a regression."""

from __future__ import annotations

import os
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from maskwell.core.arguments import as_mapping, check_inclusion, check_kind, pairs_of
from maskwell.core.phrases import design_of, option, shorten
from maskwell.designs.design import Design
from maskwell.engines.assignments import Assignment, direct_design
from maskwell.engines.formula import read_formula, read_right_side
from maskwell.engines.formula_references import References
from maskwell.engines.model_frame import ModelFrame, assignments_of, read_model_frame
from maskwell.engines.row_sources import MemoryTable
from maskwell.engines.survey_columns import PlanColumns
from maskwell.errors import InputError, ParameterError
from maskwell.estimation.named_quantities import Asked, QuantityTerms, asked_of
from maskwell.estimation.regression.model_table import check_interval, fit_model_table
from maskwell.estimation.regression.regression_result import Regression
from maskwell.estimation.sampling.replicate_weights import ReplicateRule
from maskwell.estimation.sampling.sampling_plan import SamplingPlan
from maskwell.verbs.inputs import DesignOrPath, SurveyPlan, check_missing_codes, rows_of

if TYPE_CHECKING:
    from maskwell.release.folder.receipt import Group, Receipt
    from maskwell.verbs.row_designs import When

Designs: TypeAlias = Mapping[str, DesignOrPath | Sequence[tuple[Mapping[str, Any], DesignOrPath]]] | list[Assignment]


def regress(
    data: Any,
    formula: str,
    designs: Designs | None = None,
    *,
    receipt: Receipt | str | os.PathLike[str] | None = None,
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
    missing_codes: Any = None,
    reference: Any = None,
    combine: Any = None,
    model: str | None = None,
    interval: str | None = None,
) -> Regression:
    """Regression where the outcome, a predictor or both were randomized.

    Two categories of the outcome give a logistic, more a multinomial regression; numbers, which only an outcome that
    was asked directly can be, a linear one on a randomized predictor. The last category of a design is the reference,
    unless ``reference`` names another: for a yes-or-no question coefficients are about "yes".

    Parameters
    ----------
    data
        A table of pandas, polars, Arrow or Spark, a dictionary of columns, or the path of a file. The columns that the
        model needs are held in memory; those of Spark come to this machine, if they take at most 2 GiB.
    formula
        Such as ``"y ~ age + C(region)"``, with ``"+ (1 | firm)"`` for a random intercept. Text columns become
        categories; needs the extra ``regress``. It may also come before the data.
    designs
        The design of each randomized column: ``{"y": design}``. Where groups of rows used different designs, a list:
        ``{"y": [({"group": 1}, first), ({"group": 2}, second)]}``. In place of a design there may be the path of its
        file, or a procedure whose parameters stand in columns: ``{"y": "warner(p=chance)"}``.
    receipt
        In place of designs: the receipt of a released file, or its path. Where the release keeps the table of all
        columns of the formula, released values are taken as true ones and variances doubled, which to first order is
        the most that randomization adds; where the matrix of a column is known, it is that column's design; else it is
        refused.
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
    missing_codes
        Values that stand for a missing one, as texts or numbers: ``["NA", 99]`` in every column that is read, or by
        column, ``{"age": [98, 99]}``.
    reference
        The category that the others are compared with: ``"never"`` where one column of the formula has it, or by
        column, ``{"region": "north"}``. Otherwise it is the last category of a design, and the first one of a column
        that was not randomized: categories of pandas, and Enum of polars, keep their order, others are sorted.
    combine
        Categories of the outcome that count as one: ``{"any": ["once", "often"]}``, or ``"any=once+often"``. The
        coefficients are then about "any", against the categories that are left.
    model
        "ordinal" for an outcome whose categories come in order, from the lowest to the highest as in the design;
        "lie-detector" for the odds of being a carrier, with a chance t, the same for all, that a carrier is honest. By
        default what the outcome calls for.
    interval
        "wald" or "profile", by the profile of the likelihood, which may have no end on one side. By default Wald's, and
        the profile's for coefficients without a finite estimate, or whose log-likelihood is not a parabola. Under a
        sampling plan the profile is scaled by the design effect of the coefficient.

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
    data = data if missing_codes is None else rows_of(data, missing_codes)
    sampling = {
        "weights": weights,
        "inclusion": inclusion,
        "strata": strata,
        "clusters": clusters,
        "population": population,
    }
    check_kind(str, formula=formula)
    check_kind(str | None, latent=latent, variance=variance, model=model, interval=interval)
    _check_sources(designs, receipt, model)
    told = {**sampling, "replicates": replicates, "plan": plan}
    released = None if receipt is None else _released(data, formula, receipt, told, latent)
    named: dict[str, Any] = {name: value for name, value in sampling.items() if isinstance(value, str)}
    survey = SurveyPlan(**named, replicates=replicates, replicate_method=replicate_method, fay=fay)
    survey.check()
    columns = survey.columns()
    if replicates is not None:
        _check_with_replicates(told)
    rows = rows_of(data)
    assigned = _assigned(designs, rows) if released is None else released.assignments
    check_missing_codes(missing_codes, assigned)
    table = read_model_frame(
        rows,
        formula,
        assigned,
        plan=columns,
        latent=latent,
        missing=missing,
        reference=References.of(reference),
        combine=None if combine is None else partial(_groups, asked_of("combine", combine)),
    )
    values = _sampling_values(sampling, table, columns, plan)
    rule = None if replicates is None else _rule_of_rows(survey, table.plan)
    how: dict[str, Any] = {"lonely": lonely, "plan": plan, "variance": variance, "replicates": rule, "model": model}
    check_interval(interval, "a released file" if released is not None and released.doubled else "")
    fitted = fit_model_table(table, **how, interval=interval, **values)
    fitted = fitted if released is None else released.applied_to(fitted, len(table.versions[0]) + table.dropped)
    return replace(fitted, designs=tuple((",".join(one.columns), one.design) for one in assigned))


def _check_sources(designs: Designs | None, receipt: Any, model: str | None) -> None:
    """Raise unless designs or a receipt say how columns were randomized, and not both."""
    if (designs is None) == (receipt is None):
        design, other = option("design"), option("receipt")
        both = f"neither {design} nor {other}" if designs is None else f"both {design} and {other}"
        raise ParameterError(both, hint="give one of them: it says how columns were randomized")
    if receipt is not None and model is not None:
        raise ParameterError(
            f"{option('model')} with {option('receipt')}",
            hint="give the designs of the columns, or leave the model out",
        )


def _check_with_replicates(sampling: Mapping[str, Any]) -> None:
    """Raise for what replicate weights hold already."""
    if any(sampling[name] is not None for name in ("plan", "clusters", "population")):
        raise ParameterError(
            "replicate weights with clusters, a population or a plan", hint="replicates hold all that: leave these out"
        )


def _rule_of_rows(survey: SurveyPlan, by_row: Mapping[str, Any]) -> ReplicateRule:
    return survey.rule_of_rows(by_row.get("weight"), by_row["replicates"], by_row.get("stratum"))


def _sampling_values(
    sampling: Mapping[str, Any], table: ModelFrame, columns: PlanColumns, plan: SamplingPlan | None
) -> dict[str, Any]:
    """What is told of the sampling by values instead of names of columns, with weights in place of chances."""
    values = {name: value for name, value in sampling.items() if not isinstance(value, str | None)}
    if table.dropped and (plan is not None or any(np.ndim(value) for value in values.values())):
        raise InputError(
            f"{table.dropped:,} rows are left out, and arrays of the sampling cannot follow",
            hint="put weights, strata, clusters and population into the table and name their columns",
        )
    if "inclusion" in values:
        if "weights" in values or columns.weights is not None:
            raise ParameterError("both weights and inclusion chances are given", hint="a weight is one over the chance")
        values["weights"] = 1 / check_inclusion(values.pop("inclusion"), len(table.versions[0]))
    return values


def _groups(asked: Sequence[Asked], labels: Sequence[Hashable]) -> list[tuple[str, list[int]]]:
    """The categories that count as one, by their codes; ParameterError unless two categories or more are left."""
    if not labels:
        raise ParameterError(f"{option('combine')} for an outcome in numbers", hint="leave it out")
    sums = [(one.name, one.factors) for one in QuantityTerms.of(asked, labels).combinations if one.factors is not None]
    times = np.sum([factors for _, factors in sums], axis=0)
    if times.max() > 1:
        twice = shorten(repr(str(labels[int(times.argmax())])), 24)
        raise ParameterError(f"{option('combine')}: {twice} is in two combinations", hint="a category can be in one")
    if len(sums) == 1 and times.min() > 0:
        raise ParameterError(
            f"{option('combine')} {shorten(sums[0][0], 24)}: it holds all categories, so nothing is left to explain",
            hint="leave out the category that it is to be compared with",
        )
    return [(name, np.flatnonzero(factors).tolist()) for name, factors in sums]


@dataclass(frozen=True)
class _Released:
    """How a regression of a released file is fitted.

    Attributes
    ----------
    assignments
        The designs of columns whose matrices are known, or that of an outcome that is taken as it stands.
    doubled
        Whether variances at most double.
    note
        What a reader should know.
    rows
        Records of the released file, all of which are needed where a table is kept; None where a part will do.
    """

    assignments: Sequence[Assignment]
    doubled: bool
    note: str
    rows: int | None = None

    def applied_to(self, fit: Regression, rows: int) -> Regression:
        """The fit with the errors that it has from a released file, of which so many rows were read."""
        from maskwell.release.analysis.release_estimates import OTHER_ROWS

        factor = 2 - 1 / fit.n if self.doubled else 1.0
        other = () if self.rows in (None, rows) else (OTHER_ROWS.format(self.rows, rows),)
        apart = KEPT_LIKELIHOOD if self.doubled else fit.incomparable
        profiles = None if self.doubled else fit.profiles
        flags = (*fit.flags, self.note, *other)
        return replace(fit, covariance=factor * fit.covariance, flags=flags, incomparable=apart, profiles=profiles)


KEPT_MODEL = (
    "the release keeps the table of these columns on average: standard errors are 1.42 times the usual ones, an upper "
    "bound in large files"
)
KEPT_LIKELIHOOD = "released values stand for true ones"
KNOWN_MODEL = "matrices of the receipt are the designs of {}"
OPEN_MODEL = "these columns are those of the original file"


def _released(
    data: Any,
    formula: str,
    receipt: Receipt | str | os.PathLike[str],
    sampling: Mapping[str, Any],
    latent: str | None,
) -> _Released:
    """From what the receipt tells about the columns of the formulas; ParameterError where that is not enough."""
    from maskwell.release.analysis.table_routes import check_drawn_apart, check_unmoved
    from maskwell.release.stages.stage import acting, is_kept
    from maskwell.verbs.release_estimate import receipt_of

    receipt, parsed = receipt_of(receipt), read_formula(formula)
    more = () if latent is None else read_right_side(latent)[1]
    columns = [*dict.fromkeys((parsed.outcome, *parsed.columns, *more))]
    groups = [group for group in receipt.groups if {*group.moved} & {*columns}]
    check_drawn_apart(acting(receipt.groups, columns))
    kept = is_kept(receipt.groups, columns) and not any(group.invariance == "weights" for group in groups)
    plan = [name for name, value in sampling.items() if value is not None]
    check_unmoved(sampling, {name for group in receipt.groups for name in group.moved})
    if kept and groups and plan:
        raise ParameterError(
            f"{option(plan[0])} with columns whose matrix is withheld or worked out from the file",
            hint="leave it out: errors are known for records that were drawn one by one",
        )
    if kept:
        still = [Assignment((parsed.outcome,), direct_design(rows_of(data), parsed.outcome))]
        moved = any(group.method != "swap" for group in groups)
        return _Released(still, moved, KEPT_MODEL if moved else OPEN_MODEL, receipt.rows if groups else None)
    made = [_known(group, columns) for group in groups]
    return _Released(made, False, KNOWN_MODEL.format(", ".join(one.columns[0] for one in made)))


def _known(group: Group, columns: Sequence[str]) -> Assignment:
    """The design of a column of which the receipt has the matrix, if it depends on nothing else."""
    from maskwell.release.folder.receipt import labelled_as

    names = ", ".join(name for name in group.moved if name in columns)
    if group.design is None:
        raise ParameterError(
            f"this release does not keep the columns of the formula together, and the matrix of {names} is withheld",
            hint="take columns of one kept table, which the README of the release names, or ask the data holder",
        )
    if group.within or len(group.variables) > 1 or group.linked:
        raise ParameterError(
            f"{names} {'was' if ',' not in names else 'were'} randomized together with other columns or within them",
            hint=f"give the design of each group of rows: {design_of('y[region=north]', 'north.json')}",
        )
    return Assignment(group.variables, labelled_as(group.design, group.states, group.outputs))


def _assigned(designs: Any, rows: str | MemoryTable) -> Sequence[Assignment]:
    """Columns with their designs, which a command has assigned already."""
    if isinstance(designs, list) and all(isinstance(one, Assignment) for one in designs):
        return designs
    return assignments_of({name: _designs_of(choice, rows) for name, choice in as_mapping(designs, "designs").items()})


def _designs_of(choice: Any, rows: str | MemoryTable) -> Any:
    """What a column was randomized with: paths are opened, and parameters are looked up in the data."""
    if isinstance(choice, str | os.PathLike):
        return _by_group([((), choice)], rows)
    if not isinstance(choice, list | tuple):
        return choice  # a design, or something that whoever assigns designs refuses
    pairs = pairs_of(choice, "the designs of a column")
    if not any(isinstance(design, str | os.PathLike) for _, design in pairs):
        return choice
    for when, _ in pairs:
        check_kind(Mapping, **{"the condition of a design": when})
    return _by_group([(tuple((str(n), str(v)) for n, v in when.items()), design) for when, design in pairs], rows)


def _by_group(
    choices: Sequence[tuple[When, DesignOrPath]], rows: str | MemoryTable
) -> Design | list[tuple[dict[str, str], Design]]:
    from maskwell.verbs.row_designs import designs_by_group

    made = designs_by_group(choices, rows)
    return made[0][1] if len(made) == 1 and not made[0][0] else [(dict(when), design) for when, design in made]


def _is_formula(text: Any) -> bool:
    return isinstance(text, str) and "~" in text
