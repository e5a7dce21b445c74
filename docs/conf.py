"""Sphinx configuration: Markdown pages, and the Python names from their docstrings."""

from __future__ import annotations

import gc
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from maskwell.cli.main import cli

gc.disable()  # a build ends soon: looking for rubbish among the nodes of its pages took a quarter of its time

_metadata = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]

project = "maskwell"
author = "The maskwell developers"
copyright = "the maskwell developers"
version = release = _metadata["version"]

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build", "adr/0000-template.md"]
nitpicky = True
nitpick_ignore_regex = [("py:.*", ".*")]  # names of types in docstrings need no page of their own

myst_enable_extensions = ["deflist", "dollarmath"]
myst_heading_anchors = 3
suppress_warnings = ["misc.highlighting_failure"]

html_theme = "furo"
html_title = f"maskwell {version}"
html_show_sphinx = False
html_static_path = ["_static"]
html_css_files = ["page.css"]
html_math_renderer = "mathml"

autodoc_typehints = "none"
autodoc_use_type_comments = False
autodoc_member_order = "bysource"
autodoc_class_signature = "separated"


def setup(app: Any) -> None:
    """Mend docstrings before napoleon reads them (at 500), and write formulas as MathML, which needs no script."""
    app.connect("autodoc-process-docstring", close_sections, priority=400)
    app.connect("source-read", close_examples)
    app.add_directive("commands", Commands)
    app.add_html_math_renderer("mathml", (write_inline_formula, None), (write_displayed_formula, None))


def write_inline_formula(writer: Any, node: Any) -> None:
    """Write a formula within a line of text."""
    write_formula(writer, node, "inline")


def write_displayed_formula(writer: Any, node: Any) -> None:
    """Write a formula on a line of its own, which scrolls on a screen that is too narrow for it."""
    writer.body.append('<div class="math notranslate">')
    write_formula(writer, node, "block")
    writer.body.append("</div>")


def write_formula(writer: Any, node: Any, display: str) -> None:
    """Write a node of LaTeX as MathML. The converter is needed only where pages are written, so it is imported here."""
    from latex2mathml.converter import convert

    writer.body.append(convert(node.astext(), display=display))
    raise nodes.SkipNode


def close_examples(_app: Any, _name: str, content: list[str]) -> None:
    """Leave out the empty line that ends an example for its test, but is no part of what Python prints."""
    content[0] = re.sub(r"(^```pycon$.*?\n)\n```$", r"\1```", content[0], flags=re.MULTILINE | re.DOTALL)


def close_sections(_app: Any, _what: str, _name: str, _object: Any, _options: Any, lines: list[str]) -> None:
    """Give what follows a list of parameters or attributes a section of its own, or it would be taken for one more."""
    inside, closed = False, []
    for i, line in enumerate(lines):
        after = lines[i + 1] if i + 1 < len(lines) else ""
        if set(after) == {"-"}:
            inside = line.strip() in {"Attributes", "Parameters"}
        elif inside and line and line[0] not in " -" and not after.startswith(" "):
            title = "Examples" if line.startswith(">>>") else "Notes"
            closed += [title, "-" * len(title)]
            inside = False
        closed.append(line)
    lines[:] = closed


class Commands(SphinxDirective):
    """Every command with what its ``--help`` prints, as sections of the page."""

    def run(self) -> list[nodes.Node]:
        """Give a section for each command; the commands of a group are sections within its own."""
        context = click.Context(cli, info_name="maskwell", terminal_width=80, **cli.context_settings)
        return list(sections_of(cli, context))


def sections_of(group: click.Group, context: click.Context) -> Iterator[nodes.section]:
    """Give a section for each command of a group."""
    for name in group.list_commands(context):
        if command := group.get_command(context, name):
            inner = click.Context(command, parent=context, info_name=name, terminal_width=80)
            title = inner.command_path
            section = nodes.section(ids=[title.replace(" ", "-")], names=[title])
            section += nodes.title(text=title)
            section += nodes.literal_block(text=inner.get_help(), language="text")
            if isinstance(command, click.Group):
                section += list(sections_of(command, inner))
            yield section
