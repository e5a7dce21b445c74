"""``maskwell plan``: choose a design for a demand, or plan a survey whose designs are chosen."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

from maskwell.cli.options import (
    LABELS_HELP,
    FilePath,
    check_plot,
    demand_options,
    example,
    json_option,
    load_design,
    needed_demand,
    plot_content,
    plot_option,
    read_categories,
    read_labels,
    split_list,
    typed_demand,
    with_plot,
    write_plot,
)
from maskwell.cli.output import print_json, print_lines
from maskwell.errors import ParameterError

if TYPE_CHECKING:
    from maskwell.core.categories import Categories
    from maskwell.planning.design_choice import Choice
    from maskwell.planning.power import PowerPlan
    from maskwell.planning.sample_size import SamplePlan
    from maskwell.planning.stratum_allocation import Allocation
    from maskwell.reports.pictures.canvas import Picture
    from maskwell.reports.report import Report


F = TypeVar("F", bound=Callable[..., Any])

SURVEY = {
    "category": ("A", "The category that n and margin are about; without it, the one that is hardest to estimate."),
    "power": ("P", "With D: the chance with which a test shall find the difference from --against."),
    "against": ("S", "With D: the share of the category that a test shall tell from that in --pi."),
    "alpha": ("A", "With --power or --against: the chance of a false alarm; 0.05 by default."),
    "deff": ("F", "Design effect of the open question in a complex sample; 1 by default."),
    "icc": ("R", "With --cluster-size, in place of --deff: intraclass correlation of the open question."),
    "cluster_size": ("M", "With --icc: respondents in a cluster, on average."),
    "cv_weights": ("C", "Coefficient of variation of the weights; 0 by default."),
    "strata": (
        "FILE",
        "Divide respondents among strata: CSV with stratum, share, pi and, if they differ, design, cost.",
    ),
    "budget": ("B", "With --strata: what may be spent, where strata have a cost."),
}


FOR_CHOICE = ("category", "deff", "icc", "cluster_size", "cv_weights")
"""Those that also go with a demand."""


def survey_options(command: F) -> F:
    """All of them, as a decorator."""
    for name, (metavar, help_) in reversed(SURVEY.items()):
        kind: dict[str, Any] = {"type": FilePath()} if name == "strata" else {}
        command = click.option(f"--{name.replace('_', '-')}", name, metavar=metavar, help=help_, **kind)(command)
    return command


LEVEL = "0.95"


@click.command(
    epilog=example(
        "maskwell plan --k 10 --epsilon 1 --n 2000",
        "maskwell plan --categories never,once,often --rho 0.1 0.5 --margin 0.03 -o design.json",
        "maskwell design warner --p 0.7 -o warner.json",
        "maskwell plan warner.json --margin 0.05 --pi 0.1,0.9",
        "maskwell plan warner.json --power 0.8 --pi 0.1,0.9 --against 0.15",
    )
)
@click.argument("designs", metavar="[D]...", type=FilePath(), nargs=-1)
@click.option("--categories", metavar="A,B,...", help=f"Labels of the true categories. {LABELS_HELP}")
@click.option("--k", metavar="K", help="Number of categories, labelled 0, 1, 2, ...")
@click.option(
    "--question",
    "questions",
    metavar="NAME=A,B,...",
    multiple=True,
    help="One of several questions for each person, under the demand together; repeat for more.",
)
@demand_options
@click.option("--n", metavar="N", help="Number of respondents: the margin is worked out.")
@click.option("--margin", metavar="E", help="Half width of intervals that is wanted: N is worked out.")
@click.option("--pi", metavar="A,B,...", help="True shares to plan for; equal by default, with D the worst ones.")
@survey_options
@click.option("--level", metavar="L", help=f"Level of the intervals; {LEVEL} by default.")
@click.option("-o", "--output", type=FilePath(), metavar="D.json", help="Where the recommended design goes.")
@plot_option("privacy against error for all designs; with D, the margin against the respondents")
@click.option(
    "--picture",
    type=click.Choice(["frontier", "variance"]),
    help="With --plot: all designs over a range of privacy (default), or what the best one costs over k and gamma.",
)
@click.option("--force", is_flag=True, help="Replace a file that exists.")
@json_option
def plan(
    designs: tuple[str, ...],
    categories: str | None,
    k: str | None,
    *,
    questions: tuple[str, ...],
    n: str | None,
    margin: str | None,
    pi: str | None,
    level: str | None,
    output: str | None,
    plot: str | None,
    picture: str | None,
    force: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Choose a design for a privacy demand, or plan a survey with designs that are chosen.

    Without D: all designs ranked, one recommended, and how many respondents it needs. Subset selection of the best size
    adds least variance. The gamma-diagonal design is recommended where it needs at most 5 % more respondents, because
    a report is one category.

    With --question, repeated: several questions for each person under one demand, each with a device of its own or all
    of them as one question.

    With a design file D: respondents for a margin, or for a test with a given power. With --strata or several files:
    how to divide respondents among strata, or among samples.
    """
    survey, demand = (
        {name: value for name, value in options.items() if (name in SURVEY) is which} for which in (True, False)
    )
    if designs or survey["strata"] is not None:
        others = {"question": questions, "output": output, "picture": picture, "demand": typed_demand(demand)}
        _check_alone(categories=categories, k=k, **others)
        asked = {"n": n, "margin": margin, "pi": pi, "level": level, **survey}
        _plan_survey(designs, asked, plot=plot, force=force, as_json=as_json)
        return
    if questions:
        others = {
            "categories": categories,
            "k": k,
            "pi": pi,
            "output": output,
            "plot": plot,
            "picture": picture,
            **survey,
        }
        _plan_questions(questions, others, demand, {"n": n, "margin": margin, "level": level or LEVEL}, as_json=as_json)
        return
    _check_no_survey({name: value for name, value in survey.items() if name not in FOR_CHOICE})
    asked = {"n": n, "margin": margin, "pi": pi, "level": level, **{name: survey[name] for name in FOR_CHOICE}}
    _choose(_needed_categories(categories, k), demand, asked, output, plot, picture, force=force, as_json=as_json)


