"""Categories with lists and numpy arrays only."""

import enum
import json
import math
from datetime import UTC, date, datetime
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.quiet import quiet, told
from tests.support.together import together

from maskwell import Categories
from maskwell.core.categories import natural_array
from maskwell.core.labels import is_missing, texts
from maskwell.errors import (
    DesignFileError,
    InputError,
    LabelError,
    MissingValueError,
    ParameterError,
    UnknownCategoryError,
    WrongTypeError,
)


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


class Size(enum.StrEnum):
    SMALL = "small"
    LARGE = "large"


KINDS = {
    "text": ["b", "a", "é", ""],
    "integers": [3, -1, 10**6],
    "small integers": [5, 2, 9],
    "large integers": [2**63 - 1, -(2**63), 0],
    "beyond int64": [2**63, 1],
    "huge integers": [2**80, 1],
    "floats": [0.5, -1.25, 3.0],
    "booleans": [True, False],
    "tuples": [(1, "a"), (2, "b")],
    "dates": [date(2024, 5, 1), date(2023, 1, 1)],
    "datetimes": [datetime(2024, 5, 1, 12), datetime(2023, 1, 1)],
    "enums": [Colour.BLUE, Colour.RED],
    "mixed": ["a", 1, 2.5, None.__class__, (1,)],
    "fractions": [Fraction(1, 3), Decimal("0.5")],
    "numbered": [0, 1, 2],
}


def test_labels_become_python_values_and_an_unknown_one_has_no_code():
    assert Categories.of(np.array(["a", "b"])).labels == ("a", "b")
    assert Categories.of(np.array([4, 2])).labels == (4, 2)
    assert type(Categories.of(np.array([4, 2])).labels[0]) is int
    assert Categories.of([np.datetime64("2024-05-01T00:00:00", "ns")]).labels == (datetime(2024, 5, 1),)
    assert Categories.of([0, 1, 2]) == Categories.numbered(3) == Categories(labels=range(3))
    assert isinstance(Categories.of([0, 1, 2]).labels, range)
    assert Categories.of([False, True]).labels == (False, True)
    assert Categories.of(range(1, 4)).labels == (1, 2, 3)
    with pytest.raises(UnknownCategoryError, match="'c' is not among the 2") as caught:
        Categories.of(["a", "b"]).code("c")
    assert caught.value.hint == "allowed: 'a', 'b'"
    with pytest.raises(UnknownCategoryError):
        Categories.numbered(10**6).code(10**6)
    with pytest.raises(WrongTypeError):
        Categories.of(["a"]).code(["a"])


def containers(labels, codes):
    values = [labels[code] for code in codes]
    yield values
    yield tuple(values)
    yield natural_array(labels)[codes]
    yield np.fromiter(values, dtype=object, count=len(values))


@pytest.mark.parametrize("labels", KINDS.values(), ids=KINDS)
def test_round_trip_of_every_kind(labels):
    categories = Categories.of(labels)
    codes = np.arange(2 * len(labels)) % len(labels)
    for values in containers(labels, codes):
        encoded = categories.encode(values)
        assert encoded.codes.tolist() == codes.tolist()
        assert encoded.codes.dtype == np.uint8
        assert (encoded.n_missing, encoded.kept, encoded.categories) == (0, None, categories)
        back = categories.decode(encoded.codes, like=values)
        assert type(back) is type(values)
        assert list(back) == list(values)
        if isinstance(values, np.ndarray):
            assert back.dtype == values.dtype


@given(
    st.lists(st.one_of(st.text(), st.integers(), st.floats(allow_nan=False), st.dates()), min_size=1, unique=True),
    st.data(),
)
def test_round_trip_of_any_labels(labels, data):
    categories = Categories.of(labels)
    codes = data.draw(st.lists(st.integers(0, len(labels) - 1)))
    values = [labels[code] for code in codes]
    assert categories.encode(values).codes.tolist() == codes
    assert categories.decode(codes, like=[]) == values
    assert Categories.from_json(json.loads(json.dumps(categories.to_json()))) == categories


@given(st.lists(st.integers(-(2**63), 2**64 - 1), min_size=1, unique=True), st.sampled_from("bhilBHIL"), st.data())
def test_integer_arrays_are_found_whatever_their_width(labels, dtype, data):
    bounds = np.iinfo(dtype)
    fitting = [label for label in labels if bounds.min <= label <= bounds.max]
    values = data.draw(st.lists(st.sampled_from(fitting))) if fitting else []
    codes = Categories.of(labels).encode(np.array(values, dtype=dtype)).codes
    assert [labels[code] for code in codes] == values


