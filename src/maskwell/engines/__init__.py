"""Where rows live: tables in memory and files of every kind."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from maskwell.core.adapters import Adapter
    from maskwell.engines.assignments import Assignment as Assignment
    from maskwell.engines.cell_counts import count_tables as count_tables
    from maskwell.engines.column_randomizer import randomize_file as randomize_file
    from maskwell.engines.column_randomizer import randomize_table as randomize_table
    from maskwell.engines.plan_columns import PlanColumns as PlanColumns
    from maskwell.engines.report_counts import tally_columns as tally_columns
    from maskwell.engines.report_counts import tally_file as tally_file
    from maskwell.engines.report_counts import tally_groups as tally_groups
    from maskwell.engines.report_counts import tally_survey as tally_survey
    from maskwell.engines.row_sources import MemoryTable as MemoryTable
    from maskwell.engines.row_sources import open_source as open_source
else:
    import lazy_loader

    __getattr__, __dir__, __all__ = lazy_loader.attach(
        __name__,
        submod_attrs={
            "assignments": ["Assignment"],
            "cell_counts": ["count_tables"],
            "column_randomizer": ["randomize_file", "randomize_table"],
            "plan_columns": ["PlanColumns"],
            "report_counts": ["tally_columns", "tally_file", "tally_groups", "tally_survey"],
            "row_sources": ["MemoryTable", "open_source"],
        },
    )


def register_libraries() -> None:
    """Tell core how to load the adapter for columns of each library when the first is met; none is loaded by that."""
    from maskwell.core.adapters import LOADERS

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
