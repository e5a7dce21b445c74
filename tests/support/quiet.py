"""Errors about data: what they must say, and what they must keep for those who ask."""

import re
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from maskwell.errors import MaskwellError


@contextmanager
def told(error: type[BaseException], match: str | None = None) -> Iterator[pytest.ExceptionInfo[Any]]:
    """Expect an error that also says what to do next."""
    with pytest.raises(error, match=match) as raised:
        yield raised
    assert raised.value.hint


def refused(
    error: type[BaseException] | tuple[type[BaseException], ...],
    said: str,
    call: Callable[..., object],
    /,
    *given: Any,
    **options: Any,
) -> Any:
    """The error of a call that is refused in these words (a pattern), in one line, and with what to do next."""
    with pytest.raises(error, match=said or None) as raised:
        call(*given, **options)
    if isinstance(raised.value, MaskwellError):
        assert raised.value.hint and "\n" not in raised.value.message
    return raised.value


@contextmanager
def quiet(
    error: type[MaskwellError], *, match: str | None = None, values: str
) -> Iterator[pytest.ExceptionInfo[MaskwellError]]:
    """Expect an error that holds ``values`` (a pattern) and prints them nowhere, not even in its traceback."""
    with pytest.raises(error, match=match) as caught:
        yield caught
    found = re.search(values, caught.value.values)
    assert found, caught.value.values
    printed = caught.value.message + caught.value.hint
    said = "".join(line for line in traceback.format_exception(caught.value) if not line.startswith("  "))
    word = rf"(?<!\w){re.escape(found.group())}(?!\w)"
    assert not re.search(word, printed) and not re.search(word, said), said
