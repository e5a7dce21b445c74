"""Columns that become coarser as they are read: the same as by hand, in every kind of table, and nothing old stays."""

import random
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from tests.support.together import together

from maskwell.engines.cell_counts import count_tables
from maskwell.engines.rows import MemoryTable, Rows
from maskwell.errors import ParameterError, WrongTypeError
from maskwell.microdata.records.recoding import Recode, Recoding, recoded, recoding_of

pa = pytest.importorskip("pyarrow")

CASES: list[tuple[Recode, Any, Any]] = [
    (Recode(group={"couple": ("married", "partner")}), "partner", "couple"),
    (Recode(group={"couple": ("married", "partner")}), "single", "single"),
    (Recode(group={"couple": ("married",)}, other="else"), "single", "else"),
    (Recode(group={"low": ("1", "2")}), 2.0, "low"),
    (Recode(group={"low": ("1", "2")}), 3, "3"),
    (Recode(cuts=(Fraction(18), Fraction(65))), 17.999, "under 18"),
    (Recode(cuts=(Fraction(18), Fraction(65))), "18", "18 to under 65"),
    (Recode(cuts=(Fraction(18), Fraction(65))), 65, "65 or more"),
    (Recode(top=Fraction(80)), "79.50", "79.50"),
    (Recode(top=Fraction(80)), "80.5", "80"),
    (Recode(top=Fraction(80)), "80.0", "80"),  # as whoever is older
    (Recode(bottom=Fraction(16)), "+16.00", "16"),
    (Recode(bottom=Fraction(16)), 3, 16),
    (Recode(step=Fraction(10)), 14.9, 10.0),
    (Recode(step=Fraction(10)), 15, 20),
    (Recode(step=Fraction(10)), -15, -10),
    (Recode(step=Fraction("0.1")), "5.44266666666667", "5.4"),
    (Recode(step=Fraction(5), top=Fraction(80)), 93, 80),
]


@together(["recode", "old", "new"], CASES)
def test_each_value_becomes_what_its_recode_says(recode: Recode, old: Any, new: Any) -> None:
    assert recode.value(old) == new
    assert type(recode.value(old)) is type(new)


def rows(n: int = 500) -> dict[str, list[Any]]:
    draw = random.Random(5)
    ages = [draw.choice([None, *range(100)]) for _ in range(n)]
    jobs = [draw.choice([None, "baker", "smith", "clerk", "judge"]) for _ in range(n)]
    return {"age": ages, "job": jobs, "weight": [draw.uniform(1, 50) for _ in range(n)]}


RECODES = {
    "age": Recode(cuts=(Fraction(20), Fraction(60))),
    "job": Recode(group={"trade": ("baker", "smith")}),
    "weight": Recode(step=Fraction(10)),
}


def by_hand(data: dict[str, list[Any]]) -> dict[str, list[Any]]:
    def age(value: int | None) -> str | None:
        return (
            None if value is None else "under 20" if value < 20 else "60 or more" if value >= 60 else "20 to under 60"
        )

    return {
        "age": [age(value) for value in data["age"]],
        "job": [{"baker": "trade", "smith": "trade"}.get(value, value) for value in data["job"]],
        "weight": [float(int(value / 10 + 0.5) * 10) for value in data["weight"]],
    }


def test_files_and_tables_are_recoded_as_by_hand(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    data, expected = rows(), by_hand(rows())
    table = pa.table(data)
    coded = table.set_column(1, "job", table["job"].dictionary_encode())
    frame = pandas.DataFrame(data)
    frame["job"] = frame["job"].astype("category")
    parquet = pytest.importorskip("pyarrow.parquet")
    parquet.write_table(coded, tmp_path / "people.parquet")
    frame.to_parquet(tmp_path / "frame.parquet")
    memory = [MemoryTable(one) for one in (data, table, coded, frame)]
    for records in (*memory, str(tmp_path / "people.parquet"), str(tmp_path / "frame.parquet")):
        with recoded(Rows.of(records), Recoding(RECODES)).open() as source:
            out = pa.Table.from_batches(source.batches())
            old = [*map(str, [*(source.schema.metadata or {}).values(), *out.schema.types])]
            assert out.to_pydict() == expected
            assert source.schema.types == out.schema.types
        assert not any("num_categories" in text and '"job"' in text for text in old)
    (tmp_path / "people.csv").write_text(frame.to_csv(index=False))
    found = count_tables(recoded(Rows.of(str(tmp_path / "people.csv")), Recoding(RECODES)), [("age", "job")])[0]
    twin = count_tables(MemoryTable(expected), [("age", "job")])[0]
    assert dict(zip(found.labels(), found.counts, strict=True)) == dict(zip(twin.labels(), twin.counts, strict=True))


def test_what_was_met_is_told_also_of_value_labels(tmp_path: Path) -> None:
    recoding = Recoding({"job": Recode(group={"trade": ("baker", "mason"), "judge": ("judge",)})})
    count_tables(recoded(MemoryTable(rows()), recoding), [("job",)])
    assert recoding.categories() == {"job": (4, 4)} and recoding.not_met() == {"job": ["mason"]}
    spss, pandas = pytest.importorskip("pyreadstat"), pytest.importorskip("pandas")
    path = str(tmp_path / "people.sav")
    labels = {"job": {1: "baker", 2: "smith", 3: "judge"}}
    spss.write_sav(pandas.DataFrame({"job": [1.0, 1.0, 2.0]}), path, variable_value_labels=labels)
    recoding = Recoding({"job": Recode(group={"trade": ("baker", "2"), "court": ("judge", "usher")})})
    count_tables(recoded(Rows.of(path), recoding), [("job",)])
    assert recoding.not_met() == {"job": ["judge", "usher"]}


def test_what_cannot_be_recoded_is_refused_and_what_need_not_is_left() -> None:
    with pytest.raises(ParameterError, match="not a number") as no_number:
        count_tables(recoded(MemoryTable(rows()), Recoding({"job": RECODES["age"]})), [("job",)])
    assert "baker" not in str(no_number.value)
    halves = Recoding({"age": Recode(top=Fraction("79.5"))})
    with pytest.raises(WrongTypeError, match="cannot hold its new values"):
        count_tables(recoded(MemoryTable(rows()), halves), [("age",)])
    data = MemoryTable(rows())
    assert recoded(Rows.of(data), Recoding({})) is data
    assert recoding_of(data) is None
    with recoded(data, Recoding(RECODES)).open() as source:
        (batch, *_) = source.batches([1])
        assert batch.schema.names == ["job"]
        assert {*batch.column(0).to_pylist()} == {None, "trade", "clerk", "judge"}
