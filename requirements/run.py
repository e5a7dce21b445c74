"""Print the part of the lock that the running service needs: the plain package, two of its extras, and setuptools.

    python requirements/run.py > requirements/run.txt

The pins and hashes are those of requirements/dev.txt, so `make test` completes what `make run` has installed. Which
package brings another one is read from the comments that pip-compile writes below each pin.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
HEAD = "# The part of dev.txt that the running service needs, made by: make lock\n"
EXTRAS = ("serve", "labelled")
"""The service, and the exports of its studio for SPSS and Stata."""
BUILT_WITH = "setuptools"


def pins(lock: str) -> dict[str, str]:
    r"""Each package with the lines of its pin.

    >>> pins("# head\na==1 \\\n    --hash=sha256:0\n    # via b\nb==2\n")
    {'a': 'a==1 \\\n    --hash=sha256:0\n    # via b\n', 'b': 'b==2\n'}
    """
    return {found[1]: found[0] for found in re.finditer(r"^([a-z0-9-]+)==.*\n(?:[ #].*\n)*", lock, re.MULTILINE)}


def part(every: dict[str, str], wanted: set[str]) -> dict[str, str]:
    """The pins of some packages and of all that they bring."""
    via = re.compile(r"^    # +(?:via +)?([a-z0-9-]+)$", re.MULTILINE)
    brought_by = {name: set(via.findall(text)) for name, text in every.items()}
    known: set[str] = set()
    while wanted - known:
        known |= wanted
        wanted = {name for name in every if brought_by[name] & known}
    return {name: text for name, text in every.items() if name in known}


def wanted() -> set[str]:
    """Names in pyproject.toml: plain dependencies, and those of the extras."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    bounds = project["dependencies"] + [one for extra in EXTRAS for one in project["optional-dependencies"][extra]]
    return {re.split(r"[\[<>=!~;\s]", bound)[0].lower().replace("_", "-") for bound in bounds} | {BUILT_WITH}


def run_lock() -> str:
    """The text of requirements/run.txt."""
    lock = (ROOT / "requirements/dev.txt").read_text(encoding="utf-8")
    texts = part(pins(lock), wanted()).values()
    return HEAD + re.sub(r"^ +#.*\n", "", "".join(texts), flags=re.MULTILINE)


if __name__ == "__main__":
    print(run_lock(), end="")
