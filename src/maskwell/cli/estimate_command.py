"""``maskwell estimate``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from maskwell.cli import options as opt
from maskwell.cli.output import Progress, print_json, print_lines
from maskwell.core.phrases import Printed
from maskwell.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from maskwell.engines.assignments import Assignment
    from maskwell.verbs.described_survey import Survey

LEVEL = 0.95


class IntervalName(click.Choice[str]):
    """The name of a method of intervals; which there are, the estimation knows, and is asked only then."""

    def __init__(self) -> None:
        self.case_sensitive = True

    @property
    def choices(self) -> tuple[str, ...]:  # type: ignore[override]
        """All methods."""
        from maskwell.estimation.share_intervals import METHODS

        return tuple(METHODS)


class Asked(opt.OfRows):
    """The options of the command."""

    file: str = opt.argument(type=opt.FilePath())
    designs: tuple[str, ...] = opt.shared(opt.designs_if_any_option)
    direct: str | None = opt.option(metavar="COL,...")
    receipt: str | None = opt.option(metavar="R")
    columns: str | None = opt.option(metavar="COL,...")
    target: str = opt.option(type=click.Choice(["population", "file"]), default="population", show_default=True)
    by: str | None = opt.option(metavar="COL,...")
    method: str = opt.option(type=click.Choice(["moments", "ml"]), default="moments", show_default=True)
    interval: str | None = opt.option(type=IntervalName())
    seed: int | None = opt.option(type=int, metavar="N")
    level: str = opt.option(default="0.95", show_default=True, metavar="LEVEL")
    sampling: dict[str, Any] = opt.sampling_options()
    combine: tuple[str, ...] = opt.option(metavar="NAME=A+B", multiple=True)
    contrast: tuple[str, ...] = opt.option(metavar="NAME=A-B", multiple=True)
    ratio: tuple[str, ...] = opt.option(metavar="NAME=A/B+C", multiple=True)
    where: str | None = opt.option(metavar="COND")
    given: str | None = opt.option(metavar="COL")
    counts: str | None = opt.option(metavar="COL")
    missing: str = opt.shared(opt.missing_option)
    missing_codes: tuple[str, ...] = opt.shared(opt.missing_codes_option)
    style: str = opt.shared(opt.format_option)
    plot: str | None = opt.shared(opt.plot_option("the estimates with their intervals"))
    force: bool = opt.shared(opt.force_option)


@opt.command(Asked)
def estimate(asked: Asked) -> None:
    """Estimate the true shares behind the reports in FILE, with standard errors and intervals.

    Several --design estimate the joint table of all these columns. --weights, --strata, --clusters, --population and
    --replicates describe the sampling plan (default: a simple random sample from a large population).

    --receipt instead of --design estimates from a released file.
    """
    from maskwell.core.exact import check_probability
    from maskwell.verbs.estimate import answer
    from maskwell.verbs.inputs import columns_of, names_of
    from maskwell.verbs.questions import Question, quantities

    opt.check_one_form(asked.style, as_json=asked.as_json)
    confidence = float(check_probability(asked.level, "level", open_=True))
    opt.check_plot(asked.plot, force=asked.force, inputs=[asked.file, asked.receipt or "-"])
    if asked.receipt is not None and asked.plot is not None and asked.columns is None:
        raise ParameterError("plot-draws-one-table")
    if asked.receipt is not None and asked.designs:
        raise ParameterError("receipt-and-design")
    assignments, paths = opt.read_assignments(asked.designs, asked.file)
    open_columns = names_of(asked.direct, "direct")
    if asked.receipt is None and asked.columns is not None:
        raise ParameterError("columns-without-receipt")
    both = [name.replace("_", "-") for name in ("direct", "counts", "missing_codes") if getattr(asked, name)]
    if asked.receipt is not None and both:
        raise ParameterError("receipt-and-both", both=both[0])
    is_typed = click.get_current_context().get_parameter_source("missing") is not click.core.ParameterSource.DEFAULT
    typed = asked.missing if is_typed or asked.receipt is None else None
    survey = _survey(asked, assignments, typed)
    named = [name for one in assignments for name in one.columns] + [*open_columns] if open_columns else []
    columns = columns_of(asked.columns) if asked.receipt is not None else [*dict.fromkeys(named)]
    how = {name: getattr(asked, name) for name in ("by", "seed", "target", "interval", "method", "where", "given")}
    sums = quantities(combine=asked.combine or None, contrast=asked.contrast or None, ratio=asked.ratio or None)
    with Progress() as progress:
        result = answer(survey, Question.of(columns, level=confidence, progress=progress, asked=sums, **how))
    drawn = opt.write_plot(opt.plot_content(asked.plot, result.plot), force=asked.force)
    if asked.as_json:
        print_json({**result.to_dict(), **drawn})
    elif asked.style != "text":
        print_lines(result.lines(asked.style))
    elif asked.receipt is None:
        print_lines(opt.with_plot(result.to_report(paths), drawn))
    else:
        from maskwell.verbs.release_estimate import ReleasedShares

        told: tuple[Any, ...] = (asked.file, asked.receipt, _as_options(asked, confidence, typed))
        print_lines(opt.with_plot(result.to_report(*(told if isinstance(result, ReleasedShares) else ())), drawn))


def _survey(asked: Asked, assignments: Sequence[Assignment], missing: str | None) -> Survey:
    """The rows with their designs, or a released file."""
    from maskwell.estimation.sampling.sampling_description import Sampling
    from maskwell.verbs.described_survey import Survey

    sampling = Sampling(**asked.sampling)
    if asked.receipt is not None:
        return Survey.from_release(asked.file, asked.receipt, sampling, missing=missing)
    codes = asked.missing_codes or None
    return Survey(asked.file, assignments, sampling, missing=missing, missing_codes=codes, frequencies=asked.counts)


def _as_options(asked: Asked, level: float, missing: str | None) -> dict[str, str | None]:
    """What was asked of a released file, as options of the command; None for what was not."""
    return {
        "--columns": asked.columns,
        "--by": asked.by,
        "--weights": asked.sampling["weights"],
        "--target": None if asked.target == "population" else asked.target,
        "--missing": missing,
        "--interval": asked.interval,
        "--level": None if level == LEVEL else f"{Printed(level):g}",
    }
