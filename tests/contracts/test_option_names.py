"""An option of one name has one meaning in all commands."""

from collections import defaultdict
from collections.abc import Iterator

import click

from maskwell.cli.main import cli

ONCE_FOR_ALL = {"--against", "--margin", "--ratio", "--sensitive", "--records", "--method", "--at"}
ONCE_FOR_ALL |= {"--smaller-model", "--slack"}
"""Names that had several meanings, or that took their place."""
SAME = {
    "--margin": {"choose", "sample-size"},
    "--method": {"estimate", "tabulate"},
    "--sensitive": {"audit", "compare", "improve"},
}


def options(command: click.Command, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], click.Option]]:
    """Every option with the command it belongs to; those of ``design`` are the parameters of the literature."""
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            if inner is not None and (*path, name) != ("design",):
                yield from options(inner, (*path, name))
    else:
        yield from ((path, one) for one in command.params if isinstance(one, click.Option))


def test_an_option_is_a_flag_everywhere_or_nowhere_and_has_one_meaning() -> None:
    kinds: dict[str, set[tuple[bool, bool]]] = defaultdict(set)
    for _, option in options(cli):
        kinds[option.opts[-1]].add((option.is_flag, option.nargs == 2))
    assert len(kinds) > 100
    assert sorted(name for name, seen in kinds.items() if len(seen) > 1) == []
    commands: dict[str, set[str]] = defaultdict(set)
    for path, option in options(cli):
        commands[option.opts[-1]].add(" ".join(path))
    shared = {name: commands[name] for name in ONCE_FOR_ALL if len(commands[name]) > 1}
    assert shared == SAME, "give the new option a name of its own, or list it here where it means the same"