@together(("k", "dtype"), [(1, "u1"), (256, "u1"), (257, "u2"), (65536, "u2"), (65537, "u4")])
def test_codes_have_the_smallest_type(k, dtype):
    for categories in (Categories.numbered(k), Categories.of([str(i) for i in range(k)])):
        values = np.array([categories.labels[-1], categories.labels[0]])
        encoded = categories.encode(values)
        assert encoded.codes.dtype == np.dtype(dtype)
        assert encoded.codes.tolist() == [k - 1, 0]
        assert categories.decode(encoded.codes, like=values).tolist() == values.tolist()


def test_numbers_dates_and_bytes_of_any_type_are_found():
    assert Categories.of([10, 20]).encode(np.array([20.0, 10.0])).codes.tolist() == [1, 0]
    assert Categories.of([0.0, 1.5]).encode(np.array([0, 0])).codes.tolist() == [0, 0]
    assert Categories.of([False, True]).encode(np.array([1, 0])).codes.tolist() == [1, 0]
    assert Categories.numbered(2).encode(np.array([True, False])).codes.tolist() == [1, 0]
    with pytest.raises(UnknownCategoryError):  # 2**53 + 1 is not a float
        Categories.of([2**53 + 1, 5]).encode(np.array([float(2**53)]))
    days = np.array(["2024-05-01", "2023-01-01"], dtype="M8[D]")
    categories = Categories.of([date(2023, 1, 1), date(2024, 5, 1)])
    assert categories.encode(days).codes.tolist() == [1, 0]
    assert categories.decode([1, 0], like=days).dtype == days.dtype
    assert Categories.of([b"x", b"y"]).encode(np.array([b"y", b"x"])).codes.tolist() == [1, 0]
    assert Categories.of([1j, 2j]).encode(np.array([2j, 1j])).codes.tolist() == [1, 0]
    for values in ([], np.array([]), np.array([], dtype=str), np.array([], dtype=np.int64)):
        assert Categories.of(["a", "b"]).encode(values).codes.tolist() == []
    assert Categories.of(["a", "b"]).decode([], like=[]) == []


def test_unknown_values_are_listed_with_counts_and_get_the_hint_that_fits():
    values = ["a", *"xxyz", *map(str, range(10))]
    told = r"14 of 15 .* 2 categories \(first in row 1, counted from 0\)"
    listed = r"^'x' \(2 times\), 'y' \(1 time\), .* '9' \(1 time\)$"
    with quiet(UnknownCategoryError, match=told, values=listed) as caught:
        Categories.of(["a", "b"]).encode(values)
    assert caught.value.objects["offenders"]["x"] == 2
    assert caught.value.objects["count"] == 14
    assert "allowed: 'a', 'b'; recode" in caught.value.hint
    with pytest.raises(UnknownCategoryError) as caught:
        Categories.of(["1", "2"]).encode([1, 2])
    assert "convert them" in caught.value.hint
    with quiet(UnknownCategoryError, match=r"1 of 1 .* \(row 0,", values="'x'") as caught:
        Categories.of(["1", 1]).encode(["x"])
    assert "recode" in caught.value.hint


@together("missing", ["drop", "category"])
def test_no_policy_hides_unknown_values(missing):
    with pytest.raises(UnknownCategoryError, match="1 of 3"):
        Categories.of(["a", "missing"]).encode(["a", None, "x"], missing=missing)


MISSING_COLUMNS = {
    "list": (["a", "b"], ["b", None, math.nan, "a"]),
    "objects": (["a", "b"], np.array(["b", None, math.nan, "a"], dtype=object)),
    "floats": ([1, 2], np.array([2, math.nan, math.nan, 1])),
    "numbered": ([0, 1], np.array([1, math.nan, math.nan, 0])),
    "dates": (
        [date(2023, 1, 1), date(2024, 1, 1)],
        np.array(["2024-01-01", "NaT", "NaT", "2023-01-01"], dtype="M8[D]"),
    ),
    "masked": (["a", "b"], np.ma.array(["b", "a", "z", "a"], mask=[0, 1, 1, 0])),
    "masked integers": ([7, 8], np.ma.array([8, 7, 3, 7], mask=[0, 1, 1, 0])),
}


