"""Real files, released: with nothing but the public folder a user gets the tables of the original within the error."""

import json
from pathlib import Path

import numpy as np
import pytest
from tests.support.command_line import run

import maskwell as mw
from maskwell.engines.cell_counts import count_tables
from maskwell.microdata.analysis.release_estimates import estimate_released

CASES = {
    "sdc_testdata": (
        ["urbrur", "roof", "walls", "water", "sex"],
        [["roof"], ["walls", "water"], ["urbrur", "sex"]],
        ["expend", "savings", "ori_hid"],
        ["sex", "relat"],
    ),
    "nist_acs_national2019": (
        ["SEX", "MSP", "RAC1P", "HOUSING_TYPE"],
        [["RAC1P"], ["SEX", "MSP"]],
        [],
        ["SEX", "INDP_CAT"],
    ),
    "simpop_ghana": (
        ["region", "sex", "religion", "nation"],
        [["religion"], ["region", "sex"]],
        ["hhid", "clust", "weight"],
        ["sex", "occupation"],
    ),
}
"""Keys, tables, ids and columns that would give the keys away, and a table that is not kept."""
Released = tuple[Path, str, list[list[str]]]


@pytest.fixture(scope="module", params=sorted(CASES))
def released(request: pytest.FixtureRequest, shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Released:
    """A folder made with repeatable draws, as a demonstration, so that the same numbers come out every time."""
    keys, tables, dropped, _ = CASES[request.param]
    source = str(shared / "data" / f"{request.param}.csv")
    plan = mw.ReleasePlan.of(
        [mw.microdata.Protection.of(keys, "inverse-frequency", xi="0.5")],
        keys=keys,
        match="0.5",
        demonstration=True,
        drop=dropped,
    )
    folder = tmp_path_factory.mktemp("released") / "r"
    mw.release(source, plan, str(folder), random=mw.SeededRandom(20250101))
    return folder, source, tables


def truth(source: str, columns: list[str]) -> dict[tuple[object, ...], float]:
    (table,) = count_tables(source, [columns])
    cells = [tuple("missing" if part is None else part for part in cell) for cell in table.labels()]
    return dict(zip(cells, (table.counts / table.n).tolist(), strict=True))


def test_a_user_reproduces_the_tables_of_the_file(released: Released) -> None:
    """Every cell within five bounds on its standard error, and nearly all true shares within 95 % intervals."""
    folder, source, tables = released
    receipt = mw.microdata.load_receipt(folder / "public" / "receipt.json")
    covered = []
    for columns in tables:
        found = estimate_released(
            str(folder / "public" / "data.csv"), receipt, columns, target="file", missing="category"
        )
        true = truth(source, columns)
        cells = [c if isinstance(c, tuple) else (c,) for c in found.estimate.categories]
        expected = np.array([true[cell] for cell in cells])
        n = found.estimate.n
        assert (np.abs(found.estimate.pi_hat - expected) <= 5 * found.estimate.standard_error + 3 / n).all()
        low, high = found.estimate.confidence_interval().T
        covered += ((low <= expected + 1e-12) & (expected <= high + 1e-12)).tolist()
    assert np.mean(covered) >= 0.9


def test_tables_that_are_not_kept_are_within_their_bounds(released: Released) -> None:
    """A key beside a column that was not randomized: off by no more than the bound of the bias and five errors."""
    folder, source, _ = released
    receipt, columns = mw.microdata.load_receipt(folder / "public" / "receipt.json"), CASES[Path(source).stem][3]
    found = estimate_released(str(folder / "public" / "data.csv"), receipt, columns, target="file", missing="category")
    true = truth(source, columns)
    expected = np.array([true.get(cell, 0.0) for cell in found.estimate.categories])  # type: ignore[call-overload]
    off, bias = np.abs(found.estimate.pi_hat - expected), found.estimate.bias
    assert found.route.kind == "bounded" and bias is not None
    assert (off <= bias + 5 * found.estimate.standard_error + 3 / found.estimate.n).all()
    low, high = found.estimate.confidence_interval().T
    assert ((low <= expected) & (expected <= high)).all()


def test_the_command_gives_the_same_and_the_public_part_tells_nothing_of_the_matrix(released: Released) -> None:
    folder, _, tables = released
    public = folder / "public"
    given = ["--receipt", public / "receipt.json", "--columns", ",".join(tables[-1]), "--missing", "category"]
    found = run("estimate", public / "data.csv", *given, "--json").json()
    assert found["route"] == "kept" and sum(row["estimate"] for row in found["estimates"]) == pytest.approx(1)
    folder, _, _ = released
    internal = json.loads((folder / "internal" / "receipt.json").read_text())
    print_ = internal["groups"][0]["stage"]["design"]["fingerprint"].removeprefix("sha256:")
    for path in (folder / "public").iterdir():
        assert path.name == "data.csv" or print_ not in path.read_text()
    (group,) = json.loads((folder / "public" / "receipt.json").read_text())["groups"]
    assert group["matrix"] == "withheld" and not {"design", "states", "outputs", "stage"} & set(group)
