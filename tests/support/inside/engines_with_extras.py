"""Private names of ``engines`` whose files need pandas or polars; ask for those with ``importorskip`` first."""

from maskwell.engines import pandas_columns, polars_columns
from maskwell.engines.polars_columns import FIRST_ROWS

__all__ = ["FIRST_ROWS", "pandas_columns", "polars_columns"]
