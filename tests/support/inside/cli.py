"""Private names of ``cli`` that tests need, each from the file it stands in."""

from maskwell.cli import output
from maskwell.cli.main import cli, main
from maskwell.cli.output import Progress

__all__ = ["Progress", "cli", "main", "output"]
