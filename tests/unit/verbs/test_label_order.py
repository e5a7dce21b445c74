"""The order of categories and domains: the one that a file, a table or a plan gives them, else their natural order."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.support.surveys import estimate_with, tabulate_with

import maskwell as mw

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
pd = pytest.importorskip("pandas")

PAY = ["low", "middle", "high"]
AGES = ["0-4", "5-9", "10-14", "100 or more"]
WARNER = mw.design("warner", p="0.8")


def people() -> Any:
    """A table whose rows have the last labels first."""
    pay = pd.Categorical([PAY[2 - i % 3] for i in range(240)], categories=PAY, ordered=True)
    return pd.DataFrame({"pay": pay, "age": [AGES[3 - i % 4] for i in range(240)], "smokes": ["no", "yes"] * 120})


def in_parquet(folder: Path) -> str:
    people().to_parquet(folder / "a.parquet")
    return str(folder / "a.parquet")


def in_arrow(folder: Path) -> str:
    table = pa.Table.from_pandas(people())
    with pa.OSFile(str(folder / "a.arrow"), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)
    return str(folder / "a.arrow")


def in_spss(folder: Path) -> str:
    codes = people().assign(pay=lambda frame: frame["pay"].cat.codes + 1.0)
    labels = {"pay": {float(code): label for code, label in enumerate(PAY, 1)}}
    pytest.importorskip("pyreadstat").write_sav(codes, str(folder / "a.sav"), variable_value_labels=labels)
    return str(folder / "a.sav")


def in_stata(folder: Path) -> str:
    pytest.importorskip("pyreadstat")
    people().to_stata(folder / "a.dta", write_index=False)
    return str(folder / "a.dta")


TABLES = {
    "pandas": lambda _: people(),
    "categories of pandas without an order": lambda _: people().assign(pay=lambda f: f["pay"].cat.as_unordered()),
    "arrow": lambda _: pa.Table.from_pandas(people()),
    "parquet": in_parquet,
    "arrow file": in_arrow,
    "spss": in_spss,
    "stata": in_stata,
}


@pytest.mark.parametrize("kind", TABLES)
def test_tables_and_domains_have_the_order_of_the_labels(tmp_path: Path, kind: str) -> None:
    data = TABLES[kind](tmp_path)
    for column, order in (("pay", PAY), ("age", AGES)):
        assert [*tabulate_with(data, {"smokes": WARNER}, direct=column).margin(column).categories] == order
        domains = mw.estimate(data, {"smokes": WARNER}, by=column).estimate.domains
        assert [*domains] == order
    both = mw.estimate(data, {"smokes": WARNER}, by=["age", "pay"]).estimate.domains
    assert [*both] == [(age, pay) for age in AGES for pay in PAY]


def released(source: str, folder: Path, **plan: Any) -> Path:
    protect = [{"variables": ["pay"], "method": "method1", "theta": "0.5"}]
    mw.release(source, mw.ReleasePlan.of(protect, accept=["age", "smokes"], **plan), folder)
    return folder / "public"


def order_in(public: Path, column: str) -> list[Any]:
    columns = json.loads((public / "codebook.json").read_text(encoding="utf-8"))["columns"]
    return [one["value"] for one in next(one for one in columns if one["name"] == column)["categories"]]


def test_releases_keep_the_order_of_an_ordered_dictionary(tmp_path: Path) -> None:
    public = released(in_parquet(tmp_path), tmp_path / "r")
    kind = pq.read_table(public / "data.parquet").column("pay")
    assert kind.type.ordered and kind.chunk(0).dictionary.to_pylist() == PAY
    assert (order_in(public, "pay"), order_in(public, "age")) == (PAY, AGES)
    shares = estimate_with(str(public / "data.parquet"), receipt=str(public / "receipt.json"))
    assert [*shares.estimate.categories] == PAY


GROUPED = {"pay": {"group": {"poor": ["low"], "not poor": ["middle", "high"]}}}
PLANS: dict[str, tuple[dict[str, Any], list[str]]] = {
    "codebook": ({"codebook": {"pay": PAY}}, PAY),
    "groups": ({"recode": GROUPED}, ["poor", "not poor"]),
    "groups of some labels": ({"recode": {"pay": {"group": {"more": ["middle", "high"]}}}}, ["low", "more"]),
}


@pytest.mark.parametrize("kind", PLANS)
def test_a_receipt_tells_the_order_of_the_plan(tmp_path: Path, kind: str) -> None:
    people().to_csv(tmp_path / "a.csv", index=False)
    plan, order = PLANS[kind]
    public = released(str(tmp_path / "a.csv"), tmp_path / "r", **plan)
    assert order_in(public, "pay") == order
    assert [*estimate_with(str(public / "data.csv"), receipt=str(public / "receipt.json")).estimate.categories] == order
    told = json.loads((public / "receipt.json").read_text(encoding="utf-8")).get("categories", {})
    assert told == ({"pay": order} if order != sorted(order) else {})
    both = estimate_with(str(public / "data.csv"), receipt=str(public / "receipt.json"), columns=["age", "pay"])
    assert [*both.estimate.categories] == [(age, pay) for age in AGES for pay in order]
