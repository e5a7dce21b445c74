"""Columns of pandas, polars and Arrow, one file per library, loaded when the first such column is met."""

from __future__ import annotations

from maskwell.core.adapters import LOADERS, Adapter


def register_libraries() -> None:
    """Tell core how to load the adapter of each library; none is loaded by that."""
    LOADERS.update(pandas=_pandas, polars=_polars, pyarrow=_arrow)


def _pandas() -> Adapter:
    from maskwell.engines.containers import pandas_

    return pandas_


def _polars() -> Adapter:
    from maskwell.engines.containers import polars_

    return polars_


def _arrow() -> Adapter:
    from maskwell.engines.containers import arrow_

    return arrow_
