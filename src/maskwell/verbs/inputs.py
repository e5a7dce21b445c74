"""What users hand to a verb: designs or their files, demands in any language, categories, names of columns."""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypedDict, Union

import numpy as np

from maskwell.core.arguments import as_count, check_kind, kind_of
from maskwell.core.categories import Categories
from maskwell.core.exact import Number
from maskwell.core.phrases import listed, option
from maskwell.core.report_data import Counts
from maskwell.designs.design import Design, too_few
from maskwell.designs.wire import read_design
from maskwell.engines.rows import Rows
from maskwell.errors import LabelError, ParameterError, UnknownCategoryError, WrongTypeError
from maskwell.privacy.criteria import DEMANDS, Demand

if TYPE_CHECKING:
    from maskwell.engines.assignments import Assignment


DesignOrPath: TypeAlias = Design | str | os.PathLike[str]  # a design, or the path of a design file
LANGUAGES = (*DEMANDS, "curves")
"""The words in which a demand is stated; ``rho`` takes two numbers, ``curves`` the path of a table."""

DEMAND_WORDS = (*LANGUAGES, "between", "closed")  # these, and the words that go with them


class DemandWords(TypedDict, total=False):
    """A demand as keywords of a verb: at most one of :data:`LANGUAGES`, with ``closed`` and ``between``."""

    gamma: Number | None
    epsilon: Number | None
    beta: Number | None
    bayes_factor: Number | None
    rho: tuple[Number, Number] | None
    curves: str | None
    between: str | None
    closed: bool


def read_demand(demand: Demand | None, words: Mapping[str, Any]) -> Demand | None:
    """The demand, or the one that words such as ``epsilon=1`` state; None without either."""
    stated = check_words(words)
    if demand is not None and stated:
        raise ParameterError("demand-and-are-two-demands", stated=", ".join(stated))
    closed = bool(words.get("closed"))
    for name, value in stated.items():
        if name == "curves":
            return _curves_demand(value, between=words.get("between") or "steps", closed=closed)
        if name != "rho":
            return DEMANDS[name](value)
        if not isinstance(value, tuple | list) or len(value) != 2:
            raise ParameterError("rho-takes-two-numbers-for", rho=value)
        return DEMANDS[name](*value, closed=closed)
    return demand


def check_words(words: Mapping[str, Any]) -> dict[str, Any]:
    """The word that states a demand, if any, with its value; an error where words do not go together."""
    unknown = [name for name in words if name not in DEMAND_WORDS]
    if unknown:
        raise TypeError(f"unexpected keyword argument {unknown[0]!r}")
    stated = {name: words[name] for name in LANGUAGES if words.get(name) is not None}
    if len(stated) > 1:
        names = " and ".join(map(option, stated))
        raise ParameterError("are-two-demands", names=names)
    if words.get("closed") and not stated.keys() & {"rho", "curves"}:
        raise ParameterError("closed-without-rho-or-curves")
    if words.get("between") and "curves" not in stated:
        raise ParameterError("between-without-curves")
    return stated


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
    return ParameterError("needs-a-privacy-demand-such", what=what, languages=", ".join(map(option, LANGUAGES)))


def read_categories(categories: Categories | Iterable[Hashable] | None, k: Number | None = None) -> Categories | None:
    """Categories from their labels, or numbered ones from how many there are; None without either."""
    if categories is None:
        if k is None:
            return None
        if (count := as_count(k, "k")) < 2:
            raise too_few(count)
        return Categories.numbered(count)
    labels = categories if isinstance(categories, Categories) else Categories.of(categories)
    if k is not None and as_count(k, "k") != len(labels):
        raise ParameterError("k-and-categories", k=k, labels_count=len(labels))
    return labels


