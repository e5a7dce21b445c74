"""``maskwell demo``: the whole story on made-up people, in a few seconds."""

from __future__ import annotations

import click

from maskwell.cli.help_page import HelpPage
from maskwell.cli.options import FilePath, example, json_option
from maskwell.cli.output import print_json, print_lines


@click.command(cls=HelpPage, epilog=example("maskwell demo", "maskwell demo -o first-look --json"))
@click.option(
    "-o",
    "--output",
    type=FilePath(file_okay=False),
    metavar="DIR",
    help="New or empty folder (default: maskwell-demo, or maskwell-demo-2, -3, … if it exists).",
)
@json_option
def demo(output: str | None, *, as_json: bool) -> None:
    """Show all steps of a survey on synthetic data, in a few seconds.

    Asks 20,000 simulated people a sensitive question: states a privacy requirement, makes a design, randomizes the
    answers, estimates the shares, compares them with the true ones, which only a demo knows, and writes a folder
    with the files and a page.
    The draws are unpredictable, so the numbers differ from run to run. Nothing is ever overwritten.
    """
    from maskwell.verbs.demo_story import tell_story

    story = tell_story(output)
    if as_json:
        print_json(story.to_dict())
    else:
        print_lines(story.report())
