"""How results show themselves: plain values for JSON, frames, a table for a notebook, and the way to the pictures.

Results live below the rooms that draw and print them. The door of the package registers where renderers are found, and
a result asks for one by its name.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from maskwell.errors import MissingExtraError

if TYPE_CHECKING:
    from maskwell.core.arguments import Real

Renderer = Callable[..., Any]
_sources: list[Callable[[], Mapping[str, Renderer]]] = []


def register(source: Callable[[], Mapping[str, Renderer]]) -> None:
    """Where renderers are found; asked when the first of them is needed, so that nothing is loaded before."""
    _sources[:] = [source]


def render(name: str, result: Any, **options: Any) -> Any:
    """A result as a picture or a text, by the renderer of that name."""
    (source,) = _sources
    return source()[name](result, **options)


def data_frame(columns: Mapping[str, Any], *, labels: Mapping[str, Sequence[Hashable]] | None = None) -> Any:
    """A pandas table; rows are indexed by all combinations of the ``labels`` of variables, where these are given."""
    pandas = require_pandas()
    index = None if labels is None else pandas.MultiIndex.from_product(labels.values(), names=list(labels))
    return pandas.DataFrame(dict(columns), index=index)


def require_pandas() -> Any:
    """Import pandas, or say how to install it."""
    try:
        import pandas as pd
    except ImportError as error:
        raise MissingExtraError("pandas is not installed", hint="pip install 'maskwell[pandas]'") from error
    return pd


def html_table(caption: str, header: Sequence[str], rows: Iterable[Sequence[str]], notes: Sequence[str]) -> str:
    """A plain table of texts, with notes below.

    >>> html_table("n = 2", ["answer", "share"], [["a < b", "0.5"]], [])[-54:]
    '<tr><th>a &lt; b</th><td>0.5</td></tr></tbody></table>'
    """
    import html  # here, because the door of the package loads this module

    from maskwell.core.phrases import visible

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


def plain_numbers(values: Real) -> list[Any]:
    """An array as nested lists, with None for NaN.

    >>> import numpy as np
    >>> plain_numbers(np.array([[0.25, math.nan]]))
    [[0.25, None]]
    """
    plain = values.astype(object)
    plain[values != values] = None  # NaN alone differs from itself; numpy need not be loaded
    return list(plain.tolist())
