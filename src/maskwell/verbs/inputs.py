"""What users hand to a verb: tables or paths, designs or their files, demands in any language, names of columns.

Also how the rows were sampled: names of columns and a few choices.
"""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, Union

import numpy as np

from maskwell.core.arguments import Flag, as_count, check_kind, kind_of
from maskwell.core.categories import Categories
from maskwell.core.exact import Number, as_fraction, to_float
from maskwell.core.phrases import listed, option
from maskwell.core.report_data import Counts
from maskwell.designs.design import Design, too_few
from maskwell.designs.wire import read_design
from maskwell.errors import LabelError, ParameterError, UnknownCategoryError, WrongTypeError
from maskwell.privacy.criteria import DEMANDS, Demand

if TYPE_CHECKING:
    from maskwell.engines.assignments import Assignment
    from maskwell.engines.report_counts import SurveyTally
    from maskwell.engines.row_sources import MemoryTable
    from maskwell.engines.survey_columns import PlanColumns
    from maskwell.estimation.sampling.replicate_weights import ReplicateRule
    from maskwell.estimation.sampling.sample_stages import Lonely, Scheme


DesignOrPath: TypeAlias = Design | str | os.PathLike[str]
"""A design, or the path of a design file."""

LANGUAGES = (*DEMANDS, "curves")
"""The words in which a demand is stated; ``rho`` takes two numbers, ``curves`` the path of a table."""

DEMAND_WORDS = (*LANGUAGES, "between", "closed")
"""These, and the words that go with them."""


def read_demand(demand: Demand | None, words: Mapping[str, Any]) -> Demand | None:
    """The demand, or the one that words such as ``epsilon=1`` state; None without either.

    >>> read_demand(None, {"rho": ("0.1", "0.5")}).gamma_exact
    Fraction(9, 1)
    """
    stated = check_words(words)
    if demand is not None and stated:
        raise ParameterError(f"demand and {', '.join(stated)} are two demands", hint="give one of them")
    closed = bool(words.get("closed"))
    for name, value in stated.items():
        if name == "curves":
            return _curves_demand(value, between=words.get("between") or "steps", closed=closed)
        return DEMANDS[name](*_two(value), closed=closed) if name == "rho" else DEMANDS[name](value)
    return demand


def check_words(words: Mapping[str, Any]) -> dict[str, Any]:
    """The word that states a demand, if any, with its value; an error where words do not go together.

    ``words`` hold at most one of :data:`LANGUAGES`, with ``closed`` and ``between`` where they apply; None is none.
    """
    unknown = [name for name in words if name not in DEMAND_WORDS]
    if unknown:
        raise TypeError(f"unexpected keyword argument {unknown[0]!r}")
    stated = {name: words[name] for name in LANGUAGES if words.get(name) is not None}
    if len(stated) > 1:
        names = " and ".join(map(option, stated))
        raise ParameterError(f"{names} are two demands", hint="give one; maskwell convert turns one into another")
    if words.get("closed") and not stated.keys() & {"rho", "curves"}:
        raise ParameterError(
            f"{option('closed')} without {option('rho')} or {option('curves')}",
            hint="the other demands have no closed form",
        )
    if words.get("between") and "curves" not in stated:
        raise ParameterError(
            f"{option('between')} without {option('curves')}",
            hint="it says how the rows of a table of curves are joined",
        )
    return stated


def _two(rho: Any) -> tuple[Number, Number]:
    if not isinstance(rho, tuple | list) or len(rho) != 2:
        raise ParameterError("rho takes two numbers", hint="for instance rho=(0.1, 0.5)", rho=rho)
    return rho[0], rho[1]


def _curves_demand(path: str, *, between: str, closed: bool) -> Demand:
    from maskwell.engines.handwritten_files import read_curves

    lower, upper = read_curves(path, between=between)
    try:
        return Demand.from_curves(lower=lower, upper=upper, closed=closed, text=f"curves of {path}")
    except ParameterError as error:
        steps = f"; if rows are points: {option('between', 'lines')}" if between == "steps" else ""
        raise ParameterError(f"{path}: {error.message}", hint=f"{error.hint}{steps}", path=path) from error


