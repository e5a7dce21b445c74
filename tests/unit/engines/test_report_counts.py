"""Reports of a file, counted by groups and by sampling units."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from maskwell import Categories
from maskwell.core.row_sums import Cells
from maskwell.designs import Dense, Uniform
from maskwell.engines import report_counts
from maskwell.engines.assignments import Assignment, direct_design
from maskwell.engines.report_counts import tally_file, tally_survey
from maskwell.engines.rows import Rows
from maskwell.engines.survey_columns import SamplingColumns, population_of
from maskwell.errors import DataFileError, MaskwellError, MissingValueError, ParameterError, UnknownCategoryError

YES_NO = Categories.of(["yes", "no"])
COIN = Uniform.from_gamma(3, YES_NO)
CARD = Dense.of([["0.7", "0.3"], ["0.3", "0.7"]], YES_NO)
BOTH = [Assignment.of("y", COIN, [("g", "1")]), Assignment.of("y", CARD, [("g", "2")])]


@pytest.fixture
def rows(tmp_path: Path) -> tuple[str, dict[str, np.ndarray]]:
    rng = np.random.default_rng(11)
    n = 3000
    columns = {
        "y": np.array(["yes", "no"])[rng.integers(0, 2, n)],
        "g": rng.integers(1, 3, n),
        "w": rng.integers(1, 9, n) / 2,
        "h": np.array(["north", "south", "west"])[rng.integers(0, 3, n)],
        "c": rng.integers(0, 20, n),
        "sex": np.array(["f", "m"])[rng.integers(0, 2, n)],
        "r1": rng.integers(0, 3, n) * 1.0,
        "r2": rng.integers(0, 3, n) * 1.0,
    }
    columns["size"] = np.array([{"north": 5000, "south": 6000, "west": 7000}[h] for h in columns["h"]])
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({name: pa.array(values) for name, values in columns.items()}), path, row_group_size=700)
    return str(path), columns


def lines(cells: Cells) -> dict[tuple[object, ...], tuple[float, ...]]:
    keys = [cells.stratum, *cells.clusters, cells.domain, cells.sample]
    return {
        (*(str(key.labels[key.codes[i]]) for key in keys), int(cells.report[i])): (
            int(cells.n[i]),
            float(cells.weight[i]),
            float(cells.square[i]),
        )
        for i in range(len(cells))
    }


def by_hand(columns: dict[str, np.ndarray]) -> dict[tuple[object, ...], tuple[float, ...]]:
    found: dict[tuple[object, ...], list[float]] = {}
    for y, g, w, h, c, sex in zip(*(columns[name] for name in ("y", "g", "w", "h", "c", "sex")), strict=True):
        line = found.setdefault((h, str(c), sex, str(g - 1), int(y == "no")), [0, 0.0, 0.0])
        line[0] += 1
        line[1] += w
        line[2] += w * w
    return {key: tuple(value) for key, value in found.items()}


PLAN = SamplingColumns(weights="w", strata="h", clusters=("c",), by=("sex",))


def test_sums_are_those_of_a_loop(rows: tuple[str, dict[str, np.ndarray]], monkeypatch: pytest.MonkeyPatch) -> None:
    path, columns = rows
    monkeypatch.setattr(report_counts, "ROWS_AT_ONCE", 333)
    monkeypatch.setattr(report_counts, "WAITING_CELLS", 2)
    tally = tally_survey(Rows.of(path), BOTH, PLAN)
    assert lines(tally.cells) == by_hand(columns)
    assert (tally.rows, tally.dropped, tally.cells.rows) == (3000, 0, 3000)
    assert [design.fingerprint for design in tally.designs] == [COIN.fingerprint, CARD.fingerprint]


def test_groups_population_and_replicates_are_kept(rows: tuple[str, dict[str, np.ndarray]]) -> None:
    path, columns = rows
    tally = tally_file(Rows.of(path), BOTH)
    for sample, group in zip(tally.samples, (1, 2), strict=True):
        own = columns["y"][columns["g"] == group]
        assert sample.counts.values.tolist() == [int((own == "yes").sum()), int((own == "no").sum())]
        assert sample.label == f"g = {group}"
    path, columns = rows
    plan = SamplingColumns(weights="w", strata="h", population=("size",), replicates="r")
    cells = tally_survey(Rows.of(path), [Assignment.of("y", CARD)], plan).cells
    assert cells.weighting.replicates.sum(axis=0) == pytest.approx([columns["r1"].sum(), columns["r2"].sum()])
    sizes = dict(zip(cells.stratum.labels[cells.stratum.codes].tolist(), cells.population[:, 0].tolist(), strict=True))
    assert sizes == {"north": 5000, "south": 6000, "west": 7000}
    whole = tally_survey(Rows.of(path), [Assignment.of("y", CARD)], SamplingColumns(population=(802.0,))).cells
    assert (whole.population == 802).all()


@pytest.mark.parametrize(
    ("content", "plan", "error", "wrong"),
    [
        ("y,w\nyes,0\nno,1\n", SamplingColumns(weights="w"), ParameterError, "column 'w': the value in row 1"),
        (
            "y,w\nyes,1\nno,x\n",
            SamplingColumns(weights="w"),
            ParameterError,
            "column 'w': the value in data row 2 is not a number",
        ),
        (
            "y,w\nyes,1\nno,inf\n",
            SamplingColumns(weights="w"),
            ParameterError,
            "column 'w': the value in data row 2 must be a finite number",
        ),
        ("y,w\nyes,1\nno,\n", SamplingColumns(weights="w"), MissingValueError, "'w': 1 value is missing"),
        (
            "y,w\nyes,2\nno,0.5\n",
            SamplingColumns(weights="w", chances=True),
            ParameterError,
            "the weight in row 2 is below 1",
        ),
        ("y,p\nyes,70\nno,30\n", SamplingColumns(inclusion="p"), ParameterError, "percentages"),
        ("y,h\nyes,a\nno,\n", SamplingColumns(strata="h"), MissingValueError, "'h': 1 value is missing"),
        ("y,w\nyes,1\n", SamplingColumns(weights="weight"), DataFileError, "no column 'weight'"),
        ("y,w\nyes,1\n", SamplingColumns(replicates="rep"), DataFileError, "names start with 'rep'"),
        (
            "y,w\nmaybe,1\n",
            SamplingColumns(weights="w"),
            UnknownCategoryError,
            "1 of 1 values is not a category of the design, in data row 1",
        ),
        ("y,w\n", SamplingColumns(weights="w"), DataFileError, "no rows"),
        (
            "y,N,h\nyes,10,a\nno,12,a\n",
            SamplingColumns(strata="h", population=("N",)),
            MaskwellError,
            "population of stage 1: the number differs within one stratum",
        ),
    ],
)
def test_bad_columns(tmp_path: Path, content: str, plan: SamplingColumns, error: type[Exception], wrong: str) -> None:
    path = tmp_path / "f.csv"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(error, match=wrong):
        tally_survey(Rows.of(str(path)), [Assignment.of("y", CARD)], plan)


def test_a_directly_asked_column_reports_the_truth(tmp_path: Path) -> None:
    path = tmp_path / "f.csv"
    path.write_text("age,one\n10,a\n9,a\n,a\n10,a\n", encoding="utf-8")
    design = direct_design(Rows.of(str(path)), "age")
    assert design.inputs.labels == (9, 10) and design.matrix().tolist() == [[1, 0], [0, 1]]
    with pytest.raises(DataFileError, match=r"column 'one' has fewer than two different values \(1\)"):
        direct_design(Rows.of(str(path)), "one")
    with pytest.raises(ParameterError, match="two passes"):
        direct_design(Rows.of("-"), "age")


def test_rows_without_a_report_or_a_domain_are_left_out_with_their_weights(tmp_path: Path) -> None:
    path = str(tmp_path / "f.csv")
    Path(path).write_text("y,w,h,n\nyes,1,a,3\n,2,a,5\nno,4,b,7\n", encoding="utf-8")
    card = [Assignment.of("y", CARD)]
    tally = tally_survey(Rows.of(path), card, SamplingColumns(weights="w", strata="h"), missing="drop", counts="n")
    assert (tally.rows, tally.dropped) == (3, 1) and tally.cells.n.tolist() == [3, 7]
    with pytest.raises(MissingValueError, match="1 of 3 values is missing"):
        tally_survey(Rows.of(path), card, SamplingColumns(weights="w"))
    path = tmp_path / "rows.csv"
    path.write_text("y,sex,town,w\nyes,f,a,1\nno,,a,2\n,m,b,4\nno,m,,8\nyes,m,b,16\n", encoding="utf-8")
    plan = SamplingColumns(weights="w", by=("sex", "town"))
    found = tally_survey(Rows.of(str(path)), [Assignment.of("y", CARD)], plan, missing="drop")
    assert (found.rows, found.dropped) == (5, 3)
    assert found.cells.domain.labels.tolist() == [("f", "a"), ("m", "b")]
    assert found.cells.weight.tolist() == [1, 16]
    path.write_text("y,sex\nyes,f\nno,\n", encoding="utf-8")
    with pytest.raises(MissingValueError, match=r"'sex': 1 value is missing, in data row 2\n.*missing=.drop"):
        tally_survey(Rows.of(str(path)), [Assignment.of("y", CARD)], SamplingColumns(by=("sex",)))


@pytest.mark.parametrize("size", ["-5", "0", "nan", "inf"])
def test_populations_are_one_or_more(size: str, tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="give the number of units that could have been drawn"):
        population_of([size])
    path = tmp_path / "rows.csv"
    path.write_text("y,size\nyes,-5\nno,-5\n", encoding="utf-8")
    with pytest.raises(ParameterError, match="population in data row 1 is below 1"):
        tally_survey(Rows.of(str(path)), [Assignment.of("y", CARD)], SamplingColumns(population=("size",)))


def test_weights_come_from_chances_or_are_given_and_ratios_of_replicates_from_rows(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="weights cannot be combined with inclusion probabilities"):
        SamplingColumns(weights="w", inclusion="p")
    path = str(tmp_path / "f.csv")
    Path(path).write_text("y,p\nyes,0.25\nno,0.5\n", encoding="utf-8")
    cells = tally_survey(Rows.of(path), [Assignment.of("y", CARD)], SamplingColumns(inclusion="p")).cells
    assert dict(zip(cells.report.tolist(), cells.weight.tolist(), strict=True)) == {0: 4.0, 1: 2.0}
    path = tmp_path / "rows.csv"
    path.write_text("y,w,r1,r2\nyes,2,0,2\nyes,2,4,2\nno,3,3,0\nno,3,3,6\n", encoding="utf-8")
    plan = SamplingColumns(weights="w", replicates="r")
    found = tally_survey(Rows.of(str(path)), [Assignment.of("y", CARD)], plan)
    assert found.ratios.tolist() == [[1, 1], [2, 2]]


def file_of(tmp_path: Path, text: str) -> str:
    path = tmp_path / "few.csv"
    path.write_text(text)
    return str(path)


def test_groups_strata_and_domains_without_a_report_are_named(tmp_path: Path) -> None:
    path = file_of(tmp_path, "y,g,h\nyes,1,a\nno,1,a\nno,1,b\n")
    for tally in (
        lambda: tally_file(Rows.of(path), BOTH),
        lambda: tally_survey(Rows.of(path), BOTH, SamplingColumns(strata="h")),
    ):
        with pytest.raises(MaskwellError, match="no row with a report has g = 2, which has a design"):
            tally()
    path = file_of(tmp_path, "y,h,N\nyes,a,10\nno,a,10\n,b,20\n,b,20\n,a,10\n")
    plan = SamplingColumns(strata="h", population=("N",))
    with pytest.raises(MissingValueError, match="h = b has no row with a report"):
        tally_survey(Rows.of(path), [Assignment.of("y", COIN)], plan, missing="drop")
    path = file_of(tmp_path, "y,h\nyes,a\nno,a\n,b\n,a\n")
    found = tally_survey(Rows.of(path), [Assignment.of("y", COIN)], SamplingColumns(by=("h",)), missing="drop")
    assert found.empty_domains == ("b",) and found.cells.domain.labels.tolist() == ["a"]
