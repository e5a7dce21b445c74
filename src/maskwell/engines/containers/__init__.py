"""Columns of pandas, polars and Arrow, one file per library; ``maskwell.core.library_columns`` finds them."""
