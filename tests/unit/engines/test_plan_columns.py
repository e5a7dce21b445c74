"""Numbers and labels of columns that hold no reports."""

from __future__ import annotations

import pytest
from tests.support.quiet import quiet

pa = pytest.importorskip("pyarrow")

from maskwell.engines.column_codes import numbers_of
from maskwell.engines.survey_columns import labels_of
from maskwell.errors import MissingValueError, ParameterError


@pytest.mark.parametrize(
    "column", [pa.array([1, 2]), pa.array([1.0, 2.0]), pa.array(["1", "2.0"]), pa.array(["1", "2"]).dictionary_encode()]
)
def test_numbers_of_any_type(column: object) -> None:
    assert numbers_of(column, "w", 0).tolist() == [1.0, 2.0]


def test_what_is_no_number_is_named_with_its_row() -> None:
    with quiet(ParameterError, match="'w': the value in data row 12 is no number", values="'two'"):
        numbers_of(pa.array(["1", "two"]), "w", 10)
    with quiet(ParameterError, match="'w': the value in data row 2 is not a finite number", values="inf"):
        numbers_of(pa.array([1.0, float("inf")]), "w", 0)
    with pytest.raises(MissingValueError, match="1 value is missing, in data row 2"):
        numbers_of(pa.array(["1", None]), "w", 0)


def test_labels_are_codes_whatever_their_type() -> None:
    for column in (pa.array(["b", "a", "b"]), pa.array([2, 1, 2]), pa.array(["b", "a", "b"]).dictionary_encode()):
        assert labels_of(column, "h", 0).codes.tolist() == [1, 0, 1]
    with pytest.raises(MissingValueError, match="'h': 1 value is missing, in data row 6"):
        labels_of(pa.array([None, "a"]), "h", 5)
