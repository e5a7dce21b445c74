"""Documents of every kind are read one way: whole, bounded, UTF-8, and only if all readers would read the same."""

import os
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from tests.support.quiet import told

from maskwell import load_design
from maskwell.core import documents
from maskwell.core.documents import DEEPEST, from_json, from_toml, read_document
from maskwell.engines.handwritten_files import read_curves, read_matrix
from maskwell.errors import DataFileError, InputError, MaskwellError
from maskwell.microdata import load_plan, load_receipt
from maskwell.privacy.certificate_check import verify_file

READERS = {
    "design": load_design,
    "certificate": verify_file,
    "plan": load_plan,
    "receipt": load_receipt,
    "curves": read_curves,
    "matrix": read_matrix,
}


def read(path: str | Path, **more: Any) -> str:
    return read_document(path, error=DataFileError, hint="check it", **more)


def test_a_document_is_read_whole_from_a_file_or_a_pipe(tmp_path: Path) -> None:
    for start in (b"", b"\xef\xbb\xbf"):
        (tmp_path / "d").write_bytes(start + "é\n".encode())
        assert read(tmp_path / "d") == "é\n"
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_bytes(b"x" * 200_000))
    writer.start()
    assert len(read(pipe)) == 200_000
    writer.join()


@pytest.mark.parametrize("name", ["nowhere", ".", "loop", "x" * 5000, "nul\x00", "~", "", "half\ud800", "secret"])
@pytest.mark.parametrize("reader", list(READERS.values()), ids=list(READERS))
def test_what_is_no_file(reader: Any, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("loop").symlink_to("loop")
    Path("loop.csv").symlink_to("loop.csv")
    with told(InputError) as raised:
        reader(f"{name}.csv" if reader is read_matrix else name)
    assert raised.value.message


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="needs a file without an end")
@pytest.mark.parametrize("reader", list(READERS.values()), ids=list(READERS))
def test_a_file_without_an_end(reader: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "_CHUNK", 1 << 16)
    endless = tmp_path / "endless.csv"
    endless.symlink_to("/dev/zero")
    for name, most in (("LARGEST", 3 << 20), ("LARGEST_BY_HAND", 2 << 20), ("LARGEST_TOML", 2 << 20)):
        monkeypatch.setattr(documents, name, most)
    monkeypatch.setattr(read_document, "__kwdefaults__", {"largest": 3 << 20})
    with pytest.raises(InputError, match=r"has more than \d+ MB"):
        reader(endless)


@pytest.mark.parametrize(
    ("text", "saying"),
    [
        ("[" * 100_000, "levels of nesting"),
        ('{"a":' * 100_000, "levels of nesting"),
        ("[" * (DEEPEST + 1) + "]" * (DEEPEST + 1), "levels of nesting"),
        ('{"a": 1, "a": 2}', "repeated"),
        ("NaN", "NaN is not JSON"),
        ("[1, -Infinity]", "Infinity is not JSON"),
        ("[1e99999]", "beyond"),
        ("9" * 5000, "digits"),
        (r'"\ud800"', "half a character"),
        (r'{"\uDC00": 1}', "half a character"),
        (r'{"a": [{"b": ["c", "\udfff"]}]}', "half a character"),
        ("", "Expecting value"),
    ],
)
def test_json_that_is_refused(text: str, saying: str) -> None:
    with pytest.raises(ValueError, match=saying):
        from_json(text)


def test_there_are_only_so_many_lists_and_objects(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "MOST_LISTS", 1000)
    for text in ("[" + "[]," * 1000 + "1]", "[" + '{"a": 0},' * 1000 + "1]"):
        with pytest.raises(ValueError, match="lists and objects"):
            from_json(text)


def test_json_is_read_with_integers_as_short_where_long_ones_are_printed() -> None:
    usual = sys.get_int_max_str_digits()
    try:
        sys.set_int_max_str_digits(0)
        for read_text, text in ((from_json, "9" * 5000), (from_toml, f"a = {'9' * 5000}")):
            with pytest.raises(ValueError, match="thousands of digits"):
                read_text(text)
        assert sys.get_int_max_str_digits() == 0
    finally:
        sys.set_int_max_str_digits(usual)
    assert from_json(r'{"a": ["\ud83d\ude00", 1e-400, 1.5, null]}') == {"a": ["😀", 0.0, 1.5, None]}
    assert from_json("[" * DEEPEST + "]" * DEEPEST)


@pytest.mark.parametrize(
    ("text", "saying"),
    [
        ("a = " + "[" * 100_000, "levels of nesting"),
        (".".join("a" * 100_000) + " = 1", "joined by dots"),
        ("a = {" + " . ".join(["'a'"] * 100_000) + " = 1}", "joined by dots"),
        ("[[" + ".".join(['"a"'] * 100_000) + "]]", "joined by dots"),
        ("a = 1\na = 2", "overwrite"),
        ("a = nan", "nan"),
        ("a = -inf", "inf"),
        ("a = 1e999999999", "has an exponent above"),
        ("a = 1.5e-99999", "has an exponent above"),
        (f"a = {'9' * 5000}", "digits"),
        (f"a = 0x{'f' * 5000}", "digits"),
        (f"a = 0.{'3' * 5000}", "digits"),
        ("a = '", "end of document"),
    ],
)
def test_toml_that_is_refused(text: str, saying: str) -> None:
    with pytest.raises(ValueError, match=saying):
        from_toml(text)


def test_every_reader_refuses_other_encodings(tmp_path: Path) -> None:
    for name, reader in READERS.items():
        path = tmp_path / f"{name}.csv"
        path.write_bytes("p,lower,upper\né".encode("latin-1"))
        with pytest.raises(MaskwellError, match="UTF-8"):
            reader(path)