@pytest.mark.parametrize(("labels", "values"), MISSING_COLUMNS.values(), ids=MISSING_COLUMNS)
def test_missing_values_are_refused_dropped_or_a_category(labels, values):
    with pytest.raises(MissingValueError, match=r"2 of 4 values are missing \(rows 1, 2,") as caught:
        Categories.of(labels).encode(values)
    assert caught.value.objects["count"] == 2
    assert "drop" in caught.value.hint
    encoded = Categories.of(labels).encode(values, missing="drop")
    assert encoded.codes.tolist() == [1, 0]
    assert encoded.kept.tolist() == [True, False, False, True]
    assert encoded.n_missing == 2
    categories = Categories.of(labels).with_missing()
    encoded = categories.encode(values, missing="category")
    assert encoded.codes.tolist() == [1, 2, 2, 0]
    assert (encoded.n_missing, encoded.kept) == (2, None)
    other = Categories.of([*labels, "n/a"]).encode(values, missing="category", missing_label="n/a")
    assert other.codes.tolist() == [1, 2, 2, 0]


def test_what_is_missing():
    assert all(map(is_missing, [None, math.nan, np.float32("nan"), np.datetime64("NaT"), Decimal("NaN")]))
    assert is_missing(Decimal("sNaN"))
    assert not any(map(is_missing, ["", 0, False, "nan", (math.nan,), [], np.array([1, 2])]))


@together(
    ("labels", "dtype", "result"),
    [
        (["a", "b"], "i8", "U"),
        ([1, 2], "U1", "i"),
        ([1.5, 2.0], "i8", "f"),
        ([1, "a"], "i8", "O"),
        ([2**70, 1], "i8", "O"),
        (["long label", "b"], "U1", "U"),
        ([1, 2], "O", "O"),
        ([True, False], "U1", "b"),
    ],
)
def test_a_type_that_cannot_hold_the_labels_gives_way(labels, dtype, result):
    back = Categories.of(labels).decode([1, 0], like=np.zeros(2, dtype=dtype))
    assert back.dtype.kind == result
    assert back.tolist() == [labels[1], labels[0]]


@together(
    ("labels", "values"),
    [
        (["1", "2"], [2, 1]),
        (["1", "2"], np.array([2, 1], dtype=np.int8)),
        (["1", "2"], np.array([2.0, 1.0])),
        (["1", "2"], np.array(["2", "1"])),
        ([1, 2], ["2", "1"]),
        ([1.0, 2.0], np.array(["2.0", "1.0"])),
        ([1.0, 2.0], ["2", "1.0"]),
        (["0.5", "1e-05"], np.array([1e-5, 0.5])),
        (["true", "false"], np.array([False, True])),
        (["TRUE", "FALSE"], [False, True]),
        ([True, False], ["false", "True"]),
        (["2024-05-01", "2023-01-01"], [date(2023, 1, 1), datetime(2024, 5, 1)]),
        (["2024-05-01", "2023-01-01"], np.array(["2023-01-01", "2024-05-01"], dtype="M8[s]")),
        ([date(2024, 5, 1), date(2023, 1, 1)], ["2023-01-01", "2024-05-01"]),
        (["a", "b"], np.array([b"b", b"a"])),
        ([Size.SMALL, Size.LARGE], ["large", "small"]),
        (["1", "true"], [True, 1]),
        (["1", "true"], [True, 1.0]),
    ],
)
def test_match_by_text(labels, values):
    encoded = Categories.of(labels).encode(values, match="text")
    assert encoded.codes.tolist() == [1, 0]
    back = Categories.of(labels).decode(encoded.codes, like=values, match="text")
    if isinstance(values, np.ndarray) and values.dtype.kind != "S":
        assert back.dtype.kind == values.dtype.kind
        assert [set(texts(a)) & set(texts(b)) != set() for a, b in zip(back, values, strict=True)] == [True, True]


@together(
    ("labels", "values"),
    [(["01"], [1]), (["01"], np.array([1])), ([" 1"], np.array([1])), ([1], [True]), (["yes"], np.array([True]))],
)
def test_text_that_differs_does_not_match(labels, values):
    with pytest.raises(UnknownCategoryError):
        Categories.of(labels).encode(values, match="text")


@together(
    ("labels", "values"),
    [(["1", 1], ["1"]), (["1", "1.0"], np.array([1.0])), (["True", "true"], [True]), ([True, "true"], ["x"])],
)
def test_labels_with_one_text_cannot_be_matched_by_text(labels, values):
    with pytest.raises(LabelError, match="both match"):
        Categories.of(labels).encode(values, match="text")


def test_texts_that_differ_are_told_apart_and_missing_stays_missing_or_becomes_its_category():
    assert Categories.of(["True", "true"]).encode(["true", "True"], match="text").codes.tolist() == [1, 0]
    encoded = Categories.of(["nan", "None"]).encode([None, math.nan, "nan", "None"], match="text", missing="drop")
    assert encoded.codes.tolist() == [0, 1]
    with pytest.raises(MissingValueError, match="no category has the label 'missing' for missing values"):
        Categories.of(["a"]).encode(["a", None], missing="category")
    assert Categories.of(["a"]).encode(["a"], missing="category").codes.tolist() == [0]


