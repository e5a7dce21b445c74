"""Top and bottom coding by shares of the records, and by means that keep the total."""

import random
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from tests.support.quiet import refused
from tests.support.together import together

import maskwell as mw
from maskwell.engines.rows import Rows
from maskwell.errors import ParameterError, PlanError
from maskwell.microdata.plans.release_plan import ReleasePlan
from maskwell.microdata.records.end_coding import with_ends
from maskwell.microdata.records.recoding import Recode

pa = pytest.importorskip("pyarrow")


def people(n: int = 200, *, whole: bool = True) -> dict[str, list[Any]]:
    draw = random.Random(7)
    income = [round(draw.lognormvariate(7, 1), 0 if whole else 2) for _ in range(n)]
    return {
        "income": [int(one) if whole else one for one in income],
        "weight": [draw.randint(1, 9) for _ in range(n)],
        "sex": draw.choices("mw", k=n),
        "town": draw.choices("ABC", k=n),
    }


PROTECT = [{"variables": ["sex", "town"], "method": "sequential", "strength": 0.3}]


def released(data: Any, recode: dict[str, Any], **options: Any) -> Any:
    plan = ReleasePlan.of(
        PROTECT, recode={"income": recode}, order="kept", accept=["income"], drop=[], demonstration=True, **options
    )
    return mw.release(data, plan)


@together("share", ["0.01", "0.05", "0.1", "0.333"])
def test_at_least_the_share_reaches_the_limit(share: str) -> None:
    data = people()
    recodes = {"income": Recode(top_share=Fraction(share), bottom_share=Fraction(share))}
    one = with_ends(Rows.of(data), recodes, None)["income"]
    assert one.top is not None and one.bottom is not None
    above, below = (sorted(x for x in data["income"] if meets(x)) for meets in (one.top.__le__, one.bottom.__ge__))
    for end, first in ((above, above[0]), (below, below[-1])):
        assert len(end) >= Fraction(share) * 200 > len([x for x in end if x != first]), "no limit that is nearer does"
    assert one.top_mean is None and one.needs_records


@together("whole", [True, False])
def test_means_keep_the_total(whole: bool) -> None:
    data = people(whole=whole)
    made = released(data, {"top_share": "0.05", "bottom_share": "0.05", "replace": "mean"}).data["income"]
    assert sum(made) == pytest.approx(sum(data["income"]), rel=1e-10)
    changed = [new for old, new in zip(data["income"], made, strict=True) if old != new]
    assert len({*changed}) == 2 and len(changed) >= 18


def test_means_keep_the_weighted_total_of_a_plan_with_weights() -> None:
    data = people()
    made = released(data, {"top": 3000, "replace": "mean"}, weights="weight").data["income"]
    before, after = (
        sum(x * w for x, w in zip(column, data["weight"], strict=True)) for column in (data["income"], made)
    )
    assert after == pytest.approx(before, rel=1e-10) and sum(made) != pytest.approx(sum(data["income"]), rel=1e-6)


@together("ending", [".csv", ".parquet"])
def test_files_say_what_stands_at_the_end(tmp_path: Path, ending: str) -> None:
    pandas = pytest.importorskip("pandas")
    source, plan = tmp_path / f"people{ending}", tmp_path / "plan.toml"
    frame = pandas.DataFrame(people())
    frame.to_csv(source, index=False) if ending == ".csv" else frame.to_parquet(source)
    plan.write_text(
        '[release]\naccept = ["income"]\ndrop = ["weight"]\n[recode.income]\ntop_share = 0.1\nreplace = "mean"\n'
        '[[protect]]\nvariables = ["sex", "town"]\nmethod = "sequential"\nstrength = 0.3\n',
        encoding="utf-8",
    )
    mw.release(str(source), str(plan), str(tmp_path / "out"))
    public = tmp_path / "out" / "public"
    data = public / f"data{ending}"
    made = pandas.read_csv(data) if ending == ".csv" else pandas.read_parquet(data)
    assert made["income"].sum() == pytest.approx(frame["income"].sum(), rel=1e-10)
    assert "or more" in (public / "receipt.json").read_text(encoding="utf-8")
    assert "or more" in (public / "README.md").read_text(encoding="utf-8")
    internal = mw.microdata.load_receipt(tmp_path / "out" / "internal" / "receipt.json")
    assert internal.plan["recode"]["income"] == {"top_share": "0.1", "replace": "mean"}, "as it was typed"


@together(["recode", "what"], [
    ({"top": 3, "top_share": 0.1}, "both say"),
    ({"bottom": 3, "bottom_share": 0.1}, "both say"),
    ({"replace": "mean"}, "needs an end"),
    ({"top_share": 0}, "out of range"),
    ({"top_share": 1.5}, "out of range"),
    ({"top": 80, "replace": "median"}, "not allowed"),
    ({"top_share": 0.01, "cuts": [3]}, "has cuts and top"),
    ({"top_share": 1, "bottom_share": 1}, "meet"),
    ({"top_share": 0.01, "replace": "mean"}, "1 of its records"),
])  # fmt: skip
def test_what_cannot_be_is_refused(recode: dict[str, Any], what: str) -> None:
    refused(PlanError, what, released, people(), recode)


def test_columns_without_numbers_are_refused() -> None:
    refused(ParameterError, "town", with_ends, Rows.of(people()), {"town": Recode(top_share=Fraction(1, 2))}, None)
    refused(PlanError, "no record", with_ends, Rows.of({"x": [None, None]}), {"x": Recode(top_share=Fraction(1))}, None)
