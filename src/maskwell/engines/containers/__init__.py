"""Columns of pandas, polars and Arrow, one file per library; ``maskwell.core.containers`` finds them."""
