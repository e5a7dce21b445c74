"""One pass over the rows of a release: states found, draws made, missing values and other columns left alone."""

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tests.support.quiet import quiet, refused
from tests.support.together import together

from maskwell import ReleasePlan
from maskwell.engines.arrow_arrays import SortedDictionary
from maskwell.engines.column_codes import LevelCoder
from maskwell.engines.labelled_columns import ColumnLabels
from maskwell.errors import TooLargeError, WrongTypeError
from maskwell.microdata.publication import release_table
from maskwell.microdata.records import row_releaser
from maskwell.microdata.records.row_releaser import Draws, RowPlan, RowReleaser

pa = pytest.importorskip("pyarrow")
Levels = Mapping[str, Sequence[Any]]


def turning(
    levels: Levels, columns: Sequence[str], variables: Sequence[str], states: Any, outputs: Any = None, **linked: Any
) -> tuple[Any, Draws]:
    """A stage by the labels of its states, with draws that always turn state i into the next one."""
    codes = {name: {label: i for i, label in enumerate([*levels[name], None])} for name in levels}
    rows = [state if isinstance(state, tuple) else (state,) for state in states]
    drawn = rows if outputs is None else [(output,) for output in outputs]
    after = dict(zip(variables, zip(*drawn, strict=True), strict=True)) | linked
    stage = SimpleNamespace(
        columns=columns,
        moved=[*after],
        unit=None,
        levels={name: [*levels[name], None] for name in levels},
        state_codes={n: np.array([codes[n][row[i]] for row in rows]) for i, n in enumerate(columns)},
        output_codes={name: np.array([codes[name][label] for label in labels]) for name, labels in after.items()},
    )
    return stage, Draws(lambda codes, _: (codes.astype(np.int64) + 1) % len(drawn), lambda: None)


def releaser(given: Any, stages: Sequence[Any], levels: Levels, marks: Any = None, **more: Any) -> RowReleaser:
    coders = {name: LevelCoder(name, labels, marks) for name, labels in levels.items()}
    return RowReleaser(getattr(given, "schema", given), coders, RowPlan(levels=levels, stages=stages, **more))


def batch(**columns: object) -> Any:
    return pa.RecordBatch.from_pydict(columns)


AB = {"x": ["a", "b"]}
TURN = turning(AB, ["x"], ["x"], "ab")
GIVEN_TWO = {"x": ["a", "b"], "g": ["A", "B"], "y": ["u", "v"]}
MARKED = ColumnLabels(missing=((99, 99),))