@dataclass(frozen=True)
class When:
    """A design for the rows where columns have these values: ``When({"wave": 2}, design)``.

    Attributes
    ----------
    rows
        The values of some columns, by their names. Values match those of the table by their text.
    design
        The design of these rows: a design, the path of its file, or a procedure whose parameters are in columns,
        such as ``"warner(p=chance)"``.
    """

    rows: Mapping[str, Any]
    design: DesignOrPath

    def __post_init__(self) -> None:
        check_kind(Mapping, rows=self.rows)
        if not self.rows:
            raise ParameterError("when-needs-a-column")

    @property
    def group(self) -> tuple[tuple[str, str], ...]:
        """The columns and the texts of their values."""
        return tuple((str(name), str(value)) for name, value in self.rows.items())


Designs: TypeAlias = Union[Mapping[Any, DesignOrPath | When | Sequence[When] | None], "Sequence[Assignment]"]
"""The design of each column, or several ``When``; None for a column that was asked directly."""

Names: TypeAlias = str | Sequence[str] | None

_WITH_GROUP = re.compile(r'(.+?)\[((?:[^\[\]"]|"(?:[^"]|"")*")+)\]')
CALLED = re.compile(r"\s*([a-z]+(?:-[a-z]+)*)\s*\((.*)\)\s*", re.DOTALL)
"""A procedure with its parameters, such as ``warner(p=p1)``."""

_QUOTED_VALUE = re.compile(r'(^|,)\s*([^",=]+)="((?:[^"]|"")*)"')


def check_missing_codes(missing_codes: Any, assignments: Iterable[Assignment], *, reports: bool = True) -> None:
    """Raise where a code of missing values is a report of a design, or else a true category."""
    if missing_codes is None:
        return
    from maskwell.engines.assignments import expected_categories
    from maskwell.engines.missing_codes import MissingCodes

    MissingCodes.of(missing_codes).check_no_category(expected_categories(assignments, reports=reports))


def assignments_of(designs: Designs | Design | None, rows: Rows | None = None) -> list[Assignment]:
    """Columns with their designs, from ``{"answer": design}``; columns that were asked directly are left out."""
    from maskwell.engines.assignments import Assignment

    if designs is None:
        return []
    if isinstance(designs, Mapping):
        typed = [
            (_column_name(columns), group, design)
            for columns, choice in designs.items()
            if choice is not None
            for group, design in _choices(choice)
        ]
        return assigned(typed, rows)
    if isinstance(designs, list | tuple) and all(isinstance(one, Assignment) for one in designs):
        return list(designs)
    one = isinstance(designs, Design)
    raise WrongTypeError(
        "designs-must-be-a-dict-column",
        hint='name the column of each design: {"answer": design}' + "; or design.randomize(values)" * one,
        designs_kind="a design" if one else kind_of(designs),
    )


def direct_columns(designs: Designs | Design | None) -> tuple[str, ...]:
    """The columns that were asked directly: those without a design."""
    described = designs if isinstance(designs, Mapping) else {}
    return tuple(_column_name(name) for name, design in described.items() if design is None)


def _choices(choice: Any) -> list[tuple[tuple[tuple[str, str], ...], DesignOrPath]]:
    """The designs of a column, each with the group of rows that used it."""
    if isinstance(choice, When):
        return [(choice.group, choice.design)]
    if isinstance(choice, list | tuple):
        if not choice or not all(isinstance(one, When) for one in choice):
            raise WrongTypeError("several-designs-of-a-column-must")
        return [(one.group, one.design) for one in choice]
    return [((), choice)]


def is_called(design: Any) -> bool:
    """Whether a design is written as a procedure with parameters, and is not the path of a file."""
    if not isinstance(design, str) or CALLED.fullmatch(design) is None:
        return False
    try:
        return not Path(design).exists()
    except (OSError, ValueError):  # a name that no file can have
        return True


