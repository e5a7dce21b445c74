"""How results show themselves: plain values for JSON, a table for a notebook, and the one way up to the pictures."""

from __future__ import annotations

import html
import importlib
import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

from maskwell.core.escaping import visible
from maskwell.errors import MissingExtraError


def drawn(name: str, result: Any, **options: Any) -> Any:
    """A picture by its public name; looked up when asked for, because this room does not know the pictures."""
    return getattr(importlib.import_module("maskwell"), name)(result, **options)


def data_frame(columns: Mapping[str, Any]) -> Any:
    """A pandas table of these columns."""
    try:
        import pandas as pd
    except ImportError as error:
        raise MissingExtraError("pandas is not installed", hint="pip install 'maskwell[pandas]'") from error
    return pd.DataFrame(dict(columns))


def html_table(caption: str, header: Sequence[str], rows: Iterable[Sequence[str]], notes: Sequence[str]) -> str:
    """A plain table of texts, with notes below.

    >>> html_table("n = 2", ["answer", "share"], [["a < b", "0.5"]], [])[-54:]
    '<tr><th>a &lt; b</th><td>0.5</td></tr></tbody></table>'
    """

    def escape(text: str) -> str:
        return html.escape(visible(text))

    head = "".join(f"<th>{escape(cell)}</th>" for cell in header)
    body = "".join(
        f"<tr><th>{escape(row[0])}</th>{''.join(f'<td>{escape(cell)}</td>' for cell in row[1:])}</tr>" for row in rows
    )
    below = "".join(f"<p>{escape(note)}</p>" for note in notes)
    top = f"<caption>{escape(caption)}</caption><thead><tr>{head}</tr></thead>"
    return f"<table>{top}<tbody>{body}</tbody></table>{below}"


def plain_label(label: Hashable) -> Any:
    """A label as JSON can hold it, a tuple as a list."""
    if isinstance(label, tuple):
        return [plain_label(part) for part in label]
    return label if isinstance(label, str | int | float | bool) else str(label)


def number_or_none(value: float) -> float | None:
    """A number, or None for NaN, which JSON has no word for.

    >>> number_or_none(0.25), number_or_none(math.nan)
    (0.25, None)
    """
    return None if math.isnan(value) else float(value)
