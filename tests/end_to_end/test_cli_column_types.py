"""Columns of every type in every role, and names that are not there or twice: an answer or an error, never a fault."""

import decimal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

from tests.support.command_line import WIDTH, Ran, design_file, run

N = 8


def twice(first: Any, second: Any, kind: Any = None) -> Any:
    return pa.array([first, second] * (N // 2), kind)


COLUMNS: dict[str, Callable[[], Any]] = {
    "large_string": lambda: twice("yes", "no", pa.large_string()),
    "string_view": lambda: twice("yes", "no", pa.string_view()),
    "dictionary": lambda: twice("yes", "no").dictionary_encode(),
    "dictionary_with_null": lambda: pa.DictionaryArray.from_arrays(twice(0, 1), pa.array(["yes", None])),
    "dictionary_of_lists": lambda: pa.DictionaryArray.from_arrays(twice(0, 1), pa.array([[1], [2]])),
    "dictionary_of_bytes": lambda: pa.DictionaryArray.from_arrays(twice(0, 1), pa.array([b"\xff", b"no"])),
    "above_53_bits": lambda: twice(2**53 + 1, 2**53 + 2),
    "above_63_bits": lambda: twice(2**63 + 1, 2**64 - 1, pa.uint64()),
    "half": lambda: twice(1.0, 2.0, pa.float32()).cast(pa.float16()),
    "nan": lambda: twice(float("nan"), 1.0),
    "infinity": lambda: twice(float("inf"), 1.0),
    "null": lambda: pa.nulls(N),
    "list": lambda: twice([1], [2]),
    "list_view": lambda: twice([1], [2], pa.list_view(pa.int64())),
    "fixed_size_list": lambda: twice([1, 2], [2, 3], pa.list_(pa.int64(), 2)),
    "struct": lambda: twice({"a": 1}, {"a": 2}),
    "map": lambda: twice([("a", 1)], [("b", 2)], pa.map_(pa.string(), pa.int64())),
    "union": lambda: pa.UnionArray.from_sparse(twice(0, 1, pa.int8()), [twice(1, 2), twice("yes", "no")]),
    "runs": lambda: pa.RunEndEncodedArray.from_arrays([N // 2, N], ["yes", "no"]),
    "fixed_size_binary": lambda: twice(b"yes", b"noo", pa.binary(3)),
    "binary": lambda: twice(b"yes", b"\xff\xfe"),
    "duration": lambda: twice(1, 2, pa.duration("us")),
    "time": lambda: twice(1, 2, pa.time64("ns")),
    "date": lambda: twice(1, 2, pa.date32()),
    "far_date": lambda: twice(109_000_000, 2, pa.date32()),
    "nanoseconds": lambda: twice(1, 2, pa.timestamp("ns")),
    "nowhere": lambda: twice(1, 2, pa.timestamp("us", "Nowhere/City")),
    "far_time": lambda: twice(2**62, 2, pa.timestamp("s")),
    "decimal32": lambda: twice(decimal.Decimal("1.5"), decimal.Decimal("2.5"), pa.decimal32(5, 1)),
    "decimal256": lambda: twice(decimal.Decimal(10) ** 60, decimal.Decimal(2), pa.decimal256(70, 0)),
    "interval": lambda: pa.array([pa.MonthDayNano([1, 2, 3])] * N),
    "uuid": lambda: twice(bytes(16), bytes(range(16)), pa.uuid()),
    "json": lambda: twice('{"a":1}', '"yes"', pa.json_(pa.string())),
    "tensor": lambda: pa.ExtensionArray.from_storage(
        pa.fixed_shape_tensor(pa.int64(), [2]), twice([1, 2], [2, 3], pa.list_(pa.int64(), 2))
    ),
    "nul": lambda: twice("a\0b", "yes"),
}

ROLES = {
    "true answers": "randomize {file} --design x=w.json -o out{ending}",
    "true answers, as sets": "randomize {file} --design x=s.json -o out{ending}",
    "unchanged, to CSV": "randomize {file} --design good=w.json -o out.csv",
    "unchanged, to Parquet": "randomize {file} --design good=w.json -o out.parquet",
    "unchanged, to Arrow": "randomize {file} --design good=w.json -o out.arrow",
    "reports": "estimate {file} --design x=w.json",
    "reports, as sets": "estimate {file} --design x=s.json",
    "reports of a table": "estimate {file} --design good=w.json --design x=w.json --missing drop",
    "direct": "estimate {file} --design good=w.json --direct x",
    "domains": "estimate {file} --design good=w.json --by x",
    "weights": "estimate {file} --design good=w.json --weights x",
    "chances": "estimate {file} --design good=w.json --inclusion x",
    "strata": "estimate {file} --design good=w.json --strata x",
    "clusters": "estimate {file} --design good=w.json --clusters x",
    "population": "estimate {file} --design good=w.json --population x",
    "counts": "estimate {file} --design good=w.json --counts x",
    "replicates": "estimate {file} --design good=w.json --weights one --replicates x --replicate-method bootstrap",
    "groups": "estimate {file} --design good[x=1]=w.json --design good[x=2]=w.json",
    "keys": "risk {file} --keys good,x",
    "weights of a risk": "risk {file} --keys good --weights x",
    "predictor": "regress {file} --formula good~x --design good=w.json",
    "outcome": "regress {file} --formula x~one --design x=w.json",
    "a first plan": "release {file} --init -o plan.toml",
}
"""What column x is used for, by the command that does so."""

RELEASES = [
    ("list", 'keys = ["good", "x"]\ndrop = ["one"]', 2),
    ("list", 'keys = ["good"]\ndrop = ["x"]', None),
    ("runs", 'keys = ["good"]\ndrop = ["one"]', None),
    ("uuid", 'keys = ["good"]\ndrop = ["one"]', None),
    ("far_date", 'keys = ["good", "x"]\ndrop = ["one"]', 2),
    ("nowhere", 'keys = ["good"]\nweights = "x"', 2),
    ("binary", 'keys = ["good"]\nid = "x"', None),
]
"""What column x of a release is, and the status if it is not for the risk to say."""


@pytest.fixture(autouse=True)
def designs(tmp_path: Path) -> None:
    design_file("w.json", "k-ary", "--categories", "yes,no", "--gamma", "3")
    design_file("s.json", "oue", "--categories", "yes,no", "--gamma", "3")


def table(column: Any) -> Any:
    good = pa.array(["yes", "no", "yes", "yes", "no", "no", "yes", "no"])
    return pa.table({"good": good, "x": column, "one": [1.0, 2.0, 1.5, 3.0, 1.0, 1.0, 2.5, 2.0]})


def written(rows: Any, ending: str, name: str = "in") -> bool:
    """Whether a file of this kind holds such columns."""
    path = f"{name}{ending}"
    try:
        if ending == ".parquet":
            pq.write_table(rows, path)
        else:
            with pa.ipc.new_file(path, rows.schema) as file:
                file.write_table(rows)
    except (pa.ArrowException, OSError):
        return False
    return True


def check(ran: Ran, what: str) -> None:
    """The rule: done, no, or one line and a hint."""
    assert ran.status in (0, 1, 2), f"{what}: {ran.err}"
    if ran.status == 2:
        error, hint = ran.err.splitlines()
        assert error.startswith("error: ") and hint.startswith("hint: "), f"{what}: {ran.err}"
        assert max(len(error), len(hint)) <= WIDTH, f"{what}: {ran.err}"


@pytest.mark.parametrize("kind", COLUMNS)
def test_columns_of_every_type_in_every_role(kind: str) -> None:
    if not hasattr(pa, {"json": "json_", "decimal32": "decimal32"}.get(kind, "array")):
        pytest.skip("this Arrow has no such type")
    rows = table(COLUMNS[kind]())
    ending = ".parquet" if written(rows, ".parquet") else ".arrow"
    written(rows, ending)
    for role, command in ROLES.items():
        words = command.format(file=f"in{ending}", ending=ending).split()
        check(run(*words, *(["--force"] if "-o" in words else []), status=None), f"{kind} as {role}")


@pytest.mark.parametrize(("kind", "lines", "status"), RELEASES)
def test_columns_of_a_release(kind: str, lines: str, status: int | None) -> None:
    rows = table(COLUMNS[kind]())
    ending = ".parquet" if written(rows, ".parquet") else ".arrow"
    written(rows, ending)
    moved = '"good", "x"' if '"good", "x"' in lines else '"good"'
    protect = f'[[protect]]\nvariables = [{moved}]\nmethod = "inverse-frequency"\nxi = 0.5\n'
    Path("plan.toml").write_text(f"[release]\n{lines}\nmatch = 0.9\n{protect}", encoding="utf-8")
    ran = run("release", f"in{ending}", "--plan", "plan.toml", "-o", "released", status=status)
    check(ran, f"{kind} with {lines}")


def test_lists_in_a_role_are_refused_by_name() -> None:
    written(table(COLUMNS["list"]()), ".parquet")
    said = run("risk", "in.parquet", "--keys", "x", status=2).err
    assert "column 'x' holds list<element: int64>, which cannot be used" in said
    assert "save this column as strings, or leave it out" in said


def csv_of(names: str) -> None:
    Path("in.csv").write_text(f"{names}\n" + "yes,1,1.5\nno,2,1\nyes,1,2\nno,2,3\n", encoding="utf-8")


@pytest.mark.parametrize("ending", [".csv", ".parquet", ".arrow"])
def test_a_column_that_is_not_there(ending: str) -> None:
    csv_of("good,y,one")
    if ending != ".csv":
        written(table(twice(1, 2)).rename_columns(["good", "y", "one"]), ending)
    for role, command in ROLES.items():
        words = command.format(file=f"in{ending}", ending=ending).split()
        if "unchanged" not in role and "plan" not in role:
            ran = run(*words, status=None)
            check(ran, f"{ending}: {role}")
            assert ran.status == 2, role
            assert "'x'" in ran.err or "starts with" in ran.err or "start with" in ran.err, f"{role}: {ran.err}"


@pytest.mark.parametrize("ending", [".csv", ".parquet", ".arrow"])
def test_a_name_that_two_columns_have(ending: str) -> None:
    csv_of("good,x,x")
    if ending != ".csv":
        rows = table(twice(1, 2))
        written(pa.Table.from_arrays(rows.columns, names=["good", "x", "x"]), ending)
    for role, command in ROLES.items():
        words = command.format(file=f"in{ending}", ending=ending).split()
        check(run(*words, *(["--force"] if "-o" in words else []), status=None), f"{ending}: {role}")
    said = run("risk", f"in{ending}", "--keys", "x", status=2).err
    assert "2 columns with the name 'x'" in said
    assert run("estimate", f"in{ending}", "--design", "good=w.json", "--json").json()["n"] in (4, 8)


def test_a_struct_beside_a_column_with_a_dot_in_its_name() -> None:
    rows = pa.table({"good": ["yes", "no"], "a": [{"b": "no"}, {"b": "yes"}], "a.b": ["yes", "yes"]})
    written(rows, ".parquet")
    found = run("estimate", "in.parquet", "--design", "a.b=w.json", status=None)
    check(found, "a.b")
    check(run("risk", "in.parquet", "--keys", "a.b,good", status=None), "a.b")
