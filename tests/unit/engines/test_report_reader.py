"""Reports that are tuples of answers, each answer in a column of its own."""

from pathlib import Path

import numpy as np
import pytest
from tests.support.quiet import quiet

from maskwell.engines import Rows

pa = pytest.importorskip("pyarrow")

from maskwell.core import Categories
from maskwell.designs import Kronecker
from maskwell.engines.assignments import Answers, Assignment
from maskwell.engines.column_codes import raise_first
from maskwell.engines.report_counts import tally_file, tally_groups
from maskwell.engines.survey_columns import ReportReader
from maskwell.errors import MissingValueError, ParameterError, UnknownCategoryError
from maskwell.procedures import repeated
from maskwell.procedures.statement_cards import warner

TWICE = repeated([warner("0.7"), warner("0.6")])
SOME = Categories.of([("yes", "1"), ("no", "1"), ("no", "2")])


def test_tuples_come_apart_into_columns() -> None:
    answers = Answers(SOME)
    assert [place.labels for place in answers.places] == [("yes", "no"), ("1", "2")]
    codes = np.array([2, 0, 1, 2])
    assert answers.join(answers.split(codes)).tolist() == codes.tolist()
    assert Assignment.of("first, second", TWICE).columns == ("first", "second")
    assert Assignment.of("both", TWICE).parts == ((TWICE, ("both",)),)
    with pytest.raises(ParameterError, match="a report of 2 answers is given 3 columns"):
        Assignment.of("a,b,c", TWICE)
    product = Kronecker.of([TWICE, warner("0.7")])
    assert [names for _, names in Assignment.of("a,b,c", product).parts] == [("a", "b"), ("c",)]
    with pytest.raises(ParameterError, match="a product of 2 designs is given 4 columns"):
        Assignment.of("a,b,c,d", product)


def test_rows_are_counted_by_all_their_answers_and_another_column(tmp_path: Path) -> None:
    path = str(tmp_path / "r.csv")
    Path(path).write_text("a,b\nyes,yes\nyes,no\nno,yes\nyes,no\nno,\n", encoding="utf-8")
    assigned = [Assignment.of("a,b", TWICE)]
    counted = tally_file(Rows.of(path), assigned, missing="drop")
    assert (counted.counts.values.tolist(), counted.dropped) == ([1, 2, 1, 0], 1)
    grouped = tally_groups(Rows.of(path), assigned, missing="drop")
    assert grouped.samples[0].counts.values.tolist() == [1, 2, 1, 0]
    with pytest.raises(MissingValueError, match="column 'b': 1 of 5 values is missing, the first in data row 5"):
        tally_file(Rows.of(path), assigned)
    path = str(tmp_path / "r.csv")
    Path(path).write_text("a,b,c,n\nyes,no,no,2\nno,yes,yes,3\n", encoding="utf-8")
    assigned = [Assignment.of("a,b", TWICE), Assignment.of("c", warner("0.7"))]
    counted = tally_file(Rows.of(path), assigned, counts="n").counts.values.reshape(2, 2, 2)
    assert (counted[0, 1, 1], counted[1, 0, 0], counted.sum()) == (2, 3, 5)
    assert (
        tally_groups(Rows.of(path), assigned, counts="n").samples[0].counts.values.tolist() == counted.ravel().tolist()
    )


def test_answers_that_make_no_report_are_named_and_one_column_is_told_how(tmp_path: Path) -> None:
    reader = ReportReader(SOME, ["x", "y"], "error")
    assert reader.read([pa.array(["yes", "no", "yes"]), pa.array(["2", "2", "2"])], 1) is None
    told = "columns 'x, y': 2 of 3 values are no report, the first in data row 1"
    with quiet(UnknownCategoryError, match=told, values=r"\('yes', '2'\) \(2 times\)"):
        raise_first(reader.problems, 3)
    again = ReportReader(SOME, ["x", "y"], "error")
    assert again.read([pa.array(["yes"]), pa.array(["3"])], 1) is None
    with quiet(UnknownCategoryError, match="column 'y': 1 of 1 values is no category in data row 1", values="'3'"):
        raise_first(again.problems, 1)
    path = tmp_path / "r.csv"
    path.write_text("a,b\nyes,yes\n", encoding="utf-8")
    with pytest.raises(UnknownCategoryError) as caught:
        tally_file(Rows.of(str(path)), [Assignment.of("a", TWICE)])
    assert caught.value.hint.endswith("name one column for each answer")
