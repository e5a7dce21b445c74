"""How adapters of table libraries are loaded, handed in from above: the rooms of the mathematics import no library."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from maskwell.core.categories import Column, Versions


class Adapter(Protocol):
    """What the module for each library offers."""

    def split(self, values: Any) -> Column:
        """Column of the library, as numpy sees it."""

    def join(self, codes: NDArray[Any], versions: Versions, like: Any, kept: NDArray[np.bool_] | None) -> Any:
        """Column like ``like`` (only its rows ``kept``) that holds the labels with these codes."""

    def split_sets(self, values: Any, k: int) -> NDArray[np.uint8]:
        """Bit masks of a column of set reports over k categories, shape (n, ceil(k/8))."""

    def join_sets(self, bits: NDArray[np.uint8], like: Any, kept: NDArray[np.bool_] | None) -> Any:
        """Column of the library, with the index and name of ``like``, that holds bit masks as bytes."""


LOADERS: dict[str, Callable[[], Adapter]] = {}  # loads the adapter of a library, by its root package
