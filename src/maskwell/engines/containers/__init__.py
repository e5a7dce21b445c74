"""Columns of pandas, polars and Arrow, one file per library, loaded when the first such column is met."""

from __future__ import annotations

from typing import Any

from maskwell.core.adapters import LIBRARIES, LOADERS, Adapter


def register_libraries() -> None:
    """Tell core how to load each library and its adapter; none is loaded by that."""
    LOADERS.update(pandas=_pandas, polars=_polars, pyarrow=_arrow)
    LIBRARIES.update(pandas=_pandas_itself)


def _pandas() -> Adapter:
    from maskwell.engines.containers import pandas_

    return pandas_


def _polars() -> Adapter:
    from maskwell.engines.containers import polars_

    return polars_


def _arrow() -> Adapter:
    from maskwell.engines.containers import arrow_

    return arrow_


def _pandas_itself() -> Any:
    import pandas as pd

    return pd
