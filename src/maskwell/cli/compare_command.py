"""``maskwell compare``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from maskwell.cli import options as opt
from maskwell.cli.output import print_json, print_lines
from maskwell.errors import ParameterError

if TYPE_CHECKING:
    from maskwell.designs.design import Design
    from maskwell.privacy.measures import Measure


class Asked:
    """The options of the command."""

    first: str = opt.argument(metavar="D1", type=opt.FilePath())
    second: str = opt.argument(metavar="D2", type=opt.FilePath())
    pi: str | None = opt.option(metavar="A,B,...", help="Expected shares of the categories; equal by default.")
    measure: str | None = opt.option(
        type=click.Choice(["parity", "ratio", "sensitive", "hazard"]),
        help="How protection is measured: parity (default); ratio, how far a report can speak for one sensitive "
        "category; sensitive, the same for several; hazard, the largest posterior for a prior.",
    )
    prior: str | None = opt.option(metavar="A,B,...", help="With --measure hazard: shares believed in before a report.")
    sensitive: str | None = opt.option(metavar="A,B,...", help="The sensitive categories; the first one by default.")
    at: str | None = opt.option(
        metavar="first|second|C",
        help="Compare at the protection of one of them, or at a value; at that of the better protected one by default.",
    )
    as_json: bool = opt.shared(opt.json_option)


@opt.command(
    Asked,
    "maskwell design warner --p 0.8 -o warner.json",
    "maskwell design forced --truth 0.7 --yes 0.2 --no 0.1 -o forced.json",
    "maskwell compare warner.json forced.json --pi 0.1,0.9",
    "maskwell compare warner.json forced.json --pi 0.1,0.9 --measure ratio",
)
def compare(asked: Asked) -> None:
    """Compare two designs fairly: which one tells more, with a proof, as they are and at equal protection.

    Variances are ranked only where both designs protect equally; otherwise the less private one is first made as
    private as the other: within its family where it has one, else by letting some respondents answer at random.
    """
    from maskwell.reports.text.order_report import compare_report
    from maskwell.verbs.compare import compare as compare_designs

    one, two = opt.load_design(asked.first), opt.load_design(asked.second)
    shares = None if asked.pi is None else opt.read_shares(asked.pi, "--pi", one)
    judged = _measure(one, asked.measure or "parity", asked.prior, asked.sensitive)
    comparison = compare_designs(one, two, pi=shares, measure=judged, at=asked.at)
    if asked.as_json:
        print_json(comparison.to_dict())
    else:
        print_lines(compare_report(comparison, asked.first, asked.second))


def _measure(design: Design, name: str, prior: str | None, sensitive: str | None) -> Measure:
    """The measure that was asked for; options that it would leave aside are an error."""
    from maskwell.privacy.measures import Measure

    if prior is not None and name != "hazard":
        raise ParameterError("prior-without-measure-hazard")
    if sensitive is not None and name == "parity":
        raise ParameterError("sensitive-with-the-measure-parity-which")
    codes = None if sensitive is None else opt.read_codes(sensitive, "--sensitive", design)
    believed = None if prior is None else opt.split_list(prior, "--prior")
    return Measure.of(name, sensitive=codes, prior=believed)
