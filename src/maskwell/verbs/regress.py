"""``regress``: from a table or a file, a formula and the designs of its randomized columns to a regression."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from maskwell.core.arguments import Real, check_kind
from maskwell.core.phrases import Printed, design_of, in_words, listed, option, shorten
from maskwell.core.verdicts import at_most
from maskwell.engines.assignments import Assignment, direct_design
from maskwell.engines.formula import read_formula, read_right_side
from maskwell.engines.model_frame import read_model_frame
from maskwell.engines.model_predictors import References
from maskwell.engines.rows import Rows
from maskwell.errors import ParameterError
from maskwell.estimation.asked_quantities import Asked, QuantityTerms, asked_of
from maskwell.estimation.regression.model_table import check_interval, fit_model_table
from maskwell.estimation.regression.regression_result import Regression
from maskwell.estimation.sampling.sampling_description import Sampling
from maskwell.notes import Note
from maskwell.verbs.inputs import Designs, assignments_of, check_missing_codes
from maskwell.verbs.sampled_rows import SampledRows, check_by_rows

if TYPE_CHECKING:
    from maskwell.microdata.folder.receipt import Group, Receipt
    from maskwell.verbs.described_survey import Survey


def regress(
    data: Any,
    formula: str,
    designs: Designs | None = None,
    sampling: Sampling | None = None,
    *,
    model: str | None = None,
    reference: Any = None,
    combine: Any = None,
    latent: str | None = None,
    interval: str | None = None,
    missing: str | None = None,
) -> Regression:
    """Regression where the outcome, a predictor or both were randomized.

    Two categories of the outcome give a logistic, more a multinomial regression; numbers, which only an outcome that
    was asked directly can be, a linear one on a randomized predictor. The last category of a design is the reference,
    unless ``reference`` names another: for a yes-or-no question coefficients are about "yes".

    Parameters
    ----------
    data
        A table or a file as in :func:`maskwell.estimate`. The columns that the model needs are held in memory; those
        of Spark come to this machine, if they take at most 2 GiB.
    formula
        Such as ``"y ~ age + C(region)"``, with ``"+ (1 | firm)"`` for a random intercept. Text columns become
        categories. It may also come before the data.
    designs
        As in :func:`maskwell.estimate`; or a procedure with parameters in columns: ``{"y": "warner(p=chance)"}``.
    sampling
        With replicate weights the model is fitted with each of them, and standard errors come from the spread.
    latent
        For a randomized predictor: what its shares depend on, such as ``"~ age"``; by default all other terms.
    missing
        "error", or "drop" rows without a value in one of the columns.
    reference
        The category that the others are compared with: ``"never"`` where one column of the formula has it, or by
        column, ``{"region": "north"}``. Otherwise it is the last category of a design, and the first one of a column
        that was not randomized: categories of pandas, and Enum of polars, keep their order, others are sorted.
    combine
        Categories of the outcome that count as one: ``{"any": ["once", "often"]}``, or ``"any=once+often"``. The
        coefficients are then about "any", against the categories that are left.
    model
        "ordinal" for categories in order, from the lowest to the highest as in the design; "lie-detector" for the odds
        of being a carrier, with the same chance for all that a carrier is honest; else what the outcome calls for.
    interval
        "wald" or "profile", by the profile of the likelihood, which may have no end on one side. By default Wald's, and
        the profile's for coefficients without a finite estimate, or whose log-likelihood is not a parabola. Under a
        sampling plan the profile is scaled by the design effect of the coefficient.

    >>> import pandas as pd
    >>> from maskwell.verbs.design import design
    >>> warner = design("warner", p="0.8")
    >>> table = pd.DataFrame({"evaded": ["yes"] * 225 + ["no"] * 275 + ["yes"] * 175 + ["no"] * 325,
    ...                       "place": ["town"] * 500 + ["country"] * 500})
    >>> result = regress(table, "evaded ~ place", {"evaded": warner})
    >>> result.params.round(3).to_dict()     # a quarter in the country, five twelfths in towns: twice the odds
    {'Intercept': -1.099, 'place[T.town]': 0.762}
    >>> result.predict({"place": ["town"]}).round(3)
    array([0.417])
    """
    from maskwell.verbs.described_survey import Survey

    if _is_formula(data) and not _is_formula(formula):
        data, formula = formula, data
    survey = Survey(data, designs, Sampling() if sampling is None else sampling, missing=missing)
    asked = Model(model=model, reference=reference, combine=combine, latent=latent, interval=interval)
    return fit(survey, formula, asked)


@dataclass(frozen=True)
class Model:
    """What a regression is to be, besides its formula: the arguments of :meth:`maskwell.Survey.regress`."""

    model: str | None = None
    reference: Any = None
    combine: Any = None
    latent: str | None = None
    variance: str | None = None
    interval: str | None = None

    def __post_init__(self) -> None:
        texts = {name: getattr(self, name) for name in ("latent", "variance", "model", "interval")}
        check_kind(str | None, **texts)


def fit(survey: Survey, formula: str, asked: Model, *, every: bool = True) -> Regression:
    """Fit a model to a survey; ``every`` says that each of its designs must be of a column of the model."""
    check_kind(str, formula=formula)
    if survey.designs is None and survey.receipt is None:
        raise ParameterError("neither-design-nor-receipt")
    if survey.receipt is not None and asked.model is not None:
        raise ParameterError("model-with-receipt")
    sampled = SampledRows.of(survey.rows, survey.sampling)
    told = {name: sampled.named[name] for name in TOLD}
    check_by_rows(survey.sampling, "a regression")
    rows = sampled.rows
    released = None if survey.receipt is None else _released(rows, formula, survey.receipt, told, asked)
    assigned: Sequence[Assignment] = assignments_of(survey.designs, rows) if released is None else released.assignments
    if not every:
        parsed = read_formula(formula, random=True)
        latent = () if asked.latent is None else read_right_side(asked.latent)[1]
        needed = {parsed.outcome, *parsed.columns, *latent}
        assigned = [one for one in assigned if {*one.columns} & needed]
    check_missing_codes(survey.missing_codes, assigned)
    table = read_model_frame(
        rows,
        formula,
        assigned,
        roles=sampled.columns(),
        latent=asked.latent,
        missing=survey.missing or "error",
        randomized_columns=bool(assigned) or released is None,
        reference=References.of(asked.reference),
        combine=None if asked.combine is None else partial(_groups, asked_of("combine", asked.combine)),
    )
    how: dict[str, Any] = {"lonely": survey.sampling.lonely, "variance": asked.variance, "model": asked.model}
    if survey.sampling.replicates is not None:
        by_row = table.plan
        how["replicates"] = sampled.rule_of_rows(by_row.get("weight"), by_row["replicates"], by_row.get("stratum"))
    check_interval(asked.interval, "a released file" if released is not None and released.doubled else "")
    fitted = fit_model_table(table, **how, interval=asked.interval)
    fitted = fitted if released is None else released.applied_to(fitted, len(table.versions[0]) + table.dropped)
    designs = tuple((",".join(one.columns), one.design) for one in assigned)
    return replace(fitted, source=replace(fitted.source, designs=designs))


TOLD = ("weights", "inclusion", "strata", "clusters", "population", "replicates")


def _groups(asked: Sequence[Asked], labels: Sequence[Hashable]) -> list[tuple[str, list[int]]]:
    """The categories that count as one, by their codes; ParameterError unless two categories or more are left."""
    if not labels:
        raise ParameterError("combine-for-an-outcome-in-numbers")
    sums = [(one.name, one.factors) for one in QuantityTerms.of(asked, labels).combinations]
    times = np.sum([factors for _, factors in sums], axis=0)
    if times.max() > 1:
        twice = shorten(repr(str(labels[int(times.argmax())])), 24)
        raise ParameterError("combine-is-in-two-combinations", twice=twice)
    if len(sums) == 1 and times.min() > 0:
        raise ParameterError("combine-it-holds-all-categories-so", sum=shorten(sums[0][0], 24))
    return [(name, np.flatnonzero(factors).tolist()) for name, factors in sums]


@dataclass(frozen=True)
class _Released:
    """How a regression of a released file is fitted, and a note for its reader."""

    assignments: Sequence[Assignment]  # of columns with known matrices, or of an outcome that is taken as it stands
    doubled: bool  # whether variances at most double
    note: str
    rows: int | None = None  # records of the file, all of which a kept table needs; None where a part will do
    bounded: Callable[[Regression], Real] | None = None  # at most the bias of each coefficient, of a table not kept

    def applied_to(self, fit: Regression, rows: int) -> Regression:
        """The fit with the errors that it has from a released file, of which so many rows were read."""
        from maskwell.microdata.analysis.release_estimates import OTHER_ROWS

        factor = 2 - 1 / fit.n if self.doubled else 1.0
        other = () if self.rows in (None, rows) else (OTHER_ROWS.format(self.rows, rows),)
        apart = KEPT_LIKELIHOOD if self.doubled else fit.incomparable
        profiles = None if self.doubled else fit.profiles
        flags = (*fit.flags, self.note, *other)
        search = replace(fit.search, incomparable=apart)
        made = replace(fit, covariance=factor * fit.covariance, flags=flags, search=search, profiles=profiles)
        return made if self.bounded is None else _with_bias(made, self.bounded(fit))


def _with_bias(fit: Regression, bias: Real) -> Regression:
    """A fit with bounds of its bias; ParameterError where they are above the standard errors of all slopes."""
    intercept = np.array([term == "Intercept" or term.endswith(": Intercept") for term in fit.terms])
    known = np.isfinite(fit.standard_error)
    slopes = np.flatnonzero(~intercept & known) if not intercept.all() else np.arange(len(intercept))
    wide = [j for j in slopes.tolist() if not at_most(bias[j], fit.standard_error[j])]
    if wide and len(wide) == len(slopes):
        first = min(wide, key=lambda j: bias[j] / fit.standard_error[j])
        raise ParameterError(
            "regression-bias-above-the-error",
            term=shorten(fit.terms[first], 30),
            bias=Printed(float(bias[first])),
            error=Printed(float(fit.standard_error[first])),
            more=", or limit extreme outcomes" if fit.family == "linear" else "",
        )
    named = [fit.terms[j] for j in wide]
    more = (Note("regression-bias-is-large", terms=listed(named, len(named), 60)),) if named else ()
    return replace(fit, bias=bias, flags=(*fit.flags, *more))


KEPT_MODEL = (
    "the release preserves the table of these columns on average: standard errors are 1.42 times the usual ones, an"
    " upper bound in large files"
)
BOUNDED_MODEL = (
    "the release does not preserve the table of these columns: intervals and p-values allow for a bias, to first order;"
    " standard errors are 1.42 times the usual ones"
)
KEPT_LIKELIHOOD = "released values are used as true ones"
KNOWN_MODEL = "matrices of the receipt are the designs of {}"
OPEN_MODEL = "these columns are those of the original file"


def _released(
    data: Rows,
    formula: str,
    receipt: Receipt,
    sampling: Mapping[str, Any],
    asked: Model,
) -> _Released:
    """From what the receipt records about the columns of the formulas; ParameterError where that is not enough."""
    from maskwell.microdata.analysis.table_routes import check_drawn_apart, check_unmoved
    from maskwell.microdata.stages.stage import acting, is_kept

    parsed = read_formula(formula)
    more = () if asked.latent is None else read_right_side(asked.latent)[1]
    columns = [*dict.fromkeys((parsed.outcome, *parsed.columns, *more))]
    groups = [group for group in receipt.groups if {*group.moved} & {*columns}]
    check_drawn_apart(acting(receipt.groups, columns))
    kept = is_kept(receipt.groups, columns) and not any(group.invariance == "weights" for group in groups)
    plan = [name for name, value in sampling.items() if value is not None]
    check_unmoved(sampling, {name for group in receipt.groups for name in group.moved})
    if kept and groups and plan:
        raise ParameterError("with-columns-whose-matrix-is-withheld", plan_option=option(plan[0]))
    if kept:
        still = _as_released(data, parsed.outcome, asked)
        moved = any(group.method != "swap" for group in groups)
        return _Released(still, moved, KEPT_MODEL if moved else OPEN_MODEL, receipt.rows if groups else None)
    if any(group.design is None for group in groups):
        names = in_words([name for group in groups for name in group.moved if name in columns])
        if plan or asked.latent is not None or any(group.most_changed >= 1 for group in groups):
            raise ParameterError("this-release-does-not-keep", names=names)
        still = _as_released(data, parsed.outcome, asked)
        bounded = partial(_bias, data, receipt, columns, names)
        return _Released(still, True, BOUNDED_MODEL, receipt.rows, bounded)
    made = [_known(group, columns) for group in groups]
    return _Released(made, False, KNOWN_MODEL.format(", ".join(one.columns[0] for one in made)))


MOST_CODES = 10  # different numbers of an outcome that may be codes of categories


def _as_released(data: Rows, outcome: str, asked: Model) -> list[Assignment]:
    """The outcome by its categories, taken as it stands; none of more than a few numbers, which are measured."""
    from maskwell.engines.cell_counts import count_rows
    from maskwell.microdata.analysis.regression_bounds import numbers_of

    with data.open() as source:
        labels = count_rows(source, str(data), [(outcome,)])[0].levels[0]
    numbers = numbers_of([label for label in labels if label is not None])
    if numbers is not None and len(numbers) > MOST_CODES and not asked.combine and not asked.reference:
        return []
    return [Assignment((outcome,), direct_design(data, outcome))]


def _bias(data: Rows, receipt: Receipt, columns: Sequence[str], names: str, fit: Regression) -> Real:
    from maskwell.microdata.analysis.regression_bounds import MOST_CELLS, bias_of_regression

    bias = bias_of_regression(data, receipt, fit, columns)
    if bias is None:
        raise ParameterError("no-bound-for-this-regression", names=names, most=MOST_CELLS)
    return bias


def _known(group: Group, columns: Sequence[str]) -> Assignment:
    """The design of a column of which the receipt has the matrix, if it depends on nothing else."""
    from maskwell.microdata.folder.receipt import labelled_as

    names = ", ".join(name for name in group.moved if name in columns)
    if group.design is None:
        raise ParameterError("this-release-does-not-keep", names=names)
    if group.within or len(group.variables) > 1 or group.linked:
        raise ParameterError(
            "randomized-together-with-other-columns",
            names=names,
            words="was" if "," not in names else "were",
            design_of=design_of("y[region=north]", "north.json"),
        )
    return Assignment(group.variables, labelled_as(group.design, group.states, group.outputs))


def _is_formula(text: Any) -> bool:
    return isinstance(text, str) and "~" in text
