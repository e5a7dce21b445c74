"""Private names of ``engines`` whose files need polars; ask for it with ``importorskip`` first."""

from maskwell.engines.polars_columns import FIRST_ROWS

__all__ = ["FIRST_ROWS"]