# ---- several questions


def _plan_questions(
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
        raise ParameterError(
            f"--question and {'-o' if named[0] == 'output' else f'--{named[0]}'}",
            hint="questions are planned for a demand, with --n or --margin: leave it out",
        )
    plan = plan_questions(_read_questions(typed), needed_demand(demand, "plan"), **asked)
    if as_json:
        print_json(plan.to_dict())
    else:
        print_lines(questions_report(plan))


def _read_questions(typed: Sequence[str]) -> dict[str, list[str]]:
    """Names and labels, from NAME=A,B,..."""
    questions: dict[str, list[str]] = {}
    for text in typed:
        name, _, labels = text.partition("=")
        if not name.strip() or not labels.strip() or name.strip() in questions:
            raise ParameterError(
                f"--question {text}: a name of its own and its categories are needed",
                hint="such as --question bribes=never,once,often",
            )
        questions[name.strip()] = read_labels(labels, "--question")
    return questions


# ---- with a design


def _check_alone(**options: Any) -> None:
    """Raise for options that choose a design, where one is named."""
    for name, value in options.items():
        if value:
            option = str(value).split()[0] if name == "demand" else "-o" if name == "output" else f"--{name}"
            raise ParameterError(
                f"{option} chooses a design, and one is given", hint="leave it out, or leave out the design file"
            )


def _plan_survey(
    paths: Sequence[str], asked: Mapping[str, Any], *, plot: str | None, force: bool, as_json: bool
) -> None:
    from maskwell.planning.survey_plan import plan_survey

    designs = [load_design(path) for path in paths]
    check_plot(plot, force=force, inputs=[*paths, asked["strata"] or "-"])
    _check_picture(plot, asked, several=len(designs) > 1)
    shares = None if asked["pi"] is None else split_list(asked["pi"], "--pi")
    samples = [f"{g}: {path}" for g, path in enumerate(paths, 1)]
    plan = plan_survey(designs, **{**asked, "pi": shares, "category": _category(asked["category"])}, names=samples)
    drawn = write_plot(plot_content(plot, lambda: _margins(plan)), force=force, inputs=paths)
    if as_json:
        print_json({**plan.to_dict(), **drawn})
    else:
        print_lines(with_plot(_survey_report(plan, paths), drawn))


def _survey_report(plan: SamplePlan | PowerPlan | Allocation, paths: Sequence[str]) -> Report:
    from maskwell.planning.power import PowerPlan
    from maskwell.planning.sample_size import SamplePlan
    from maskwell.reports.text.planning_report import allocation_report, power_report, sample_report

    if isinstance(plan, SamplePlan):
        return sample_report(plan, paths[0])
    return power_report(plan, paths[0]) if isinstance(plan, PowerPlan) else allocation_report(plan)


def _category(typed: str | None) -> str | None:
    """The category that was named, without the quotes that protect its commas."""
    labels = [] if typed is None else read_labels(typed, "--category")
    return labels[0] if len(labels) == 1 else typed


def _check_picture(plot: str | None, asked: Mapping[str, Any], *, several: bool) -> None:
    """Raise where there is nothing to draw."""
    divided = several or asked["strata"] is not None
    tests = asked["power"] is not None or asked["against"] is not None
    if plot is not None and (divided or tests):
        margins = "the picture is that of a margin: give --n or --margin alone"
        why = "a division of respondents has no picture" if divided else margins
        raise ParameterError("--plot has no meaning here", hint=why)


def _margins(plan: Any) -> Picture:
    from maskwell.plots import plot_margins

    return plot_margins(plan)


# ---- without one


def _check_no_survey(survey: dict[str, Any]) -> None:
    """Raise for options that need a design file."""
    for name, value in survey.items():
        if value is not None:
            raise ParameterError(
                f"--{name.replace('_', '-')} needs a design file, and none was named",
                hint="name it: maskwell plan design.json ...; without one, plan chooses a design",
            )


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
    from maskwell.core.atomic import write_files
    from maskwell.designs.wire import dumps
    from maskwell.reports.text.planning_report import choice_report
    from maskwell.verbs.choose import choose

    stated = needed_demand(demand, "plan")
    shares = None if asked["pi"] is None else split_list(asked["pi"], "--pi")
    _check_used({name: asked[name] for name in ("level", *FOR_CHOICE)}, needs=asked["n"] or asked["margin"])
    _check_picture_plot(picture, plot)
    _check_output(output, force=force, as_json=as_json)
    check_plot(plot, force=force, inputs=[output or "-", demand["curves"] or "-"])
    choice = choose(
        demand=stated,
        n=asked["n"],
        margin=asked["margin"],
        pi=shares,
        level=asked["level"] or LEVEL,
        categories=categories,
        **{name: asked[name] for name in FOR_CHOICE if name != "category"},
        category=_category(asked["category"]),
    )
    picture_files = plot_content(plot, lambda: _picture(choice, picture or "frontier"))
    text = None if output is None else dumps(choice.design).encode()
    written = write_files({"output": (output, text), **picture_files}, force=force)
    if as_json:
        print_json({**choice.to_dict(), **written})
    else:
        saved_as = None if output == "-" else output
        print_lines(with_plot(choice_report(choice, saved_as, typed_demand(demand)), written), err=output == "-")


def _needed_categories(labels: str | None, k: str | None) -> Categories:
    categories = read_categories(labels, k)
    if categories is None:
        raise ParameterError(
            "plan needs the categories of the truth",
            hint="say how many with --k 10, or name them with --categories a,b,c",
        )
    return categories


def _check_used(options: Mapping[str, str | None], *, needs: str | None) -> None:
    """Raise for options that would be left aside."""
    typed = [name.replace("_", "-") for name, value in options.items() if value is not None]
    if typed and needs is None:
        raise ParameterError(f"--{typed[0]} without --n or --margin", hint="it is about intervals; give one of them")


def _check_picture_plot(picture: str | None, plot: str | None) -> None:
    """Raise for a picture that would not be drawn."""
    if picture is not None and plot is None:
        raise ParameterError("--picture without --plot", hint="say where the picture goes: --plot plan.svg")


def _picture(choice: Choice, name: str) -> Picture:
    from maskwell.plots import plot_choice, plot_variance

    if name == "frontier":
        return plot_choice(choice)
    return plot_variance(mark=(choice.design.k, choice.gamma))


def _check_output(output: str | None, *, force: bool, as_json: bool) -> None:
    from maskwell.core.atomic import check_output

    if as_json and output == "-":
        raise ParameterError("--json and -o - both need standard output", hint="write the design to a file")
    if output is not None:
        check_output(output, force=force)
