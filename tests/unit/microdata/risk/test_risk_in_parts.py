"""The risk of a large file, taken in parts that exchange no records, is that of the whole."""

from __future__ import annotations

import numpy as np
import pytest
from tests.support.together import together

from maskwell.core import CellTable
from maskwell.microdata import ReleasePlan
from maskwell.microdata.assessment import assess_tables
from maskwell.microdata.risk import RiskReport, assess_risk, identity_disclosure
from maskwell.microdata.risk import arrivals as arrivals_module
from maskwell.microdata.stages.stage import Stage
from maskwell.microdata.true_file import tables_of

KEYS = ["region", "job", "age"]


def people(seed: int, n: int = 4000) -> CellTable:
    draw = np.random.default_rng(seed)
    parts = [draw.choice(size, n, p=draw.dirichlet(np.full(size, 0.5))) for size in (6, 12, 9)]
    cells, counts = np.unique(np.stack(parts, axis=1), axis=0, return_counts=True)
    levels = tuple(tuple(f"{name} {i}" for i in range(size)) for name, size in zip(KEYS, (6, 12, 9), strict=True))
    return CellTable(tuple(KEYS), levels, cells.astype(np.int32), counts.astype(np.int64))


def stages_of(table: CellTable, protect: dict[str, object]) -> tuple[Stage, ...]:
    plan = ReleasePlan.of([protect], keys=KEYS, match="0.3")
    return assess_tables({columns: table.project(columns) for columns in tables_of(plan)}, plan).stages


def drawn(table: CellTable, stages: tuple[Stage, ...]) -> CellTable:
    """The counts of a released file."""
    (stage,) = stages
    codes = np.repeat(np.arange(len(stage.states)), stage.counts).astype(np.uint32)
    released = np.asarray(stage.design.sample(codes).data)
    return CellTable.of(stage.columns, {stage.outputs[i]: int(n) for i, n in enumerate(np.bincount(released)) if n})


def compared(one: RiskReport, other: RiskReport) -> None:
    """What somebody learns from all counts stops at a bound for cells that cannot be the worst, in parts later."""
    assert {*one.per_cell} == {*other.per_cell}
    for name in {*one.per_cell} - {"released_counts"}:
        assert one.per_cell[name].tolist() == pytest.approx(other.per_cell[name].tolist(), rel=1e-9), name
    if "released_counts" in one.per_cell:
        assert (one.per_cell["released_counts"] <= other.per_cell["released_counts"] + 1e-9).all()
    found = one.after.to_dict()
    for name, b in other.after.to_dict().items():
        a = found[name]
        assert a == (b if b is None or isinstance(b, dict) else pytest.approx(b, rel=1e-9)), name


@together(
    "protect",
    [
        {"variables": KEYS, "method": "mixing", "block_size": 8},
        {"variables": KEYS[1:], "within": KEYS[:1], "method": "inverse-frequency", "xi": "0.4"},
        {"variables": KEYS[1:], "within": KEYS[:1], "method": "sequential"},
        {"variables": KEYS[1:], "method": "mixing"},  # the region is no part of what is randomized: one part
    ],
)
def test_parts_are_the_whole(protect: dict[str, object], monkeypatch: pytest.MonkeyPatch) -> None:
    table = people(5)
    stages = stages_of(table, protect)
    released = drawn(table, stages) if {*protect["variables"], *protect.get("within", [])} == {*KEYS} else None  # type: ignore[misc]
    whole = assess_risk(table, KEYS, stages, released=released, threshold=0.3)
    monkeypatch.setattr(arrivals_module, "PART", 40)
    monkeypatch.setattr(identity_disclosure, "STRETCH", 16)
    compared(assess_risk(table, KEYS, stages, released=released, threshold=0.3), whole)


def test_a_file_that_is_not_of_the_release_is_known_as_such(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where released records lie in cells that no record can come to, what all counts tell is not told."""
    table = people(7)
    stages = stages_of(table, {"variables": KEYS, "method": "mixing", "block_size": 8})
    monkeypatch.setattr(arrivals_module, "PART", 40)
    other = CellTable(table.columns, table.levels, table.codes, np.roll(table.counts, 1))
    report = assess_risk(table, KEYS, stages, released=other)
    assert report.after.max_risk_released_counts is None
