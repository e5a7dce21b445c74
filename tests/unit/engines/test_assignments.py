"""Rows that used different designs."""

import pytest
from tests.support.quiet import quiet

pa = pytest.importorskip("pyarrow")


from maskwell.core import Categories
from maskwell.designs import Dense, Subset, Uniform
from maskwell.engines.assignments import Assignment, Samples, variables_of
from maskwell.engines.column_codes import raise_first
from maskwell.engines.survey_columns import SampleReader
from maskwell.errors import MissingValueError, ParameterError, ReportError, UnknownCategoryError

YES_NO = Categories.of(["yes", "no"])
COIN = Uniform.from_gamma(3, YES_NO)
CARD = Dense.of([["0.7", "0.3"], ["0.3", "0.7"]], YES_NO, Categories.of(["same", "different"]))
TRIAL = Dense.of([["0.1", "0.5"], ["0.3", "0.3"], ["0.6", "0.2"]], YES_NO)
PLACE = Uniform.from_gamma(2, Categories.of(["a", "b", "c"]))


def reader(assignments: list[Assignment], missing: str = "error") -> SampleReader:
    return SampleReader(Samples(tuple(variables_of(assignments))), missing)


def two_groups() -> list[Assignment]:
    return [Assignment.of("y", COIN, [("group", "1")]), Assignment.of("y", CARD, [("group", "2")])]


def test_several_columns_make_joint_codes_or_tell_groups() -> None:
    assignments = [
        Assignment.of("y", COIN, [("group", "1")]),
        Assignment.of("y", TRIAL, [("group", "2")]),
        Assignment.of("place", PLACE),
    ]
    columns = {"y": pa.array(["no", "2", "0"]), "place": pa.array(["c", "b", "a"]), "group": pa.array(["1", "2", "2"])}
    found = reader(assignments)
    _, sample, code = found.read(columns, 3, 1)
    assert sample.tolist() == [0, 1, 1] and code.tolist() == [1 * 3 + 2, 2 * 3 + 1, 0]
    assert [design.m for design in found.samples.designs] == [6, 9]
    assert found.samples.columns == ["y", "place"] and found.samples.group_columns == ["group"]
    assignments = [
        Assignment.of("y", COIN, [("mode", "web"), ("wave", "1")]),
        Assignment.of("y", CARD, [("mode", "web"), ("wave", "2")]),
        Assignment.of("y", TRIAL, [("mode", "phone"), ("wave", "1")]),
    ]
    columns = {"y": pa.array(["yes", "same", "1"]), "mode": pa.array(["web", "web", "phone"])}
    columns["wave"] = pa.array([1.0, 2.0, 1.0])
    _, sample, code = reader(assignments).read(columns, 3, 1)
    assert (sample.tolist(), code.tolist()) == ([0, 1, 2], [0, 0, 1])
    columns["wave"] = pa.array([1.0, 2.0, 2.0])
    with quiet(ParameterError, match="the values of mode, wave in data row 13", values="mode = phone, wave = 2"):
        reader(assignments).read(columns, 3, 11)


@pytest.mark.parametrize(
    ("assignments", "wrong"),
    [
        ([], "no design was given"),
        ([Assignment.of("y", COIN), Assignment.of("y", CARD)], "two designs for the column 'y'"),
        ([*two_groups(), Assignment.of("y", CARD)], "two designs for the column 'y'"),
        ([*two_groups(), Assignment.of("y", COIN, [("wave", "1")])], "told by different columns"),
        ([*two_groups(), Assignment.of("y", COIN, [("group", "2")])], "two designs for 'y' where group = 2"),
        ([two_groups()[0], Assignment.of("y", PLACE, [("group", "2")])], "different categories: yes, no and a, b, c"),
    ],
)
def test_assignments_that_contradict_each_other(assignments: list[Assignment], wrong: str) -> None:
    with pytest.raises(ParameterError, match=wrong):
        variables_of(assignments)


def test_rows_without_a_known_report_or_group() -> None:
    columns = {"y": pa.array(["yes", None, "same", "no"]), "group": pa.array([1, 1, 2, None])}
    kept, sample, code = reader(two_groups(), "drop").read(columns, 4, 1)
    assert kept.tolist() == [True, False, True, False]
    assert (sample.tolist(), code.tolist()) == ([0, 1], [0, 0])
    found = reader(two_groups())
    kept, _, _ = found.read(columns, 4, 1)
    assert not kept.any()
    with pytest.raises(MissingValueError, match="'group': 1 of 4 values is missing, the first in data row 4"):
        raise_first(found.problems, 4)
    columns = {"y": pa.array(["yes", "yes"]), "group": pa.array([1, 2])}
    found = reader(two_groups())
    found.read(columns, 2, 1)
    with quiet(UnknownCategoryError, match="in data row", values="'yes'"):
        raise_first(found.problems, 2)
    columns = {"y": pa.array(["yes", "same"]), "group": pa.array([1, 3])}
    found = reader(two_groups())
    found.read(columns, 2, 1)
    with pytest.raises(UnknownCategoryError, match="'group'"):
        raise_first(found.problems, 2)
    sets = Subset.from_gamma(3, Categories.numbered(4), size=2)
    with pytest.raises(ReportError, match="reports sets"):
        reader([Assignment.of("y", sets)])
