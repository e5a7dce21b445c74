"""Notebooks as pages, with the output of every cell. They run when HTML is built; checks of the pages only read them."""

from __future__ import annotations

import ast
import contextlib
import io
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.util.docutils import SphinxDirective


class Notebook(SphinxDirective):
    """The cells of a notebook: text as text, code with what it shows. Its first heading is left to the page."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Give the nodes of all cells, and name the notebook as something the page depends on."""
        path = Path(self.env.relfn2path(self.arguments[0])[1])
        self.env.note_dependency(str(path))
        runs = self.env.app.builder.format == "html"
        page = nodes.section()
        page.document = self.state.document
        with contextlib.chdir(tempfile.mkdtemp()):
            for text, is_code, shown in cells_with_outputs(path, runs=runs):
                if is_code:
                    page += nodes.literal_block(text=text, language="python")
                    page += shown
                else:
                    lines = text.splitlines()[2:] if text.startswith("# ") else text.splitlines()
                    self.state.nested_parse(StringList(lines, str(path)), 0, page, match_titles=True)
        return page.children


def cells_with_outputs(path: Path, *, runs: bool) -> Iterator[tuple[str, bool, list[nodes.Node]]]:
    """Give the text of each cell, whether it is code, and what it shows."""
    names: dict[str, Any] = {}
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        text, is_code = "".join(cell["source"]), cell["cell_type"] == "code"
        yield text, is_code, run_cell(text, names) if is_code and runs else []


def run_cell(text: str, names: dict[str, Any]) -> list[nodes.Node]:
    """Run a cell as a notebook does: what it prints, then the value of its last line as HTML or as text."""
    body = ast.parse(text).body
    last = ast.Expression(body.pop().value) if isinstance(body[-1], ast.Expr) else None
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(ast.Module(body, []), "cell", "exec"), names)  # noqa: S102 - a notebook of this folder
        value = eval(compile(last, "cell", "eval"), names) if last is not None else None  # noqa: S307
    shown: list[nodes.Node] = []
    if printed.getvalue():
        shown.append(nodes.literal_block(text=printed.getvalue().rstrip(), language="text"))
    if hasattr(value, "_repr_html_"):
        shown.append(nodes.raw(text=f'<div class="table-wrapper output">{value._repr_html_()}</div>', format="html"))
    elif hasattr(value, "_repr_svg_"):
        shown.append(nodes.raw(text=f'<div class="table-wrapper output">{value._repr_svg_()}</div>', format="html"))
    elif value is not None:
        shown.append(nodes.literal_block(text=repr(value), language="text"))
    return shown
