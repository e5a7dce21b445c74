"""Excel files: what cells become, what cannot be written, and files that are not what they seem."""

import datetime as dt
import zipfile
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("python_calamine")
xlsxwriter = pytest.importorskip("xlsxwriter")

import maskwell as mw
from maskwell.engines import excel_files
from maskwell.errors import DataFileError

CARDS = mw.design("warner", p="0.8")
SEED = mw.SeededRandom(1)


def workbook(path: Path, *sheets: list[list[Any]]) -> Path:
    with xlsxwriter.Workbook(str(path), {"default_date_format": "yyyy-mm-dd"}) as book:
        for rows in sheets:
            sheet = book.add_worksheet()
            for number, row in enumerate(rows):
                for place, cell in enumerate(row):
                    (sheet.write_string if isinstance(cell, str) else sheet.write)(number, place, cell)
    return path


def test_cells_become_texts_and_come_back_as_they_were(tmp_path: Path) -> None:
    rows = [
        ["answer", "number", "share", "day", "member", "code", "formula"],
        ["yes", 1, 0.1, dt.date(2025, 12, 31), True, "007", "=1+1"],
        ["no", 2, None, dt.date(2026, 1, 1), False, "1e3", "plain"],
    ]
    path = workbook(tmp_path / "a.xlsx", rows)
    mw.randomize(str(path), {"answer": CARDS}, str(tmp_path / "b.csv"), random=SEED)
    mw.randomize(str(path), {"answer": CARDS}, str(tmp_path / "c.xlsx"), random=SEED)
    mw.randomize(str(tmp_path / "c.xlsx"), {"answer": CARDS}, str(tmp_path / "d.csv"), random=SEED)
    first, second = [(tmp_path / name).read_text().splitlines() for name in ("b.csv", "d.csv")]
    assert first[0] == "answer,number,share,day,member,code,formula"
    assert first[1].partition(",")[2] == "1,0.1,2025-12-31,TRUE,007,=1+1"
    assert [line.partition(",")[2] for line in first] == [line.partition(",")[2] for line in second]


def test_nothing_is_written_as_a_formula(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('answer,note\nyes,"=HYPERLINK(""http://x.example"")"\n', encoding="utf-8")
    mw.randomize(str(tmp_path / "a.csv"), {"answer": CARDS}, str(tmp_path / "b.xlsx"))
    with zipfile.ZipFile(tmp_path / "b.xlsx") as parts:
        sheet = parts.read("xl/worksheets/sheet1.xml")
    assert b"<f>" not in sheet and b"hyperlink" not in sheet


def test_the_first_of_several_sheets_is_read_and_named(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = workbook(tmp_path / "two.xlsx", [["answer"], ["yes"]], [["other"], ["no"]])
    assert mw.tally(str(path), {"answer": CARDS})["answer"].n == 1
    assert "2 sheets; the first one is read: Sheet1" in caplog.text


def test_what_a_sheet_cannot_hold_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.csv").write_text("answer\n" + "yes\n" * 5, encoding="utf-8")
    monkeypatch.setattr(excel_files, "MOST_ROWS", 5)
    with pytest.raises(DataFileError, match="at most 4 rows"):
        mw.randomize(str(tmp_path / "a.csv"), {"answer": CARDS}, str(tmp_path / "b.xlsx"))
    assert not (tmp_path / "b.xlsx").exists()


@pytest.mark.parametrize(
    ("content", "said"),
    [(b"no workbook", "is not an Excel workbook"), (b"PK\x05\x06" + bytes(18), "is not an Excel workbook")],
    ids=["text", "empty archive"],
)
def test_other_files_are_refused(content: bytes, said: str, tmp_path: Path) -> None:
    (tmp_path / "a.xlsx").write_bytes(content)
    with pytest.raises(DataFileError, match=said):
        mw.tally(str(tmp_path / "a.xlsx"), {"answer": CARDS})


def test_a_workbook_that_unpacks_to_much_more_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("maskwell.engines.arrow_checks.LARGE", 1 << 20)
    monkeypatch.setattr("maskwell.engines.arrow_checks.EXPANSION", 200)
    with zipfile.ZipFile(tmp_path / "bomb.xlsx", "w", zipfile.ZIP_DEFLATED) as parts:
        parts.writestr("xl/worksheets/sheet1.xml", bytes(1 << 24))
    with pytest.raises(DataFileError, match="unpack"):
        mw.tally(str(tmp_path / "bomb.xlsx"), {"answer": CARDS})


def test_a_column_without_a_name_is_refused(tmp_path: Path) -> None:
    path = workbook(tmp_path / "a.xlsx", [["answer", None, "age"], ["yes", 1, 2]])
    with pytest.raises(DataFileError, match="column 2 has no name"):
        mw.tally(str(path), {"answer": CARDS})


def test_a_stray_cell_does_not_fill_the_memory(tmp_path: Path) -> None:
    path = tmp_path / "far.xlsx"
    with xlsxwriter.Workbook(str(path)) as book:
        sheet = book.add_worksheet()
        sheet.write_string(0, 0, "answer")
        sheet.write_string(1_048_575, 16_383, "x")
    with pytest.raises(DataFileError, match="few cells in a very large area"):
        mw.tally(str(path), {"answer": CARDS})