def needed_demand(demand: Demand | None, words: Mapping[str, Any], what: str) -> Demand:
    """The demand, or an error that says how to state one."""
    stated = read_demand(demand, words)
    if stated is None:
        raise no_demand(what)
    return stated


def no_demand(what: str) -> ParameterError:
    """The error for a verb or a command that needs a demand."""
    return ParameterError(
        f"{what} needs a privacy demand, such as {option('epsilon', '1')}",
        hint=f"give one of {', '.join(map(option, LANGUAGES))}",
    )


def read_categories(categories: Categories | Iterable[Hashable] | None, k: Number | None = None) -> Categories | None:
    """Categories from their labels, or numbered ones from how many there are; None without either.

    >>> read_categories(["never", "once"]).labels, list(read_categories(None, 2).labels)
    (('never', 'once'), [0, 1])
    """
    if categories is None:
        if k is None:
            return None
        if (count := as_count(k, "k")) < 2:
            raise too_few(count)
        return Categories.numbered(count)
    labels = categories if isinstance(categories, Categories) else Categories.of(categories)
    if k is not None and as_count(k, "k") != len(labels):
        raise ParameterError(f"k = {k} and {len(labels)} categories", hint="leave out k where categories are named")
    return labels


Designs: TypeAlias = Union[Mapping[Any, DesignOrPath], "Sequence[Assignment]"]
Names: TypeAlias = str | Sequence[str] | None

_WITH_GROUP = re.compile(r'(.+?)\[((?:[^\[\]"]|"(?:[^"]|"")*")+)\]')
CALLED = re.compile(r"\s*([a-z]+(?:-[a-z]+)*)\s*\((.*)\)\s*", re.DOTALL)
"""A procedure with its parameters, such as ``warner(p=p1)``."""

_QUOTED_VALUE = re.compile(r'(^|,)\s*([^",=]+)="((?:[^"]|"")*)"')


def rows_of(data: Any, missing_codes: Any = None, columns: Sequence[str] | None = None) -> str | MemoryTable:
    """Where the rows are: the path of a file, or a table in memory.

    ``missing_codes`` are no values in them, or in these ``columns`` of them.

    >>> rows_of("survey.parquet"), str(rows_of({"answer": ["yes"]}))
    ('survey.parquet', 'the table')
    """
    from maskwell.engines.row_sources import MemoryTable, is_spark

    rows: str | MemoryTable
    if isinstance(data, MemoryTable):
        rows = data
    elif is_spark(data):
        from maskwell.engines.spark_frames import SparkTable

        rows = SparkTable(data)
    else:
        rows = os.fspath(data) if isinstance(data, str | os.PathLike) else MemoryTable(data)
    if missing_codes is None:
        return rows
    from maskwell.engines.missing_codes import MissingCodes, without_codes

    codes = MissingCodes.of(missing_codes)
    return without_codes(rows, codes if columns is None else codes.within(columns))


def check_missing_codes(missing_codes: Any, assignments: Iterable[Assignment], *, reports: bool = True) -> None:
    """Raise where a code that stands for a missing value is a report of a design, or else a true category."""
    if missing_codes is None:
        return
    from maskwell.engines.assignments import expected_categories
    from maskwell.engines.missing_codes import MissingCodes

    MissingCodes.of(missing_codes).check_no_category(expected_categories(assignments, reports=reports))


def assignments_of(designs: Designs | None, rows: str | MemoryTable | None = None) -> list[Assignment]:
    """Columns with their designs, from ``{"answer": design}``.

    A key names one column, several columns of a product of designs (``"first,second"`` or a tuple), or a column and a
    group of rows: ``"answer[group=1]"``. With the rows a design may be a procedure whose parameters stand in columns.
    """
    from maskwell.engines.assignments import Assignment

    if designs is None:
        return []
    if isinstance(designs, Mapping):
        return assigned([(*_columns_and_group(columns), design) for columns, design in designs.items()], rows)
    if isinstance(designs, list | tuple) and all(isinstance(one, Assignment) for one in designs):
        return list(designs)
    one = isinstance(designs, Design)
    raise WrongTypeError(
        f"designs must be a dict {{column: design}}, got {'a design' if one else kind_of(designs)}",
        hint='name the column of each design: {"answer": design}' + "; or design.randomize(values)" * one,
    )