@together(
    "labels",
    [
        [3, -1, 2**60, -(2**70)],
        [True, False],
        [(1, "a"), (2, (date(2024, 5, 1), 0.5)), ()],
        [date(2024, 5, 1), datetime(2024, 5, 1, 1, 2, 3, 4), datetime(2024, 5, 1, tzinfo=UTC)],
        [Size.SMALL, Size.LARGE],
    ],
)
def test_json_round_trip(labels):
    categories = Categories.of(labels)
    text = json.dumps(categories.to_json(), allow_nan=False)
    again = Categories.from_json(json.loads(text))
    assert again == categories
    assert json.dumps(again.to_json()) == text


@together("values", [np.array([True, False]), [True, False], ["true", "FALSE"], [1.0, "0"]])
@together("labels", [(1, 0), (0, 1)])
def test_truth_values_stand_for_one_and_zero_by_text(labels, values) -> None:
    assert Categories.of(labels).encode(values, match="text").codes.tolist() == [labels.index(1), labels.index(0)]


@together("labels", [(0, 1, 2), ("1", "0"), (1, 2)])
def test_truth_values_stand_for_no_other_labels(labels) -> None:
    with pytest.raises(UnknownCategoryError):
        Categories.of(labels).encode([True], match="text")


def json_of(label):
    return Categories.of([label]).to_json()


def beside_one(other):
    return Categories.numbered(3).encode(np.array([1, other], dtype=object if isinstance(other, str) else None))


MALFORMED = ["ab", None, {"k": 3}, [None], [{"date": "2024-13-01"}], [{"tuple": "ab"}], [{"x": 1}], [["a"]]]
UNUSABLE = {
    "'a' appears twice": ["a", "b", "a"],
    r"\('a', 1\) equals \('a', 1.0\)": [("a", 1), ("b", 1), ("a", 1.0)],
    "label 2 holds half a character": [("a", "x"), ("b", ("y", "\ud800"))],
    "label 1 is a tuple, which cannot be a label": [("a", [])],
    "1 equals True": [1, True],
    "1 equals 1.0": [1, 1.0],
    "at least one label must be given": range(0),
    "label 2 is a missing value": ["a", None],
    "label 1 is a missing value": [math.nan],
    "missing value": [np.datetime64("NaT")],
    "label 2 is a list": ["a", ["b"]],
    r"\.\.\.": list("aabbccddeeffgg"),
}
AB = Categories.of(["a", "b"])
NO_COLUMNS = ["a", 3, {"a": 1}, {"a"}, iter(["a"])]
REFUSED = [
    *((LabelError, said, Categories.of, [bad]) for said, bad in UNUSABLE.items()),
    (LabelError, "at least one label must be given", Categories.of, [[]]),
    (LabelError, "has no JSON form", json_of, [Colour.RED, Fraction(1, 3), b"a", frozenset("a"), (Colour.RED,)]),
    (WrongTypeError, "must be a list", Categories.of, ["abc", b"abc", 3, None]),
    (
        ParameterError,
        "k must be a whole number from 1 to",
        Categories.numbered,
        [0, -1, 2.0, True, "3", 2**32, math.nan],
    ),
    (InputError, "one dimension", AB.encode, [np.array("a"), np.array([["a"]])]),
    (WrongTypeError, "a column of values must be given, not a", AB.encode, [*NO_COLUMNS, None]),
    (WrongTypeError, "a column of values must be given, not a", lambda like: AB.decode([0], like=like), NO_COLUMNS),
    (WrongTypeError, "cannot be a label", AB.encode, [[["a"]]]),
    (UnknownCategoryError, "1 of 2 values", beside_one, [-1, 3, 2**40, -(2**63), 2**63, 1.5, math.inf, "1"]),
    (InputError, r"categories have the codes 0\.\.", AB.decode, [[0, 2], [-1], [300]]),
    (InputError, "column of integers", AB.decode, [[0.5], [[0, 1]], ["a"], 0]),
    (ParameterError, "must be", lambda by: AB.encode(["a"], **by), [{"missing": "ignore"}, {"match": "case"}]),
    (DesignFileError, "not the JSON form", Categories.from_json, MALFORMED),
]


@together(("error", "said", "call", "given"), REFUSED)
def test_what_cannot_be_used_is_refused(error, said, call, given):
    for one in given:
        with told(error, match=said):
            call(one)
