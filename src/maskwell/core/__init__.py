"""Values that every room shares: categories, reports, counts, exact numbers and random words."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from maskwell.core.categories import Categories as Categories
    from maskwell.core.cells import CellTable as CellTable
    from maskwell.core.keyed import KeyedRandom as KeyedRandom
    from maskwell.core.keyed import new_key_file as new_key_file
    from maskwell.core.randomness import SecureRandom as SecureRandom
    from maskwell.core.randomness import SeededRandom as SeededRandom
    from maskwell.core.report_data import Counts as Counts
    from maskwell.core.report_data import Reports as Reports
    from maskwell.core.row_sums import Cells as Cells
else:
    import lazy_loader

    __getattr__, __dir__, __all__ = lazy_loader.attach(
        __name__,
        submod_attrs={
            "categories": ["Categories"],
            "cells": ["CellTable"],
            "keyed": ["KeyedRandom", "new_key_file"],
            "randomness": ["SecureRandom", "SeededRandom"],
            "report_data": ["Counts", "Reports"],
            "row_sums": ["Cells"],
        },
    )
