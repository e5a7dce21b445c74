"""What the engines know of table libraries, handed in from above: the rooms of the mathematics import none.

For each library there is how its adapter is loaded, which sees columns of the library as arrays and makes such columns
again; that happens when the first column of the library is met. This file imports next to nothing, so that handing in
costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from maskwell.core.library_columns import Column, Versions


class Adapter(Protocol):
    """What the module for each library offers."""

    def split(self, values: Any) -> Column:
        """Column of the library, as numpy sees it."""

    def join(self, codes: NDArray[Any], versions: Versions, like: Any, kept: NDArray[np.bool_] | None) -> Any:
        """Column like ``like`` (only its rows ``kept``) that holds the labels with these codes."""


LOADERS: dict[str, Callable[[], Adapter]] = {}
"""How the adapter of each library is loaded, by the name of the library's root package."""


def adapter_of(values: Any) -> Adapter | None:
    """The adapter of the library that a column comes from, None where none is known.

    >>> adapter_of(3) is None
    True
    """
    for kind in type(values).__mro__:
        root = kind.__module__.partition(".")[0]
        if root in LOADERS:
            return LOADERS[root]()
    return None
