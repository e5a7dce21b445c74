"""``maskwell choose``: the best design for a privacy requirement, and how many respondents it needs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from maskwell.cli import options as opt
from maskwell.cli.output import print_json, print_lines
from maskwell.errors import ParameterError

if TYPE_CHECKING:
    from maskwell.core.categories import Categories
    from maskwell.planning.design_choice import Choice
    from maskwell.reports.pictures.canvas import Picture


COMPLEX = {
    "--deff": {"metavar": "F"},
    "--icc": {"metavar": "R"},
    "--cluster-size": {"metavar": "M"},
    "--cv-weights": {"metavar": "C"},
}
"""What is said of the sample."""
LEVEL = "0.95"


class Asked:
    """The options of the command."""

    categories: str | None = opt.option(metavar="A,B,...", help=f"Labels of the true categories. {opt.LABELS_HELP}")
    k: str | None = opt.option(metavar="K")
    questions: tuple[str, ...] = opt.option("--answers", metavar="NAME=A,B,...", multiple=True)
    demand: dict[str, Any] = opt.demand_options()
    n: str | None = opt.option(metavar="N")
    margin: str | None = opt.option(metavar="E")
    pi: str | None = opt.option(metavar="A,B,...")
    category: str | None = opt.option(metavar="A")
    sampling: dict[str, Any] = opt.packed(COMPLEX)
    level: str | None = opt.option(metavar="L", help=f"Confidence level of the intervals (default {LEVEL}).")
    output: str | None = opt.option("-o", "--output", type=opt.FilePath(), metavar="D.json")
    plot: str | None = opt.shared(opt.plot_option("privacy against error for all designs"))
    picture: str | None = opt.option(type=click.Choice(["frontier", "variance"]))
    force: bool = opt.shared(opt.force_option)
    as_json: bool = opt.shared(opt.json_option)


@opt.command(Asked)
def choose(asked: Asked) -> None:
    """Rank all designs for a privacy requirement, recommend one, and compute its sample size.

    Subset selection of the best size adds the least variance. K-ary randomized response is recommended if it
    needs at most 5 % more respondents, because a report is one category.

    With --answers, repeated: several questions for each person under one privacy requirement, each with its own
    device, or all of them as one question.
    """
    if asked.questions:
        _choose_for_questions(asked)
        return
    categories = opt.read_categories(asked.categories, asked.k)
    if categories is None:
        raise ParameterError("choose-needs-the-categories")
    _choose(categories, asked)


def _choose_for_questions(asked: Asked) -> None:
    from maskwell.planning.several_questions import plan_questions
    from maskwell.reports.text.planning_report import questions_report
    from maskwell.verbs.inputs import needed_demand

    others = {name: getattr(asked, name) for name in ("categories", "k", "output", "plot", "picture", "pi", "category")}
    named = [name.replace("_", "-") for name, value in {**others, **asked.sampling}.items() if value is not None]
    if named:
        raise ParameterError("answers-and-named", named="-o" if named[0] == "output" else f"--{named[0]}")
    questions: dict[str, list[str]] = {}
    for text in asked.questions:
        name, _, labels = text.partition("=")
        if not name.strip() or not labels.strip() or name.strip() in questions:
            raise ParameterError("answers-a-name-of-its-own", text=text)
        questions[name.strip()] = opt.read_labels(labels, "--answers")
    demand = needed_demand(None, asked.demand, "choose")
    chosen = plan_questions(questions, demand, n=asked.n, margin=asked.margin, level=asked.level or LEVEL)
    if asked.as_json:
        print_json(chosen.to_dict())
    else:
        print_lines(questions_report(chosen))


def _choose(categories: Categories, asked: Asked) -> None:
    from maskwell.core.atomic import check_output, write_files
    from maskwell.designs.wire import dumps
    from maskwell.reports.text.planning_report import choice_report
    from maskwell.verbs.choose import choose
    from maskwell.verbs.inputs import needed_demand

    demand, output, force = needed_demand(None, asked.demand, "choose"), asked.output, asked.force
    shares = None if asked.pi is None else opt.split_list(asked.pi, "--pi")
    unused = {"level": asked.level, "category": asked.category, **asked.sampling}
    typed = [name.replace("_", "-") for name, value in unused.items() if value is not None]
    if typed and (asked.n or asked.margin) is None:
        raise ParameterError("without-n-or-margin", typed=typed[0])
    if asked.picture is not None and asked.plot is None:
        raise ParameterError("picture-without-plot")
    if asked.as_json and output == "-":
        raise ParameterError("json-and-o-both-need-standard")
    if output is not None:
        check_output(output, force=force)
    opt.check_plot(asked.plot, force=force, inputs=[output or "-", asked.demand["curves"] or "-"])
    choice = choose(
        demand=demand,
        n=asked.n,
        margin=asked.margin,
        pi=shares,
        level=asked.level or LEVEL,
        categories=categories,
        sampling=asked.sampling,
        category=category_of(asked.category),
    )
    picture_files = opt.plot_content(asked.plot, lambda: _picture(choice, asked.picture or "frontier"))
    text = None if output is None else dumps(choice.design).encode()
    written = write_files({"output": (output, text), **picture_files}, force=force)
    if asked.as_json:
        print_json({**choice.to_dict(), **written})
    else:
        report = choice_report(choice, None if output == "-" else output, opt.typed_demand(asked.demand))
        print_lines(opt.with_plot(report, written), err=output == "-")


def category_of(typed: str | None) -> str | None:
    """The category that was named, without the quotes that protect its commas."""
    labels = [] if typed is None else opt.read_labels(typed, "--category")
    return labels[0] if len(labels) == 1 else typed


def _picture(choice: Choice, name: str) -> Picture:
    from maskwell.reports.pictures.choice_picture import plot_choice
    from maskwell.reports.pictures.precision_picture import plot_variance

    return plot_choice(choice) if name == "frontier" else plot_variance(mark=(choice.design.k, choice.gamma))
