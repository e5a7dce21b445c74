"""Where rows live: tables in memory and files of every kind."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from maskwell.engines.cell_counts import count_tables as count_tables
else:
    import lazy_loader

    __getattr__, __dir__, __all__ = lazy_loader.attach(
        __name__,
        submod_attrs={
            "cell_counts": ["count_tables"],
        },
    )
