"""How results show themselves in a notebook, and the one way up to the pictures."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any


def drawn(name: str, result: Any, **options: Any) -> Any:
    """A picture by its public name; looked up when asked for, because this room does not know the pictures."""
    return getattr(importlib.import_module("maskwell"), name)(result, **options)


def html_table(caption: str, header: Sequence[str], rows: Iterable[Sequence[str]], notes: Sequence[str]) -> str:
    """A plain table of texts, with notes below.

    >>> html_table("n = 2", ["answer", "share"], [["a < b", "0.5"]], [])[-54:]
    '<tr><th>a &lt; b</th><td>0.5</td></tr></tbody></table>'
    """
    head = "".join(f"<th>{escape(cell)}</th>" for cell in header)
    body = "".join(
        f"<tr><th>{escape(row[0])}</th>{''.join(f'<td>{escape(cell)}</td>' for cell in row[1:])}</tr>" for row in rows
    )
    below = "".join(f"<p>{escape(note)}</p>" for note in notes)
    top = f"<caption>{escape(caption)}</caption><thead><tr>{head}</tr></thead>"
    return f"<table>{top}<tbody>{body}</tbody></table>{below}"
