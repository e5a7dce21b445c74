"""Sphinx configuration: Markdown pages, nothing generated."""

from __future__ import annotations

import tomllib
from pathlib import Path

_metadata = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]

project = "maskwell"
author = "The maskwell developers"
copyright = "the maskwell developers"
version = release = _metadata["version"]

extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build", "adr/0000-template.md"]
nitpicky = True

myst_enable_extensions = ["deflist", "dollarmath"]
myst_heading_anchors = 3
suppress_warnings = ["misc.highlighting_failure"]

html_theme = "furo"
html_title = f"maskwell {version}"
html_show_sphinx = False
