"""``maskwell doctor``."""

from __future__ import annotations

import importlib.metadata
import platform
from typing import Any

import click

from maskwell.cli.help_page import HelpPage
from maskwell.cli.options import example, json_option
from maskwell.cli.output import print_json, print_lines

LIBRARIES = ("numpy", "scipy", "pyarrow", "cryptography")
FOR = {
    "excel": "Excel files",
    "labelled": "SPSS, Stata and SAS files",
    "pandas": "tables of pandas",
    "polars": "tables of polars",
    "report": "pictures, device sheets, release reports",
    "serve": "the web service",
    "spark": "tables of Spark",
}
"""What each extra is for; a test compares the names with those of the package."""


@click.command(cls=HelpPage, epilog=example("maskwell doctor"))
@json_option
def doctor(*, as_json: bool) -> None:
    """Show what this installation can do: version, compiled kernels, extras, kinds of files."""
    found = _found()
    if as_json:
        print_json(found)
    else:
        print_lines(_lines(found))


def _found() -> dict[str, Any]:
    from maskwell import __version__
    from maskwell.core.extras import EXTRAS, is_installed
    from maskwell.designs.kernels import COMPILED

    extras: dict[str, list[str]] = {}
    for library, extra in EXTRAS.items():
        extras.setdefault(extra, []).extend([] if is_installed(library) else [library])
    return {
        "version": __version__,
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "kernels": "compiled" if COMPILED else "numpy",
        "libraries": {name: importlib.metadata.version(name) for name in LIBRARIES},
        "extras": {extra: {"installed": not lacking, "missing": lacking} for extra, lacking in sorted(extras.items())},
    }


def _state(lacking: list[str]) -> str:
    return "missing" if lacking else "installed"


def _lines(found: dict[str, Any]) -> list[str]:
    place = f"maskwell {found['version']} on Python {found['python']}, {found['system']}"
    slow = "NumPy: no compiled kernels, so drawing and counting take several times as long; results are the same"
    width = max(map(len, found["extras"]))
    rows = [
        f"  {extra:<{width}}  {_state(state['missing']):<9}  {FOR[extra]}" for extra, state in found["extras"].items()
    ]
    lacking = [extra for extra, state in found["extras"].items() if not state["installed"]]
    return [
        f"{place} works.",
        f"  kernels    {'compiled' if found['kernels'] == 'compiled' else slow}",
        f"  libraries  {', '.join(f'{name} {version}' for name, version in found['libraries'].items())}",
        "",
        "Extras:",
        *rows,
        *([f"Next: pip install 'maskwell[{','.join(lacking)}]'"] if lacking else []),
    ]
