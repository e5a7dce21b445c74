"""Notebooks as Markdown, with the output of every cell. They run when HTML is built, and not when pages are checked."""

from __future__ import annotations

import ast
import contextlib
import io
import json
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

INCLUDED = re.compile(r"^```\{notebook\} (\S+)\n```$", re.MULTILINE)


def with_notebooks(page: str, folder: Path, *, runs: bool) -> str:
    """Put the cells of a notebook in the place of each block ``{notebook} FILE`` of a page."""
    return INCLUDED.sub(lambda found: "\n\n".join(cells(folder / found[1], runs=runs)), page)


def cells(path: Path, *, runs: bool) -> Iterator[str]:
    """Give each cell as Markdown, without the first heading, which is that of the page."""
    names: dict[str, Any] = {}
    with contextlib.chdir(tempfile.gettempdir()):
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            text = "".join(cell["source"])
            if cell["cell_type"] == "code":
                yield f"```python\n{text}\n```"
                yield from shown(text, names) if runs else ()
            else:
                yield re.sub(r"\A# .*\n", "", text)


def shown(text: str, names: dict[str, Any]) -> Iterator[str]:
    """Run a cell as a notebook does: what it prints, then the value of its last line as HTML or as text."""
    body = ast.parse(text).body
    last = ast.Expression(body.pop().value) if isinstance(body[-1], ast.Expr) else None
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(ast.Module(body, []), "cell", "exec"), names)  # a notebook of this folder
        value = eval(compile(last, "cell", "eval"), names) if last is not None else None
    if printed.getvalue():
        yield f"```text\n{printed.getvalue().rstrip()}\n```"
    drawn = next((getattr(value, name)() for name in ("_repr_svg_", "_repr_html_") if hasattr(value, name)), None)
    if drawn is not None:
        yield f'````{{raw}} html\n<div class="table-wrapper output">{drawn}</div>\n````'
    elif value is not None:
        yield f"```text\n{value!r}\n```"
