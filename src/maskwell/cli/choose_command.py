"""``maskwell choose``: the best design for a privacy requirement, and how many respondents it needs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

from maskwell.cli import options as opt
from maskwell.cli.output import print_json, print_lines
from maskwell.errors import ParameterError

if TYPE_CHECKING:
    from maskwell.core.categories import Categories
    from maskwell.planning.design_choice import Choice
    from maskwell.reports.pictures.canvas import Picture


F = TypeVar("F", bound=Callable[..., Any])

COMPLEX = {
    "category": ("A", "The category that n and margin are about; without it, the one that is hardest to estimate."),
    "deff": ("F", "Design effect of the open question in a complex sample; 1 by default."),
    "icc": ("R", "With --cluster-size, in place of --deff: intraclass correlation of the open question."),
    "cluster_size": ("M", "With --icc: respondents in a cluster, on average."),
    "cv_weights": ("C", "Coefficient of variation of the weights; 0 by default."),
}
"""What is said of the sample and of the category that is to be estimated."""


def options_of(table: Mapping[str, tuple[str, str]]) -> Callable[[F], F]:
    """The options of a table of names, metavars and helps, as a decorator."""

    def decorate(command: F) -> F:
        for name, (metavar, help_) in reversed([*table.items()]):
            command = click.option(f"--{name.replace('_', '-')}", name, metavar=metavar, help=help_)(command)
        return command

    return decorate


LEVEL = "0.95"


@click.command(
    epilog=opt.example(
        "maskwell choose --k 10 --epsilon 1 --n 2000",
        "maskwell choose --categories never,once,often --rho 0.1 0.5 --margin 0.03 -o design.json",
    )
)
@click.option("--categories", metavar="A,B,...", help=f"Labels of the true categories. {opt.LABELS_HELP}")
@click.option("--k", metavar="K", help="Number of categories, labelled 0, 1, 2, ...")
@click.option(
    "--answers",
    "questions",
    metavar="NAME=A,B,...",
    multiple=True,
    help="Name and answers of one of several questions for each person, under the demand together; repeat for more.",
)
@opt.demand_options
@click.option("--n", metavar="N", help="Number of respondents: the margin is worked out.")
@click.option("--margin", metavar="E", help="Half width of intervals that is wanted: N is worked out.")
@click.option("--pi", metavar="A,B,...", help="True shares to assume; equal by default.")
@options_of(COMPLEX)
@click.option("--level", metavar="L", help=f"Level of the intervals; {LEVEL} by default.")
@click.option("-o", "--output", type=opt.FilePath(), metavar="D.json", help="Where the recommended design goes.")
@opt.plot_option("privacy against error for all designs")
@click.option(
    "--picture",
    type=click.Choice(["frontier", "variance"]),
    help="With --plot: all designs over a range of privacy (default), or what the best one costs over k and gamma.",
)
@click.option("--force", is_flag=True, help="Replace a file that exists.")
@opt.json_option
def choose(
    categories: str | None,
    k: str | None,
    *,
    questions: tuple[str, ...],
    output: str | None,
    plot: str | None,
    picture: str | None,
    force: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Choose a design for a privacy demand: all designs ranked, one recommended, and how many respondents it needs.

    Subset selection of the best size adds least variance. The gamma-diagonal design is recommended where it needs at
    most 5 % more respondents, because a report is one category.

    With --answers, repeated: several questions for each person under one demand, each with a device of its own or all
    of them as one question.
    """
    asked = {name: options.pop(name) for name in ("n", "margin", "pi", "level", *COMPLEX)}
    if questions:
        others = {"categories": categories, "k": k, "output": output, "plot": plot, "picture": picture}
        others |= {name: asked[name] for name in ("pi", *COMPLEX)}
        sizes = {"n": asked["n"], "margin": asked["margin"], "level": asked["level"] or LEVEL}
        _choose_for_questions(questions, others, options, sizes, as_json=as_json)
        return
    named = opt.read_categories(categories, k)
    if named is None:
        raise ParameterError("choose-needs-the-categories")
    _choose(named, options, asked, output, plot, picture, force=force, as_json=as_json)


