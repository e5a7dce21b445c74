"""SPSS, Stata and SAS files: all but the randomized columns is unchanged; their reader is a process of its own."""

import os
import shutil
import signal
import subprocess
import sys
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests.support.quiet import quiet
from tests.support.together import together

import maskwell as mw
from maskwell import Categories, SeededRandom
from maskwell.designs import Uniform
from maskwell.engines import labelled
from maskwell.engines.assignments import Assignment
from maskwell.engines.labelled import ReaderProcess
from maskwell.engines.labelled_columns import ColumnLabels, Labels, read_column, written_column
from maskwell.engines.randomized_data import randomize_file
from maskwell.engines.report_counts import tally_file
from maskwell.engines.row_sources import open_source
from maskwell.engines.rows import Rows
from maskwell.errors import DataFileError, MissingExtraError, MissingValueError

pd = pytest.importorskip("pandas")
prs = pytest.importorskip("pyreadstat")

BY_LABEL = mw.designs.Uniform.from_gamma(3, mw.Categories.of(["yes", "no"]))
BY_CODE = mw.designs.Uniform.from_gamma(3, mw.Categories.of([1, 2]))
COMPARED = ["column_names", "column_labels", "variable_value_labels", "missing_ranges", "missing_user_values"]
COMPARED += ["original_variable_types", "variable_measure", "variable_display_width", "readstat_variable_types"]
COMPARED += ["file_label", "notes"]


def _frame(rows: int = 6) -> Any:
    days = [date(2020, 1, 1 + i % 28) for i in range(rows)]
    return pd.DataFrame(
        {
            "id": np.arange(rows, dtype=float) + 0.25,
            "drugs": [float(1 + i % 2) for i in range(rows)],
            "age": [34.0, -9.0, 51.0, float("nan"), 99.0, 17.0][:rows] + [20.0] * (rows - 6),
            "name": ["a", "", "çé", "d", "e", "f"][:rows] + ["x"] * (rows - 6),
            "day": days,
        }
    )


def _sav(path: Path, rows: int = 6) -> str:
    prs.write_sav(
        _frame(rows),
        str(path),
        file_label="A survey",
        note=["first note"],
        column_labels={"drugs": "Have you used drugs?", "age": "Age in years"},
        variable_value_labels={"drugs": {1.0: "yes", 2.0: "no"}, "age": {-9.0: "refused", 99.0: "99 or older"}},
        missing_ranges={"age": [{"lo": -9, "hi": -1}]},
        variable_measure={"drugs": "nominal", "age": "scale"},
        variable_display_width={"age": 14},
        variable_format={"id": "F10.2", "age": "F3.0", "day": "EDATE10"},
    )
    return str(path)


def _dta(path: Path) -> str:
    frame = _frame().drop(columns="age")
    frame["age"] = pd.Series([34.0, "a", 51.0, float("nan"), "b", 17.0], dtype=object)
    frame["children"] = np.array([0, 1, 2, 0, 1, 5], dtype=np.int32)
    prs.write_dta(
        frame,
        str(path),
        file_label="A survey",
        column_labels={"drugs": "Have you used drugs?"},
        variable_value_labels={"drugs": {1: "yes", 2: "no"}, "age": {"a": "refused", "b": "unknown"}},
        missing_user_values={"age": ["a", "b"]},
    )
    return str(path)


def _xpt(path: Path) -> str:
    prs.write_xport(_frame().rename(columns=str.upper), str(path), column_labels={"DRUGS": "Have you used drugs?"})
    return str(path)


def _read(path: str) -> tuple[Any, Any]:
    read = getattr(prs, labelled.READERS[Path(path).suffix])
    missing = {} if path.endswith(".xpt") else {"user_missing": True}
    found: tuple[Any, Any] = read(path, disable_datetime_conversion=True, **missing)
    return found


