"""``maskwell compare``."""

from __future__ import annotations

import click

from maskwell.cli.options import FilePath, example, json_option, load_design, read_shares
from maskwell.cli.output import print_json, print_lines


@click.command(
    epilog=example(
        "maskwell design warner --p 0.8 -o warner.json",
        "maskwell design forced --truth 0.7 --yes 0.2 --no 0.1 -o forced.json",
        "maskwell compare warner.json forced.json --pi 0.1,0.9",
    )
)
@click.argument("first", metavar="D1", type=FilePath())
@click.argument("second", metavar="D2", type=FilePath())
@click.option("--pi", metavar="A,B,...", help="Expected shares of the categories; equal by default.")
@json_option
def compare(first: str, second: str, pi: str | None, *, as_json: bool) -> None:
    """Compare two designs fairly: which one tells more, with a proof, as they are and at equal protection.

    Variances are ranked only where both designs protect equally; otherwise the less private one is first made as
    private as the other.
    """
    from maskwell.planning.compare import compare as compare_designs
    from maskwell.reports.text_compare import compare_text

    one, two = load_design(first), load_design(second)
    shares = None if pi is None else read_shares(pi, "--pi", one)
    found = compare_designs(one, two, pi=shares)
    if as_json:
        print_json(found.to_dict())
    else:
        print_lines(compare_text(found, first, second))
