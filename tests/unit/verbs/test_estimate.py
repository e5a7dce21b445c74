"""estimate and tabulate as calls of the library: what ``maskwell estimate`` tells, from any kind of table."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from tests.support.command_line import run
from tests.support.quiet import refused
from tests.support.surveys import estimate_with, tabulate_with
from tests.support.together import together

import maskwell as mw
from maskwell.errors import MaskwellError, ParameterError, UnknownCategoryError, WrongTypeError

WARNER = mw.design("warner", p="0.7")
ROWS: dict[str, list[Any]] = {
    "answer": ["yes", "no", "no"] * 30,
    "second": ["no", "yes", "no"] * 30,
    "w": [1, 2, 3, 4, 5, 6] * 15,
    "s": ["a", "a", "b"] * 30,
    "c": [i // 5 for i in range(90)],
    "region": ["north", "south"] * 45,
}
PLANS: dict[str, dict[str, Any]] = {
    "plainly": {},
    "by likelihood": {"method": "ml"},
    "by region": {"by": "region"},
    "by two columns": {"by": ["region", "s"]},
    "with weights": {"weights": "w"},
    "with a whole plan": {"weights": "w", "strata": "s", "clusters": "c", "by": "region", "level": 0.9},
    "with logit intervals": {"interval": "logit"},
}


def typed(options: dict[str, Any]) -> list[str]:
    texts = {name: ",".join(value) if isinstance(value, list) else str(value) for name, value in options.items()}
    return [word for name, text in texts.items() for word in (f"--{name}", text)]


def rounded(value: Any) -> Any:
    """Numbers without their last bits: a file has texts where the table has numbers, and sums run in another order."""
    if isinstance(value, dict):
        return {name: rounded(one) for name, one in value.items()}
    if isinstance(value, list):
        return [rounded(one) for one in value]
    return float(f"{value:.10g}") if isinstance(value, float) else value


@pytest.mark.parametrize("options", PLANS.values(), ids=PLANS)
def test_the_verb_tells_what_the_command_tells(options: dict[str, Any], tmp_path: Path) -> None:
    pd.DataFrame(ROWS).to_csv(tmp_path / "rows.csv", index=False)
    WARNER.save(tmp_path / "d.json")
    told = run("estimate", tmp_path / "rows.csv", f"--design=answer={tmp_path / 'd.json'}", *typed(options), "--json")
    result = estimate_with(ROWS, {"answer": WARNER}, **options)
    assert rounded(json.loads(json.dumps(result.to_dict()))) == rounded(told.json())


def test_a_table_of_two_columns() -> None:
    table = mw.tabulate(ROWS, {"answer": WARNER, "second": WARNER})
    assert table.names == ("answer", "second") and table.pi_hat.sum() == pytest.approx(1)
    assert tabulate_with(ROWS, {"answer": WARNER}, direct="region").names == ("answer", "region")
    refused(ParameterError, "tabulate needs at least two columns", mw.tabulate, ROWS, {"answer": WARNER})


def test_a_released_file_is_estimated_by_its_receipt() -> None:
    plan = {
        "release": {"demonstration": True},
        "protect": [{"variables": ["answer"], "method": "method1", "theta": "1/2"}],
    }
    released = mw.release({"answer": ROWS["answer"], "region": ROWS["region"]}, plan, random=mw.SeededRandom(1))
    each = estimate_with(released.data, receipt=released.receipt())
    one = estimate_with(released.data, receipt=released.receipt(), columns="answer")
    assert each.pi_hat.tolist() == one.pi_hat.tolist()
    assert one.to_frame()["variable"].unique().tolist() == ["answer"]


ANSWER, COUNTS = {"answer": WARNER}, {"yes": 3, "no": 2}
NO_ROWS = "with counts, which have no rows"
WRONG: list[tuple[type[MaskwellError], str, Any, Any, dict[str, Any]]] = [
    (ParameterError, "", ROWS, None, {}),
    (WrongTypeError, "", ROWS, WARNER, {}),
    (WrongTypeError, "", ROWS, [WARNER], {}),
    (ParameterError, "", ROWS, ANSWER, {"weights": "answer"}),
    (MaskwellError, "", ROWS, ANSWER, {"level": 2}),
    (ParameterError, "replicates needs replicate_method", ROWS, ANSWER, {"replicates": "rep"}),
    (UnknownCategoryError, "counted reports are not reports of the design", {"yes": 3, "perhaps": 2}, WARNER, {}),
    *((ParameterError, NO_ROWS, COUNTS, WARNER, one) for one in ({"by": "s"}, {"weights": "w"}, {"missing": "drop"})),
    *(
        (ParameterError, f"{name} must be .*, not '{word}'", ROWS, ANSWER, {"strata": "s", name: word})
        for name, word in {"method": "mle", "missing": "omit", "target": "sample", "lonely": "leave"}.items()
    ),
]


@together(("kind", "said", "data", "designs", "options"), WRONG)
def test_what_is_refused(
    kind: type[MaskwellError], said: str, data: Any, designs: Any, options: dict[str, Any]
) -> None:
    """A word that means nothing is not passed over, and messages speak Python."""
    refused(kind, said, estimate_with, data, designs, **options)


@pytest.mark.parametrize("given", [np.arange(3), pd.DataFrame({"a": [1, 2]}), pd.Series([1, 2]), pl.Series([1, 2])])
@pytest.mark.parametrize("name", ["designs", "frequencies"])
def test_arrays_and_tables_where_names_belong_are_refused_in_one_line(given: Any, name: str) -> None:
    refused(MaskwellError, "", estimate_with, ROWS, **{"designs": {"answer": WARNER}, name: given})


@pytest.mark.parametrize("name", ["by", "strata", "clusters"])
def test_zero_is_one_group_whatever_its_sign(name: str) -> None:
    signed, plain = ({**ROWS, "g": [(zero, 0.0, 1.0)[i % 3] for i in range(90)]} for zero in (-0.0, 0.0))
    answers = [estimate_with(rows, {"answer": WARNER}, **{name: "g"}) for rows in (signed, plain)]
    assert repr(answers[0]) == repr(answers[1])


def test_a_result_shows_itself_with_the_interval_and_level_that_were_asked_for():
    rows, designs = {"y": ["yes", "no"] * 30}, {"y": mw.design("warner", p="4/5")}
    wald = mw.estimate(rows, designs, interval="wald", level=0.9)
    low, high = wald.confidence_interval()[0]
    assert "(90 % Wald intervals)" in repr(wald) and f"[{low:.4f}, {high:.4f}]" in repr(wald)
    assert "(95 % bootstrap intervals)" in repr(estimate_with(rows, designs, interval="bootstrap", seed=1))
    weighted = mw.estimate(
        {**rows, "w": [1.5] * 60}, designs, sampling=mw.Sampling(weights="w"), interval="logit", level=0.8
    )
    assert "(80 % logit intervals)" in repr(weighted)
    refused(mw.MaskwellError, "needs seed", mw.estimate, rows, designs, interval="bootstrap")
