"""``maskwell verify``."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

import click

from maskwell.cli.help_page import HelpPage
from maskwell.cli.options import FilePath, example, json_option
from maskwell.cli.output import ANSWER_IS_NO, OK, print_json, print_lines


@click.command(
    cls=HelpPage,
    epilog=example(
        "maskwell design warner --p 0.7 -o warner.json",
        "maskwell audit warner.json --rho 0.1 0.5 --certificate proof.json",
        "maskwell verify proof.json --design warner.json",
    ),
)
@click.argument("what", metavar="CERTIFICATE|FOLDER", type=FilePath())
@click.option("--design", metavar="D", type=FilePath(), help="Design file that the certificate must be about.")
@click.option("--source", metavar="FILE", type=FilePath(), help="Original file that must match the release.")
@click.option("--plan", metavar="P", type=FilePath(), help="Plan that must match the release.")
@click.option("--ledger", metavar="FILE", type=FilePath(), help="Ledger that must include the release.")
@click.option("--earlier", metavar="OLD", type=FilePath(), help="Earlier release, to report what changed since.")
@click.option("--sha256", metavar="HASH", help="Signed hash of the list of the release's files.")
@json_option
def verify(what: str, *, as_json: bool, **options: str | None) -> int:
    """Check the claims of a certificate, or that the files of a release are the signed ones.

    Every claim of a certificate is recomputed from the exact integers of its design. For a release, give its folder
    or the public part.

    The exit status is 1 if a check fails, or if the certificate proves that its privacy requirement is not met.
    """
    from maskwell.verbs.certify import verify as verify_files

    verification = verify_files(what, **options)
    kind = "release" if Path(what).is_dir() else "certificate"
    if as_json:
        print_json({kind: what, **verification.to_dict()})
    elif kind == "release":
        from maskwell.reports.text.release_report import verified_release_report

        print_lines(verified_release_report(verification, what))
    else:
        from maskwell.reports.text.privacy_report import verified_report

        print_lines(verified_report(verification, what))
    return OK if verification.ok and verification.meets is not False else ANSWER_IS_NO


def with_certificate(lines: Sequence[str], path: str | None) -> list[str]:
    """The lines of a command, with how to check the proof before the one that says what comes next."""
    if path is None:
        return list(lines)
    return [*lines[:-1], f"The proof is in {path}; to check it: maskwell verify {shlex.quote(path)}", lines[-1]]
