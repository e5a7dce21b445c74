"""``maskwell estimate --receipt``: tables of a released file."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import click

from maskwell.cli.options import split_list
from maskwell.cli.output import Progress, print_json, print_lines
from maskwell.cli.pictures import check_plot, plot_content, with_plot, write_plot
from maskwell.core.printed import Printed
from maskwell.errors import InputError, ParameterError

if TYPE_CHECKING:
    from maskwell.estimation.share_estimate import Estimate
    from maskwell.release.analysis.analysis import Analysis
    from maskwell.release.analysis.routes import Route
    from maskwell.release.folder.receipt import Receipt
    from maskwell.reports.picture import Picture

Command = Callable[..., Any]
SAMPLING_COLUMNS = ("weights", "inclusion", "strata", "clusters", "population")
LEVEL = 0.95
WEIGHTS_ONLY = "the errors of a released file hold for records drawn independently"


def receipt_options(command: Command) -> Command:
    """Options about the receipt of a released file."""
    for option in reversed(
        [
            click.option("--receipt", metavar="R", help="receipt.json of a release, in place of designs."),
            click.option("--columns", metavar="COL,...", help="With --receipt: the columns of one table."),
            click.option(
                "--target",
                type=click.Choice(["population", "file"]),
                default="population",
                show_default=True,
                help="With --receipt: shares of the population, or of the original file itself.",
            ),
        ]
    ):
        command = option(command)
    return command


@dataclass(frozen=True)
class AskedOfRelease:
    """What is to be estimated from which released file."""

    file: str
    receipt: str
    columns: str | None
    by: str | None
    target: str
    missing: str | None
    level: float
    interval: str | None
    sampling: Mapping[str, Any]

    @property
    def options(self) -> dict[str, str | None]:
        """What was asked for, as options of the command; None for what was not."""
        return {
            "--columns": self.columns,
            "--by": self.by,
            "--weights": self.sampling["weights"],
            "--target": None if self.target == "population" else self.target,
            "--missing": self.missing,
            "--interval": self.interval,
            "--level": None if self.level == LEVEL else f"{Printed(self.level):g}",
        }

    @property
    def domains(self) -> list[str]:
        """The columns of --by."""
        return [] if self.by is None else split_list(self.by, "--by")


def check_options(receipt: str | None, columns: str | None, others: Mapping[str, Any]) -> None:
    """Raise where options of designs and of receipts are mixed."""
    if receipt is None and columns is not None:
        raise ParameterError("--columns without --receipt", hint="name the columns with --design, or give --receipt")
    given = [name for name, value in others.items() if value]
    if receipt is not None and given:
        raise ParameterError(
            f"--receipt and {given[0]}", hint="a receipt says how every column was randomized: leave the other out"
        )


@dataclass(frozen=True)
class AsSurvey:
    """A table of a released file that is estimated as that of a survey: its designs are known and were fixed before.

    Attributes
    ----------
    assignments, direct
        Columns with their designs, and columns that were not moved.
    missing, sampling
        Options as they hold: missing values count as the receipt says, records with its weights, unless asked.
    remarks
        What a reader should know about that, in words.
    """

    assignments: list[Any]
    direct: list[str]
    missing: str
    sampling: dict[str, Any]
    remarks: tuple[str, ...]


def as_survey(asked: AskedOfRelease, method: str) -> AsSurvey | None:
    """The table where a receipt holds designs for its columns, and the population is the target; None for others."""
    if asked.columns is None or asked.target == "file":
        return None
    from maskwell.engines.columns import Assignment
    from maskwell.release.analysis.routes import assigned, check_missing, route_of
    from maskwell.release.folder.receipt import load_receipt

    names, read = _columns(asked.columns), load_receipt(asked.receipt)
    route = route_of(read, names)
    found = assigned(route)
    everywhere = {name for group in read.groups for name in group.moved}
    if found is None or everywhere & {*asked.domains}:
        return None  # domains of released values are not those of true ones
    missing = read.missing if asked.missing is None else asked.missing
    check_missing(route, missing)
    _check_open(asked.sampling, everywhere)
    sampling, remarks = _weighted(asked, read, route, method)
    moved = {name for own, _ in found for name in own}
    assignments = [Assignment(own, design) for own, design in found]
    return AsSurvey(assignments, [name for name in names if name not in moved], missing, sampling, remarks)


def _weighted(
    asked: AskedOfRelease, receipt: Receipt, route: Route, method: str
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The sampling plan with the weights of the receipt where no others were asked for, and what to say about it."""
    from maskwell.engines.cell_counting import open_rows
    from maskwell.release.analysis.weighting import weights_remarks, weights_used

    given = dict(asked.sampling)
    if receipt.weights is None or any(given.get(name) for name in ("weights", "inclusion", "population", "replicates")):
        return given, ()
    with open_rows(asked.file, []) as source:
        used = weights_used(route, receipt, None, source.schema.names)
    if used is not None and method == "ml":
        raise ParameterError(
            f"--method ml, where every record counts with its weight ({used}), as the receipt says",
            hint="use moments: they are unbiased with weights",
        )
    return {**given, "weights": used}, weights_remarks(route, receipt, None, used)


