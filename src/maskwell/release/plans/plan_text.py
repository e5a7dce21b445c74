"""The tables of a plan as the text of a TOML file; the standard library only reads them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from maskwell.core.escapes import in_toml

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_DECIMAL = re.compile(r"-?\d+(\.\d+)?")
_TEXTS = {"title", "weights", "id", "dataset", "clearance", "variable", "counts_from", "file", "matrix", "first"}
"""Entries that are texts, also where they look like numbers."""


def write_toml(tables: Mapping[str, Any]) -> str:
    """The text of a plan from its tables.

    >>> print(write_toml({"release": {"keys": ["sex"], "match": "0.5"}, "protect": [{"variables": ["sex"]}]}))
    [release]
    keys = ["sex"]
    match = 0.5
    <BLANKLINE>
    [[protect]]
    variables = ["sex"]
    <BLANKLINE>
    """
    parts = []
    for name, content in tables.items():
        many = isinstance(content, list)
        head = f"[[{name}]]" if many else f"[{name}]"
        for table in content if many else [content] * bool(content):
            lines = [write_entry(key, value) for key, value in table.items()]
            parts.append("\n".join([head, *lines]) + "\n")
    return "\n".join(parts)


def write_entry(key: str, value: Any) -> str:
    """One line of a plan.

    >>> write_entry("caps", {"not asked": "1/3"}), write_entry("match", "0.5"), write_entry("title", "2025")
    ('caps = { "not asked" = "1/3" }', 'match = 0.5', 'title = "2025"')
    """
    return f"{_key(key)} = {_value(value, text=key in _TEXTS)}"


def _key(key: str) -> str:
    return key if _BARE.fullmatch(key) else in_toml(key)


def _value(value: Any, *, text: bool) -> str:
    if isinstance(value, Mapping):
        inside = ", ".join(f"{_key(str(key))} = {_value(one, text=text)}" for key, one in value.items())
        return f"{{ {inside} }}" if inside else "{}"
    if isinstance(value, list):
        return f"[{', '.join(_value(one, text=True) for one in value)}]"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int) or (not text and _DECIMAL.fullmatch(value)):
        return str(value)
    return in_toml(value)
