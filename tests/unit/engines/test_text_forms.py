"""CSV files as they come: separators, encodings and decimal commas are found out or given, and come out so."""

import io
import logging
import random
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tests.support.together import together

import maskwell as mw
from maskwell.engines import csv_file, input_file, record_reader
from maskwell.engines.delimited import DelimitedSource
from maskwell.engines.input_file import TextForm, encoding_of, separator_of
from maskwell.engines.record_reader import RecordReader
from maskwell.engines.row_sources import open_sink, open_source
from maskwell.errors import DataFileError, ParameterError

NAMES = ["ort", "größe", "lohn", "note"]


def rows(n: int = 60) -> list[list[str]]:
    draw = random.Random(7)
    towns = ["Zürich", "Bern", "Genève", 'St. "Gallen"', "Aarau; West"]
    return [
        [draw.choice(towns), draw.choice(["groß", "klein", ""]), f"{draw.uniform(-9, 9):.2f}", draw.choice("123")]
        for _ in range(n)
    ]


def text(separator: str = ";", decimal: str = ",", newline: str = "\n") -> str:
    def field(value: str) -> str:
        quoted = any(sign in value for sign in (separator, '"'))
        return '"' + value.replace('"', '""') + '"' if quoted else value

    lines = [NAMES, *([a, b, c.replace(".", decimal), d] for a, b, c, d in rows())]
    return newline.join(separator.join(map(field, line)) for line in lines) + newline


def read(path: str) -> tuple[list[list[Any]], Any]:
    with open_source(path) as source:
        table = pa.Table.from_batches(source.batches())
        return [[*row] for row in zip(*table.to_pydict().values(), strict=True)], source.style


EXPECTED = [[a, b or None, c, d] for a, b, c, d in rows()]
FORMS = [
    (separator, decimal, encoding, newline)
    for separator, decimal in ((";", ","), (";", "."), ("\t", ","), ("|", "."), (",", "."))
    for encoding in ("utf-8", "cp1252", "utf-8-sig", "utf-16")
    for newline in ("\n", "\r\n")
]


@together(["separator", "decimal", "encoding", "newline"], FORMS)
def test_every_form_is_found_out(tmp_path: Path, separator: str, decimal: str, encoding: str, newline: str) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(text(separator, decimal, newline).encode(encoding))
    values, style = read(str(path))
    assert values == EXPECTED and style.separator == separator
    assert {*style.commas} == ({"lohn"} if decimal == "," else set())


@together(["separator", "decimal", "encoding", "newline"], [form for form in FORMS if form[2] in ("utf-8", "cp1252")])
def test_a_file_is_written_as_it_was_read(tmp_path, separator, decimal, encoding, newline) -> None:
    content = text(separator, decimal, newline).encode(encoding)
    (tmp_path / "a.csv").write_bytes(content)
    with (
        open_source(str(tmp_path / "a.csv"), coded=["ort", "lohn"]) as source,
        (tmp_path / "b.csv").open("wb") as file,
        open_sink(file, "b.csv", source.schema, style=source.style) as sink,
    ):
        for batch in source.batches():
            sink.write(batch)
    assert (tmp_path / "b.csv").read_bytes() == content


@together(["source", "to", "sign"], [("a.csv", "b.tsv", "\t"), ("a.tsv", "b.csv", ","), ("a.tsv", "b.tsv", "\t")])
def test_the_ending_of_the_output_tells_tabs_from_commas(tmp_path: Path, source: str, to: str, sign: str) -> None:
    (tmp_path / source).write_text("x\ty\n1\t2\n" if source.endswith("tsv") else "x,y\n1,2\n")
    with (
        open_source(str(tmp_path / source)) as rows_in,
        (tmp_path / to).open("wb") as file,
        open_sink(file, to, rows_in.schema, style=rows_in.style) as sink,
    ):
        for batch in rows_in.batches():
            sink.write(batch)
    assert (tmp_path / to).read_text() == f"x{sign}y\n1{sign}2\n"