def _check_open(sampling: Mapping[str, Any], moved: Set[str]) -> None:
    """Raise where a column that tells how rows were sampled was randomized."""
    for name in SAMPLING_COLUMNS:
        value = sampling.get(name)
        wrong = moved & {*value.split(",")} if isinstance(value, str) else set()
        if wrong:
            raise ParameterError(
                f"--{name} {value}: the values of {min(wrong)!r} were randomized",
                hint="leave it out, or name a column that was not randomized",
            )


def estimate_release(asked: AskedOfRelease, *, style: str, plot: str | None, force: bool, as_json: bool) -> None:
    """Estimate one table, or every randomized column on its own, and print it."""
    from maskwell.release.folder.receipt import load_receipt

    if plot is not None and asked.columns is None:
        raise ParameterError("--plot draws one table", hint="name its columns: --columns roof,region")
    check_plot(plot, force=force, inputs=[asked.file, asked.receipt])
    receipt = load_receipt(asked.receipt)
    _check_sampling(asked.sampling)
    with Progress() as progress:
        found = _one(asked, receipt, progress) if asked.columns else _every(asked, receipt, progress)
    drawn = write_plot(plot, plot_content(plot, lambda: found.picture(asked)), force=force)
    if as_json:
        print_json({**found.to_dict(asked), **drawn})
    elif style == "text":
        print_lines(with_plot(found.text(asked), plot))
    else:
        print_lines(found.published(asked, style))


@dataclass(frozen=True)
class _Tables:
    """Estimated tables, with their domains, and what could not be estimated."""

    tables: list[tuple[Analysis, dict[tuple[Hashable, ...], Estimate]]]
    refused: dict[str, str]
    single: bool

    def to_dict(self, asked: AskedOfRelease) -> dict[str, Any]:
        """Plain values for JSON; every table, and all estimates below each other."""
        tables = [_table_json(analysis, domains, asked) for analysis, domains in self.tables]
        if self.single:
            return tables[0]
        rows = [{"variable": t["variables"][0], **row} for t in tables for row in t["estimates"]]
        return {
            "variables": [t["variables"][0] for t in tables],
            "n": max(t["n"] for t in tables),
            "method": tables[0]["method"] if len({t["method"] for t in tables}) == 1 else "several",
            "estimates": rows,
            "covariance": None,
            "sampling_variance": [x for t in tables for x in t["sampling_variance"]],
            "randomization_variance": [x for t in tables for x in t["randomization_variance"]],
            "flags": [*dict.fromkeys(flag for t in tables for flag in t["flags"]), *self._not_estimated],
            "tables": tables,
            "refused": self.refused,
            "rows": tables[0]["rows"],
        }

    @property
    def _not_estimated(self) -> list[str]:
        return [f"{name} was not estimated: {why}" for name, why in self.refused.items()]

    def text(self, asked: AskedOfRelease) -> list[str]:
        """Lines for people."""
        from maskwell.reports.tables import notes
        from maskwell.reports.text_analysis import analysis_text, next_line

        lines: list[str] = []
        for analysis, domains in self.tables:
            own = analysis_text(analysis, asked.level, asked.interval, by=asked.by, domains=domains)
            lines += [*([""] if lines else []), *own]
        first = self.tables[0][0].route.groups
        pair = first[0].cells if first and not self.single else ()
        last = next_line(asked.file, asked.receipt, asked.options, pair if len(pair) > 1 else ())
        return [*lines, *notes(self._not_estimated), last]

    def picture(self, asked: AskedOfRelease) -> Picture:
        """The estimates of the one table with their intervals."""
        from maskwell.reports.plots import plot_learned

        return plot_learned(self.tables[0][0].estimate, level=asked.level, interval=asked.interval)

    def published(self, asked: AskedOfRelease, style: str) -> list[str]:
        """Lines of tables for a paper."""
        from maskwell.reports.text_analysis import analysis_table

        exact = style == "csv"
        made = [analysis_table(one, asked.level, asked.interval, exact=exact).lines(style) for one, _ in self.tables]
        return [line for lines in made for line in (*lines, "")][:-1]