@together("most", [1 << 22, 1])
def test_later_stages_see_what_earlier_ones_released_and_linked_columns_follow(
    most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """States are found by a table, and by searching."""
    monkeypatch.setattr(row_releaser, "DENSE_STATES", most)
    first = turning(GIVEN_TWO, ["x"], ["x"], "ab", g=["A", "B"])
    second = turning(GIVEN_TWO, ["x", "y"], ["y"], [("b", "u"), ("b", "v")], "uv")  # within x = b only: that was a
    work = releaser(given := batch(x=["a", "b"], g=["A", "B"], y=["u", "u"]), [first, second], GIVEN_TWO)
    assert work.release(given).to_pydict() == {"x": ["b", "a"], "g": ["B", "A"], "y": ["v", "u"]}


def test_a_stage_changes_its_variables_and_linked_columns_and_nothing_else() -> None:
    given = batch(x=["a", "b", None, "a"], y=[1, 2, 3, 4])
    work = releaser(given, [TURN], AB, tables=[("x",)])
    assert work.release(given).to_pydict() == {"x": ["b", "a", None, "b"], "y": [1, 2, 3, 4]}
    (table,) = work.tables()
    assert (work.changed, work.rows, table.labels(), table.counts.tolist()) == (
        {"x": 3},
        4,
        [("a",), ("b",), (None,)],
        [1, 2, 1],
    )
    given, levels = batch(x=["a", "b"], g=["A", None]), {"x": ["a", "b"], "g": ["A"]}
    work = releaser(given, [turning(levels, ["x"], ["x"], "ab", g=["A", None])], levels)
    assert work.release(given).to_pydict() == {"x": ["b", "a"], "g": [None, "A"]}
    assert work.release(given.slice(0, 1)).to_pydict() == {"x": ["b"], "g": [None]}


def test_columns_and_row_numbers_that_are_not_published_are_gone_with_their_notes() -> None:
    notes = {b"pandas": b'{"columns": [{"name": "pid"}, {"name": "x"}]}', b"own": b"pid 7"}
    schema = batch(x=["a", "b"], pid=[7, 8]).schema.with_metadata(notes)
    work = releaser(schema, [TURN], AB, dropped=["pid"])
    assert work.schema.names == ["x"] and b"pid" not in b"".join(work.schema.metadata.values())
    # A part of a table keeps the numbers of its rows: they tell which part it was, and stand beside shuffled rows.
    pd = pytest.importorskip("pandas")
    part = pa.Table.from_pandas(pd.DataFrame({"sex": [*"fmfmfm"]})[2:5]).schema
    assert b'"start": 2' in part.metadata[b"pandas"]
    notes = releaser(part, [], {}).schema.pandas_metadata
    assert notes["index_columns"] == [] and [note["name"] for note in notes["columns"]] == ["sex"]


def test_codes_that_stand_for_missing_values_stay_as_they_are_unless_such_a_value_is_drawn() -> None:
    """1 becomes 2, 2 becomes a missing value and that becomes 1: no true 2 may be left, whatever stood for missing."""
    levels = {"x": [1, 2]}
    given = batch(x=[1.0, 99.0, 2.0, float("nan")])
    kept = releaser(given, [turning(levels, ["x"], ["x"], [1, 2])], levels, MARKED).release(given).to_pydict()["x"]
    assert kept[:3] == [2.0, 99.0, 1.0] and np.isnan(kept[3])
    given = batch(x=[1.0, 2.0, 2.0, 99.0, float("nan"), None, 2.0])
    for states, released in (
        ([1, 2, None], [2.0, None, None, 1.0, 1.0, 1.0, None]),
        ([None], [1.0, 2.0, 2.0, None, None, None, 2.0]),  # 99 and NaN would tell who drew nothing
    ):
        work = releaser(given, [turning(levels, ["x"], ["x"], states)], levels, MARKED)
        assert work.release(given).to_pydict()["x"] == released


def test_dictionary_columns_keep_their_kind_and_do_not_tell_whose_value_came_first() -> None:
    """Arrow and polars keep values in the order of the file: records in random order would not hide who came first."""
    levels = {"x": ["low", "mid", "high"]}
    plain = pa.array(["mid", "low", "mid"]).dictionary_encode()
    ordered = pa.DictionaryArray.from_arrays(pa.array([1, 0, 1]), pa.array(levels["x"]), ordered=True)
    for column in (plain, ordered):
        given = pa.RecordBatch.from_arrays([column], names=["x"])
        released = releaser(given, [turning(levels, ["x"], ["x"], levels["x"])], levels).release(given).column(0)
        assert released.to_pylist() == ["high", "mid", "high"]
        assert released.dictionary.to_pylist() == levels["x"] and released.type.ordered is column.type.ordered
    # 128 labels fill the indices of 8 bits, so that none is left to stand for a missing value.
    labels = [f"c{i}" for i in range(128)]
    given = pa.DictionaryArray.from_arrays(pa.array([0, None, 127], type=pa.int8()), pa.array(labels))
    assert LevelCoder("x", labels).codes(given).tolist() == [0, -1, 127]
    assert LevelCoder("x", labels).codes(given.slice(1, 2)).tolist() == [-1, 127]
    first = pa.array(["z", "m", "a", None, "z"]).dictionary_encode()
    later = pa.array(["m", "y", "b"]).dictionary_encode()
    ordered = pa.DictionaryArray.from_arrays(pa.array([1, 0]), pa.array(["low", "high"]), ordered=True)
    work = releaser(pa.schema([("town", first.type)]), [], {})
    released = [work.release(pa.record_batch([array], ["town"])).column(0) for array in (first, first, later)]
    assert [array.to_pylist() for array in released] == [first.to_pylist(), first.to_pylist(), later.to_pylist()]
    assert [array.dictionary.to_pylist() for array in released] == [[*"amz"], [*"amz"], [*"amzby"]]
    assert SortedDictionary().sorted(ordered) is ordered
    parts = (pa.array([*"zyzy"]).dictionary_encode(), pa.array([*"yama"]).dictionary_encode())
    table = pa.table({"sex": [*"ffmmffmm"], "town": pa.chunked_array(parts)})
    plan = ReleasePlan.of([{"variables": ["sex"], "method": "method1", "theta": "0.5"}])
    town = release_table(table, plan).data.column("town")
    assert [part.dictionary.to_pylist() for part in town.chunks] == [[*"amyz"]]
    assert sorted(town.to_pylist()) == [*"aamyyyzz"]
    labels = [[f"{part}{i:03}" for i in reversed(range(100))] for part in "ab"]
    arrays = [pa.array(texts).dictionary_encode().cast(pa.dictionary(pa.int8(), pa.string())) for texts in labels]
    dictionary = SortedDictionary()
    for texts, array in zip(labels, arrays, strict=True):
        made = dictionary.sorted(array)
        assert made.to_pylist() == texts and made.type == array.type
        assert made.dictionary.to_pylist() == sorted(texts)


@pytest.mark.skipif(not hasattr(pa, "string_view"), reason="an Arrow without views")
def test_texts_that_are_kept_as_views_are_released_as_plain_ones() -> None:
    """So polars writes them; Arrow cannot take rows of views, neither for labels nor for a shuffle."""
    columns = [pa.array(values, pa.string_view()) for values in (["a", None, "b"], ["u", "v", None])]
    given = pa.RecordBatch.from_arrays(columns, names=["x", "y"])
    released = releaser(given, [TURN], AB).release(given)
    assert released.to_pydict() == {"x": ["b", None, "a"], "y": ["u", "v", None]}
    assert {field.type for field in released.schema} == {pa.string()}


def test_labels_and_combinations_that_do_not_fit_are_refused_and_not_cut_or_mixed_up() -> None:
    given, stage = batch(x=[1, 2]), turning({"x": [1, 2]}, ["x"], ["x"], [1, 2])
    with quiet(WrongTypeError, match="cannot hold all its labels", values=r"2\.5"):
        releaser(given, [stage], {"x": [1, 2, 2.5]})
    refused(WrongTypeError, "cannot hold", releaser, given, [stage], {"x": [1, 2, "refused"]})
    many = {name: [0, *range(1, 10**5)] for name in "abcde"}
    wide = turning({name: [0] for name in many}, [*many], ["a"], [(0,) * 5], [0])
    refused(TooLargeError, "possible combinations", releaser, batch(**{name: [0] for name in many}), [wide], many)


# ---- the order of dictionaries