def is_called(design: Any) -> bool:
    """Whether a design is written as a procedure with parameters, and is not the path of a file.

    >>> is_called("warner(p=p1)"), is_called("warner.json")
    (True, False)
    """
    return isinstance(design, str) and CALLED.fullmatch(design) is not None and not _is_there(design)


def _is_there(path: str) -> bool:
    try:
        return Path(path).exists()
    except (OSError, ValueError):  # a name that no file can have
        return False


def assigned(
    typed: Sequence[tuple[str, Sequence[tuple[str, str]], DesignOrPath]], rows: str | MemoryTable | None
) -> list[Assignment]:
    """Columns with the groups of rows and their designs; parameters in columns are looked up in the rows."""
    from maskwell.engines.assignments import Assignment

    if rows is None or not any(is_called(design) for _, _, design in typed):
        return [Assignment.of(columns, read_design(design), when) for columns, when, design in typed]
    from maskwell.verbs.row_designs import designs_by_group

    choices: dict[str, list[tuple[tuple[tuple[str, str], ...], DesignOrPath]]] = {}
    for columns, when, design in typed:
        choices.setdefault(columns, []).append((tuple(when), design))
    by_group = {columns: designs_by_group(held, rows) for columns, held in choices.items()}
    return [Assignment.of(columns, design, when) for columns, made in by_group.items() for when, design in made]


def _columns_and_group(columns: Any) -> tuple[str, list[tuple[str, str]]]:
    if isinstance(columns, tuple):
        return ",".join(columns), []
    if not isinstance(columns, str):
        raise WrongTypeError(f"a column named by a {type(columns).__name__}", hint="name a column by its text")
    return split_group(columns)


def split_group(text: str, whole: str | None = None) -> tuple[str, list[tuple[str, str]]]:
    """Columns and the group of rows that they are meant in; ``whole`` is what an error shows.

    >>> split_group("answer"), split_group("y[group=1,wave=a]")
    (('answer', []), ('y', [('group', '1'), ('wave', 'a')]))
    >>> split_group('y[town="Bonn, Rhine"]')[1]
    [('town', 'Bonn, Rhine')]
    """
    grouped = _WITH_GROUP.fullmatch(text)
    if grouped is None:
        if re.fullmatch(r'.+\[.*".*\]', text):
            raise bad_quotes(text)
        return text, []
    columns, conditions = grouped.groups()
    shown = text if whole is None else whole
    return columns, [_condition(part, shown) for part in _split_conditions(conditions, shown)]


def _split_conditions(conditions: str, text: str) -> list[str]:
    whole = _QUOTED_VALUE.sub(r'\1"\2=\3"', conditions)  # quotes around a value become quotes around its whole part
    try:
        return split_list(whole, option("design"))
    except LabelError as error:
        raise bad_quotes(text) from error


def bad_quotes(text: str) -> ParameterError:
    """The error for a group of rows whose quotes do not match."""
    return ParameterError(
        f"{option('design')} {text} has a quote that is not closed, or text after one",
        hint=f"""quote a value with a comma: {option("design")} 'answer[town="Bonn, Rhine"]=design.json'""",
    )


def _condition(part: str, text: str) -> tuple[str, str]:
    name, sign, value = part.partition("=")
    if not (name and sign and value):
        raise ParameterError(
            f"{option('design')} {text}: {part!r} names no group of rows",
            hint=f"name a column and its value: {option('design')} 'answer[group=1]=design.json'",
        )
    return name.strip(), value.strip()


def split_list(text: str, name: str) -> list[str]:
    """The parts of a list typed with commas; quotes protect a comma.

    >>> split_list('never, once,"often, very"', "--categories")
    ['never', 'once', 'often, very']
    """
    try:
        return [part.strip() for part in next(csv.reader([text], skipinitialspace=True, strict=True), [])]
    except csv.Error as error:
        wrong = "a quote that is not closed, or text after one" if '"' in text else "a line break"
        raise LabelError(
            f"{name} {text!r} has {wrong}", hint=f"""quote a whole label: {name} 'no,"yes, once"'"""
        ) from error


