"""The version of maskwell, for what it writes."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version


def version_text() -> str:
    """The version that makes a file or a page."""
    try:
        return version("maskwell")
    except PackageNotFoundError:
        return "from source"
