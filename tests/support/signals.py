"""Signals that whoever started the tests wants ignored: SIGHUP under nohup, SIGINT in the background of a shell."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager

NAMES = ("SIGINT", "SIGTERM", "SIGHUP")


@contextmanager
def signals_as_usual() -> Iterator[None]:
    """Commands started meanwhile obey signals that this process ignores, and goes on to ignore."""
    numbers = [getattr(signal, name) for name in NAMES if hasattr(signal, name)]
    ignored = [number for number in numbers if signal.getsignal(number) == signal.SIG_IGN]
    for number in ignored:  # a handler is not passed on to another program, SIG_IGN is
        signal.signal(number, lambda *_: None)
    try:
        yield
    finally:
        for number in ignored:
            signal.signal(number, signal.SIG_IGN)