def counted_reports(data: Any, designs: Any) -> tuple[Counts, Design, str] | None:
    """Counts of reports with their design and the name of their column; None where the data are rows."""
    one = isinstance(data, Mapping) and bool(data) and all(_is_number(value) for value in data.values())
    if not isinstance(data, Counts) and not one:
        return None
    name, design = "answer", designs
    if isinstance(designs, Mapping) and len(designs) == 1:
        ((name, design),) = designs.items()
    if design is None or isinstance(design, Mapping):
        raise ParameterError(
            f"{0 if design is None else len(design)} designs for counts of one column", hint="give the one design"
        )
    design = read_design(design)
    return (data if isinstance(data, Counts) else _counts_by_report(data, design)), design, str(name)


def _counts_by_report(numbers: Mapping[Any, Any], design: Design) -> Counts:
    labels = [*design.outputs.labels] if isinstance(design.outputs, Categories) else []
    unknown = [label for label in numbers if label not in labels]
    if unknown:
        raise UnknownCategoryError(
            f"counts of {len(unknown)} reports that the design does not have",
            hint=f"its reports: {listed(map(str, labels), len(labels), 60)}",
            values=unknown,
        )
    from maskwell.estimation.share_estimate import Sample

    return Sample.of([numbers.get(label, 0) for label in labels], design).counts


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)


def names_of(names: Names, name: str) -> tuple[str, ...]:
    """Names of columns: none, a text with commas between them as a command takes it, or a list of whole names.

    >>> names_of(None, "by"), names_of("region,sex", "by"), names_of(["region, old"], "by")
    ((), ('region', 'sex'), ('region, old',))
    """
    if names is None:
        return ()
    if isinstance(names, str):
        if not names.strip():
            raise ParameterError(
                f"{option(name)} {names!r} names no column", hint=f"name one, such as {option(name, 'region')}"
            )
        return tuple(split_list(names, option(name)))
    if not isinstance(names, list | tuple) or not all(isinstance(one, str) for one in names):
        raise WrongTypeError(
            f"{name} must be names of columns, not a {type(names).__name__}",
            hint='name one column by its text, several by a list of texts: ["region", "sex"]',
        )
    return tuple(names)


def columns_of(columns: Names) -> list[str]:
    """The columns of one table, each named once."""
    names = list(names_of(columns, "columns"))
    if not all(names) or len({*names}) < len(names):
        shown = columns if isinstance(columns, str) else ",".join(names)
        raise ParameterError(
            f"{option('columns')} {shown}: a column is empty or named twice", hint="name each column once"
        )
    return names


def check_progress(progress: Any) -> None:
    """Raise for something that cannot be told how far the work is."""
    if progress is not None and not callable(progress):
        raise WrongTypeError(
            f"progress must be a function, not a {type(progress).__name__}",
            hint="give a function of two arguments: the rows so far, and the share of the work that is done",
        )


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
        columns = {
            name: getattr(self, name) for name in ("weights", "inclusion", "strata", "replicates", "replicate_method")
        }
        check_kind(str | None, **columns)
        check_kind(Flag, poisson=self.poisson)

    @property
    def named(self) -> dict[str, Any]:
        """What was said about the sampling."""
        return {one.name: value for one in fields(self) if (value := getattr(self, one.name)) != one.default}

    def columns(self, by: Names = None) -> PlanColumns:
        """The columns that are named, with those of the domains."""
        from maskwell.engines.survey_columns import PlanColumns, population_of

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
        from maskwell.estimation.sampling.sample_stages import Scheme

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

    def rule_of_rows(self, weight: Any, replicates: Any, stratum: Any) -> ReplicateRule:
        """How replicate weights of rows, shape (n, R), become a variance."""
        from maskwell.core.cells import Cells, products_of_replicates
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

        method, rho = self.replicate_method, None if self.fay is None else float(as_fraction(self.fay, "fay"))
        rank = None if tally.products is None else rank_of_replicates(tally.products)
        if method == "fay" and rho is None and tally.ratios is not None:
            rho = fay_factor(tally.ratios)
        if method == "jkn" and self.strata is None and tally.ratios is not None:
            return ReplicateRule("jkn", rscales=factors_of_replicates(tally.ratios), rank=rank)
        strata = strata_of_replicates(tally.cells) if method == "jkn" else None
        return ReplicateRule(str(method), rho=rho, strata=strata, rank=rank)


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
