"""Sphinx configuration: Markdown pages, and the Python names from their docstrings."""

from __future__ import annotations

import gc
import inspect
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from maskwell.cli.help_page import anchor
from maskwell.cli.main import cli

sys.path.insert(0, str(Path(__file__).parent))
from notebook_pages import with_notebooks

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
html_theme_options = {"top_of_page_buttons": []}
html_static_path = ["_static"]
html_css_files = ["page.css"]
html_math_renderer = "mathml"

autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_use_type_comments = False
autodoc_member_order = "bysource"
autodoc_class_signature = "separated"


def setup(app: Any) -> None:
    """Mend docstrings before napoleon reads them (at 500), and write formulas as MathML, which needs no script."""
    app.connect("autodoc-process-docstring", close_sections, priority=400)
    app.connect("source-read", close_examples)
    app.connect("build-finished", make_accessible)
    app.add_directive("commands", Commands)
    app.add_html_math_renderer("mathml", (write_inline_formula, None), (write_displayed_formula, None))


ACCESSIBLE = {
    '<aside class="sidebar-drawer">': '<aside class="sidebar-drawer" aria-label="Pages">',
    '<aside class="toc-drawer">': '<aside class="toc-drawer" aria-label="On this page">',
    "<pre>": '<pre tabindex="0">',
    '<div class="table-wrapper docutils container">': '<div class="table-wrapper docutils container" tabindex="0">',
    '<div class="table-wrapper output">': '<div class="table-wrapper output" tabindex="0">',
    '<div class="math notranslate">': '<div class="math notranslate" tabindex="0">',
}
"""What the theme writes, and what readers need who use a keyboard or a screen reader."""


def make_accessible(app: Any, error: Exception | None) -> None:
    """Name the side bars, let a keyboard scroll what is wide, and make empty heads of tables plain cells."""
    if error is not None or app.builder.format != "html":
        return
    for path in Path(app.outdir).rglob("*.html"):
        page = path.read_text(encoding="utf-8")
        for written, needed in ACCESSIBLE.items():
            page = page.replace(written, needed)
        path.write_text(re.sub(r"<th[^>]*>\s*(<p></p>)?\s*</th>", "<td></td>", page), encoding="utf-8")


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


def close_examples(app: Any, name: str, content: list[str]) -> None:
    """Put notebooks in their place, and leave out the empty line that ends an example for its test only."""
    folder = Path(app.env.doc2path(name)).parent
    content[0] = with_notebooks(content[0], folder, runs=app.builder.format == "html")
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
    """Every command with its options, from the program itself, as sections of the page."""

    def run(self) -> list[nodes.Node]:
        """Give a section for each command; the commands of a group are sections within its own."""
        return list(sections_of(cli, click.Context(cli, info_name="maskwell")))


def sections_of(group: click.Group, context: click.Context) -> Iterator[nodes.section]:
    """Give a section for each command of a group."""
    for name in group.list_commands(context):
        if command := group.get_command(context, name):
            inner = click.Context(command, parent=context, info_name=name)
            section = nodes.section(ids=[anchor(inner).lstrip("#")], names=[inner.command_path])
            section += nodes.title(text=inner.command_path)
            section += [with_options_as_code(part) for part in inspect.cleandoc(command.help or "").split("\n\n")]
            usage = " ".join([inner.command_path, *command.collect_usage_pieces(inner)])
            section += nodes.literal_block(text=usage, language="text")
            if examples := (command.epilog or "").partition("Example:\n")[2]:
                section += nodes.paragraph(text="Example:")
                section += nodes.literal_block(text=inspect.cleandoc(examples), language="sh")
            for title, rows in command.options_by_section(inner).items():
                section += nodes.rubric(text=title)
                section += options_of(rows)
            if isinstance(command, click.Group):
                section += list(sections_of(command, inner))
            yield section


def options_of(rows: list[tuple[str, str]]) -> nodes.definition_list:
    """Give a list of options with what each does."""
    items = nodes.definition_list()
    for names, words in rows:
        term = nodes.term("", "", nodes.literal(text=names))
        items += nodes.definition_list_item("", term, nodes.definition("", with_options_as_code(words)))
    return items


def with_options_as_code(text: str) -> nodes.paragraph:
    """Give a paragraph in which options look as they are typed."""
    parts = re.split(r"((?<![\w-])--?[a-z][a-z0-9-]*)", " ".join(text.split()))
    return nodes.paragraph(
        "", "", *(nodes.literal(text=p) if n % 2 else nodes.Text(p) for n, p in enumerate(parts) if p)
    )
