"""Sphinx configuration: Markdown pages, and the Python names from their docstrings."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

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

autodoc_typehints = "none"
autodoc_member_order = "bysource"
autodoc_class_signature = "separated"


def setup(app: Any) -> None:
    """Before the docstrings are read (napoleon does so at 500)."""
    app.connect("autodoc-process-docstring", close_sections, priority=400)


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
