"""Rows that used different designs, and reports that are tuples of answers in a column each."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from tests.support.quiet import quiet

from maskwell import Categories
from maskwell.designs import Dense, Kronecker, Subset, Uniform
from maskwell.engines.assignments import Answers, Assignment, Samples, variables_of
from maskwell.engines.column_codes import raise_first
from maskwell.engines.report_counts import tally_file
from maskwell.engines.rows import Rows
from maskwell.engines.survey_columns import ReportReader, SampleReader
from maskwell.errors import MissingValueError, ParameterError, ReportError, UnknownCategoryError
from maskwell.procedures.joint_answers import repeated
from maskwell.procedures.statement_cards import warner

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
        ([], "at least one design must be given"),
        ([Assignment.of("y", COIN), Assignment.of("y", CARD)], "two designs were given for the column 'y'"),
        ([*two_groups(), Assignment.of("y", CARD)], "two designs were given for the column 'y'"),
        ([*two_groups(), Assignment.of("y", COIN, [("wave", "1")])], "are defined by different columns"),
        ([*two_groups(), Assignment.of("y", COIN, [("group", "2")])], "two designs were given for 'y' where group = 2"),
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


TWICE = repeated([warner("0.7"), warner("0.6")])
SOME = Categories.of([("yes", "1"), ("no", "1"), ("no", "2")])


def test_tuples_come_apart_into_columns() -> None:
    answers = Answers(SOME)
    assert [place.labels for place in answers.places] == [("yes", "no"), ("1", "2")]
    codes = np.array([2, 0, 1, 2])
    assert answers.join(answers.split(codes)).tolist() == codes.tolist()
    assert Assignment.of("first, second", TWICE).columns == ("first", "second")
    assert Assignment.of("both", TWICE).parts == ((TWICE, ("both",)),)
    with pytest.raises(ParameterError, match="a report of 2 answers cannot be used with 3 columns"):
        Assignment.of("a,b,c", TWICE)
    product = Kronecker.of([TWICE, warner("0.7")])
    assert [names for _, names in Assignment.of("a,b,c", product).parts] == [("a", "b"), ("c",)]
    with pytest.raises(ParameterError, match="a product of 2 designs cannot be used with 4 columns"):
        Assignment.of("a,b,c,d", product)


def test_rows_are_counted_by_all_their_answers_and_another_column(tmp_path: Path) -> None:
    path = str(tmp_path / "r.csv")
    Path(path).write_text("a,b\nyes,yes\nyes,no\nno,yes\nyes,no\nno,\n", encoding="utf-8")
    assigned = [Assignment.of("a,b", TWICE)]
    counted = tally_file(Rows.of(path), assigned, missing="drop")
    assert (counted.counts.values.tolist(), counted.dropped) == ([1, 2, 1, 0], 1)
    grouped = tally_file(Rows.of(path), assigned, missing="drop")
    assert grouped.samples[0].counts.values.tolist() == [1, 2, 1, 0]
    with pytest.raises(MissingValueError, match="column 'b': 1 of 5 values is missing, the first in data row 5"):
        tally_file(Rows.of(path), assigned)
    path = str(tmp_path / "r.csv")
    Path(path).write_text("a,b,c,n\nyes,no,no,2\nno,yes,yes,3\n", encoding="utf-8")
    assigned = [Assignment.of("a,b", TWICE), Assignment.of("c", warner("0.7"))]
    counted = tally_file(Rows.of(path), assigned, counts="n").counts.values.reshape(2, 2, 2)
    assert (counted[0, 1, 1], counted[1, 0, 0], counted.sum()) == (2, 3, 5)
    assert tally_file(Rows.of(path), assigned, counts="n").samples[0].counts.values.tolist() == counted.ravel().tolist()


def test_answers_that_make_no_report_are_named_and_one_column_is_told_how(tmp_path: Path) -> None:
    reader = ReportReader(SOME, ["x", "y"], "error")
    assert reader.read([pa.array(["yes", "no", "yes"]), pa.array(["2", "2", "2"])], 1) is None
    told = "columns 'x, y': 2 of 3 values are not reports of the design, the first in data row 1"
    with quiet(UnknownCategoryError, match=told, values=r"\('yes', '2'\) \(2 times\)"):
        raise_first(reader.problems, 3)
    again = ReportReader(SOME, ["x", "y"], "error")
    assert again.read([pa.array(["yes"]), pa.array(["3"])], 1) is None
    with quiet(
        UnknownCategoryError,
        match="column 'y': 1 of 1 values is not a category of the design, in data row 1",
        values="'3'",
    ):
        raise_first(again.problems, 1)
    path = tmp_path / "r.csv"
    path.write_text("a,b\nyes,yes\n", encoding="utf-8")
    with pytest.raises(UnknownCategoryError) as caught:
        tally_file(Rows.of(str(path)), [Assignment.of("a", TWICE)])
    assert caught.value.hint.endswith("name one column for each answer")
