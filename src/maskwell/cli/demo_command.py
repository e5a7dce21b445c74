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
    help="A new or empty folder. Without it: maskwell-demo here, or maskwell-demo-2, -3, … where that exists.",
)
@json_option
def demo(output: str | None, *, as_json: bool) -> None:
    """Tell the whole story on made-up people, in a few seconds.

    Asks 20,000 made-up people a sensitive question: states a demand, makes a design, randomizes the answers, estimates
    the shares, compares them with the truth that only a demo can know, and writes a folder with the files and a page.
    The draws are unpredictable, so the numbers differ from run to run. Nothing is ever overwritten.
    """
    from maskwell.verbs.demo_story import tell_story

    story = tell_story(output)
    if as_json:
        print_json(story.to_dict())
    else:
        print_lines(story.report())
