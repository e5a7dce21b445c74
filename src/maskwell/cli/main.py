"""The command ``maskwell`` itself: its help, its streams and how it ends."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import NoReturn

import click

from maskwell.cli import COMMANDS
from maskwell.cli.lazy import LazyGroup, ignore_signals, obey_signals
from maskwell.cli.output import STOPPED, flushed, prepare_streams

MOST_DIGITS = 100_000
"""Of an integer that is printed. Products of many designs have thousands; what is read has bounds of its own."""


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