@pytest.mark.parametrize(
    ("make", "ending", "column"), [(_sav, ".sav", "drugs"), (_dta, ".dta", "drugs"), (_xpt, ".xpt", "DRUGS")]
)
@pytest.mark.parametrize("design", [BY_LABEL, BY_CODE], ids=["by label", "by code"])
def test_everything_else_is_kept(tmp_path: Path, make: Any, ending: str, column: str, design: Any) -> None:
    if ending == ".xpt" and design is BY_LABEL:
        pytest.skip("SAS transport files have no value labels")
    path, output = make(tmp_path / f"in{ending}"), str(tmp_path / f"out{ending}")
    done = randomize_file(path, output, [Assignment.of(column, design)], random=SeededRandom(1))
    assert done.rows == 6 and done.lost == ()
    (before, about), (after, kept) = _read(path), _read(output)
    for name in COMPARED:
        assert getattr(kept, name) == getattr(about, name), name
    others = [name for name in before if name != column]
    pd.testing.assert_frame_equal(after[others], before[others])
    expected = design.randomize(np.array([design.inputs.labels[i % 2] for i in range(6)]), random=SeededRandom(1))
    codes = {"yes": 1.0, "no": 2.0, 1: 1.0, 2: 2.0}
    assert after[column].tolist() == [codes[label] for label in expected.tolist()]


def test_dates_and_numbers_in_other_kinds_of_files(tmp_path: Path) -> None:
    """A file without labels gets dates as dates and missing codes as nothing, and one says what is lost."""
    import pyarrow.parquet as pq

    for make, ending in ((_sav, ".sav"), (_dta, ".dta")):
        path, output = make(tmp_path / f"a{ending}"), str(tmp_path / f"b{ending}.parquet")
        done = randomize_file(path, output, [Assignment.of("drugs", BY_LABEL)])
        table = pq.read_table(output)
        assert table.column("day").to_pylist()[:2] == [date(2020, 1, 1), date(2020, 1, 2)]
        assert table.column("age").to_pylist()[:4] == [34, None, 51, None]
        assert set(table.column("drugs").to_pylist()) <= {"yes", "no"}
        assert "does not keep variable labels, value labels" in done.lost[0]
        assert done.to_dict()["lost"] == list(done.lost)
    csv = str(tmp_path / "c.csv")
    randomize_file(_xpt(tmp_path / "a.xpt"), csv, [Assignment.of("DRUGS", BY_CODE)])
    assert Path(csv).read_text(encoding="utf-8").splitlines()[1].split(",")[0] == "0.25"


def test_from_one_kind_to_another_and_reports_that_differ_from_the_categories(tmp_path: Path) -> None:
    """Kuk's device reports how many cards were red: other values, so that the labels do not go with them."""
    path, output = _sav(tmp_path / "a.sav"), str(tmp_path / "b.dta")
    done = randomize_file(path, output, [Assignment.of("drugs", BY_LABEL)])
    after, about = _read(output)
    assert about.variable_value_labels["drugs"] == {1: "yes", 2: "no"}
    assert about.column_names_to_labels["age"] == "Age in years"
    assert after["age"].isna().tolist() == [False, True, False, True, False, False]
    assert about.original_variable_types["day"].startswith("%td") and after["day"].tolist()[0] == 21915
    assert "missing codes, measurement levels and notes" in done.lost[0]
    back = str(tmp_path / "c.sav")
    randomize_file(_dta(tmp_path / "a.dta"), back, [Assignment.of("drugs", BY_CODE)])
    assert _read(back)[1].variable_value_labels["drugs"] == {1.0: "yes", 2.0: "no"}
    kuk = mw.design("kuk", theta1="7/10", theta2="1/5", draws=3).with_labels(
        mw.Categories.of(["yes", "no"]), mw.Categories.of(["none", "one", "two", "all"])
    )
    output = str(tmp_path / "b.sav")
    randomize_file(_sav(tmp_path / "a.sav"), output, [Assignment.of("drugs", kuk)])
    after, about = _read(output)
    assert set(after["drugs"]) <= {"none", "one", "two", "all"} and "drugs" not in about.variable_value_labels
    assert about.column_names_to_labels["drugs"] == "Have you used drugs?"
    assert tally_file(Rows.of(output), [Assignment.of("drugs", kuk)]).rows == 6


