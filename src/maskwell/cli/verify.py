"""``maskwell verify``."""

from __future__ import annotations

import click

from maskwell.cli.options import FilePath, example, json_option, load_design
from maskwell.cli.output import ANSWER_IS_NO, OK, print_json, print_lines


@click.command(
    epilog=example(
        "maskwell design warner --p 0.7 -o warner.json",
        "maskwell audit warner.json --rho 0.1 0.5 --certificate proof.json",
        "maskwell verify proof.json --design warner.json",
    )
)
@click.argument("certificate", metavar="C", type=FilePath())
@click.option("--design", metavar="D", type=FilePath(), help="A design file that the certificate should be about.")
@json_option
def verify(certificate: str, design: str | None, *, as_json: bool) -> int:
    """Check everything that the certificate in the file C claims, from the exact integers of its design.

    The exit status is 1 when a check fails, or when the certificate proves that its demand is not met.
    """
    from maskwell.privacy.verify import verify_file
    from maskwell.reports.text.privacy_report import verified_report

    found = verify_file(certificate, design=None if design is None else load_design(design))
    if as_json:
        print_json({"certificate": certificate, **found.to_dict()})
    else:
        print_lines(verified_report(found, certificate))
    return OK if found.ok and found.meets is not False else ANSWER_IS_NO
