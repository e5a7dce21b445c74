"""``maskwell risk``."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import click

from maskwell.cli import options as opt
from maskwell.cli.output import ANSWER_IS_NO, OK, Progress, print_json, print_lines
from maskwell.errors import ParameterError
from maskwell.microdata.risk.intruders import INTRUDERS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from maskwell.verbs.risk import RiskResult


@click.command(
    epilog=opt.example(
        "printf 'town,job\\nA,baker\\nA,clerk\\nA,clerk\\nB,clerk\\nB,clerk\\nB,smith\\n' > people.csv",
        "maskwell risk people.csv --keys town,job",
    )
)
@click.argument("file", type=opt.FilePath())
@click.option("--keys", required=True, metavar="A,B,...", help="Columns that an intruder may know of a person.")
@click.option("--released", type=opt.FilePath(), metavar="F2", help="The released file, counted as it came out.")
@click.option(
    "--receipt", type=opt.FilePath(), metavar="R", help="internal/receipt.json of the release: how it was made."
)
@click.option(
    "--design",
    "designs",
    metavar="COL=D",
    multiple=True,
    help="Design of a key or sensitive column that holds randomized reports. Repeat for more.",
)
@click.option("--sensitive-columns", metavar="COLS", help="Columns that nobody should learn: what the keys reveal.")
@click.option("--weights", metavar="COL", help="Sampling weights: then the risk in the population is estimated, too.")
@click.option("--unit", metavar="COL", help="Households or other units: then the risk of whole units is told, too.")
@click.option(
    "--suda", is_flag=True, help="Special uniques: records that few of their keys tell apart from all others."
)
@click.option("--match", metavar="NU", help="A bound on the chance of a correct match; exit 1 if a record is above it.")
@click.option(
    "--intruder",
    type=click.Choice([*INTRUDERS]),
    help="Intruder model (default: that of the receipt, or any-look). all-columns is measured as any-look: its linkage "
    "attack is simulated by release --dry-run.",
)
@click.option("--level", default="0.95", show_default=True, help="Probability of the range of released counts.")
@click.option("--contributions", is_flag=True, help="What each key, and each of its levels, adds to the risk.")
@click.option("--records", type=opt.FilePath(), metavar="OUT", help="Where the risk of every record goes.")
@opt.plot_option("the risk of records before and after a release")
@opt.force_option
@opt.text_form_options("file", "released")
@opt.show_values_option
@opt.json_option
def risk(
    file: str,
    keys: str,
    *,
    designs: tuple[str, ...],
    contributions: bool,
    records: str | None,
    as_json: bool,
    **options: Any,
) -> int:
    """Say how easily somebody who knows the keys of a person finds the person's record in FILE.

    With --receipt the same is said of the release: what is expected, and with --released what came out. With --design
    it says what an intruder infers from randomized reports; without, values are taken as true.
    """
    from maskwell.reports.report import Report
    from maskwell.verbs.risk import risk as risk_of

    opt.check_standard_output(as_json=as_json, records=records)
    assignments, paths = opt.read_assignments(designs) if designs else (None, {})
    given = (file, options["released"], options["receipt"], *paths.values())
    inputs = [path for path in given if path is not None]
    plot, force = options.pop("plot"), options.pop("force")
    _check_outputs(records, plot, options["receipt"], inputs, force=force)
    with Progress() as progress:
        result = risk_of(file, keys, designs=assignments, progress=progress, **options)
    picture = opt.plot_content(plot, result.plot)
    content = result.to_dict(contributions=contributions) if as_json else {}
    report = Report() if as_json else result.to_report(contributions=contributions)
    written = _write_outputs(result, records, picture, inputs, force=force)
    if as_json:
        print_json(content | written)
    else:
        print_lines(opt.with_plot(report, written), err=records == "-")
    return ANSWER_IS_NO if result.kept is False else OK


def _check_outputs(
    records: str | None, plot: str | None, receipt: str | None, inputs: Sequence[str], *, force: bool
) -> None:
    from maskwell.core.atomic import check_output

    opt.check_plot(plot, force=force, inputs=inputs)
    if plot is not None and receipt is None:
        raise ParameterError("plot-compares-before-and-after")
    if records is not None:
        check_output(records, force=force, inputs=inputs)


def _write_outputs(
    result: RiskResult,
    records: str | None,
    picture: opt.Drawn,
    inputs: Sequence[str],
    *,
    force: bool,
) -> dict[str, str]:
    """Write what was asked for; the picture gets its name only when the records are written."""
    from maskwell.core.atomic import atomic_file

    written: dict[str, str] = {}
    with ExitStack() as files:
        for name, (path, content) in picture.items():
            plotted = files.enter_context(atomic_file(path, force=force, inputs=inputs))
            plotted.write(content)
            plotted.flush()
            written[name] = path
        if records is not None:
            result.write_records(records, force=force)
            written["records_file"] = records
    return written
