"""``maskwell plan D ...``: respondents, power and allocation with designs that are chosen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from maskwell.cli.options import load_design, read_codes, read_shares, split_list
from maskwell.cli.output import print_json, print_lines
from maskwell.cli.plan_command import SURVEY as SURVEY  # noqa: PLC0414 (plan.py takes it from here)
from maskwell.cli.plot_options import check_plot, plot_content, with_plot, write_plot
from maskwell.core.phrases import Printed
from maskwell.errors import DataFileError, MaskwellError, ParameterError

if TYPE_CHECKING:
    from maskwell.core.arguments import Real
    from maskwell.designs.design import Design
    from maskwell.planning.power import PowerPlan
    from maskwell.planning.sample_size import SamplePlan
    from maskwell.planning.stratum_allocation import Allocation, Stratum

STRATA_HINT = "give a CSV with a header stratum,share,pi (and design, cost where they differ)"


def check_alone(**given: Any) -> None:
    """Raise for options that choose a design, where one is given."""
    for name, value in given.items():
        if value:
            option = str(value).split()[0] if name == "demand" else "-o" if name == "output" else f"--{name}"
            raise ParameterError(
                f"{option} chooses a design, and one is given", hint="leave it out, or leave out the design file"
            )


def plan_survey(
    paths: Sequence[str], asked: Mapping[str, Any], *, plot: str | None, force: bool, as_json: bool
) -> None:
    """Plan with these design files and print what was found."""
    from maskwell.reports.text.planning_report import allocation_report, power_report, sample_report

    designs = [load_design(path) for path in paths]
    check_plot(plot, force=force, inputs=[*paths, asked["strata"] or "-"])
    plan: SamplePlan | PowerPlan | Allocation
    if asked["strata"] is not None or len(designs) > 1:
        _refuse(plot=plot, why="a division of respondents has no picture")
        plan = _strata(designs, asked) if asked["strata"] is not None else _samples(designs, paths, asked)
        lines, drawn = allocation_report(plan), {}
    else:
        (design,), (path,) = designs, paths
        tests = asked["power"] is not None or asked["against"] is not None
        _refuse(plot=plot if tests else None, why="the picture is that of a margin: give --n or --margin alone")
        plan = _test(design, asked) if tests else _sample(design, asked)
        drawn = write_plot(plot, plot_content(plot, lambda: _picture(plan)), force=force, inputs=paths)
        lines = power_report(plan, path) if tests else sample_report(plan, path)  # type: ignore[arg-type]
    if as_json:
        print_json({**plan.to_dict(), **drawn})
    else:
        print_lines(with_plot(lines, plot))


def _picture(plan: Any) -> Any:
    from maskwell.plots import plot_margins

    return plot_margins(plan)


# ---- one design


def _sample(design: Design, asked: Mapping[str, Any]) -> SamplePlan:
    from maskwell.planning.sample_size import plan_sample

    _refuse(alpha=asked["alpha"], why="it is for a test: give --power or --against")
    _refuse(budget=asked["budget"], why="it is for --strata")
    if asked["n"] is None and asked["margin"] is None:
        raise ParameterError(
            "plan needs to know how large the survey is, or how exact",
            hint="give --n, --margin, or --power and --against for a test",
        )
    return plan_sample(
        design,
        pi=_shares(design, asked),
        category=_category(design, asked),
        n=asked["n"],
        margin=asked["margin"],
        level=asked["level"] or "0.95",
        **_complex(asked),
    )


def _test(design: Design, asked: Mapping[str, Any]) -> PowerPlan:
    from maskwell.planning.power import plan_test

    _refuse(margin=asked["margin"], level=asked["level"], why="a test has --power and --alpha instead")
    _refuse(budget=asked["budget"], why="it is for --strata")
    pi = _shares(design, asked)
    if pi is None:
        raise ParameterError(
            "a test needs the shares under the hypothesis", hint="give them: --pi 0.1,0.9 --against 0.15"
        )
    return plan_test(
        design,
        pi=pi,
        against=asked["against"],
        power=asked["power"],
        n=asked["n"],
        category=_category(design, asked),
        alpha=asked["alpha"] or "0.05",
        **_complex(asked),
    )


def _shares(design: Design, asked: Mapping[str, Any]) -> Real | None:
    return None if asked["pi"] is None else read_shares(asked["pi"], "--pi", design)


def _category(design: Design, asked: Mapping[str, Any]) -> Any:
    if asked["category"] is None:
        return None
    return design.inputs.labels[read_codes(asked["category"], "--category", design)[0]]


def _complex(asked: Mapping[str, Any]) -> dict[str, Any]:
    return {"deff": asked["deff"] or 1, "cv_weights": asked["cv_weights"] or 0}


def _refuse(*, why: str, **options: Any) -> None:
    """Raise for options that would be left aside."""
    for name, value in options.items():
        if value is not None:
            raise ParameterError(f"--{name.replace('_', '-')} has no meaning here", hint=why)


# ---- strata


def _strata(designs: Sequence[Design], asked: Mapping[str, Any]) -> Allocation:
    from maskwell.planning.stratum_allocation import allocate_strata

    tests = {name: asked[name] for name in ("power", "against", "alpha")}
    _refuse(**tests, why="strata are divided for an estimate, not for a test")
    _refuse(pi=asked["pi"], why="each stratum has shares of its own, in the column pi")
    if len(designs) > 1:
        raise ParameterError(
            f"--strata and {len(designs)} design files", hint="name one, or put them into the column design"
        )
    strata = _read_strata(asked["strata"], designs[0] if designs else None, asked)
    return allocate_strata(
        strata,
        n=asked["n"],
        margin=asked["margin"],
        budget=asked["budget"],
        level=asked["level"] or "0.95",
        **_complex(asked),
    )


def _read_strata(path: str, design: Design | None, asked: Mapping[str, Any]) -> list[Stratum]:
    from maskwell.engines.handwritten_files import read_small_table

    rows = read_small_table(path, needed=("stratum", "share", "pi"), allowed=("design", "cost"), hint=STRATA_HINT)
    strata = []
    for number, row in rows:
        try:
            strata.append(_stratum(row, design, Path(path).parent, asked))
        except MaskwellError as error:
            raise DataFileError(f"{path}, line {number}: {error.message}", hint=error.hint, path=path) from error
    return strata


def _stratum(row: Mapping[str, str], design: Design | None, folder: Path, asked: Mapping[str, Any]) -> Stratum:
    from maskwell.planning.stratum_allocation import Stratum

    used = load_design(str(folder / row["design"])) if row.get("design") else design
    if used is None:
        raise ParameterError(
            f"stratum {row['stratum']} has no design", hint="name a design file, or fill the column design"
        )
    category = _category(used, asked)
    return Stratum(row["stratum"], row["share"], used, _row_shares(row["pi"], used), row.get("cost") or "1", category)


def _row_shares(text: str, design: Design) -> Real:
    """All shares, or the first of two."""
    from maskwell.core.exact import check_probability, to_decimal

    parts = split_list(text.replace(" ", ",").replace(";", ","), "pi")
    if design.k == 2 and len(parts) == 1:
        first = check_probability(parts[0], "pi")
        parts = [to_decimal(first), to_decimal(1 - first)]
    return read_shares(",".join(part for part in parts if part), "pi", design)


# ---- samples


def _samples(designs: Sequence[Design], paths: Sequence[str], asked: Mapping[str, Any]) -> Allocation:
    from maskwell.planning.sample_allocation import allocate_samples

    names = ("budget", "deff", "cv_weights")
    _refuse(**{name: asked[name] for name in names}, why="samples are divided for --n or --margin alone")
    pi = _shares(designs[0], asked)
    coefficients = _coefficients(designs[0], asked["category"])
    tests = {name: asked[name] for name in ("power", "against", "alpha")}
    _refuse(**tests, why=_margin_of_test(tests, None if pi is None else float(pi @ coefficients)))
    if pi is None or (asked["n"] is None and asked["margin"] is None):
        raise ParameterError(
            "a division among samples needs all respondents and the shares to plan for",
            hint="give --n 1000 or --margin 0.03, and --pi with one share for each category",
        )
    return allocate_samples(
        designs,
        pi,
        wanted=coefficients,
        n=asked["n"],
        margin=asked["margin"],
        level=asked["level"] or "0.95",
        names=[f"{g}: {path}" for g, path in enumerate(paths, 1)],
    )


def _margin_of_test(tests: Mapping[str, str | None], null: float | None) -> str:
    """Which margin does what the test shall do, where that can be said."""
    from statistics import NormalDist

    from maskwell.core.exact import check_probability

    said = "samples are planned for an estimate:"
    if null is None or tests["power"] is None or tests["against"] is None:
        return f"{said} give --margin (0.7 of the difference: power 0.8)"
    texts = {**tests, "alpha": tests["alpha"] or "0.05"}
    power, against, alpha = (float(check_probability(texts[name] or "", name, open_=True)) for name in texts)
    alarm, hit = (NormalDist().inv_cdf(p) for p in (1 - alpha / 2, power))
    if power <= alpha or against == null:
        return f"{said} give --margin"
    margin = abs(against - null) * alarm / (alarm + hit)
    return f"{said} --margin {Printed(margin):.3g} --level {Printed(1 - alpha):g} gives about that power"


def _coefficients(design: Design, category: str | None) -> list[float]:
    """Coefficients of what is wanted: of one category, or of all that have an answer in common."""
    labels, place = design.inputs.labels, _place(design)
    if place is None:
        if category is None and design.k > 2:
            raise ParameterError("plan needs the category of interest", hint="give it: --category A")
        code = 0 if category is None else read_codes(category, "--category", design)[0]
        return [float(j == code) for j in range(design.k)]
    parts = [str(label[place]) for label in labels]  # type: ignore[index]
    answer = parts[0] if category is None else category
    if answer not in parts:
        raise ParameterError(f"--category: no answer {answer!r}", hint=f"known: {', '.join(dict.fromkeys(parts))}")
    return [float(part == answer) for part in parts]


def _place(design: Design) -> int | None:
    """Which part of a category is wanted, where categories have parts."""
    if not all(isinstance(label, tuple) for label in design.inputs.labels):
        return None
    return design.wanted_place or 0
