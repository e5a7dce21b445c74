"""The page that ``--help`` prints: usage, what the command does, an example, options by section, where to read more."""

from __future__ import annotations

from typing import Any

import click

from maskwell.cli.output import Loudness, is_coloured, set_loudness

DOCUMENTATION = "https://maskwell.example"
"""Where the pages of docs/ are published; a release of the package names the real address."""

_SECTIONS = {
    "Options": "",
    "Privacy": "gamma epsilon beta bayes_factor rho curves between closed max_ratio prior sensitive average_security"
    " match intruder",
    "Sampling": "weights inclusion strata clusters population denominator replicates replicate_method fay poisson"
    " lonely deff icc cluster_size cv_weights",
    "Randomness": "seed key new_key dataset id",
    "Input": "counts missing missing_codes separator encoding decimal database",
    "Output": "output style format plot picture certificate explain sets force show_values as_json quiet verbose",
}
_SECTION_OF = {name: title for title, names in _SECTIONS.items() for name in names.split()}


def section_of(parameter: click.Parameter) -> str:
    """The section that lists an option: the first one for what a command needs or has for itself alone."""
    if "--help" in parameter.opts:
        return "Output"
    return "Options" if parameter.required else _SECTION_OF.get(parameter.name or "", "Options")


class HelpPage(click.Command):
    """A command whose help shows an example first and options in sections; every command can be quiet or verbose."""

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Its own parameters, then those of all commands."""
        *own, shown = super().get_params(ctx)
        return [*own, *_LOUDNESS, shown] if own else [*own, shown]

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write usage, text, example, options and the address of the documentation."""
        if is_coloured():
            formatter.write_heading = lambda heading: formatter.write(  # type: ignore[method-assign]
                f"{'':>{formatter.current_indent}}{click.style(heading + ':', bold=True)}\n"
            )
        self.format_usage(ctx, formatter)
        self.format_help_text(ctx, formatter)
        self.format_epilog(ctx, formatter)
        self.format_options(ctx, formatter)
        formatter.write(f"\nDocumentation: {DOCUMENTATION}/reference/commands.html{anchor(ctx)}\n")

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write options by section, then the commands of a group."""
        for title, rows in self.options_by_section(ctx).items():
            with formatter.section(title):
                formatter.write_dl(rows)
        if isinstance(self, click.Group):
            self.format_commands(ctx, formatter)

    def options_by_section(self, ctx: click.Context) -> dict[str, list[tuple[str, str]]]:
        """What is said of each option, by section."""
        rows: dict[str, list[tuple[str, str]]] = {title: [] for title in _SECTIONS}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx) if isinstance(parameter, click.Option) else None
            if record is not None:
                rows[section_of(parameter)].append(record)
        return {title: found for title, found in rows.items() if found}


def anchor(ctx: click.Context) -> str:
    """The place of a command on the page of all commands; empty for the whole page."""
    _, *names = ctx.command_path.split(" ")
    return f"#{'-'.join(names)}" if names else ""


def _set(ctx: click.Context, param: click.Parameter, value: bool) -> None:  # noqa: ARG001, FBT001
    if value:
        set_loudness(Loudness(param.name))


def _loudness(short: str, name: Loudness, words: str) -> click.Option:
    shape: dict[str, Any] = {"is_flag": True, "is_eager": True, "expose_value": False, "callback": _set}
    return click.Option([short, f"--{name}"], help=words, **shape)


_LOUDNESS = (
    _loudness("-q", Loudness.QUIET, "Print nothing but errors, and JSON if --json asks for it."),
    _loudness("-v", Loudness.VERBOSE, "Report progress every second, and the time and memory used."),
)
