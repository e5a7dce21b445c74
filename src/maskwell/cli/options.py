"""Options that several commands share, how their texts are read, and pictures, written whole or not at all."""

from __future__ import annotations

import re
import shlex
import tomllib
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, cast

import click

from maskwell.cli.help_page import HelpPage
from maskwell.cli.main import SHOW_VALUES
from maskwell.cli.output import form_said
from maskwell.errors import DataFileError, LabelError, ParameterError

if TYPE_CHECKING:
    from maskwell.core.arguments import Real
    from maskwell.core.categories import Categories
    from maskwell.designs.design import Design
    from maskwell.engines.assignments import Assignment
    from maskwell.reports.pictures.canvas import Picture
    from maskwell.reports.report import Report


F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")
Drawn: TypeAlias = dict[str, tuple[str, bytes]]
"""The files of a picture: for each what JSON calls it, its path and its content."""


DEMANDS = ("gamma", "epsilon", "beta", "bayes_factor", "rho", "curves")
LABELS_HELP = """A label with a comma goes in quotes: 'no,"yes, once"'. @FILE reads one label per line."""


_GROUPED = re.compile(r'(.+?\[(?:[^\[\]"]|"(?:[^"]|"")*")+\])=(.+)')


class FilePath(click.Path):
    """The name of a file as it was typed; shells complete it, and the code that opens it reports what is wrong."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Nothing is looked up here; what looks like an option is none, unless it is a file's place that says so."""
        if isinstance(param, click.Option) and str(value).startswith("-") and value != "-":
            name = param.opts[-1]
            raise ParameterError("this-looks-like-an-option-not", name=name, value=value)
        return value


