"""The risk of all records of a file of a million rows: counting it, and the chance of a correct match of every cell."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from bench.measure import best_seconds
from bench.speed import Line
from maskwell import Categories
from maskwell.core.cells import CellTable
from maskwell.designs import Sparse, Uniform
from maskwell.engines.cell_counts import count_tables
from maskwell.microdata.matrices import method1
from maskwell.microdata.matrices.closed_forms import inverse_frequency
from maskwell.microdata.matrices.matrix_patterns import blocks_of_cells
from maskwell.microdata.risk.file_risk import assess_risk
from maskwell.microdata.stages.stage import Stage

ROWS = 10**6
SDCMICRO = 2.1  # seconds that its set-up of the risk of such a file takes, without any release
FEW, MANY = (4, 8, 12, 16), (12, 20, 20, 25)


def _codes(sizes: Sequence[int]) -> np.ndarray:
    rng = np.random.default_rng(5)
    shares = [rng.lognormal(0, 1, size) for size in sizes]
    drawn = [rng.choice(size, ROWS, p=share / share.sum()) for size, share in zip(sizes, shares, strict=True)]
    return np.stack(drawn, axis=1)


def _table(sizes: Sequence[int]) -> CellTable:
    key, counts = np.unique(np.ravel_multi_index(tuple(_codes(sizes).T), tuple(sizes)), return_counts=True)
    codes = np.stack(np.unravel_index(key, tuple(sizes)), axis=1).astype(np.int32)
    names = tuple(f"key{i}" for i in range(len(sizes)))
    return CellTable(names, tuple(tuple(range(size)) for size in sizes), codes, counts)


def _stage(
    names: tuple[str, ...], states: list[tuple[int, ...]], design: Sparse | Uniform, counts: np.ndarray
) -> Stage:
    return Stage(
        variables=names,
        states=states,
        outputs=states,
        design=design,
        counts=counts,
        cells=np.zeros(len(states), dtype=np.int64),
        method="measured",
        invariance="none",
        derived=False,
    )


def _alone(table: CellTable) -> list[Stage]:
    return [
        _stage((name,), [(i,) for i in range(size)], Uniform.of("0.9", Categories.numbered(size)), np.ones(size))
        for name, size in zip(table.columns, table.sizes, strict=True)
    ]


def _jointly(table: CellTable, design: Sparse) -> list[Stage]:
    return [_stage(table.columns, table.labels(), design, table.counts)]


def _line(job: str, table: CellTable, stages: list[Stage]) -> Line:
    seconds = best_seconds({"ours": lambda: assess_risk(table, table.columns, stages)}, rounds=3)["ours"]
    compared = f"{seconds / SDCMICRO:.2f} x the time of sdcMicro's set-up ({SDCMICRO} s), which knows of no release"
    return Line(f"{job}, {len(table):,} cells", f"{seconds:.2f} s", compared, "5 s")


def counting() -> Line:
    """Four keys of a Parquet file, and the risk of the file as it is."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    codes = _codes(FEW)
    names = [f"key{i}" for i in range(len(FEW))]
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "keys.parquet")
        pq.write_table(pa.table({name: codes[:, i] for i, name in enumerate(names)}), path)
        ours = {"ours": lambda: assess_risk(count_tables(path, [names])[0], names)}
        seconds = best_seconds(ours, rounds=3)["ours"]
    compared = f"{SDCMICRO / seconds:.0f} x as fast as sdcMicro ({SDCMICRO} s)"
    return Line(f"k-anonymity and matches of {ROWS:,} rows, four keys, from Parquet", f"{seconds:.2f} s", compared, "")


def lines() -> Iterator[Line]:
    """All lines, in order."""
    yield counting()
    for sizes in (FEW, MANY):
        table = _table(sizes)
        blocks = inverse_frequency(table.counts, "0.618", blocks=blocks_of_cells(table.codes))
        yield _line("risk of blocks, inverse frequency", table, _jointly(table, blocks))
        yield _line("risk of four keys, each randomized alone", table, _alone(table))
    small = _table((2, 8, 10, 16))
    whole = method1(small.counts, "0.9")
    yield _line(f"risk of one matrix of {small.counts.size**2:,} entries", small, _jointly(small, whole))
