"""The command ``maskwell``: the names of all commands, and nothing heavy."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import NoReturn

import click

from maskwell.cli.lazy import LazyGroup, ignore_signals, obey_signals
from maskwell.cli.output import STOPPED, flushed, prepare_streams

MOST_DIGITS = 100_000
"""Of an integer that is printed. Products of many designs have thousands; what is read has bounds of its own."""

COMMANDS = {
    "design": ("maskwell.cli.design:design", "Make a design file, from a device or from a privacy demand."),
    "audit": ("maskwell.cli.audit:audit", "Say what a design promises, and whether it meets a demand."),
    "convert": ("maskwell.cli.convert:convert", "Put one privacy demand in every language."),
    "compare": ("maskwell.cli.compare:compare", "Compare two designs fairly, with a proof."),
    "plan": ("maskwell.cli.plan:plan", "Choose a design for a demand, and how many respondents it needs."),
    "improve": ("maskwell.cli.improve:improve", "Find a design as private as a given one that tells more."),
    "verify": ("maskwell.cli.verify:verify", "Check a certificate: everything that it claims of a design."),
    "device": ("maskwell.cli.device:device", "Print cards, dice tables or spinners that carry out a design."),
    "randomize": ("maskwell.cli.randomize:randomize", "Randomize columns of a file of any size."),
    "estimate": ("maskwell.cli.estimate:estimate", "Estimate true shares and tables from reports."),
    "regress": ("maskwell.cli.regress:regress", "Regression where the outcome or a predictor was randomized."),
    "release": ("maskwell.cli.release:release", "Post-randomize a microdata file: plan, assess, apply, document."),
    "risk": ("maskwell.cli.risk:risk", "Say how easily records of a file are found, before and after a release."),
    "demo": ("maskwell.cli.demo:demo", "The whole story on made-up data, in a few seconds."),
    "completion": ("maskwell.cli.completion:completion", "Print the script for completion in a shell."),
}


def _show_version(ctx: click.Context, param: click.Parameter, value: bool) -> None:  # noqa: ARG001, FBT001
    if value:
        from maskwell import __version__

        click.echo(f"maskwell {__version__}")
        ctx.exit()


@click.group(
    "maskwell",
    cls=LazyGroup,
    lazy=COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="First steps: maskwell demo. Exit status: 0 done, 1 the answer is no, 2 bad input or usage, 3 a fault.",
)
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_show_version, help="Show the version."
)
def cli() -> None:
    """Randomized response: design, audit, randomize, estimate.

    Numbers may be fractions (1/6). Every command takes --json and --help.
    """


def main() -> None:
    """Run the command line."""
    obey_signals()  # so that a command that is ended leaves nothing half-written
    try:
        prepare_streams()
        sys.set_int_max_str_digits(MOST_DIGITS)
        cli()
    except KeyboardInterrupt:  # another one, in the moment before they were ignored
        _stopped()
    except SystemExit as end:
        if end.code == STOPPED:
            _stopped()
        sys.exit(flushed(end.code) if isinstance(end.code, int) else end.code)
    finally:
        ignore_signals()


def _stopped() -> NoReturn:
    """Leave at once. The interpreter may remember an interrupt that was obeyed, and end with another status."""
    ignore_signals()
    with suppress(OSError, ValueError):
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(STOPPED)
