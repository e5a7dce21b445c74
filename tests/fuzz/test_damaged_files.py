"""Damaged Arrow, Parquet, SPSS, Stata and SAS files: no crash, and no byte in an output that is not in the file."""

from __future__ import annotations

import csv
import random
from pathlib import Path
from typing import Any

import pytest
from tests.support.fuzzing import check_ended, files_in, numbers, run_command

pa = pytest.importorskip("pyarrow")

import pyarrow.ipc as ipc
import pyarrow.parquet as pq
from tests.support.damaged import damage, good_file, labelled_file

DESIGN = "y=d.json"
OUTPUTS = ("o.csv", "o.parquet", "o.arrow")
WHOLE = 8
"""One case in so many lets the interpreter end as it always does; see ``run_command``."""


def _commands(rng: random.Random, path: str) -> list[str]:
    return rng.choice(
        [
            *(["randomize", path, "--design", DESIGN, "-o", output] for output in OUTPUTS),
            ["estimate", path, "--design", DESIGN],
            ["risk", path, "--keys", "y"],
        ]
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("damaged")
    for name, categories in (("d.json", "yes,no"), ("numbers.json", "0,1")):
        words = ["design", "k-ary", "--categories", categories, "--gamma", "3", "-o", name]
        assert run_command(words, place).status == 0
    return place


@pytest.mark.parametrize("kind", [".arrow", ".parquet"])
def test_damaged_columns(folder: Path, kind: str) -> None:
    done = {0: 0, 1: 0, 2: 0}
    for number in numbers(16):
        rng = random.Random(f"{kind} {number}")
        path = folder / f"{number}{kind}"
        path.write_bytes(damage(rng, good_file(rng, kind), good_file(rng, kind)))
        ended = _run(_commands(rng, path.name), folder, quick=number % WHOLE != 0)
        done[ended] += 1
        for output in OUTPUTS:
            if (written := folder / output).exists():
                _check_same(path, written)
                written.unlink()
        path.unlink()
    assert min(done[0], done[2]) > 0, done  # some damage is in places that nobody reads


def _run(words: list[str], folder: Path, *, quick: bool) -> int:
    before = files_in(folder)
    ended = run_command(words, folder, quick=quick)
    check_ended(ended, folder, before)
    if ended.status == 2:
        first, second = ended.err.decode().splitlines()
        assert first.startswith("error: ") and second.startswith("hint: ") and max(len(first), len(second)) <= 107
    return ended.status


def _check_same(path: Path, output: Path) -> None:
    """What was copied is what a strict reader finds, and the reports are categories of the design."""
    true = _read(path)
    answers = true.column_names.index("y")  # others may have one name after an accident
    if output.suffix == ".csv":
        with output.open(encoding="utf-8", newline="") as file:
            _, *rows = csv.reader(file)
        columns = [*zip(*rows, strict=True)]
        for place, field in enumerate(true.schema):
            if field.type in (pa.string(), pa.large_string()) and place != answers:
                assert list(columns[place]) == [value or "" for value in true.column(place).to_pylist()], field.name
        reports = set(columns[answers])
    else:
        found = _read(output)
        reports = set(found.column(answers).to_pylist())
        for place in range(true.num_columns):
            if place != answers:
                _check_equal(true.column(place), found.column(place))
    assert reports <= {"yes", "no"}


def _check_equal(true: Any, found: Any) -> None:
    if true.type != found.type:
        true = true.cast(found.type)
    if pa.types.is_dictionary(true.type):  # the same values may be in other places
        true, found = (one.cast(one.type.value_type) for one in (true, found))
    if pa.types.is_nested(true.type):
        assert repr(true.to_pylist()) == repr(found.to_pylist())
        return
    if pa.types.is_floating(true.type):  # NaN is not equal to itself
        whole = {16: pa.int16(), 32: pa.int32(), 64: pa.int64()}[true.type.bit_width]
        true, found = (pa.concat_arrays([chunk.view(whole) for chunk in one.chunks]) for one in (true, found))
    assert true.equals(found)


def _read(path: Path) -> Any:
    """A strict reading by Arrow alone."""
    if path.suffix == ".parquet":
        file = pq.ParquetFile(path)
        batches, schema = list(file.iter_batches()), file.schema_arrow
    else:
        with path.open("rb") as raw:
            data = pa.py_buffer(raw.read())
        try:
            reader = ipc.open_file(data)
            batches, schema = [reader.get_batch(i) for i in range(reader.num_record_batches)], reader.schema
        except pa.ArrowInvalid:
            reader = ipc.open_stream(data)
            batches, schema = list(reader), reader.schema
    for batch in batches:
        batch.validate(full=True)
    return pa.Table.from_batches(batches, schema)


@pytest.mark.parametrize("kind", [".sav", ".zsav", ".dta", ".xpt"])
def test_damaged_labelled_files(folder: Path, kind: str) -> None:
    pytest.importorskip("pyreadstat")
    ending = ".sav" if kind == ".zsav" else kind
    for number in numbers(2):
        rng = random.Random(f"{kind} {number}")
        path = folder / f"{number}{ending}"
        path.write_bytes(damage(rng, *(labelled_file(rng, kind, folder) for _ in range(2))))
        output = rng.choice(["o.csv", "o.parquet", f"o{ending}"])
        randomize = ["randomize", path.name, "--design", "y=numbers.json", "--missing", "drop", "-o", output]
        _run(rng.choice([randomize, ["estimate", path.name, "--design", "y=numbers.json"]]), folder, quick=number != 0)
        (folder / output).unlink(missing_ok=True)
        path.unlink()