# ---- several questions


def _choose_for_questions(
    typed: Sequence[str],
    others: Mapping[str, Any],
    demand: dict[str, Any],
    asked: Mapping[str, Any],
    *,
    as_json: bool,
) -> None:
    from maskwell.planning.several_questions import plan_questions
    from maskwell.reports.text.planning_report import questions_report

    named = [name.replace("_", "-") for name, value in others.items() if value is not None]
    if named:
        raise ParameterError("answers-and-named", named="-o" if named[0] == "output" else f"--{named[0]}")
    chosen = plan_questions(_read_questions(typed), opt.needed_demand(demand, "choose"), **asked)
    if as_json:
        print_json(chosen.to_dict())
    else:
        print_lines(questions_report(chosen))


def _read_questions(typed: Sequence[str]) -> dict[str, list[str]]:
    """Names and labels, from NAME=A,B,..."""
    questions: dict[str, list[str]] = {}
    for text in typed:
        name, _, labels = text.partition("=")
        if not name.strip() or not labels.strip() or name.strip() in questions:
            raise ParameterError("answers-a-name-of-its-own", text=text)
        questions[name.strip()] = opt.read_labels(labels, "--answers")
    return questions


# ---- one question


def _choose(
    categories: Categories,
    demand: dict[str, Any],
    asked: Mapping[str, Any],
    output: str | None,
    plot: str | None,
    picture: str | None,
    *,
    force: bool,
    as_json: bool,
) -> None:
    from maskwell.core.atomic import check_output, write_files
    from maskwell.designs.wire import dumps
    from maskwell.reports.text.planning_report import choice_report
    from maskwell.verbs.choose import choose

    stated = opt.needed_demand(demand, "choose")
    shares = None if asked["pi"] is None else opt.split_list(asked["pi"], "--pi")
    _check_used({name: asked[name] for name in ("level", *COMPLEX)}, needs=asked["n"] or asked["margin"])
    if picture is not None and plot is None:
        raise ParameterError("picture-without-plot")
    if as_json and output == "-":
        raise ParameterError("json-and-o-both-need-standard")
    if output is not None:
        check_output(output, force=force)
    opt.check_plot(plot, force=force, inputs=[output or "-", demand["curves"] or "-"])
    choice = choose(
        demand=stated,
        n=asked["n"],
        margin=asked["margin"],
        pi=shares,
        level=asked["level"] or LEVEL,
        categories=categories,
        sampling={name: asked[name] for name in COMPLEX if name != "category"},
        category=category_of(asked["category"]),
    )
    picture_files = opt.plot_content(plot, lambda: _picture(choice, picture or "frontier"))
    text = None if output is None else dumps(choice.design).encode()
    written = write_files({"output": (output, text), **picture_files}, force=force)
    if as_json:
        print_json({**choice.to_dict(), **written})
    else:
        saved_as = None if output == "-" else output
        print_lines(
            opt.with_plot(choice_report(choice, saved_as, opt.typed_demand(demand)), written), err=output == "-"
        )


def category_of(typed: str | None) -> str | None:
    """The category that was named, without the quotes that protect its commas."""
    labels = [] if typed is None else opt.read_labels(typed, "--category")
    return labels[0] if len(labels) == 1 else typed


def _check_used(options: Mapping[str, str | None], *, needs: str | None) -> None:
    """Raise for options that would be left aside."""
    typed = [name.replace("_", "-") for name, value in options.items() if value is not None]
    if typed and needs is None:
        raise ParameterError("without-n-or-margin", typed=typed[0])


def _picture(choice: Choice, name: str) -> Picture:
    from maskwell.plots import plot_choice, plot_variance

    if name == "frontier":
        return plot_choice(choice)
    return plot_variance(mark=(choice.design.k, choice.gamma))
