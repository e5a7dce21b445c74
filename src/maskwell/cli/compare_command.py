"""``maskwell compare``."""

from __future__ import annotations

import click

from maskwell.cli import options as opt
from maskwell.cli.output import print_json, print_lines
from maskwell.errors import ParameterError


class Asked:
    """The options of the command."""

    first: str = opt.argument(metavar="D1", type=opt.FilePath())
    second: str = opt.argument(metavar="D2", type=opt.FilePath())
    pi: str | None = opt.option(metavar="A,B,...")
    measure: str | None = opt.option(type=click.Choice(["parity", "ratio", "sensitive", "hazard"]))
    prior: str | None = opt.option(metavar="A,B,...")
    sensitive: str | None = opt.option(metavar="A,B,...")
    at: str | None = opt.option(metavar="first|second|C")
    as_json: bool = opt.shared(opt.json_option)


@opt.command(Asked)
def compare(asked: Asked) -> None:
    """Compare two designs fairly: which one is more informative, with a proof, as given and at equal protection.

    Variances are ranked at equal protection only. Otherwise the less private design is first made as private as the
    other: within its family if it has one, else by letting some respondents answer at random.
    """
    from maskwell.privacy.measures import Measure
    from maskwell.reports.text.order_report import compare_report
    from maskwell.verbs.compare import compare as compare_designs

    one, two = opt.load_design(asked.first), opt.load_design(asked.second)
    shares = None if asked.pi is None else opt.read_shares(asked.pi, "--pi", one)
    name = asked.measure or "parity"
    if asked.prior is not None and name != "hazard":
        raise ParameterError("prior-without-measure-hazard")
    if asked.sensitive is not None and name == "parity":
        raise ParameterError("sensitive-with-the-measure-parity-which")
    codes = None if asked.sensitive is None else opt.read_codes(asked.sensitive, "--sensitive", one)
    prior = None if asked.prior is None else opt.split_list(asked.prior, "--prior")
    judged = Measure.of(name, sensitive=codes, prior=prior)
    comparison = compare_designs(one, two, pi=shares, measure=judged, at=asked.at)
    if asked.as_json:
        print_json(comparison.to_dict())
    else:
        print_lines(compare_report(comparison, asked.first, asked.second))
