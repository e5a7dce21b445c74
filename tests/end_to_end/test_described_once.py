"""A stratified cluster survey with two devices, described once; then shares, a contrast, a table, a model, a plot."""

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import maskwell as mw
from maskwell.errors import MaskwellError, ParameterError

pytest.importorskip("pyarrow")
pytest.importorskip("formulaic")
pd = pytest.importorskip("pandas")

DECKS = {"1": mw.design("warner", p="0.85"), "2": mw.design("crosswise", q="1/6", reports=["yes", "no"])}


@pytest.fixture(scope="module")
def pupils() -> Any:
    """Two regions, 40 schools, a device in each of two waves; a third of the pupils cheat, more in the north."""
    rng, n = np.random.default_rng(4), 2400
    region = np.where(np.arange(n) < n // 2, "north", "south")
    sex = np.where(rng.random(n) < 0.5, "f", "m")
    wave = rng.integers(1, 3, n)
    cheats = rng.random(n) < np.where(region == "north", 0.5, 0.2)
    truth = np.where(cheats, "yes", "no")
    reports = np.empty(n, dtype=object)
    for number, design in DECKS.items():
        chosen = wave == int(number)
        reports[chosen] = design.randomize(truth[chosen].tolist(), random=mw.SeededRandom(int(number)))
    columns = {"cheats": reports.astype(str), "region": region, "sex": sex, "wave": wave, "school": np.arange(n) // 60}
    return pd.DataFrame({**columns, "age": rng.integers(13, 19, n), "w": rng.uniform(1, 3, n)})


def described(data: Any, sampling: mw.Sampling) -> mw.Survey:
    return mw.Survey(data, {"cheats": [mw.When({"wave": wave}, deck) for wave, deck in DECKS.items()]}, sampling)


NAMED = mw.Sampling(weights="w", strata="region", clusters="school")


def test_ten_lines_and_the_functions_that_are_one_line_over_it(pupils: Any, tmp_path: Path) -> None:
    survey = described(pupils, NAMED)
    shares = survey.shares("cheats", by="region")
    gap = shares.contrast("north", "south", name="gap")
    table = survey.shares("cheats", "sex")
    model = survey.regress("cheats ~ age + C(region)")
    picture = shares.plot()
    assert isinstance(shares, mw.Shares) and isinstance(gap, mw.Shares)
    assert shares.domains["north"].pi_hat[0] == pytest.approx(0.5, abs=0.1)
    assert shares.domains["south"].pi_hat[0] == pytest.approx(0.2, abs=0.1)
    (difference,) = [one for one in gap.quantities if one.category == "yes"]
    assert difference.value == pytest.approx(shares.domains["north"].pi_hat[0] - shares.domains["south"].pi_hat[0])
    assert 0 < difference.low < difference.value < difference.high
    assert table.pi_hat.sum() == pytest.approx(1)
    assert model.n == len(pupils) and model.degrees_of_freedom == 38
    assert picture.title
    designs = {"cheats": [mw.When({"wave": wave}, deck) for wave, deck in DECKS.items()]}
    survey = described(pupils, NAMED)
    asked = survey.shares("cheats", by="region").to_dict()
    assert mw.estimate(pupils, designs, NAMED, by="region").to_dict() == asked
    fitted = mw.regress(pupils, "cheats ~ age", designs, NAMED)
    np.testing.assert_array_equal(fitted.estimates, survey.regress("cheats ~ age").estimates)


@pytest.mark.parametrize("kind", ["pandas", "dict", "arrow", "file"])
def test_arrays_say_the_same_as_names_of_columns(pupils: Any, tmp_path: Path, kind: str) -> None:
    data: Any = pupils
    if kind == "dict":
        data = {name: pupils[name].tolist() for name in pupils}
    if kind == "arrow":
        data = pytest.importorskip("pyarrow").Table.from_pandas(pupils, preserve_index=False)
    if kind == "file":
        data = tmp_path / "pupils.csv"
        pupils.to_csv(data, index=False)
    arrays = mw.Sampling(weights=pupils.w.to_numpy(), strata=pupils.region, clusters=pupils.school.to_numpy())
    by_arrays, by_names = described(data, arrays), described(data, NAMED)
    ours, theirs = (one.shares("cheats", by="region") for one in (by_arrays, by_names))
    np.testing.assert_allclose(ours.pi_hat, theirs.pi_hat, rtol=1e-12)
    np.testing.assert_allclose(ours.standard_error, theirs.standard_error, rtol=1e-12)
    one, other = (survey.regress("cheats ~ age") for survey in (by_arrays, by_names))
    np.testing.assert_allclose(one.covariance, other.covariance, rtol=1e-10)
    with pytest.raises(MaskwellError, match="values for"):
        described(data, mw.Sampling(weights=np.ones(7))).shares("cheats")


def test_calibrated_weights_work_in_all_of_them(pupils: Any) -> None:
    plain = mw.Sampling(weights=pupils.w.to_numpy(), strata=pupils.region.to_numpy(), clusters=pupils.school.to_numpy())
    known = np.column_stack([np.ones(len(pupils)), pupils.sex == "f"])
    calibrated = plain.calibrated(known, [5000, 2500])
    survey = described(pupils, calibrated)
    shares = survey.shares("cheats")
    by_hand = mw.estimation.estimate_survey(
        pupils.cheats.tolist(), DECKS, calibrated, samples=pupils.wave.astype(str).tolist()
    )
    np.testing.assert_allclose(shares.pi_hat, by_hand.pi_hat, rtol=1e-10)
    np.testing.assert_allclose(shares.standard_error, by_hand.standard_error, rtol=1e-10)
    assert shares.estimate.population == pytest.approx(5000)
    women = survey.shares("sex")  # known exactly: calibration leaves no sampling error
    assert women.pi_hat[0] == pytest.approx(0.5) and women.standard_error[0] == pytest.approx(0, abs=1e-8)
    model, raw = survey.regress("cheats ~ age"), described(pupils, plain).regress("cheats ~ age")
    assert "calibrated weights" in model.variance and "calibrated" not in raw.variance
    open_design = mw.designs.Uniform.of(Fraction(1), mw.Categories.of(["f", "m"]))  # the share is known here, too
    errors = [mw.regress(pupils, "sex ~ 1", {"sex": open_design}, how).standard_error[0] for how in (plain, calibrated)]
    assert errors[0] > 1e-3 and errors[1] < 1e-6


def test_a_released_folder_is_a_survey_and_what_cannot_be_described_is_refused(tmp_path: Path) -> None:
    people = {"sex": ["f", "m", "m"] * 40, "region": ["north"] * 70 + ["south"] * 50}
    plan = {
        "release": {"demonstration": True},
        "protect": [{"variables": ["sex"], "method": "method1", "theta": "1/2"}],
    }
    mw.release(people, plan, str(tmp_path / "out"), random=mw.SeededRandom(1))
    survey = mw.Survey.from_release(tmp_path / "out")
    shares = survey.shares("sex")
    assert isinstance(shares, mw.Shares) and shares.n == 120
    assert isinstance(survey.shares(), mw.Shares)
    with pytest.raises(ParameterError, match="not a release folder"):
        mw.Survey.from_release(tmp_path)
    with pytest.raises(MaskwellError, match="must be a list of When"):
        mw.estimate({"y": ["yes"], "g": [1]}, {"y": [({"g": 1}, DECKS["1"])]})
    with pytest.raises(ParameterError, match="weights must be the name of a column"):
        mw.estimate({"y": ["yes"]}, {"y": DECKS["1"]}, mw.Sampling(weights=2))
    with pytest.raises(ParameterError, match="support of itemsets is not available"):
        mw.Survey({"items": [["a"]]}, {"items": DECKS["1"]}, mw.Sampling(weights="w")).itemsets()


@pytest.mark.parametrize("sampling", [None, mw.Sampling(weights="w")])
def test_a_table_of_rows_with_designs_of_their_own_is_the_mean_of_rows_turned_around(sampling: mw.Sampling | None):
    """By hand: a row gives the outer product of its columns of the inverse matrices; the table is their mean."""
    draws, n = np.random.default_rng(3), 600
    decks = [mw.design("warner", p=p, categories=["yes", "no"]) for p in ("0.8", "0.7")]
    three = mw.design("k-ary", gamma=5, categories=["a", "b", "c"])
    wave, first, second = draws.integers(0, 2, n), draws.integers(0, 2, n), draws.integers(0, 3, n)
    weights = np.ones(n) if sampling is None else draws.uniform(1, 3, n)
    answers = {"wave": wave, "y": np.array(["yes", "no"])[first], "z": np.array(["a", "b", "c"])[second], "w": weights}
    designs = {"y": [mw.When({"wave": place}, deck) for place, deck in enumerate(decks)], "z": three}
    found = mw.Survey(answers, designs, sampling or mw.Sampling()).table("y", "z")

    inverses = np.array([np.linalg.inv(deck.matrix()) for deck in decks])
    cells = np.einsum("ni,jn->nij", inverses[wave, :, first], np.linalg.inv(three.matrix())[:, second])
    shares = np.tensordot(weights, cells, 1) / weights.sum()
    scores = weights[:, None, None] * (cells - shares) / weights.sum()
    errors = np.sqrt(n / (n - 1) * ((scores - scores.mean(0)) ** 2).sum(0))
    np.testing.assert_allclose(found.pi_hat, shares, atol=1e-12)
    np.testing.assert_allclose(found.standard_error, errors, atol=1e-12)
    np.testing.assert_allclose(found.margin("z").pi_hat, shares.sum(0), atol=1e-12)
