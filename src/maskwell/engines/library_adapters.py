"""Columns of pandas, polars and Arrow: how the adapter of each is loaded when the first such column is met."""

from __future__ import annotations

from maskwell.core.adapters import LOADERS, Adapter


def register_libraries() -> None:
    """Tell core how to load the adapter of each library; none is loaded by that."""
    LOADERS.update(pandas=_pandas, polars=_polars, pyarrow=_arrow)


def _pandas() -> Adapter:
    from maskwell.engines import pandas_columns

    return pandas_columns


def _polars() -> Adapter:
    from maskwell.engines import polars_columns

    return polars_columns


def _arrow() -> Adapter:
    from maskwell.engines import arrow_columns

    return arrow_columns