def test_missing_values_that_are_a_category_come_back(tmp_path: Path) -> None:
    design = mw.designs.Uniform.from_gamma(3, mw.Categories.of(["yes", "no", "missing"]))
    path = str(tmp_path / "a.sav")
    prs.write_sav(
        pd.DataFrame({"y": [1.0, 2.0, np.nan] * 50}), path, variable_value_labels={"y": {1.0: "yes", 2.0: "no"}}
    )
    output = str(tmp_path / "b.sav")
    randomize_file(path, output, [Assignment.of("y", design)], missing="category")
    after, about = _read(output)
    assert about.variable_value_labels["y"] == {1.0: "yes", 2.0: "no"}
    counted = tally_file(Rows.of(output), [Assignment.of("y", design)], missing="category").counts.values
    here = [(after["y"] == 1).sum(), (after["y"] == 2).sum(), after["y"].isna().sum()]
    assert counted.tolist() == here


def test_labels_of_texts_and_two_codes_with_one_label(tmp_path: Path) -> None:
    path, output = str(tmp_path / "a.sav"), str(tmp_path / "b.sav")
    prs.write_sav(
        pd.DataFrame({"y": ["j", "n", "j", "x"]}),
        path,
        variable_value_labels={"y": {"j": "yes", "n": "no"}},
        missing_ranges={"y": ["x"]},
    )
    assert tally_file(Rows.of(path), [Assignment.of("y", BY_LABEL)], missing="drop").counts.values.tolist() == [2, 1]
    randomize_file(path, output, [Assignment.of("y", BY_LABEL)], missing="drop")
    after, about = _read(output)
    assert set(after["y"]) <= {"j", "n"} and about.variable_value_labels["y"] == {"j": "yes", "n": "no"}
    path = str(tmp_path / "c.sav")
    labels = {"y": {1.0: "yes", 2.0: "no", 3.0: "no"}}
    prs.write_sav(pd.DataFrame({"y": [1.0, 2.0, 3.0]}), path, variable_value_labels=labels)
    assert tally_file(Rows.of(path), [Assignment.of("y", BY_LABEL)]).counts.values.tolist() == [1, 2]
    with quiet(DataFileError, match="two codes have the label 'no'", values="2, 3"):
        randomize_file(path, str(tmp_path / "d.sav"), [Assignment.of("y", BY_LABEL)], random=SeededRandom(3))
    assert not (tmp_path / "d.sav").exists()


