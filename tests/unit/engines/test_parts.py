"""Tables in parts: what parts give one by one and put together is what the whole gives, messages included.

Parts are sent as Spark sends them, pickled; one of them is empty. No cluster is needed for that.
"""

import pickle
from typing import Any

import numpy as np
import pytest

pa = pytest.importorskip("pyarrow")

from tests.support.surveys import tabulate_with

import maskwell as mw
from maskwell.core import CellTable
from maskwell.engines import Rows
from maskwell.engines.assignments import Assignment
from maskwell.engines.rows import MemoryTable
from maskwell.engines.survey_columns import ColumnRoles
from maskwell.engines.survey_counts import tally_survey
from maskwell.errors import MaskwellError

N = 300
RANDOM = np.random.default_rng(3)
ITEMS = ["bread", "milk", "soap"]
DRUGS = mw.design("k-ary", categories=mw.Categories.of(["never", "once", "often"]), epsilon=1)
CHEATS = mw.design("warner", p="0.8")
WAY = mw.design("subset", categories=mw.Categories.of(["bus", "car", "foot", "train"]), epsilon=1, size=2)
BITS = mw.design("bits", items=ITEMS, p="0.8")
ROWS: dict[str, Any] = {
    "drugs": RANDOM.choice(["never", "once", "often"], N).tolist(),
    "cheats": RANDOM.choice(["no", "yes"], N).tolist(),
    "way": RANDOM.choice(["1100", "1010", "0011"], N).tolist(),
    "items": [" ".join(np.array(ITEMS)[RANDOM.random(3) < 0.5]) for _ in range(N)],
    "n": RANDOM.integers(0, 4, N).tolist(),
    "weight": RANDOM.integers(1, 6, N).tolist(),
    "region": [*RANDOM.choice(["east", "north"], N - 10), *["south"] * 10],
    "town": [f"t{i % 12}" for i in range(N)],
    "repw1": RANDOM.integers(1, 6, N).tolist(),
    "repw2": RANDOM.integers(1, 6, N).tolist(),
}
CALLS = {
    "tally": lambda data: {
        name: (counts.values.tolist(), counts.n)
        for name, counts in mw.tally(data, {"drugs": DRUGS, "way": WAY}, counts="n", missing="drop").items()
    },
    "estimate": lambda data: mw.estimate(data, {"drugs": DRUGS}, missing="drop").to_dict(),
    "groups": lambda data: mw.estimate(
        data, {"cheats": [mw.When({"region": name}, CHEATS) for name in ("east", "north", "south")]}
    ).to_dict(),
    "survey": lambda data: mw.estimate(
        data, {"drugs": DRUGS}, sampling=mw.Sampling(weights="weight", strata="region", clusters="town"), missing="drop"
    ).to_dict(),
    "replicates": lambda data: mw.estimate(
        data, {"drugs": DRUGS}, sampling=mw.Sampling(weights="weight", replicates="repw", replicate_method="jackknife")
    ).to_dict(),
    "domains": lambda data: mw.estimate(data, {"drugs": DRUGS}, by=["region"], missing="drop").to_dict(),
    "tabulate": lambda data: tabulate_with(data, {"drugs": DRUGS}, direct="region").to_dict(),
    "mine": lambda data: mw.mine(data, {"items": BITS}, missing="drop").to_dict(),
    "risk": lambda data: mw.risk(data, ["region", "town"], weights="weight").to_dict(),
}


class InParts(MemoryTable):
    """A table whose parts are worked on one by one, each on its own copy of the work."""

    def in_parts(self, work: Any, **_: Any) -> list[Any]:
        sizes, before, parts = [100, 0, 1, len(self.data) - 101], 0, []
        for size in sizes:
            part = MemoryTable(self.data.slice(before, size)) if size else None
            copy = pickle.loads(pickle.dumps(work))
            source = Nothing(self.data.schema) if part is None else part.rows
            parts.append(pickle.loads(pickle.dumps(copy(source, 0, None))))
            before += size
        return parts


class Nothing:
    """A part without rows."""

    style = None

    def __init__(self, schema: Any) -> None:
        self.schema = schema

    def batches(self, only: Any = None) -> Any:
        return iter(())

    def done(self) -> None:
        return None

    def close(self) -> None:
        """Nothing is open."""


def told(call: Any, data: Any) -> Any:
    """The result, or the error with everything that it says."""
    try:
        return call(data)
    except MaskwellError as error:
        return type(error), str(error), error.values


def changed(**cells: tuple[int, Any]) -> Any:
    """The table with other values in some rows."""
    rows = {name: [*column] for name, column in ROWS.items()}
    for name, (row, value) in cells.items():
        rows[name][row] = value
    return pa.table(rows)


TABLES = {
    "good": pa.table(ROWS),
    "missing": changed(drugs=(7, None), items=(150, None), way=(299, None)),
    "unknown": changed(drugs=(250, "sometimes"), items=(180, "bread bread"), cheats=(299, "perhaps")),
    "a stratum without reports": pa.table({**ROWS, "drugs": [*ROWS["drugs"][:-10], *[None] * 10]}),
    "unknown in two parts": pa.concat_tables([changed(drugs=(99, "x"), items=(3, "x")), changed(drugs=(0, "y"))]),
}


@pytest.mark.parametrize("kind", TABLES)
def test_parts_put_together_are_the_whole(kind: str) -> None:
    table = TABLES[kind]
    for name, call in CALLS.items():
        assert told(call, InParts(table)) == told(call, Rows.of(table)), name


def test_cells_and_ranges_of_parts_are_those_of_all() -> None:
    whole = mw.engines.count_tables(Rows.of(TABLES["missing"]), [["drugs", "region"]], weights="weight")[0]
    parts = mw.engines.count_tables(InParts(TABLES["missing"]), [["drugs", "region"]], weights="weight")[0]
    assert parts.labels() == whole.labels() and (parts.counts == whole.counts).all()
    assert (parts.weights == whole.weights).all() and (parts.squares == whole.squares).all()
    assert CellTable.total([whole]) is whole
    plan, columns = ColumnRoles(weights="weight", replicates="repw"), [Assignment(("drugs",), DRUGS)]
    extreme = changed(repw1=(5, 500), repw2=(250, 700))  # in the first part, and in the last
    whole, parts = (tally_survey(Rows.of(one), columns, plan) for one in (MemoryTable(extreme), InParts(extreme)))
    assert whole.ratios is not None and parts.ratios is not None
    assert (whole.ratios == parts.ratios).all() and whole.ratios[1].min() > 90
    assert np.allclose(whole.products, parts.products, rtol=1e-12, atol=0) and whole.products.max() > 0