def _table_json(analysis: Analysis, domains: Mapping[Any, Estimate], asked: AskedOfRelease) -> dict[str, Any]:
    from maskwell.core.display import plain_label

    route = analysis.route
    found = [
        {"domain": plain_label(d[0] if len(d) == 1 else d), **one.to_dict(asked.level, asked.interval)}
        for d, one in domains.items()
    ]
    return {
        "variables": list(route.columns),
        **analysis.estimate.to_dict(asked.level, asked.interval),
        "route": route.kind,
        **({"domains": found} if domains else {}),
        "rows": analysis.rows,
        "dropped": analysis.dropped,
    }


def _one(asked: AskedOfRelease, receipt: Receipt, progress: Progress) -> _Tables:
    return _Tables([_analysed(asked, receipt, _columns(asked.columns or ""), progress)], {}, single=True)


def _every(asked: AskedOfRelease, receipt: Receipt, progress: Progress) -> _Tables:
    """Each randomized column on its own; what cannot be estimated is said."""
    found, refused, first = [], {}, None
    for name in dict.fromkeys(name for group in receipt.groups for name in group.moved):
        if name in asked.domains:
            continue
        try:
            found.append(_analysed(asked, receipt, [name], progress))
        except InputError as error:
            refused[name], first = error.message, first or error
    if not found and first is not None:
        raise first
    if not found:
        raise ParameterError("the receipt names no randomized column", hint="name columns with --columns")
    return _Tables(found, refused, single=False)


def _analysed(
    asked: AskedOfRelease, receipt: Receipt, columns: Sequence[str], progress: Progress
) -> tuple[Analysis, dict[tuple[Hashable, ...], Estimate]]:
    from maskwell.release.analysis.analysis import estimate_released
    from maskwell.release.analysis.by_domain import share_by_domain

    options: dict[str, Any] = {"weights": asked.sampling["weights"], "target": asked.target, "missing": asked.missing}
    whole = estimate_released(asked.file, receipt, columns, progress=progress, **options)
    whole.estimate.intervals(asked.level, asked.interval)  # refused before anything is printed
    if not asked.domains:
        return whole, {}
    if both := [name for name in columns if name in asked.domains]:
        raise ParameterError(f"{both[0]!r} is in --columns and in --by", hint="name it once")
    joint = estimate_released(asked.file, receipt, [*asked.domains, *columns], progress=progress, **options)
    return _also(whole, joint, asked.by), share_by_domain(joint.estimate, len(asked.domains))


def _also(whole: Analysis, joint: Analysis, by: str | None) -> Analysis:
    """The table, with what must be said of its domains: one may be weighted where the other is not."""
    more = tuple(f"by {by}: {remark}" for remark in joint.remarks if remark not in whole.remarks)
    remarks = (*whole.remarks, *more)
    flags = (*remarks, *whole.estimate.flags[len(whole.remarks) :])
    return replace(whole, remarks=remarks, estimate=replace(whole.estimate, flags=flags))


def _columns(text: str) -> list[str]:
    names = split_list(text, "--columns")
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None or not all(names):
        raise ParameterError(f"--columns {text}: a column is empty or named twice", hint="name each column once")
    return names


def _check_sampling(given: Mapping[str, Any]) -> None:
    more = [name for name, value in given.items() if value and name not in ("weights", "lonely")]
    if more:
        raise ParameterError(
            f"--{more[0].replace('_', '-')} with a matrix that is withheld or worked out from the file",
            hint=f"leave it out: {WEIGHTS_ONLY}",
        )
