"""Print the licences of all that maskwell needs when it runs, from what the installed packages state.

.venv/bin/python requirements/licences.py > docs/reference/licences.md
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

HEAD = """\
# Licences of the dependencies

maskwell is under the Apache License 2.0. The table names every package that it needs when it runs, with the licence
that the package states. A test compares the table with the packages that are installed from the lock. Tools of tests
and documentation are not in it: nothing that is published contains them.

| package | licence | comes with |
|---|---|---|
"""
FOOT = """
## Copyleft

All licences above permit use in any product that keeps their notices, but for two packages, which are under the
**LGPL-3.0-only**:

- **psycopg** and **psycopg-binary** connect the survey service to PostgreSQL. They come with the extra `serve`, are
  imported unchanged, and only where the address of a PostgreSQL database is given. A product that ships them must let
  its users replace them. Without them the service keeps its data in SQLite.

Wheels for Linux also contain shared libraries of other projects. These are under the LGPL-2.1-or-later:

| library | in the wheels of |
|---|---|
| libquadmath | numpy, scipy |
| libcrypt, libkeyutils | psycopg-binary |

The run-time library of GNU Fortran in numpy and scipy is under the GPL-3.0 with the GCC Runtime Library Exception,
which permits any use by compiled programs. The wheels of both hold the full texts.

The wheels of maskwell contain code of maskwell only.
"""
STATED_IN_WORDS = {
    "contourpy": "BSD-3-Clause",
    "cycler": "BSD-3-Clause",
    "fonttools": "MIT",
    "h11": "MIT",
    "jinja2": "BSD-3-Clause",
    "kiwisolver": "BSD-3-Clause",
    "matplotlib": "Python Software Foundation licence, adapted",
    "piqp": "BSD-2-Clause",
    "polars": "MIT",
    "polars-runtime-32": "MIT",
    "python-dotenv": "BSD-3-Clause",
    "pyreadstat": "Apache-2.0",
    "pyyaml": "MIT",
    "scipy": "BSD-3-Clause",
    "tzdata": "Apache-2.0",
    "uvloop": "MIT OR Apache-2.0",
    "watchfiles": "MIT",
}
"""Packages whose metadata hold words or a full text in place of an SPDX expression."""
NOT_EVERYWHERE = {"py4j": "BSD-3-Clause", "pyspark": "Apache-2.0"}
"""Those of the extra `spark`, which the lock leaves out."""


def brought(wanted: Iterable[str], found: set[tuple[str, frozenset[str]]] | None = None) -> set[str]:
    """Names of the packages that some requirements bring."""
    found = set() if found is None else found
    for asked in map(Requirement, wanted):
        one = (canonicalize_name(asked.name), frozenset(asked.extras))
        if one in found or one[0] == "maskwell":
            continue
        found.add(one)
        if one[0] not in NOT_EVERYWHERE:
            brought([line for line in metadata.requires(one[0]) or [] if applies(Requirement(line), one[1])], found)
    return {name for name, _ in found} | ({"py4j"} if any(name == "pyspark" for name, _ in found) else set())


def applies(line: Requirement, extras: Iterable[str]) -> bool:
    """Whether a requirement holds on this platform, with these extras of the package that states it."""
    return line.marker is None or any(line.marker.evaluate({"extra": extra}) for extra in ("", *extras))


def licence(name: str) -> str:
    """What a package states; the words of one without an expression must name the licence that stands above."""
    if name in NOT_EVERYWHERE:
        return NOT_EVERYWHERE[name]
    about = metadata.metadata(name)
    if stated := about.get("License-Expression"):
        return str(stated)
    words = " ".join([about.get("License") or "", *about.get_all("Classifier", [])])
    known = STATED_IN_WORDS[name]
    if re.split("-| OR | licence", known)[0] not in words:
        raise SystemExit(f"{name} does not state {known}")
    return known


def rows() -> Iterator[str]:
    """One row for each package, in the order of their names."""
    text = (Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8")
    project = tomllib.loads(text)["project"]
    extras = {name: brought(bounds) for name, bounds in project["optional-dependencies"].items() if name != "all"}
    plain = brought(project["dependencies"])
    for name in sorted(plain.union(*extras.values())):
        ways = ["plain"] if name in plain else [f"`{extra}`" for extra, names in extras.items() if name in names]
        stated = licence(name)
        yield f"| {name} | {f'**{stated}**' if 'GPL' in stated else stated} | {', '.join(ways)} |\n"


if __name__ == "__main__":
    print(HEAD + "".join(rows()) + FOOT, end="")
