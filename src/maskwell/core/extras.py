"""Libraries that are installed on request: which extra brings each, and the one error where it is missing."""

from __future__ import annotations

import importlib
from importlib.util import find_spec
from typing import Any

from maskwell.errors import MissingExtraError

_LIBRARIES = {
    "excel": "python_calamine xlsxwriter",
    "labelled": "pyreadstat",
    "pandas": "pandas",
    "polars": "polars",
    "report": "jinja2 matplotlib",
    "serve": "alembic anyio argon2 httptools markupsafe multipart psycopg python_multipart sqlalchemy starlette"
    " uvicorn",
    "spark": "py4j pyspark",
}
EXTRAS = {library: extra for extra, libraries in _LIBRARIES.items() for library in libraries.split()}
"""The extra that brings each library, by the name under which it is imported; a test compares it with the package's."""


def require_library(library: str, what: str, *, extra: str | None = None) -> Any:
    """Import a library that ``what`` needs, or say which extra to install."""
    try:
        return importlib.import_module(library)
    except ImportError as error:
        raise missing_extra(library, what, extra=extra) from error


def require(name: str = "pyarrow") -> Any:
    """Import a part of Arrow, or of another library, where it is needed."""
    return importlib.import_module(name)


def missing_extra(library: str, what: str, *, extra: str | None = None) -> MissingExtraError:
    """The error for a library that ``what`` needs; ``extra`` names it where several extras bring the library."""
    root = library.partition(".")[0]
    return MissingExtraError(
        "needs-which-is-not-installed", what=what, root=root, extra=extra or EXTRAS.get(root, "all")
    )


def is_installed(library: str) -> bool:
    """Whether a library could be imported; it is not imported."""
    try:
        return find_spec(library) is not None
    except (ImportError, ValueError):  # blocked on purpose
        return False


def lacking_extra(error: BaseException, what: str) -> MissingExtraError | None:
    """The error that names the extra, where another one came of a library that is not installed; else None."""
    root = (error.name or "").partition(".")[0] if isinstance(error, ModuleNotFoundError) else ""
    return missing_extra(root, what) if root in EXTRAS else None