def test_what_is_given_counts(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes("name:x\nŁódź:1\n".encode("cp1250"))
    assert read(csv_file(str(tmp_path / "a.csv"), separator=":", encoding="windows-1250"))[0] == [["Łódź", "1"]]
    (tmp_path / "b.csv").write_text('x,y\n"1,5",a\n"2",b\n')
    assert read(str(tmp_path / "b.csv"))[0][0] == ["1,5", "a"], "a comma between fields: nothing is guessed"
    assert read(csv_file(str(tmp_path / "b.csv"), decimal=","))[0] == [["1.5", "a"], ["2", "b"]]
    (tmp_path / "c.csv").write_text("x;y\n1,5;a\n")
    assert read(csv_file(str(tmp_path / "c.csv"), decimal="."))[0] == [["1,5", "a"]]
    (tmp_path / "d.csv").write_text("x;y\n1;a\n")
    assert read(csv_file(str(tmp_path / "d.csv"), separator=","))[0] == [["1;a"]]


STARTS: list[tuple[bytes, str]] = [
    (b"a,b\n1,2\n", ","),
    (b"a;b\n1;2\n", ";"),
    (b"a;b", ";"),
    (b"name\nA; B\n", ","),
    (b"a;b,c\n1;2\n4;5\n", ";"),
    (b'"a;b",c\n1,2\n', ","),
    (b"a\tb\n1\t2\n", "\t"),
    (b"a;b\n1\n2", ","),
]


@together(["start", "sign"], STARTS)
def test_separators(start: bytes, sign: str) -> None:
    assert separator_of(start) == sign


@together("start", [b"a;b,c\n1;2,3\n4;5,6\n", b"income, net;age\n1,5;30\n2,5;40\n", b"a|b,c\nx|y,z\n", b"a\tb;c\n"])
def test_two_signs_that_would_do_are_refused(start: bytes) -> None:
    with pytest.raises(DataFileError, match="the field separator is ambiguous"):
        separator_of(start)


def test_commas_and_points_that_may_part_thousands(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """1,234 is not made 1.234 unasked; 1.234 beside decimal commas stays, and is said."""
    (tmp_path / "a.tsv").write_text("x\ty\n1,234\t1,234\n900\t0,987\n")
    assert read(str(tmp_path / "a.tsv"))[0] == [["1,234", "1.234"], ["900", "0.987"]]
    assert read(csv_file(str(tmp_path / "a.tsv"), decimal=","))[0] == [["1.234", "1.234"], ["900", "0.987"]]
    (tmp_path / "b.csv").write_text("x;y;z\n1.234;1,5;10.1\n900;2;3\n")
    for form in ({}, {"decimal": ","}):
        caplog.clear()
        input_file._SAID.clear()
        assert read(csv_file(str(tmp_path / "b.csv"), **form))[0] == [["1.234", "1.5", "10.1"], ["900", "2", "3"]]
        assert "numbers such as 1.234 in 'x'" in caplog.text and "'z'" not in caplog.text


def test_encodings_and_separators_in_small_blocks_pauses_and_cut_bytes(tmp_path, monkeypatch) -> None:
    assert encoding_of(b"abc") == encoding_of("ü".encode()[:1]) == "utf-8", "a character may be cut at the end"
    assert encoding_of("Müller ä".encode() + b"\xff ") == "utf-8", "damaged UTF-8 is not called something else"
    assert encoding_of("naïve €".encode("cp1252")) == "cp1252" and encoding_of(b"\x81 \xfc") == "iso8859-1"
    monkeypatch.setattr(record_reader, "BLOCK_BYTES", 64)
    for encoding in ("utf-16", "cp1252"):
        (tmp_path / "a.csv").write_bytes(text().encode(encoding))
        assert read(str(tmp_path / "a.csv"))[0] == EXPECTED
    pieces = iter([b"a", b";b\n1;", b"2\n", b""])
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO()))
    monkeypatch.setattr(RecordReader, "_from_standard_input", lambda *_: iter([next(pieces)]))
    source = DelimitedSource("-", ".csv")
    assert source.schema.names == ["a", "b"]
    source.close()