def assigned(
    typed: Sequence[tuple[str, Sequence[tuple[str, str]], DesignOrPath]], rows: Rows | None
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


def _column_name(columns: Any) -> str:
    if isinstance(columns, tuple):
        return ",".join(columns)
    if not isinstance(columns, str):
        raise WrongTypeError("a-column-named", name=type(columns).__name__)
    return columns


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
    quoted = _QUOTED_VALUE.sub(r'\1"\2=\3"', conditions)  # quotes around a value become quotes around its whole part
    try:
        parts = split_list(quoted, option("design"))
    except LabelError as error:
        raise bad_quotes(shown) from error
    return columns, [_condition(part, shown) for part in parts]


def bad_quotes(text: str) -> ParameterError:
    """The error for a group of rows whose quotes do not match."""
    return ParameterError("design-has-a-quote", text=text)


def _condition(part: str, text: str) -> tuple[str, str]:
    name, sign, value = part.partition("=")
    if not (name and sign and value):
        raise ParameterError("design-names-no-group-of-rows", text=text, part=part)
    return name.strip(), value.strip()


def split_list(text: str, name: str) -> list[str]:
    """The parts of a list typed with commas; quotes protect a comma."""
    try:
        return [part.strip() for part in next(csv.reader([text], skipinitialspace=True, strict=True), [])]
    except csv.Error as error:
        wrong = "a quote that is not closed, or text after one" if '"' in text else "a line break"
        raise LabelError("name-text-has-wrong", name=name, text=text, wrong=wrong) from error


def counted_reports(data: Any, designs: Any) -> tuple[Counts, Design, str] | None:
    """Counts of reports with their design and the name of their column; None where the data are rows."""
    numbers = data.values() if isinstance(data, Mapping) else ()
    counted = [isinstance(n, int | float | np.integer | np.floating) and not isinstance(n, bool) for n in numbers]
    if not isinstance(data, Counts) and not (counted and all(counted)):
        return None
    name, design = "answer", designs
    if isinstance(designs, Mapping) and len(designs) == 1:
        ((name, design),) = designs.items()
    if design is None or isinstance(design, Mapping):
        raise ParameterError("designs-for-counts-of-one-column", design_count=0 if design is None else len(design))
    design = read_design(design)
    return (data if isinstance(data, Counts) else _counts_by_report(data, design)), design, str(name)


def _counts_by_report(numbers: Mapping[Any, Any], design: Design) -> Counts:
    labels = [*design.outputs.labels] if isinstance(design.outputs, Categories) else []
    unknown = [label for label in numbers if label not in labels]
    if unknown:
        raise UnknownCategoryError(
            "counts-of-reports-that-the-design",
            unknown_count=len(unknown),
            labels=listed(map(str, labels), len(labels), 60),
            values=unknown,
        )
    from maskwell.estimation.share_estimate import Sample

    return Sample.of([numbers.get(label, 0) for label in labels], design).counts


def names_of(names: Names, name: str) -> tuple[str, ...]:
    """Names of columns: none, a text with commas between them as a command takes it, or a list of whole names."""
    if names is None:
        return ()
    if isinstance(names, str):
        if not names.strip():
            raise ParameterError(
                "names-no-column", name_option=option(name), names=names, name_option_shown=option(name, "region")
            )
        return tuple(split_list(names, option(name)))
    if not isinstance(names, list | tuple) or not all(isinstance(one, str) for one in names):
        raise WrongTypeError("must-be-names-of-columns-not", name=name, type_name=type(names).__name__)
    return tuple(names)


def columns_of(columns: Names) -> list[str]:
    """The columns of one table, each named once."""
    names = list(names_of(columns, "columns"))
    if not all(names) or len({*names}) < len(names):
        shown = columns if isinstance(columns, str) else ",".join(names)
        raise ParameterError("columns-a-column-is-empty", shown=shown)
    return names


def check_progress(progress: Any) -> None:
    """Raise for a progress callback that cannot be called."""
    if progress is not None and not callable(progress):
        raise WrongTypeError("progress-must-be-a-function-not", name=type(progress).__name__)
