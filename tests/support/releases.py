"""Small releases made by hand: stages from counts, rows drawn with them, and the folder written."""

import csv
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from maskwell.core.categories import Categories
from maskwell.core.cells import CellTable
from maskwell.core.randomness import SeededRandom
from maskwell.designs import Dense, Sparse, Uniform
from maskwell.designs.coded import CodedDesign
from maskwell.microdata import Receipt, load_receipt
from maskwell.microdata.assessment import assess_tables
from maskwell.microdata.folder.receipt import Group
from maskwell.microdata.folder.release_folder import check_public, release_folder, write_internal, write_public
from maskwell.microdata.matrices import method1
from maskwell.microdata.plans.release_plan import ReleasePlan
from maskwell.microdata.release_values import AnyRelease, Assessment, Draw, Origin, Release, ReleasedColumn
from maskwell.microdata.stages.stage import Stage
from maskwell.microdata.true_file import TrueFile, tables_of
from maskwell.microdata.utility.utility_report import UtilityReport

Row = tuple[Hashable, ...]
COLUMNS = ("region", "roof", "sex")
ROWS: list[Row] = (
    [("north", "tile", "f")] * 30
    + [("north", "straw", "m")] * 20
    + [("north", "tile", "m")] * 25
    + [("south", "tin", "f")] * 15
    + [("south", "tile", "f")] * 10
    + [("south", "straw", "m")] * 20
)


@dataclass(frozen=True)
class Written:
    """A release folder and what it was made from."""

    folder: Path
    release: Release
    rows: list[Row]

    @property
    def public(self) -> Path:
        return self.folder / "public"

    @property
    def data(self) -> str:
        return str(self.public / "data.csv")

    @property
    def receipts(self) -> tuple[Receipt, Receipt]:
        """The public one and the internal one."""
        return load_receipt(self.public / "receipt.json"), load_receipt(self.folder / "internal" / "receipt.json")


def assessed(table: CellTable, plan: ReleasePlan, path: str = "people.csv", **more: Any) -> Assessment:
    """What is known of a plan and the counts of a file, before anything is drawn."""
    return assess_tables({columns: table.project(columns) for columns in tables_of(plan)}, plan, path, **more)


def stage_of(
    variables: Sequence[str],
    states: Sequence[Row],
    P: Any,
    counts: Any = None,
    *,
    within: Sequence[str] = (),
    **more: Any,
) -> Stage:
    """A stage with this matrix, or design, that keeps counts; ``more`` are other fields of it."""
    cells = [str(state[: len(within)]) for state in states]
    shape = {
        "states": states,
        "outputs": states,
        "counts": np.ones(len(states), dtype=np.int64) if counts is None else np.asarray(counts),
        "cells": np.unique(cells, return_inverse=True)[1],
        "method": "method1",
        "invariance": "counts",
        "derived": True,
    }
    design = P if isinstance(P, CodedDesign) else Dense.of(P)
    return Stage(variables=tuple(variables), within=tuple(within), design=design, **(shape | more))


def stage_within(
    rows: Sequence[Row],
    columns: Sequence[str],
    variables: Sequence[str],
    within: Sequence[str] = (),
    theta: str = "0.5",
    **changes: Any,
) -> Stage:
    """Method 1 on the observed states, in each cell of ``within``."""
    places = [columns.index(name) for name in (*within, *variables)]
    counts = Counter(tuple(row[i] for i in places) for row in rows)
    states = sorted(counts, key=lambda s: tuple(map(str, s)))
    cells = [*dict.fromkeys(state[: len(within)] for state in states)]
    parts, where = [], []
    for cell in cells:
        own = [i for i, state in enumerate(states) if state[: len(within)] == cell]
        v = np.array([counts[states[i]] for i in own])
        parts.append(method1(v, theta) if len(own) > 1 else Sparse.of_columns([{0: 1}], Categories.of(["x"])))
        where.append(np.array(own))
    design = Sparse.stacked(parts, where, Categories.of([s[0] if len(s) == 1 else s for s in states]))
    made = stage_of(variables, states, design, [counts[s] for s in states], within=within)
    return replace(made, cells=np.array([cells.index(s[: len(within)]) for s in states]), **changes)


def fixed_stage(rows: Sequence[Row], columns: Sequence[str], variable: str, design: CodedDesign) -> Stage:
    """A design of one column that was fixed beforehand."""
    counts = Counter(row[columns.index(variable)] for row in rows)
    states, outputs = ([(label,) for label in names.labels] for names in (design.inputs, design.outputs))
    made = stage_of([variable], states, design, [counts[label] for (label,) in states], outputs=outputs)
    return replace(made, method="fixed", invariance="none", derived=False)


UNIFORM = Uniform.from_gamma(3, Categories.of(["f", "m"]))


def roof(**changes: Any) -> Stage:
    """Method 1 for the roof, within the region."""
    return stage_within(ROWS, COLUMNS, ["roof"], ["region"], **changes)