class TwoNumbers(click.types.StringParamType):
    """Two numbers in a row; the next option is none of them."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """As it was typed: the code that needs the number reads it."""
        if str(value).startswith("-") and not any(character.isdigit() for character in str(value)):
            raise ParameterError("rho-takes-two-numbers", value=value)
        return value


def option(*names: str, **shape: Any) -> Any:
    """A field that an option fills, called as the field unless other names are given."""
    return lambda field: click.option(*(names or (f"--{field.replace('_', '-')}",)), field, **shape)


def argument(**shape: Any) -> Any:
    """A field that an argument of its name fills."""
    return lambda field: click.argument(field, **shape)


def packed(options: Mapping[str, Mapping[str, Any]]) -> Any:
    """A field that several options fill: their values, by their names."""
    keys = [name.removeprefix("--").replace("-", "_") for name in options]

    def decorate(field: str, command: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(command)
        def run(**values: Any) -> Any:
            return command(**{field: {key: values.pop(key) for key in keys}}, **values)

        for name in reversed([*options]):
            run = click.option(name, **options[name])(run)
        return run

    return lambda field: partial(decorate, field)


def shared(decorator: Callable[[F], F]) -> Any:
    """A field that an option of several commands fills."""
    return lambda _: decorator


def command(fields: type[T], name: str | None = None) -> Callable[[Callable[[T], Any]], click.Command]:
    """A command that takes one value with all its options, its own fields before inherited ones.

    The help of its options, and its examples, are in ``help.toml``.
    """

    def register(function: Callable[[T], Any]) -> click.Command:
        def run(**values: Any) -> Any:
            given = fields()
            vars(given).update(values)
            return function(given)

        run.__name__, run.__doc__ = function.__name__, function.__doc__
        decorated: Any = run
        inherited = (name for base in fields.__mro__[1:] for name in getattr(base, "__annotations__", ()))
        for field in reversed([*fields.__annotations__, *inherited]):
            decorated = getattr(fields, field)(field)(decorated)
        words = _help()[name or function.__name__]
        made = click.command(name, cls=HelpPage, epilog=example(*words["examples"]))(decorated)
        for parameter in made.params:
            if isinstance(parameter, click.Option) and parameter.help is None:
                parameter.help = words.get(str(parameter.name)) or _help()["shared"][parameter.name]
        return made

    return register


@cache
def _help() -> dict[str, dict[str, Any]]:
    return tomllib.loads(Path(__file__).with_name("help.toml").read_text(encoding="utf-8"))


def _of_several(*names: str, **shape: Any) -> Callable[[F], F]:
    """An option of several commands, with its help."""
    return click.option(*names, help=_help()["shared"][names[0].removeprefix("--").replace("-", "_")], **shape)


json_option = _of_several("--json", "as_json", is_flag=True)
show_values_option = _of_several(SHOW_VALUES, is_flag=True, expose_value=False)
_FORM = {
    "separator": ("SIGN", "Field separator of a CSV file: , ; | : tab or space"),
    "encoding": ("NAME", "Encoding of a CSV file: utf-8, windows-1252, latin-1, ..."),
    "decimal": ("SIGN", "Decimal sign of a CSV file: . or a comma"),
}
_DETECTED = " (default: detected)."


def text_form_options(*files: str) -> Callable[[F], F]:
    """Options for how CSV files are read; the paths in these parameters of the command then say so."""

    def decorate(command: F) -> F:
        @wraps(command)
        def run(*args: Any, **given: Any) -> Any:
            form = {name: given.pop(name) for name in _FORM}
            if any(value is not None for value in form.values()):
                from maskwell.engines.input_file import csv_file

                given |= {name: csv_file(given[name], **form) for name in files if given[name] is not None}
            with form_said(form):
                return command(*args, **given)

        for name, (metavar, words) in reversed(_FORM.items()):
            run = click.option(f"--{name}", metavar=metavar, help=words + _DETECTED)(run)
        return cast("F", run)

    return decorate


class OfRows:
    """The last options of commands that read a file of rows, called ``file``."""

    form: None = shared(text_form_options("file"))
    show_values: None = shared(show_values_option)
    as_json: bool = shared(json_option)


format_option = _of_several(
    "--format", "style", type=click.Choice(["text", "md", "latex", "html", "csv"]), default="text"
)
missing_option = _of_several(
    "--missing", type=click.Choice(["error", "drop", "category"]), default="error", show_default=True
)
missing_codes_option = _of_several("--missing-codes", metavar="[COL=]A,B", multiple=True)
force_option = _of_several("--force", is_flag=True)
DESIGNS: dict[str, Any] = {
    "metavar": "COL=D",
    "multiple": True,
    "help": "Column and design file; A,B=D for a product of designs or for reports of two answers, 'A[G=1]=D' for rows "
    "where G is 1 ('A[G=\"x, y\"]=D' with a comma). Repeatable.",
}
BY_ROWS = {**DESIGNS, "help": f"{DESIGNS['help']} 'A=warner(p=B)' reads the parameter of each row from column B."}
designs_option = click.option("--design", "designs", required=True, **DESIGNS)
designs_if_any_option = click.option("--design", "designs", **BY_ROWS)


def check_one_form(style: str, *, as_json: bool) -> None:
    """Raise where both JSON and a table to paste were asked for."""
    if as_json and style != "text":
        raise ParameterError("json-and-format", style=style)


def check_standard_output(*, as_json: bool, **paths: str | None) -> None:
    """Raise where both the JSON object and a file were to go to standard output; ``paths`` by option."""
    for option, path in paths.items():
        if as_json and path == "-":
            name = "-o" if option == "output" else f"--{option}"
            raise ParameterError("json-and-both-need-standard-output-write", name=name)


def example(*commands: str) -> str:
    """Commands that work when they are copied, one to a line, for the end of ``--help``."""
    return "\n".join(["\b", "Example:", *(f"  {command}" for command in commands)])


def demand_parameters() -> list[click.Option]:
    """One option for each way to state a demand."""
    return [click.Option([name], **shape) for name, shape in _demand_shapes().items()]


def demand_options() -> Any:
    """The same as a field."""
    return packed(_demand_shapes())


def _demand_shapes() -> dict[str, dict[str, Any]]:
    shapes: dict[str, dict[str, Any]] = {name: {"metavar": name[0].upper()} for name in DEMANDS}
    shapes["rho"] = {"nargs": 2, "metavar": "R1 R2", "type": TwoNumbers()}
    shapes["curves"] = {"type": FilePath(), "metavar": "FILE"}
    shapes |= {"between": {"type": click.Choice(["steps", "lines"])}, "closed": {"is_flag": True}}
    words = _help()["shared"]
    return {f"--{name.replace('_', '-')}": {**shape, "help": words[name]} for name, shape in shapes.items()}


def typed_demand(options: Mapping[str, Any]) -> str:
    """The demand as it was typed, empty without one."""
    demands = {name: options[name] for name in DEMANDS if options.get(name) is not None}
    words = [
        f"--{name.replace('_', '-')} {' '.join(value) if isinstance(value, tuple) else shlex.quote(value)}"
        for name, value in demands.items()
    ]
    words += [f"--between {options['between']}"] if options.get("between") else []
    return " ".join([*words, *(["--closed"] if options.get("closed") else [])])


def read_labels(text: str, option: str) -> list[str]:
    """Labels typed with commas, or from the lines of a file after ``@``; none of them empty."""
    if text.startswith("@"):
        return _labels_of_file(text[1:], option)
    labels = split_list(text, option)
    if "" in labels or not labels:
        raise LabelError(
            "label-is-empty", named=option, text=text, index_number=labels.index("") + 1 if labels else 1, labels=labels
        )
    return labels


def read_shares(text: str, option: str, design: Design) -> Real:
    """Shares of the categories of a design, typed with commas, shape (k,)."""
    from maskwell.designs.matrix_reading import read_shares as read

    return read(split_list(text, option), option, design.k)


def read_codes(text: str, option: str, design: Design) -> list[int]:
    """Codes of categories of a design that were named."""
    return design.inputs.typed_codes(read_labels(text, option), option)


def _labels_of_file(path: str, option: str) -> list[str]:
    from maskwell.core.documents import read_document

    hint = f"after @ comes a file with one label per line; quote a label with @: '\"@{path}\"'"
    try:
        text = read_document(path, error=DataFileError, hint=hint)
    except DataFileError as error:
        raise DataFileError(
            f"{option} @{path}: {error.message.partition(': ')[2]}", hint=error.hint, path=path
        ) from error
    lines = [line.strip() for line in text.rstrip().splitlines()]
    if "" in lines or not lines:
        raise LabelError("line-is-empty", named=option, index_number=lines.index("") + 1 if lines else 1, path=path)
    return lines


def split_list(text: str, option: str) -> list[str]:
    """The parts of a list typed with commas; quotes protect a comma."""
    from maskwell.verbs.inputs import split_list as split

    return split(text, option)


def read_categories(labels: str | None, k: str | None) -> Categories | None:
    """Categories from ``--categories`` or ``--k``, None without either."""
    from maskwell.verbs.inputs import read_categories as read

    return read(None if labels is None else read_labels(labels, "--categories"), k)


def load_design(path: str) -> Design:
    """A design file, with its path in the error."""
    from maskwell.designs.wire import read_design

    return read_design(path)


def read_assignments(texts: tuple[str, ...], file: str | None = None) -> tuple[list[Assignment], dict[str, str]]:
    """Columns with their designs, and the file of each design, from ``COL=D`` or ``COL[GROUP=VALUE]=D``."""
    from maskwell.engines.rows import Rows
    from maskwell.verbs.inputs import assigned, is_called

    typed = [_split_assignment(text) for text in texts]
    if file == "-" and any(path == "-" for _, _, path in typed):
        raise ParameterError("standard-input-cannot-be-both")
    files = {_named(columns, when): path for columns, when, path in typed if not is_called(path)}
    return assigned(typed, None if file is None else Rows.of(file)), files


def _named(columns: str, when: Sequence[tuple[str, str]]) -> str:
    """The columns and their group as they would be typed."""
    doubled = ((name, value.replace('"', '""')) for name, value in when)
    parts = [f'{name}="{value}"' if re.search(r'[,"\[\]]', value) else f"{name}={value}" for name, value in doubled]
    return columns + (f"[{','.join(parts)}]" if parts else "")


def _split_assignment(text: str) -> tuple[str, list[tuple[str, str]], str]:
    """The columns, the group of rows and the file of a design."""
    from maskwell.verbs.inputs import bad_quotes, split_group

    grouped = _GROUPED.fullmatch(text)
    if grouped:
        columns, path = grouped.groups()
        return *split_group(columns, text), path
    if re.fullmatch(r'.+\[.*".*\]=.+', text):
        raise bad_quotes(text)
    cuts = [i for i, character in enumerate(text) if character == "="]
    if not cuts or not text[: cuts[0]] or not text[cuts[-1] + 1 :]:
        column = not text.endswith(".json") if not cuts else bool(text[: cuts[0]])
        raise ParameterError("design-names-no", text=text, words="design file" if column else "column")
    best = next((cut for cut in cuts if Path(text[cut + 1 :]).is_file()), cuts[0])
    return text[:best], [], text[best + 1 :]


def plot_option(what: str) -> Callable[[F], F]:
    """``--plot`` with what it draws."""
    return click.option("--plot", type=FilePath(), metavar="FILE", help=f"Draw {what}; .svg, .png or .pdf.")


def check_plot(path: str | None, *, force: bool, inputs: Sequence[str] = ()) -> None:
    """Raise unless a picture may be written there, if one was asked for."""
    if path is None:
        return
    from maskwell.core.atomic import check_output
    from maskwell.reports.pictures.canvas import check_ending

    check_ending(path)
    check_output(path, force=force, inputs=inputs)


def plot_content(path: str | None, draw: Callable[[], Picture]) -> Drawn:
    """The drawing as its files will hold it, if one was asked for; made before anything is written."""
    pages = {} if path is None else draw().contents(path)
    return {"plot" if not page else f"plot_{page + 1}": one for page, one in enumerate(pages.items())}


def write_plot(drawn: Drawn, *, force: bool, inputs: Sequence[str] = ()) -> dict[str, str]:
    """Write a picture, if one was asked for; what JSON says about it."""
    if not drawn:
        return {}
    from maskwell.core.atomic import write_files

    return write_files(drawn, force=force, inputs=inputs)


def with_plot(report: Report, drawn: Mapping[str, Any]) -> Report:
    """What a command says, with the names of the files of the picture."""
    names = [value for name, value in drawn.items() if name.startswith("plot")]
    if not names:
        return report
    first, *others = names
    ends = others[:1] if len(others) == 1 else [*others[:1], *others[-1:]]
    further = f", with further pages in {' to '.join(ends)}" if others else ""
    return report.with_line(f"Picture: {first}{further}")


SAMPLING_OPTIONS: dict[str, dict[str, Any]] = {
    "--weights": {"metavar": "COL"},
    "--inclusion": {"metavar": "COL"},
    "--strata": {"metavar": "COL"},
    "--clusters": {"metavar": "COL"},
    "--population": {"metavar": "N|COL"},
    "--denominator": {"metavar": "N"},
    "--replicates": {"metavar": "PREFIX"},
    "--replicate-method": {"type": click.Choice(["jkn", "brr", "fay", "bootstrap"])},
    "--fay": {"metavar": "RHO"},
    "--poisson": {"is_flag": True},
    "--lonely": {"type": click.Choice(["error", "certainty", "centre"]), "default": "error", "show_default": True},
}


ROW_SAMPLING = tuple(name for name in SAMPLING_OPTIONS if name not in ("--denominator", "--poisson"))
"""Those of estimates from the scores of single rows."""


def sampling_options(*names: str) -> Any:
    """A field for some of them, or all, by the names of :class:`maskwell.Sampling`."""
    return packed({name: SAMPLING_OPTIONS[name] for name in names or SAMPLING_OPTIONS})
