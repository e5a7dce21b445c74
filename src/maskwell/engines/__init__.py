"""Where rows live: tables in memory, files of every kind, tables of Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from maskwell.core.adapters import Adapter
    from maskwell.engines.counts_in_arrow import counts_from_arrow as counts_from_arrow
    from maskwell.engines.counts_in_arrow import counts_to_arrow as counts_to_arrow
    from maskwell.engines.input_file import csv_file as csv_file
    from maskwell.engines.spark_frames import spark_session as spark_session
else:
    import lazy_loader

    __getattr__, __dir__, __all__ = lazy_loader.attach(
        __name__,
        submod_attrs={
            "counts_in_arrow": ["counts_from_arrow", "counts_to_arrow"],
            "input_file": ["csv_file"],
            "spark_frames": ["spark_session"],
        },
    )


def register_libraries() -> None:
    """Make core load the adapter for columns of each library when the first is met; this call loads none."""
    from functools import partial

    from maskwell.core.adapters import LOADERS

    LOADERS.update({library: partial(_adapter, library) for library in ("pandas", "polars", "pyarrow")})


def _adapter(library: str) -> Adapter:
    if library == "pandas":
        from maskwell.engines import pandas_columns

        return pandas_columns
    if library == "polars":
        from maskwell.engines import polars_columns

        return polars_columns
    from maskwell.engines import arrow_columns

    return arrow_columns
