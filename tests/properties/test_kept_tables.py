"""Which tables a release keeps on average, against the exact expected table, over random plans of one to three stages.

The expected table is worked out here cell by cell, with the matrices of the stages and none of the code that answers
the question. Plans have seeds, so that the chance of a table that is right by accident is settled once.
"""

from collections import defaultdict
from itertools import chain, combinations, product
from typing import Any

import numpy as np
import pytest

from maskwell import ReleasePlan
from maskwell.core.cells import CellTable
from maskwell.microdata.folder.receipt_contents import kept_of
from maskwell.microdata.stages.stage import Stage, expected_table, is_kept, kept_columns, needed_columns
from maskwell.microdata.stages.stage_building import build_stages
from maskwell.microdata.true_file import tables_of

COLUMNS = ("a", "b", "c", "d")
FOLLOWS = {"a0": "u", "a1": "u", "a2": "v"}
"""The column e follows from a."""

Table = dict[tuple[Any, ...], float]


def file_of(random: np.random.Generator) -> Table:
    """Counts of all combinations of four columns with associations of every kind."""
    labels = [[f"{name}{i}" for i in range(3 if name == "a" else 2)] for name in COLUMNS]
    return {(*cell, FOLLOWS[cell[0]]): float(random.integers(3, 90)) for cell in product(*labels)}


def plan_of(random: np.random.Generator) -> list[dict[str, Any]]:
    """Columns divided among stages, in any order, each alone, jointly or within others; one column follows another."""
    names = list(random.permutation(COLUMNS))
    stages = []
    for _ in range(int(random.integers(1, 4))):
        if not names:
            break
        own = [names.pop() for _ in range(min(len(names), int(random.integers(1, 3))))]
        others = [name for name in COLUMNS if name not in own]
        within = [str(name) for name in random.permutation(others)[: int(random.integers(0, 3))]]
        stage: dict[str, Any] = {"variables": list(map(str, own)), "within": within}
        if "a" in own:
            stage["linked"] = ["e"]
        if random.random() < 0.15:
            stage |= {"method": "uniform", "gamma": 4, "within": []}
        else:
            stage |= {"method": "method1", "theta": str(round(random.uniform(0.3, 0.9), 3))}
        stages.append({key: value for key, value in stage.items() if value or key == "theta"})
    return stages


def carried_out(stages: list[Stage], file: Table, columns: tuple[str, ...]) -> Table:
    """The expected released file: every cell divided among the states that it may become, stage after stage."""
    for stage in stages:
        P, places = stage.design.matrix(), {state: j for j, state in enumerate(stage.states)}
        found: Table = defaultdict(float)
        for cell, mass in file.items():
            values = dict(zip(columns, cell, strict=True))
            j = places[tuple(values[name] for name in stage.columns)]
            for i, output in enumerate(stage.outputs):
                if P[i, j]:
                    new = values | dict(zip(stage.columns, output, strict=True))
                    key = tuple(new[name] for name in stage.variables)
                    new |= {name: follows[key] for name, follows in stage.linked.items()}
                    found[tuple(new[name] for name in columns)] += mass * P[i, j]
        file = dict(found)
    return file


def margin(file: Table, columns: tuple[str, ...], names: tuple[str, ...]) -> Table:
    found: Table = defaultdict(float)
    for cell, mass in file.items():
        values = dict(zip(columns, cell, strict=True))
        found[tuple(values[name] for name in names)] += mass
    return found


def is_same(one: Table, other: Table) -> bool:
    return all(abs(one.get(cell, 0) - other.get(cell, 0)) < 1e-6 for cell in {*one, *other})


def stages_of(protections: list[dict[str, Any]], file: Table, columns: tuple[str, ...]) -> list[Stage]:
    plan = ReleasePlan.of(protections)
    table = CellTable.of(columns, {cell: int(n) for cell, n in file.items()})
    return list(build_stages(plan, {own: table.project(own) for own in tables_of(plan)}))


def check_verdicts(protections: list[dict[str, Any]], file: Table, columns: tuple[str, ...]) -> None:
    stages = stages_of(protections, file, columns)
    released = carried_out(stages, file, columns)
    table = CellTable.of(columns, {cell: int(n) for cell, n in file.items()})
    subsets = chain.from_iterable(combinations(columns, size) for size in range(1, len(columns) + 1))
    for names in subsets:
        true, expected = margin(file, columns, names), margin(released, columns, names)
        kept = is_kept(stages, names)
        if kept or "e" not in names:  # what e follows from in detail, a receipt does not tell
            assert kept == is_same(true, expected), (protections, names)
        told = expected_table(stages, table.project(needed_columns(stages, names)), names)
        assert is_same(dict(zip(told.labels(), told.counts.tolist(), strict=True)), expected)
    for stage, said in zip(stages, _said(stages), strict=True):
        kept = kept_columns(stages, stage)
        assert kept == said
        own = {*stage.columns, *stage.linked}
        of_group = [s for size in range(1, len(own) + 1) for s in combinations(sorted(own), size)]
        right = [s for s in of_group if {*s} & {*stage.moved} and is_kept(stages, s)]
        assert bool(kept) == bool(right), protections
        assert not kept or is_kept(stages, kept)


def _said(stages: list[Stage]) -> list[list[str]]:
    """What the documents for users say, who know only the receipt."""
    return kept_of(
        [
            {name: [*getattr(stage, name)] for name in ("variables", "within", "linked")}
            | {"method": "pram", "invariance": stage.invariance}
            for stage in stages
        ]
    )


@pytest.mark.parametrize("seed", range(20))
def test_the_verdict_about_every_table_is_that_of_the_expected_table(seed: int) -> None:
    random = np.random.default_rng([3, seed])
    protections, file = plan_of(random), file_of(random)
    linked = any("linked" in one for one in protections)  # else e is not known to follow
    columns = (*COLUMNS, "e") if linked else COLUMNS
    check_verdicts(protections, margin(file, (*COLUMNS, "e"), columns), columns)


def test_religion_within_a_region_that_was_moved_with_sex() -> None:
    random = np.random.default_rng(8)
    columns = ("region", "sex", "relig")
    file = {cell: float(random.integers(5, 60)) for cell in product("nsw", "fm", ("x", "y", "z"))}
    protections = [
        {"variables": ["region", "sex"], "method": "sequential"},
        {"variables": ["relig"], "within": ["region"], "method": "sequential"},
    ]
    check_verdicts(protections, file, columns)
    stages = stages_of(protections, file, columns)
    assert [kept_columns(stages, stage) for stage in stages] == [["region", "sex"], []]
    turned = stages_of(protections[::-1], file, columns)
    assert [kept_columns(turned, stage) for stage in turned] == [["relig"], ["region", "sex"]]