def test_a_column_with_commas_and_points_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record_reader, "BLOCK_BYTES", 1 << 8)
    monkeypatch.setattr(record_reader, "LONGEST_RECORD", 1 << 10)
    (tmp_path / "a.csv").write_text("x;y\n" + "1,5;a\n" * 200 + "2.5;b\n")
    with pytest.raises(DataFileError, match="mixes decimal commas and decimal points") as refused:
        read(str(tmp_path / "a.csv"))
    assert "2.5" not in str(refused.value)
    (tmp_path / "b.csv").write_text("x;y\n1,5;a\n2.5;b\n")
    assert read(str(tmp_path / "b.csv"))[0] == [["1,5", "a"], ["2.5", "b"]], "not numbers throughout: left alone"


@together(
    ["start", "separator"],
    [("sep=;\n", None), ("\ufeffsep=;\r\n", None), ("sep=;\n", ";"), ("SEP=;\n", None), ("", None)],
)
def test_a_first_line_for_excel_is_no_header(tmp_path, start, separator, caplog, monkeypatch) -> None:
    monkeypatch.setattr(input_file, "_SAID", {})
    caplog.clear()
    (tmp_path / "a.csv").write_text(f"{start}a;b\n1;x\n2;y\n", encoding="utf-8", newline="")
    with open_source(csv_file(str(tmp_path / "a.csv"), separator=separator)) as source:
        assert pa.Table.from_batches(source.batches()).to_pydict() == {"a": ["1", "2"], "b": ["x", "y"]}
        assert source.style.separator == ";"
    assert ("names a semicolon as the separator; it is left out" in caplog.text) == bool(start)


def test_it_is_said_once(tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(input_file, "_SAID", {})
    (tmp_path / "a.csv").write_bytes(text().encode("cp1252"))
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            read(str(tmp_path / "a.csv"))
        read(csv_file(str(tmp_path / "a.csv"), separator=";", encoding="cp1252", decimal=","))
    first, second = caplog.messages
    guess = "(a guess, since it is not UTF-8; encoding names another)"
    assert first.endswith(f"is read with a semicolon between fields, as Windows-1252 {guess}")
    assert second.endswith("has decimal commas")


def test_bytes_further_down_and_characters_that_the_encoding_lacks_are_refused(tmp_path, monkeypatch) -> None:
    (tmp_path / "a.csv").write_bytes(text().encode("cp1252"))
    _, style = read(str(tmp_path / "a.csv"))
    batch = pa.record_batch({"x": ["Łódź"]})
    with (tmp_path / "b.csv").open("wb") as file, pytest.raises(DataFileError, match="the output has a character that"):  # noqa: SIM117
        with open_sink(file, "b.csv", batch.schema, style=style) as sink:
            sink.write(batch)
    monkeypatch.setattr(record_reader, "BLOCK_BYTES", 1 << 8)
    (tmp_path / "a.csv").write_bytes(b"x,y\n" + b"1,a\n" * 200 + b"2,\xfc\n")
    with pytest.raises(DataFileError, match="UTF") as refused:
        read(str(tmp_path / "a.csv"))
    assert "csv_file(path, encoding=" in refused.value.hint
    assert read(csv_file(str(tmp_path / "a.csv"), encoding="latin-1"))[0][-1] == ["2", "ü"]


@together(
    ["given", "words"],
    [({"separator": "x"}, "separator"), ({"encoding": "x"}, "encoding"), ({"decimal": "x"}, "decimal")],
)
def test_a_form_that_cannot_be_is_refused(given: dict[str, str], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        TextForm.of(**given)


def test_parts_of_a_folder_and_the_verbs(tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    for number in range(2):
        (tmp_path / f"parts/{number}.csv").write_bytes(text().encode("cp1252"))
    values, _ = read(str(tmp_path / "parts"))
    assert values == EXPECTED * 2
    weighted = tmp_path / "w.csv"
    weighted.write_text("town#w\n".replace("#", ":") + "A:1,5\nB:2,5\nA:1,0\n")
    result = mw.risk(csv_file(str(weighted), separator=":", decimal=","), "town", weights="w")
    assert result.table.weights.tolist() == [2.5, 2.5]
