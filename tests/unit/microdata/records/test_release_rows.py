"""One pass over the rows of a release: states found, draws made, missing values and other columns left alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pytest
from tests.support.quiet import quiet

from maskwell.core.arguments import Array
from maskwell.engines.arrow_arrays import SortedDictionary
from maskwell.engines.column_codes import LevelCoder
from maskwell.engines.labelled_columns import ColumnLabels
from maskwell.errors import TooLargeError, WrongTypeError
from maskwell.microdata import ReleasePlan, release_table
from maskwell.microdata.records import release_pass
from maskwell.microdata.records.release_pass import Draws, RowReleaser, RowStage, StateFinder

pa = pytest.importorskip("pyarrow")


class Turn:
    """Draws that always turn state i into the next one: what should happen can be told row by row."""

    def __init__(self, k: int) -> None:
        self.k = k

    def draw(self, codes: Array, ids: Array | None) -> Array:
        return (codes.astype(np.int64) + 1) % self.k

    def finish(self) -> None:
        pass


@dataclass
class Coded:
    """A stage by the codes of its states, -1 for a missing value: those of a file with these labels."""

    columns: Sequence[str]
    moved: Sequence[str]
    levels: dict[str, list[object]]
    state_codes: dict[str, Array]
    output_codes: dict[str, Array]
    unit: str | None = None


def coded(
    levels: dict[str, list[object]],
    columns: Sequence[str],
    variables: Sequence[str],
    states: Array,
    released: Array,
    draws: Draws,
    linked: dict[str, Array] | None = None,
) -> tuple[RowStage, Draws]:
    outputs = {name: released[:, i] for i, name in enumerate(variables)} | (linked or {})
    labels = {name: [*levels[name], None] for name in (*columns, *outputs)}

    def own(name: str, codes: Array) -> Array:
        return np.where(codes < 0, len(levels[name]), codes)

    before = {name: own(name, states[:, i]) for i, name in enumerate(columns)}
    return Coded(
        columns, [*outputs], labels, before, {name: own(name, codes) for name, codes in outputs.items()}
    ), draws


def batch(**columns: object) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict(columns)


def releaser(
    given: pa.RecordBatch, stages: list[tuple[RowStage, Draws]], levels: dict[str, list[object]], **more: object
) -> RowReleaser:
    coders = {name: LevelCoder(name, labels) for name, labels in levels.items()}
    return RowReleaser(given.schema, coders, stages, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize("most", [1 << 22, 1], ids=["table", "search"])
def test_states_are_found_by_table_and_by_search(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(release_pass, "DENSE_STATES", most)
    states = np.array([[2, 1], [0, 0], [1, -1]])
    finder = StateFinder(states, [3, 2])
    codes = [np.array([0, 2, 1, 1, 2]), np.array([0, 1, -1, 0, 0])]
    assert finder.find(codes).tolist() == [1, 0, 2, -1, -1]


def test_a_stage_changes_its_variables_and_nothing_else() -> None:
    given = batch(x=["a", "b", None, "a"], y=[1, 2, 3, 4])
    stage = coded({"x": ["a", "b"]}, ("x",), ("x",), np.array([[0], [1]]), np.array([[0], [1]]), Turn(2))
    work = releaser(given, [stage], {"x": ["a", "b"]})
    released, _, _ = work.release(given)
    assert released.to_pydict() == {"x": ["b", "a", None, "b"], "y": [1, 2, 3, 4]}
    assert work.changed == {"x": 3}


def test_later_stages_see_what_earlier_ones_released_and_linked_columns_follow() -> None:
    given = batch(x=["a", "b"], g=["A", "B"], y=["u", "u"])
    first = coded(
        {"x": ["a", "b"], "g": ["A", "B"]},
        ("x",),
        ("x",),
        np.array([[0], [1]]),
        np.array([[0], [1]]),
        Turn(2),
        linked={"g": np.array([0, 1])},
    )
    # within x = b only: the row that was a is b now
    second = coded(
        {"x": ["a", "b"], "y": ["u", "v"]},
        ("x", "y"),
        ("y",),
        np.array([[1, 0], [1, 1]]),
        np.array([[0], [1]]),
        Turn(2),
    )
    work = releaser(given, [first, second], {"x": ["a", "b"], "g": ["A", "B"], "y": ["u", "v"]})
    released, _, _ = work.release(given)
    assert released.to_pydict() == {"x": ["b", "a"], "g": ["B", "A"], "y": ["v", "u"]}


def test_columns_that_are_not_published_are_gone_with_their_notes() -> None:
    given = batch(x=["a", "b"], pid=[7, 8])
    schema = given.schema.with_metadata({b"pandas": b'{"columns": [{"name": "pid"}, {"name": "x"}]}', b"own": b"pid 7"})
    stage = coded({"x": ["a", "b"]}, ("x",), ("x",), np.array([[0], [1]]), np.array([[0], [1]]), Turn(2))
    coders = {"x": LevelCoder("x", ["a", "b"])}
    work = RowReleaser(schema, coders, [stage], dropped=["pid"])
    assert work.schema.names == ["x"]
    assert b"pid" not in b"".join(work.schema.metadata.values())


def test_codes_that_stand_for_missing_values_stay_as_they_are() -> None:
    given = batch(x=[1.0, 99.0, 2.0, float("nan")])
    coder = LevelCoder("x", [1, 2], ColumnLabels(missing=((99, 99),)))
    stage = coded({"x": [1, 2]}, ("x",), ("x",), np.array([[0], [1]]), np.array([[0], [1]]), Turn(2))
    released, _, _ = RowReleaser(given.schema, {"x": coder}, [stage]).release(given)
    assert released.to_pydict()["x"][:3] == [2.0, 99.0, 1.0]
    assert np.isnan(released.to_pydict()["x"][3])


def test_a_missing_value_that_is_drawn_replaces_the_true_one_and_looks_like_all_others() -> None:
    """1 becomes 2, 2 becomes a missing value and that becomes 1: no true 2 may be left, whatever stood for missing."""
    given = batch(x=[1.0, 2.0, 2.0, 99.0, float("nan"), None, 2.0])
    coder = LevelCoder("x", [1, 2], ColumnLabels(missing=((99, 99),)))
    states = np.array([[0], [1], [-1]])
    released, _, after = RowReleaser(
        given.schema, {"x": coder}, [coded({"x": [1, 2]}, ("x",), ("x",), states, states, Turn(3))]
    ).release(given)
    assert after["x"].tolist() == [1, -1, -1, 0, 0, 0, -1]
    assert released.to_pydict()["x"] == [2.0, None, None, 1.0, 1.0, 1.0, None]

    unchanged = coded({"x": [1, 2]}, ("x",), ("x",), states[2:], states[2:], Turn(1))
    kept, _, _ = RowReleaser(given.schema, {"x": coder}, [unchanged]).release(given)
    assert kept.to_pydict()["x"] == [1.0, 2.0, 2.0, None, None, None, 2.0], "99 and NaN would tell who drew nothing"


def test_a_linked_column_without_a_value_does_not_keep_the_true_one() -> None:
    given = batch(x=["a", "b"], g=["A", None])
    two = np.array([[0], [1]])
    stage = coded({"x": ["a", "b"], "g": ["A"]}, ("x",), ("x",), two, two, Turn(2), linked={"g": np.array([0, -1])})
    work = releaser(given, [stage], {"x": ["a", "b"], "g": ["A"]})
    assert work.release(given)[0].to_pydict() == {"x": ["b", "a"], "g": [None, "A"]}
    alone = given.slice(0, 1)
    assert work.release(alone)[0].to_pydict() == {"x": ["b"], "g": [None]}


def test_dictionary_columns_keep_their_kind_and_list_all_labels() -> None:
    given = pa.RecordBatch.from_arrays([pa.array(["b", "a", "b"]).dictionary_encode()], names=["x"])
    stage = coded({"x": ["a", "b", "c"]}, ("x",), ("x",), np.array([[0], [1]]), np.array([[0], [1]]), Turn(2))
    released, _, _ = releaser(given, [stage], {"x": ["a", "b", "c"]}).release(given)
    column = released.column(0)
    assert pa.types.is_dictionary(column.type)
    assert column.to_pylist() == ["a", "b", "a"]
    assert column.dictionary.to_pylist() == ["a", "b", "c"]


def test_an_order_of_labels_is_kept() -> None:
    values = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2]), pa.array(["low", "mid", "high"]), ordered=True)
    given = pa.RecordBatch.from_arrays([values], names=["x"])
    three, levels = np.array([[0], [1], [2]]), {"x": ["low", "mid", "high"]}
    released, _, _ = releaser(given, [coded(levels, ("x",), ("x",), three, three, Turn(3))], levels).release(given)
    assert released.column(0).to_pylist() == ["mid", "high", "low"]
    assert released.column(0).dictionary.to_pylist() == levels["x"]
    assert released.schema.field("x").type.ordered


@pytest.mark.skipif(not hasattr(pa, "string_view"), reason="an Arrow without views")
def test_texts_that_are_kept_as_views_are_released_as_plain_ones() -> None:
    """So polars writes them; Arrow cannot take rows of views, neither for labels nor for a shuffle."""
    columns = [pa.array(values, pa.string_view()) for values in (["a", None, "b"], ["u", "v", None])]
    given = pa.RecordBatch.from_arrays(columns, names=["x", "y"])
    two = np.array([[0], [1]])
    work = releaser(given, [coded({"x": ["a", "b"]}, ("x",), ("x",), two, two, Turn(2))], {"x": ["a", "b"]})
    released, _, _ = work.release(given)
    assert released.to_pydict() == {"x": ["b", None, "a"], "y": ["u", "v", None]}
    assert {field.type for field in released.schema} == {pa.string()}


def test_rows_that_differ_from_the_row_before_are_counted_across_batches() -> None:
    given = batch(x=["a", "a", "b", None, None, "a"])
    two = np.array([[0], [1]])
    work = releaser(given, [coded({"x": ["a", "b"]}, ("x",), ("x",), two, two, Turn(2))], {"x": ["a", "b"]})
    for piece in (given.slice(0, 2), given.slice(0, 0), given.slice(2, 3), given.slice(5)):
        work.release(piece)
    assert work.breaks == {"x": 3}


def test_small_indices_of_a_full_dictionary_are_read_with_missing_values() -> None:
    """128 labels fill the indices of 8 bits, so that none is left to stand for a missing value."""
    labels = [f"c{i}" for i in range(128)]
    indices = pa.array([0, None, 127], type=pa.int8())
    given = pa.DictionaryArray.from_arrays(indices, pa.array(labels))
    assert LevelCoder("x", labels).codes(given).tolist() == [0, -1, 127]
    assert LevelCoder("x", labels).codes(given.slice(1, 2)).tolist() == [-1, 127]


def test_a_label_that_the_type_of_its_column_cannot_hold_is_refused_and_not_cut_to_fit() -> None:
    given = batch(x=[1, 2])
    stage = coded({"x": [1, 2]}, ("x",), ("x",), np.array([[0], [1]]), np.array([[0], [1]]), Turn(2))
    with quiet(WrongTypeError, match="cannot hold all its labels", values=r"2\.5"):
        releaser(given, [stage], {"x": [1, 2, 2.5]})
    with pytest.raises(WrongTypeError, match="cannot hold"):
        releaser(given, [stage], {"x": [1, 2, "refused"]})


def test_more_combinations_than_numbers_are_refused_and_not_mixed_up() -> None:
    with pytest.raises(TooLargeError, match="possible combinations"):
        StateFinder(np.zeros((1, 5), dtype=np.int64), [10**5] * 5)


def test_row_numbers_of_pandas_are_not_published() -> None:
    """A part of a table keeps the numbers of its rows: they tell which part it was, and stand beside shuffled rows."""
    pd = pytest.importorskip("pandas")
    part = pa.Table.from_pandas(pd.DataFrame({"sex": [*"fmfmfm"]})[2:5]).schema
    assert b'"start": 2' in part.metadata[b"pandas"]
    notes = RowReleaser(part, {}, []).schema.pandas_metadata
    assert notes["index_columns"] == [] and [note["name"] for note in notes["columns"]] == ["sex"]


# ---- the order of dictionaries


def test_the_dictionary_of_an_unchanged_column_does_not_tell_whose_value_came_first() -> None:
    """Arrow and polars keep values in the order of the file: records in random order would not hide who came first."""
    first = pa.array(["z", "m", "a", None, "z"]).dictionary_encode()
    later = pa.array(["m", "y", "b"]).dictionary_encode()
    ordered = pa.DictionaryArray.from_arrays(pa.array([1, 0]), pa.array(["low", "high"]), ordered=True)
    releaser = RowReleaser(pa.schema([("town", first.type)]), {}, [])
    released = [releaser.release(pa.record_batch([array], ["town"]))[0].column(0) for array in (first, first, later)]
    assert [array.to_pylist() for array in released] == [first.to_pylist(), first.to_pylist(), later.to_pylist()]
    assert [array.dictionary.to_pylist() for array in released] == [[*"amz"], [*"amz"], [*"amzby"]]
    assert SortedDictionary().sorted(ordered) is ordered


def test_a_shuffled_table_does_not_tell_which_values_only_its_later_rows_had() -> None:
    parts = (pa.array([*"zyzy"]).dictionary_encode(), pa.array([*"yama"]).dictionary_encode())
    table = pa.table({"sex": [*"ffmmffmm"], "town": pa.chunked_array(parts)})
    plan = ReleasePlan.of([{"variables": ["sex"], "method": "method1", "theta": "0.5"}])
    town = release_table(table, plan).data.column("town")
    assert [part.dictionary.to_pylist() for part in town.chunks] == [[*"amyz"]]
    assert sorted(town.to_pylist()) == [*"aamyyyzz"]


def test_dictionaries_that_do_not_fit_together_are_sorted_one_by_one() -> None:
    labels = [[f"{part}{i:03}" for i in reversed(range(100))] for part in "ab"]
    arrays = [pa.array(texts).dictionary_encode().cast(pa.dictionary(pa.int8(), pa.string())) for texts in labels]
    dictionary = SortedDictionary()
    for texts, array in zip(labels, arrays, strict=True):
        made = dictionary.sorted(array)
        assert made.to_pylist() == texts
        assert made.type == array.type
        assert made.dictionary.to_pylist() == sorted(texts)