@pytest.mark.parametrize("ending", [".sav", ".dta", ".xpt", ".sas7bdat"])
def test_bad_files_get_one_clear_error(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"bad{ending}"
    path.write_bytes(b"this is no such file" * 50)
    with pytest.raises(DataFileError, match="cannot read") as caught:
        tally_file(Rows.of(str(path)), [Assignment.of("y", BY_LABEL)])
    assert "ending" in caught.value.hint
    with pytest.raises(DataFileError, match="does not exist"):
        tally_file(Rows.of(str(tmp_path / f"none{ending}")), [Assignment.of("y", BY_LABEL)])


def test_what_cannot_be_written_and_what_is_needed(tmp_path: Path) -> None:
    path = _sav(tmp_path / "a.sav")
    with pytest.raises(DataFileError, match="files can be read, but not written") as caught:
        randomize_file(path, str(tmp_path / "b.sas7bdat"), [Assignment.of("drugs", BY_LABEL)])
    assert ".xpt" in caught.value.hint
    (tmp_path / "c.csv").write_text("a b,y\n1,yes\n", encoding="utf-8")
    with pytest.raises(DataFileError, match="contains a space"):
        randomize_file(str(tmp_path / "c.csv"), str(tmp_path / "d.sav"), [Assignment.of("y", BY_LABEL)])
    with pytest.raises(DataFileError, match="files can store numbers, strings and dates only"):
        written_column(pa.chunked_array([[[1]]]), pa.field("l", pa.list_(pa.int64())), None, ".sav", same=True)
    assert not (tmp_path / "d.sav").exists()
    ages = mw.designs.Uniform.from_gamma(3, mw.Categories.of([17, 34, 51, 99]))
    for path, expected in ((_sav(tmp_path / "a.sav"), [1, 1, 1, 1]), (_dta(tmp_path / "a.dta"), [1, 1, 1, 0])):
        with pytest.raises(MissingValueError, match="missing"):
            tally_file(Rows.of(path), [Assignment.of("age", ages)])
        counted = tally_file(Rows.of(path), [Assignment.of("age", ages)], missing="drop")
        assert counted.counts.values.tolist() == expected
    with open_source(_sav(tmp_path / "a.sav"), coded=["drugs"]) as source:
        (batch,) = source.batches([1, 2])
        assert batch.schema.names == ["drugs", "age"] and batch.column(0).to_pylist() == ["yes", "no"] * 3
        assert source.done() == 1


def test_sas_files_are_read_like_the_others_by_what_may_have_to_be_installed(monkeypatch, tmp_path) -> None:
    """pyreadstat cannot write .sas7bdat, so that an SPSS file stands for one here."""
    monkeypatch.setitem(labelled.READERS, ".sas7bdat", "read_sav")
    path = Path(_sav(tmp_path / "a.sav")).rename(tmp_path / "a.sas7bdat")
    assert tally_file(Rows.of(str(path)), [Assignment.of("drugs", BY_LABEL)]).counts.values.tolist() == [3, 3]
    done = randomize_file(str(path), str(tmp_path / "b.xpt"), [Assignment.of("drugs", BY_LABEL)])
    assert "value labels" in done.lost[0]
    # Where pyreadstat is not installed, the message says how to get it.
    path = _sav(tmp_path / "a.sav")
    monkeypatch.setattr(labelled, "is_installed", lambda _: False)
    with pytest.raises(MissingExtraError, match="needs pyreadstat") as caught:
        tally_file(Rows.of(path), [Assignment.of("drugs", BY_LABEL)])
    assert caught.value.hint == "pip install 'maskwell[labelled]'"


def test_letters_of_missing_values_survive_and_what_is_lost_is_said() -> None:
    about = ColumnLabels(tagged=("a", "z"))
    read = read_column([1.0, "a", None, "z"], about, ".dta", spoken=False, exact=True)
    assert read.null_count == 1
    series, kept = written_column(pa.chunked_array([read]), pa.field("x", pa.float64()), about, ".dta", same=True)
    assert series.tolist()[:2] == [1.0, "a"] and series.tolist()[3] == "z" and kept.tagged == ("a", "z")
    plain = read_column([1.0, "a", None], about, ".dta", spoken=False, exact=False)
    assert plain.to_pylist() == [1.0, None, None]
    column = ColumnLabels(label="Age", values={1.0: "one"}, missing=((9.0, 9.0),), measure="scale")
    labels = Labels(".sav", {"age": column}, notes=("n",), response_sets=True)
    assert labels.lost_in(".sav") == ("a .sav file does not keep multiple response sets of the .sav file",)
    assert labels.lost_in(".xpt")[0].startswith("a .xpt file does not keep value labels, missing codes")
    assert Labels(".sav", {"age": ColumnLabels()}).lost_in(".csv") == ()


@pytest.mark.parametrize("ending", [".sav", ".dta", ".xpt"])
@pytest.mark.parametrize("share", [0, 0.3, 0.9])
def test_a_file_that_the_library_left_cut_short_is_no_output(ending, share, tmp_path, monkeypatch) -> None:
    real = labelled._write

    def cut(frame: Any, path: Path, *rest: Any) -> None:  # as on a full disk, which pyreadstat does not always notice
        real(frame, path, *rest)
        os.truncate(path, int(path.stat().st_size * share))

    monkeypatch.setattr(labelled, "_write", cut)
    (tmp_path / "in.csv").write_text("x,y\n" + "yes,1\nno,2\n" * 250)
    with pytest.raises(DataFileError, match="the output could be written only in part"):
        randomize_file(str(tmp_path / "in.csv"), str(tmp_path / f"out{ending}"), [Assignment.of("x", BY_LABEL)])
    assert [path.name for path in tmp_path.iterdir()] == ["in.csv"]


COIN = Uniform.from_gamma(3, Categories.of([0, 1]))


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> str:
    place = tmp_path_factory.mktemp("reader") / "a.sav"
    prs.write_sav(pd.DataFrame({"y": [0.0, 1.0] * 100_000}), place)
    return str(place)


def test_a_crash_is_an_error_and_faults_of_ours_are_no_damage(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with open_source(path) as source:
        batches = source.batches()
        next(batches)
        os.kill(source._source._reader._process.pid, signal.SIGKILL)
        with pytest.raises(DataFileError, match="is damaged: its reader crashed"):
            list(batches)
    assert tally_file(Rows.of(path), [Assignment.of("y", COIN)]).rows == 200_000
    process = ReaderProcess(labelled.__name__)
    try:
        with pytest.raises(RuntimeError, match="KeyError"):
            list(process.ask({"called": path}))
        with pytest.raises(DataFileError, match="cannot read"):
            list(process.ask({"called": path, "path": __file__, "ending": ".sav", "read": "read_sav"}))
    finally:
        process.end()
    tally_file(Rows.of(path), [Assignment.of("y", COIN)])
    (waiting,) = labelled._IDLE
    monkeypatch.setattr(os, "getpid", lambda: -1)
    assert not waiting.is_usable()


def test_no_module_of_the_folder_is_run(path: str, tmp_path: Path) -> None:
    """A file of a stranger may come with a module named as one that the reader imports."""
    given = str(shutil.copy(path, tmp_path))
    for name in ("json.py", "pyreadstat.py", "struct.py"):
        (tmp_path / name).write_text("open('ran', 'w')\n", encoding="utf-8")
    asked = (
        f"from maskwell.engines.row_sources import open_source\nwith open_source({given!r}) as s: print(s.schema.names)"
    )
    program = tmp_path / "elsewhere" / "program.py"
    program.parent.mkdir()
    program.write_text(asked, encoding="utf-8")
    done = subprocess.run([sys.executable, program], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stdout == "['y']\n", done.stderr
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("interpreter", [None, "", "/no/such/python"])
def test_without_an_interpreter_to_start(interpreter: str | None, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(labelled, "_IDLE", [])
    monkeypatch.setattr(sys, "executable", interpreter)
    with (
        pytest.raises(
            DataFileError, match="files of this kind are read by a separate Python process, which cannot start"
        ),
        open_source(path),
    ):
        pass


def test_a_process_is_used_again_unless_it_died_or_is_in_the_middle_of_a_file(path: str) -> None:
    tally_file(Rows.of(path), [Assignment.of("y", COIN)])
    died = labelled._IDLE[-1]
    died._process.kill()
    died._process.wait()
    assert tally_file(Rows.of(path), [Assignment.of("y", COIN)]).rows == 200_000
    assert died not in labelled._IDLE
    tally_file(Rows.of(path), [Assignment.of("y", COIN)])
    (waiting,) = labelled._IDLE
    tally_file(Rows.of(path), [Assignment.of("y", COIN)])
    assert [waiting] == labelled._IDLE
    with open_source(path) as source:
        next(source.batches())
    assert labelled._IDLE == [] and not waiting.is_usable()


@together("kind", [(".dta", "%td"), (".dta", "%tc"), (".sav", "DATE11"), (".sav", "DATETIME20")])
def test_dates_that_no_calendar_has_are_refused(kind: tuple[str, str], tmp_path: Path) -> None:
    """They overflowed, and were written as `<value out of range: -2147483648>`."""
    ending, form = kind
    unit = {"%td": 1.0, "%tc": 86_400_000.0}.get(form, 86_400.0)
    write = prs.write_dta if ending == ".dta" else prs.write_sav
    design = Uniform.from_gamma(3, mw.Categories.of(["a", "b"]))
    for days, fine in [(0.0, True), (2e6, True), (5e6, False), (-8e5, False), (2.2e9, False), (1e300, False)]:
        source, out = tmp_path / f"in{ending}", tmp_path / "out.csv"
        frame = pd.DataFrame({"x": ["a", "b"], "d": [0.0, days * unit]})
        write(frame, str(source), variable_format={"d": form})
        answers = [Assignment("x", design)]
        if fine:
            randomize_file(str(source), str(out), answers, random=SeededRandom(1))
            assert "out of range" not in out.read_text()
            out.unlink()
        else:
            with pytest.raises(DataFileError, match="column 'd' has values that cannot be read"):
                randomize_file(str(source), str(out), answers, random=SeededRandom(1))
            assert not out.exists()
