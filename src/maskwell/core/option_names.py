"""What a parameter is called where a message is read: an option on the command line, a keyword in Python."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_TYPED: ContextVar[bool] = ContextVar("typed", default=False)


def option(name: str, value: str = "") -> str:
    """The name of a parameter as its reader would write it, with an example of a value where one is given.

    >>> option("replicate_method"), option("lonely", "centre")
    ('replicate_method', 'lonely="centre"')
    >>> with as_typed():
    ...     option("replicate_method"), option("lonely", "centre")
    ('--replicate-method', '--lonely centre')
    """
    if _TYPED.get():
        return f"--{name.replace('_', '-')}{value and ' '}{value}"
    return f'{name}="{value}"' if value else name


@contextmanager
def as_typed() -> Iterator[None]:
    """Messages from within speak of the options of the command line."""
    token = _TYPED.set(True)
    try:
        yield
    finally:
        _TYPED.reset(token)
