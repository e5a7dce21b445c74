"""Print the oldest allowed version of every dependency in pyproject.toml, and what only their tests need."""

from __future__ import annotations

import tomllib
from pathlib import Path

TEST_TOOLS = ["httpx"]
"""Beside those of requirements/dev.in: the test client of the oldest starlette does not know httpx2."""


def oldest() -> list[str]:
    """Turn each lower bound ``name>=version`` into the pin ``name==version``."""
    content = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))
    project, built_with = content["project"], content["build-system"]["requires"]
    extras = [bound for name, bounds in project["optional-dependencies"].items() if name != "all" for bound in bounds]
    return [bound.replace(">=", "==") for bound in project["dependencies"] + extras + built_with] + TEST_TOOLS


if __name__ == "__main__":
    print("\n".join(oldest()))
