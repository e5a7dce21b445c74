"""``maskwell completion``."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from maskwell.cli.help_page import HelpPage
from maskwell.cli.options import example, json_option
from maskwell.cli.output import print_json

WHERE = {
    "bash": "~/.local/share/bash-completion/completions/maskwell",
    "zsh": "a folder of $fpath, as _maskwell",
    "fish": "~/.config/fish/completions/maskwell.fish",
}


@click.command(
    cls=HelpPage,
    epilog=example(
        "maskwell completion bash > ~/.local/share/bash-completion/completions/maskwell",
        'maskwell completion zsh > "${fpath[1]}/_maskwell"',
        "maskwell completion fish > ~/.config/fish/completions/maskwell.fish",
    ),
)
@click.argument("shell", type=click.Choice(list(WHERE)))
@json_option
@click.pass_context
def completion(ctx: click.Context, shell: str, *, as_json: bool) -> None:
    """Print the script that completes commands, options and file names in SHELL.

    Save it where the shell looks for it, as below; the folder must exist. It works in shells that start afterwards.
    """
    kind = get_completion_class(shell)
    assert kind is not None
    script = kind(ctx.find_root().command, {}, "maskwell", "_MASKWELL_COMPLETE").source()
    if as_json:
        print_json({"shell": shell, "script": script, "where": WHERE[shell]})
    else:
        click.echo(script)