def sex() -> Stage:
    """The sex by a design that was fixed beforehand."""
    return fixed_stage(ROWS, COLUMNS, "sex", UNIFORM)


def drawn(rows: Sequence[Row], columns: Sequence[str], stages: Sequence[Stage], seed: int = 1) -> list[Row]:
    """Rows as the stages release them, one after the other, in random order."""
    for number, stage in enumerate(stages):
        places = {state: i for i, state in enumerate(stage.states)}
        own = [columns.index(name) for name in stage.columns]
        codes = np.array([places[tuple(row[i] for i in own)] for row in rows], dtype=np.uint32)
        new = stage.design.sample(codes, random=SeededRandom(1000 * seed + number)).data
        rows = [_moved(row, own, stage.outputs[i]) for row, i in zip(rows, new.tolist(), strict=True)]
    order = np.random.default_rng(seed).permutation(len(rows))
    return [rows[i] for i in order]


def _moved(row: Row, places: Sequence[int], labels: Row) -> Row:
    new = list(row)
    for place, label in zip(places, labels, strict=True):
        new[place] = label
    return tuple(new)


AnyReleaseT = TypeVar("AnyReleaseT", bound=AnyRelease)


def changed(release: AnyReleaseT, **changes: Any) -> AnyReleaseT:
    """A release with other values, each where it stands: of the draw, the assessment, the true file or the origin."""

    def taken(kind: type) -> dict[str, Any]:
        return {one.name: changes.pop(one.name) for one in fields(kind) if one.name in changes}

    own = taken(type(release))
    before = release if isinstance(release, Assessment) else release.assessment
    of_file, of_origin = taken(TrueFile), taken(Origin)
    parts = {"file": replace(before.file, **of_file), "origin": replace(before.origin, **of_origin)}
    parts |= taken(Assessment)
    assert not changes
    if isinstance(release, Assessment):
        return replace(release, **{**parts, **own})
    return replace(release, **{"assessment": replace(before, **parts), **own})  # type: ignore[type-var]


def group_of(stage: Stage, /, **changes: Any) -> Group:
    """What a receipt that withholds nothing tells of a stage."""
    made: dict[str, Any] = {name: getattr(stage, name) for name in ("variables", "within", "invariance", "design")}
    made |= {"linked": (), "method": "pram", "states": stage.states, "outputs": stage.outputs, "stage": stage}
    return Group(**{**made, **changes})


def release_of(stages: Sequence[Stage], plan: ReleasePlan, rows: int = len(ROWS), **changes: Any) -> Release:
    """A release of the small file."""
    columns = tuple(
        ReleasedColumn(name, "text", tuple(dict.fromkeys(row[i] for row in ROWS))) for i, name in enumerate(COLUMNS)
    )
    counted = {("record",): CellTable.of(["record"], {("any",): rows})}
    utility = UtilityReport({})
    assessed = Assessment(
        plan=plan, stages=tuple(stages), file=TrueFile(tables=counted, path="true.csv"), risk=None, utility=utility
    )
    draw = Draw(assessment=assessed, released_tables={}, columns=columns, risk=None, utility=utility)
    return changed(Release.of(draw), **changes)


def plan_of(stages: Sequence[Stage], *, publish: Sequence[str | None] = (), **release: Any) -> ReleasePlan:
    """A plan that would give these stages, as far as receipts ask."""
    given = [*publish, *[None] * (len(stages) - len(publish))]
    protect = [
        {
            "variables": list(stage.variables),
            **({"within": list(stage.within)} if stage.within else {}),
            **({"method": "method1", "theta": "0.5"} if stage.derived else {"method": "uniform", "gamma": 3}),
            **({} if how is None else {"publish": how}),
            **({"clearance": "table 3 of the yearbook"} if how == "included" and stage.derived else {}),
        }
        for stage, how in zip(stages, given, strict=True)
    ]
    return ReleasePlan.of(protect, **release)


def write_csv(path: Path, columns: Sequence[str], rows: Sequence[Row]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows([columns, *rows])


def written(folder: Path, stages: Sequence[Stage], *, seed: int = 1, plan: ReleasePlan | None = None) -> Written:
    """The folder of a small release, written and looked through for leaks."""
    made = release_of(stages, plan_of(stages) if plan is None else plan)
    rows = drawn(ROWS, COLUMNS, stages, seed)
    with release_folder(folder) as partial:
        write_csv(partial / "public" / "data.csv", COLUMNS, rows)
        write_public(made, partial / "public")
        write_internal(made, partial / "internal")
        check_public(partial / "public", made)
    return Written(folder, made, rows)


def share(rows: Sequence[Row], columns: Sequence[str]) -> dict[Row, Fraction]:
    """Shares of a table of rows."""
    places = [COLUMNS.index(name) for name in columns]
    counts = Counter(tuple(row[i] for i in places) for row in rows)
    return {cell: Fraction(n, len(rows)) for cell, n in counts.items()}
