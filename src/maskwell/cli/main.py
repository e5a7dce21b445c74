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


def _design() -> click.Command:
    from maskwell.cli.design_command import design

    return design


def _audit() -> click.Command:
    from maskwell.cli.audit_command import audit

    return audit


def _convert() -> click.Command:
    from maskwell.cli.convert_command import convert

    return convert


def _compare() -> click.Command:
    from maskwell.cli.compare_command import compare

    return compare


def _plan() -> click.Command:
    from maskwell.cli.plan_command import plan

    return plan


def _improve() -> click.Command:
    from maskwell.cli.improve_command import improve

    return improve


def _verify() -> click.Command:
    from maskwell.cli.verify_command import verify

    return verify


def _device() -> click.Command:
    from maskwell.cli.device_command import device

    return device


def _randomize() -> click.Command:
    from maskwell.cli.randomize import randomize

    return randomize


def _estimate() -> click.Command:
    from maskwell.cli.estimate import estimate

    return estimate


def _regress() -> click.Command:
    from maskwell.cli.regress import regress

    return regress


def _release() -> click.Command:
    from maskwell.cli.release import release

    return release


def _risk() -> click.Command:
    from maskwell.cli.risk import risk

    return risk


def _demo() -> click.Command:
    from maskwell.cli.demo import demo

    return demo


def _completion() -> click.Command:
    from maskwell.cli.completion import completion

    return completion


COMMANDS = {
    "design": (_design, "Make a design file, from a device or from a privacy demand."),
    "audit": (_audit, "Say what a design promises, and whether it meets a demand."),
    "convert": (_convert, "Put one privacy demand in every language."),
    "compare": (_compare, "Compare two designs fairly, with a proof."),
    "plan": (_plan, "Choose a design for a demand, and how many respondents it needs."),
    "improve": (_improve, "Find a design as private as a given one that tells more."),
    "verify": (_verify, "Check a certificate: everything that it claims of a design."),
    "device": (_device, "Print cards, dice tables or spinners that carry out a design."),
    "randomize": (_randomize, "Randomize columns of a file of any size."),
    "estimate": (_estimate, "Estimate true shares and tables from reports."),
    "regress": (_regress, "Regression where the outcome or a predictor was randomized."),
    "release": (_release, "Post-randomize a microdata file: plan, assess, apply, document."),
    "risk": (_risk, "Say how easily records of a file are found, before and after a release."),
    "demo": (_demo, "The whole story on made-up data, in a few seconds."),
    "completion": (_completion, "Print the script for completion in a shell."),
}
"""Every command: what imports it, and its line in the help."""


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
