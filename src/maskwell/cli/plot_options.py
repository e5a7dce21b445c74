"""``--plot FILE`` of every command: checked before any work, written whole or not at all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

from maskwell.cli.options import FilePath

if TYPE_CHECKING:
    from maskwell.reports.pictures.canvas import Picture
    from maskwell.reports.report import Report

F = TypeVar("F", bound=Callable[..., Any])


def plot_option(what: str) -> Callable[[F], F]:
    """``--plot`` with what it draws."""
    return click.option("--plot", type=FilePath(), metavar="FILE", help=f"Draw {what}; .svg, .png or .pdf.")


def plot_options(what: str) -> Callable[[F], F]:
    """``--plot`` and ``--force``, for commands that write nothing else."""

    def decorate(command: F) -> F:
        return plot_option(what)(click.option("--force", is_flag=True, help="Replace a file that exists.")(command))

    return decorate


def check_plot(path: str | None, *, force: bool, inputs: Sequence[str] = ()) -> None:
    """Raise unless a picture may be written there, if one was asked for."""
    if path is None:
        return
    from maskwell.core.atomic import check_output
    from maskwell.reports.pictures.canvas import check_ending

    check_ending(path)
    check_output(path, force=force, inputs=inputs)


def plot_content(path: str | None, draw: Callable[[], Picture]) -> bytes | None:
    """The drawing as the file will hold it, if one was asked for; made before anything is written."""
    return None if path is None else draw().content(path)


def write_plot(path: str | None, content: bytes | None, *, force: bool, inputs: Sequence[str] = ()) -> dict[str, str]:
    """Write a picture, if one was asked for; what JSON says about it."""
    from maskwell.core.atomic import write_files

    return write_files({"plot": (path, content)}, force=force, inputs=inputs)


def with_plot(report: Report, path: str | None) -> Report:
    """What a command says, with the name of the picture.

    >>> from maskwell.reports.report import Report
    >>> list(with_plot(Report("Parity 3.", next_step="more"), "region.svg"))
    ['Parity 3.', 'Picture: region.svg', 'Next: more']
    """
    return report if path is None else report.with_line(f"Picture: {path}")
