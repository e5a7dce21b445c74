"""The propensity score of a release and the Hellinger distances of its tables."""

import json
import math
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from tests.support.together import together

import maskwell as mw
from maskwell.core.cells import CellTable
from maskwell.microdata.utility.propensity import hellinger_distance, propensity_score


def table(records: list[tuple[object, ...]]) -> CellTable:
    names = [f"x{i}" for i in range(len(records[0]))]
    return CellTable.of(names, {cell: records.count(cell) for cell in records})


def drawn(seed: int, n: int, shift: float = 0.0) -> list[tuple[object, ...]]:
    random = np.random.default_rng(seed)
    a = random.choice(["p", "q", "r"], n, p=[0.5 - shift, 0.3 + shift, 0.2])
    return [*zip(a.tolist(), random.integers(0, 2, n).tolist(), strict=True)]


def test_one_column_by_hand() -> None:
    """A saturated model fits the released share of each category."""
    before, after = table([("a",)] * 6 + [("b",)] * 4), table([("a",)] * 4 + [("b",)] * 6)
    found = propensity_score(before, after)
    assert found is not None and (found.parameters, found.records) == (2, 20)
    assert found.pmse == pytest.approx(0.1**2) and found.null == pytest.approx(0.25 * 0.5 / 20)
    assert found.ratio == pytest.approx(1.6)
    assert hellinger_distance(before, after) == pytest.approx(math.sqrt(1 - 2 * math.sqrt(0.24)))


@together("seed", range(5))
def test_the_fit_is_that_of_another_optimiser(seed: int) -> None:
    from scipy.optimize import minimize

    before, after = drawn(seed, 80), drawn(seed + 50, 70, 0.1)
    rows, z = before + after, np.array([0.0] * 80 + [1.0] * 70)
    X = np.array([[1, a == "q", a == "r", b == 1] for a, b in rows], dtype=float)
    loss = minimize(lambda beta: np.logaddexp(0, X @ beta).sum() - z @ (X @ beta), np.zeros(4), tol=1e-12)
    p = 1 / (1 + np.exp(-X @ loss.x))
    found = propensity_score(table(before), table(after))
    assert found is not None and found.parameters == 4
    assert found.pmse == pytest.approx(np.mean((p - 70 / 150) ** 2), rel=1e-4)


def test_the_ratio_is_one_where_records_are_drawn_anew() -> None:
    """Mean of 300 ratios, 5 standard errors: a false alarm once in 1.7 million seeds; a shifted file must fail."""

    def ratios(shift: float) -> np.ndarray:
        random = np.random.default_rng(3)
        cells = [*product("pqr", "uv")]
        counts = np.array([120, 80, 60, 90, 50, 100])
        file = CellTable.of(["a", "b"], dict(zip(cells, counts.tolist(), strict=True)))
        a, b = counts.reshape(3, 2).sum(axis=1) / 500, counts.reshape(3, 2).sum(axis=0) / 500
        chance = np.outer(a + np.array([shift, -shift, 0]), b).ravel()
        found = []
        for _ in range(300):
            again = dict(zip(cells, random.multinomial(500, chance).tolist(), strict=True))
            score = propensity_score(file, CellTable.of(["a", "b"], again))
            assert score is not None and score.ratio is not None
            found.append(score.ratio)
        return np.array(found)

    same, shifted = ratios(0), ratios(0.08)
    assert abs(same.mean() - 1) < 5 * same.std() / 300**0.5
    assert abs(shifted.mean() - 1) > 5 * shifted.std() / 300**0.5


def test_categories_of_one_file_only_and_columns_that_follow() -> None:
    before, after = [("a", 1)] * 5 + [("b", 2)] * 5, [("a", 1)] * 5 + [("c", 3)] * 5
    found = propensity_score(table(before), table(after))
    assert found is not None and found.parameters == 3, "the second column adds nothing"
    assert found.pmse == pytest.approx(10 * 0.25 / 20), "whoever is told apart has a chance of 0 or 1"
    same = propensity_score(table(before), table(before))
    assert same is not None and same.pmse == pytest.approx(0, abs=1e-18) and same.ratio == pytest.approx(0, abs=1e-12)
    one = propensity_score(table([("a",)] * 3), table([("a",)] * 3))
    assert one is not None and one.ratio is None


def test_a_release_tells_how_alike_both_files_are(tmp_path: Path) -> None:
    random = np.random.default_rng(1)
    town, job = random.choice([*"ABC"], 300).tolist(), random.choice([*"xyz"], 300).tolist()
    source, plan = tmp_path / "people.csv", tmp_path / "plan.toml"
    source.write_text("town,job\n" + "\n".join(map(",".join, zip(town, job, strict=True))), encoding="utf-8")
    plan.write_text(
        '[release]\nkeys = ["town", "job"]\n[[protect]]\nvariables = ["town", "job"]\n'
        'method = "sequential"\nstrength = 0.5\n',
        encoding="utf-8",
    )
    done = mw.release(str(source), str(plan), str(tmp_path / "out"))
    told = json.loads(json.dumps(done.to_dict()))["utility"]
    assert told["propensity"]["columns"] == ["town", "job"] and told["propensity"]["parameters"] == 5
    assert told["propensity"]["records"] == 600 and told["propensity"]["ratio"] > 0
    assert 0 < told["pairs"][0]["hellinger"] < 1
    page = (tmp_path / "out" / "internal" / "report.html").read_text(encoding="utf-8")
    assert "pMSE" in page and "Hellinger" in page
    assert "pMSE" in "\n".join(done.to_report())
    tried = mw.verbs.dry_run(str(source), str(plan)).release
    assert tried.utility.propensity is None and "pMSE" not in "\n".join(tried.to_report())
