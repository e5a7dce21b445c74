"""Combined categories, contrasts, ratios, differences between groups, chosen rows: against sums done by hand."""

from itertools import product
from math import factorial, prod
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.quiet import refused
from tests.support.surveys import estimate_with

import maskwell as mw
from maskwell.errors import LabelError, MaskwellError, ParameterError, UnknownCategoryError

LABELS = ["never", "once", "often"]
DESIGN = mw.design("k-ary", categories=LABELS, gamma=9)
JAR = mw.designs.Dense.of(
    [["0.7", "0.1", "0.15"], ["0.2", "0.8", "0.15"], ["0.1", "0.1", "0.7"]], mw.Categories.of(LABELS)
)
COUNTS = {"never": 300, "once": 120, "often": 80}


def estimated(data: Any, designs: Any, **options: Any) -> mw.Shares:
    result = estimate_with(data, designs, **options)
    assert isinstance(result, mw.Shares)
    return result


def by_hand(c: np.ndarray, counts: list[int], design: mw.Design) -> tuple[float, float]:
    """A contrast as the mean of one number for each report, and the error of that mean."""
    numbers = np.repeat(c @ np.linalg.inv(design.matrix()), counts)
    return float(numbers.mean()), float(numbers.std(ddof=1) / np.sqrt(len(numbers)))


# ---- plain counts


def test_sums_and_contrasts_are_means_of_numbers() -> None:
    found = estimated(
        COUNTS,
        JAR,
        combine={"any": ["once", "often"]},
        contrast={"gap": ("often", "never"), "mixed": {"any": 1, "never": "-1/2"}},
    )
    for name, c in (("any", [0, 1, 1]), ("gap", [-1, 0, 1]), ("mixed", [-0.5, 1, 1])):
        value, error = by_hand(np.array(c), [300, 120, 80], JAR)
        assert found[name].value == pytest.approx(value) and found[name].standard_error == pytest.approx(error)
    assert found["gap"].low == pytest.approx(found["gap"].value - 1.959964 * found["gap"].standard_error)
    assert found["mixed"].of == "any - 0.5 never"


def test_variances_are_unbiased_over_all_counts() -> None:
    """All counts of five respondents: the mean of the estimated variance is the variance of the estimate."""
    pi, n, c = np.array([0.5, 0.3, 0.2]), 5, np.array([0.0, 1.0, 1.0])
    lam, values, variances, chances = JAR.matrix() @ pi, [], [], []
    for x in product(range(n + 1), repeat=3):
        if sum(x) == n:
            sample = mw.estimation.Sample.of(list(x), JAR)
            found = mw.estimation.estimate_by_moments(sample.counts, JAR).contrast(c)
            values.append(found.value)
            variances.append(found.standard_error**2)
            chances.append(factorial(n) / prod(map(factorial, x)) * prod(lam ** np.array(x)))
    mean = np.dot(chances, values)
    assert mean == pytest.approx(float(c @ pi))
    assert np.dot(chances, variances) == pytest.approx(np.dot(chances, (np.array(values) - mean) ** 2))


@given(st.lists(st.integers(1, 60), min_size=3, max_size=3))
@settings(deadline=None, max_examples=25)
def test_what_must_hold_for_any_counts(counts: list[int]) -> None:
    """All categories are one for sure; a sum mirrors what it leaves out; differences turn around."""
    found = estimated(
        dict(zip(LABELS, counts, strict=True)),
        JAR,
        combine={"all": LABELS, "any": "once+often", "none": "never"},
        contrast=["a=often-never", "b=never-often", "c=any-once-often", "d=all-any-none"],
    )
    everything = found["all"]
    assert (everything.value, everything.standard_error, everything.low, everything.high) == (1, 0, 1, 1)
    share, place = found.estimate, 0
    assert found["any"].value == pytest.approx(1 - share.pi_hat[place])
    if any("cover randomization only" in flag for flag in share.flags):  # raised ones may add to the error of a sum
        assert found["any"].standard_error >= share.standard_error[place] * (1 - 1e-9)
    else:
        assert found["any"].standard_error == pytest.approx(share.standard_error[place])
    low, high = share.confidence_interval(method=found["any"].interval_method)[place]
    assert (found["any"].low, found["any"].high) == pytest.approx((1 - high, 1 - low), abs=1e-9)
    assert found["none"].value == pytest.approx(share.pi_hat[place])
    assert found["a"].value == pytest.approx(-found["b"].value)
    assert found["a"].standard_error == pytest.approx(found["b"].standard_error)
    assert found["a"].p_value == pytest.approx(found["b"].p_value)
    for name in "cd":
        assert found[name].value == pytest.approx(0, abs=1e-12) and found[name].standard_error == 0
        assert np.isnan(found[name].low)


def test_a_sum_is_the_share_of_the_merged_category_where_devices_allow_it() -> None:
    """Two Warner questions: of the first alone, the sum over the second is the estimate from its own reports."""
    warner = mw.design("warner", p="0.8")
    cells = mw.designs.Kronecker.of([warner, warner])
    counts = {("yes", "yes"): 70, ("yes", "no"): 80, ("no", "yes"): 70, ("no", "no"): 180}
    found = estimated(counts, cells, combine={"first": [("yes", "yes"), ("yes", "no")]})["first"]
    alone = estimated({"yes": 150, "no": 250}, warner)
    assert found.value == pytest.approx(alone.pi_hat[0])
    assert found.standard_error == pytest.approx(alone.standard_error[0])
    assert (found.low, found.high) == pytest.approx(tuple(alone.confidence_interval()[0]))
    typed = estimated(counts, cells, combine="first=(yes, yes)+(yes, no)")["first"]
    assert typed.value == found.value


def test_ratios_have_the_slope_of_the_delta_method_and_fieller_ends_where_unstable() -> None:
    found = estimated(COUNTS, JAR, combine="any=once+often", ratio=["heavy=often/any", "same=often/once+often"])
    L, lam = np.linalg.inv(JAR.matrix()), np.array([0.6, 0.24, 0.16])

    def ratio(shares: np.ndarray) -> float:
        pi = L @ shares
        return float(pi[2] / (pi[1] + pi[2]))

    slope = np.array([(ratio(lam + 1e-6 * e) - ratio(lam - 1e-6 * e)) / 2e-6 for e in np.eye(3)])
    variance = slope @ (np.diag(lam) - np.outer(lam, lam)) @ slope / 499
    assert found["heavy"].value == pytest.approx(ratio(lam))
    assert found["heavy"].standard_error == pytest.approx(np.sqrt(variance), rel=1e-6)
    assert found["same"].to_dict() | {"name": "", "of": ""} == found["heavy"].to_dict() | {"name": "", "of": ""}
    few = {"never": 280, "once": 12, "often": 13}
    found = estimated(few, DESIGN, ratio="r=often/once")["r"]
    assert found.interval_method == "fieller" and "unstable" in found.flags[0]
    assert any("unstable" in line for line in estimated(few, DESIGN, ratio="r=often/once").to_report().to_text())
    design = mw.design("k-ary", gamma=6, categories=["a", "b", "c"])
    table = {"y": ["a"] * 150 + ["b"] * 230 + ["c"] * 320}
    ratios = estimate_with(table, {"y": design}, ratio=["r=a/b", "s=b/a"], contrast="d=a-b").quantities
    p = {one.name: one.p_value for one in ratios}
    assert p["r"] == pytest.approx(p["s"], rel=1e-9) and p["r"] == pytest.approx(p["d"], rel=1e-9)


# ---- samples with a plan


def survey(seed: int = 5, n: int = 240) -> dict[str, list[Any]]:
    random = np.random.default_rng(seed)
    return {
        "y": random.choice(LABELS, n, p=[0.6, 0.25, 0.15]).tolist(),
        "w": random.integers(1, 5, n).astype(float).tolist(),
        "s": ["a"] * (n // 2) + ["b"] * (n - n // 2),
        "c": (np.arange(n) // 6).tolist(),
        "region": [("north", "south", "east")[(i // 2) % 3] for i in range(n)],
        "age": (20 + np.arange(n) % 37).tolist(),
    }


PLAN = {"weights": "w", "strata": "s", "clusters": "c"}


def spread_of(e: np.ndarray, data: dict[str, list[Any]]) -> float:
    """The variance of a sum of scores: between the clusters of each stratum, drawn with replacement."""
    total = 0.0
    for stratum in ("a", "b"):
        inside = np.array(data["s"]) == stratum
        sums = np.array([e[inside & (np.array(data["c"]) == c)].sum() for c in sorted({*np.array(data["c"])[inside]})])
        total += len(sums) / (len(sums) - 1) * ((sums - sums.mean()) ** 2).sum()
    return total


def recovered(data: dict[str, list[Any]], c: np.ndarray) -> np.ndarray:
    L = np.linalg.inv(DESIGN.matrix())
    return np.array([c @ L[:, LABELS.index(y)] for y in data["y"]])


def test_differences_between_groups_know_that_clusters_cross_them() -> None:
    data, c = survey(), np.array([0.0, 1.0, 1.0])
    found = estimated(data, {"y": DESIGN}, by="region", combine="any=once+often", contrast="ns=north-south", **PLAN)
    u, w, region = recovered(data, c), np.array(data["w"]), np.array(data["region"])
    scores, value = np.zeros(len(u)), 0.0
    for label, sign in (("north", 1), ("south", -1)):
        inside = region == label
        share = (w * u)[inside].sum() / w[inside].sum()
        scores += np.where(inside, sign * w * (u - share) / w[inside].sum(), 0)
        value += sign * share
    any_, never = (next(q for q in found.quantities if q.name == "ns" and q.category == x) for x in ("any", "never"))
    assert any_.value == pytest.approx(value)
    assert any_.standard_error == pytest.approx(np.sqrt(spread_of(scores, data)))
    assert never.value == pytest.approx(-value) and never.standard_error == pytest.approx(any_.standard_error)
    parts = [next(q for q in found.quantities if q.name == "any" and q.domain == d) for d in ("north", "south")]
    assert any_.standard_error != pytest.approx(np.hypot(*(q.standard_error for q in parts)), rel=1e-3)


def test_groups_of_a_known_population_get_the_randomization_correction() -> None:
    """Rows drawn without replacement: by hand, sampling of the recoveries plus w (u^2 - u) of each row."""
    data = {k: survey()[k] for k in ("y", "region")}
    n, N = len(data["y"]), 600
    found = estimated(data, {"y": DESIGN}, by="region", contrast="ns=north-south", population=N)
    u, region = recovered(data, np.array([0.0, 0.0, 1.0])), np.array(data["region"])
    scores, correction = np.zeros(n), 0.0
    for label, sign in (("north", 1), ("south", -1)):
        inside = region == label
        scores += np.where(inside, sign * (u - u[inside].mean()) / inside.sum(), 0)
        correction += (N / n) * (u**2 - u)[inside].sum() / (N / n * inside.sum()) ** 2
    variance = (1 - n / N) * n * scores.var(ddof=1) + correction
    often = next(q for q in found.quantities if q.category == "often")
    assert often.standard_error == pytest.approx(np.sqrt(variance))


def test_replicate_weights_repeat_the_difference() -> None:
    data = survey(n=48)
    w, clusters, replicates = np.array(data["w"]), np.array(data["c"]), {}
    for r, c in enumerate(sorted({*data["c"]})):
        inside = np.array(data["s"]) == data["s"][data["c"].index(c)]
        count = len({*clusters[inside]})
        replicates[f"r{r}"] = np.where(clusters == c, 0, np.where(inside, w * count / (count - 1), w)).tolist()
    options = {"weights": "w", "strata": "s", "replicates": "r", "replicate_method": "jkn"}
    table = {**{k: v for k, v in data.items() if k != "region"}, "group": data["region"], **replicates}
    found = estimated(table, {"y": DESIGN}, by="group", contrast="ns=north-south", **options)
    u, group = recovered(data, np.array([0.0, 0.0, 1.0])), np.array(data["region"])

    def difference(weights: np.ndarray) -> float:
        shares = [(weights * u)[group == g].sum() / weights[group == g].sum() for g in ("north", "south")]
        return shares[0] - shares[1]

    made = [difference(np.array(column)) for column in replicates.values()]
    factor = 3 / 4  # four clusters in each of two strata
    variance = factor * ((np.array(made) - difference(w)) ** 2).sum()
    often = next(q for q in found.quantities if q.category == "often")
    assert often.standard_error == pytest.approx(np.sqrt(variance))


def test_groups_without_a_plan_are_independent_samples() -> None:
    """Asked directly against crosswise: the difference of two estimates, their variances added."""
    crosswise, direct = (
        mw.design("crosswise", q="1/4"),
        mw.designs.Dense.of([[1, 0], [0, 1]], mw.Categories.of(["yes", "no"])),
    )
    first = ["yes"] * 30 + ["no"] * 170
    second = [crosswise.outputs.labels[0]] * 90 + [crosswise.outputs.labels[1]] * 160
    data = {"y": first + second, "group": [1] * 200 + [2] * 250}
    found = estimated(
        data, {"y": [mw.When({"group": 1}, direct), mw.When({"group": 2}, crosswise)]}, by="group", contrast="d=1-2"
    )
    counts = dict(zip(crosswise.outputs.labels, (90, 160), strict=True))
    one, two = estimated({"yes": 30, "no": 170}, direct), estimated(counts, crosswise)
    yes = next(q for q in found.quantities if q.category == "yes")
    assert yes.value == pytest.approx(one.pi_hat[0] - two.pi_hat[0])
    assert yes.standard_error == pytest.approx(np.hypot(one.standard_error[0], two.standard_error[0]), rel=5e-3)


def test_design_effects_are_variances_over_those_of_simple_samples() -> None:
    data, c = survey(), np.array([0.0, 1.0, 1.0])
    found = estimated(data, {"y": DESIGN}, combine="any=once+often", **PLAN)
    u, w = recovered(data, c), np.array(data["w"])
    share = (w @ u) / w.sum()
    simple = (w @ (u - share) ** 2) / w.sum() / (len(u) - 1)
    assert found["any"].deff == pytest.approx(found["any"].standard_error ** 2 / simple)
    assert found.to_dict()["estimates"][0]["deff"] == pytest.approx(found.estimate.design_effects[0])
    assert "deff" in found.to_report().to_text()[1]
    equal = estimated({**data, "w": [2.0] * 240}, {"y": DESIGN}, weights="w")
    np.testing.assert_allclose(equal.estimate.design_effects, 1)
    assert np.isnan(estimated(COUNTS, DESIGN).estimate.design_effects).all()


# ---- rows that fit


def test_chosen_rows_are_a_domain_of_the_sample_or_without_a_plan_one_of_their_own() -> None:
    data = survey()
    fits = [r in ("north", "east") and a >= 30 for r, a in zip(data["region"], data["age"], strict=True)]
    chosen = estimated(data, {"y": DESIGN}, where="region=north|east, age>=30", combine="any=once+often", **PLAN)
    told = estimated({**data, "fits": fits}, {"y": DESIGN}, by="fits", combine="any=once+often", **PLAN)
    domain = told.domains[True]
    np.testing.assert_allclose(chosen.pi_hat, domain.pi_hat)
    np.testing.assert_allclose(chosen.estimate.variance, domain.variance)
    assert chosen.n == sum(fits)
    assert chosen["any"].value == pytest.approx(next(q for q in told.quantities if q.domain is True).value)
    assert chosen.to_dict()["where"] == "region=north|east, age>=30"
    data = survey()
    only = [y for y, r in zip(data["y"], data["region"], strict=True) if r != "east"]
    chosen = estimated({"y": data["y"], "region": data["region"]}, {"y": DESIGN}, where='region != "east"')
    alone = estimated({"y": only}, {"y": DESIGN})
    np.testing.assert_allclose(chosen.pi_hat, alone.pi_hat)
    np.testing.assert_allclose(chosen.confidence_interval(), alone.confidence_interval())
    by_mapping = estimated(data, {"y": DESIGN}, where={"region": ["north", "south"]})
    np.testing.assert_allclose(by_mapping.pi_hat, alone.pi_hat)


def test_domains_within_chosen_rows() -> None:
    data = survey()
    options = {"by": "region", "contrast": "ns=north-south", **PLAN}
    chosen = estimated(data, {"y": DESIGN}, where="age<40", **options)
    young = [a < 40 for a in data["age"]]
    both = [f"{r}{'' if fit else '!'}" for r, fit in zip(data["region"], young, strict=True)]
    told = estimated({**data, "region": both}, {"y": DESIGN}, **options)
    assert [*chosen.domains] == ["east", "north", "south"]
    for label, one in chosen.domains.items():
        np.testing.assert_allclose(one.variance, told.domains[label].variance)
    assert [q.standard_error for q in chosen.quantities] == pytest.approx([q.standard_error for q in told.quantities])
    simple = estimated({k: data[k] for k in ("y", "region", "age")}, {"y": DESIGN}, where="age<40", by="region")
    assert [*simple.domains] == ["east", "north", "south"]


# ---- tables, texts, errors


def test_the_table_is_conditional_in_the_direction_asked_for() -> None:
    data = survey()
    both = estimated(data, {"y": DESIGN}, direct="region")
    turned = estimated(data, {"y": DESIGN}, direct="region", given="region")
    assert any("region given y" in line for line in both.to_report().to_text())
    assert any("y given region" in line for line in turned.to_report().to_text())
    assert "y given region" in turned.to_markdown()
    assert both.table is not None
    share = both.table.conditional(given="region").share[0, 0]
    assert f"{share:.3f}" in turned.to_markdown()
    refused(
        ParameterError,
        "given age is not a variable of the table",
        estimated,
        data,
        {"y": DESIGN},
        direct="region",
        given="age",
    )
    refused(ParameterError, "given y", estimated, data, {"y": DESIGN}, given="y")


def test_combined_categories_stand_among_the_categories() -> None:
    """In tables and pictures, of everyone and of each group; some of the lines may be chosen."""
    found = estimated(survey(), {"y": DESIGN}, by="region", combine="any=once+often", contrast="ns=north-south", **PLAN)
    shares, others = found.to_tables()
    sums = {one.domain or "all": one for one in found.quantities if one.name == "any"}
    rows = {(row[0], row[1]): row[3:] for row in shares.rows}
    assert len(rows) == 4 * 4
    for name, one in sums.items():
        values = (one.value, one.standard_error, one.low, one.high, one.deff)
        assert [float(cell) for cell in rows[name, "any"]] == pytest.approx(values, abs=6e-3)
    assert "any: once + often." in shares.notes
    assert {row[0].partition(":")[0] for row in others.rows} == {"ns"}
    (alone,) = found.to_tables(categories=["any"])
    assert [row[0] for row in alone.rows] == ["east", "north", "south", "all"]
    assert alone.header[0] == "region" and alone.header[-1] == "deff" and alone.caption.endswith("= any")
    assert "any, north" in repr(found)
    for bad in (["weekly"], []):
        refused(LabelError, "category", found.to_tables, categories=bad)


def test_pictures_hold_combined_categories() -> None:
    pytest.importorskip("matplotlib")
    found = estimated(survey(), {"y": DESIGN}, by="region", combine="any=once+often", **PLAN)
    picture = found.plot()
    assert [row[:2] for row in picture.rows[3::4]] == [[name, "any"] for name in ("all", "east", "north", "south")]
    assert picture.data["estimate"][3::4] == pytest.approx([one.value for one in found.quantities])
    one = found.plot(categories="any", order="largest", level=0.9)
    assert one.data["estimate"].tolist() == [found["any"].value, *sorted(one.data["estimate"][1:], reverse=True)]
    assert (
        one.data["high"] < [q.high for name in picture_order(one) for q in found.quantities if q.domain == name]
    ).all()
    assert len(found.plot(categories=["often", "never"]).rows) == 8
    refused(LabelError, "'weekly' is not a category", found.plot, categories=["weekly"])


def picture_order(picture: Any) -> list[Any]:
    """The domains in the order in which they are drawn; None for everyone."""
    return [None if row[0] == "all" else row[0] for row in picture.rows]


@pytest.mark.parametrize(
    ("options", "kind", "said"),
    [
        ({"combine": {"any": ["once", "weekly"]}}, UnknownCategoryError, "combine any: 'weekly' is not a category"),
        ({"combine": {"any": []}}, ParameterError, "combine any has no categories"),
        ({"combine": {"any": ["once", "once"]}}, LabelError, "a category occurs twice"),
        ({"combine": {"never": ["once", "often"]}}, LabelError, "a category already has this name"),
        ({"combine": "once+often"}, ParameterError, "a name and its categories"),
        ({"combine": "any=once-often"}, ParameterError, "a combination must be a plain sum"),
        ({"combine": ["a=once", "a=often"]}, ParameterError, "combine a occurs twice"),
        ({"combine": 3}, TypeError, "must be a dictionary or a string, not a"),
        ({"contrast": "gap=often-weekly"}, UnknownCategoryError, "'weekly' is not a category"),
        ({"ratio": "r=often"}, ParameterError, "a ratio must have two parts"),
        ({"ratio": {"r": ("often", "weekly")}}, UnknownCategoryError, "'weekly' is not a category"),
        ({"where": "region"}, ParameterError, "is not a condition"),
        ({"where": "age>old"}, ParameterError, "is not a number to compare with"),
        ({"where": 7}, TypeError, "where must be a string or a dictionary, not a"),
    ],
)
def test_what_makes_no_sense_is_refused_before_a_row_is_read(options: dict[str, Any], kind: type, said: str) -> None:
    """The file does not exist, and is not asked for."""
    raised = refused(kind, said, estimate_with, "no such file.csv", {"y": DESIGN}, **options)
    assert isinstance(raised, MaskwellError) and raised.hint


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"where": "region=west"}, "where region=west: no row with a report fits"),
        ({"by": "region", "contrast": "d=north-west"}, "'west' is not a category"),
        ({"by": "region", "contrast": "d=north-never"}, "'north' is a group, not a category"),
    ],
)
def test_what_rows_must_tell_is_refused_then(options: dict[str, Any], said: str) -> None:
    refused(MaskwellError, said, estimate_with, survey(), {"y": DESIGN}, **options)


def test_counts_have_no_rows_to_choose() -> None:
    refused(
        ParameterError,
        "where cannot be combined with counts, which have no rows",
        mw.estimate,
        COUNTS,
        DESIGN,
        where="region=north",
    )
    with pytest.raises(LabelError, match="'some' is not a known quantity"):
        estimated(COUNTS, DESIGN, combine="any=once+often")["some"]


@pytest.mark.parametrize("family", ["cheating-detection", "lie-detector"])
@pytest.mark.parametrize("yes", [(10, 390), (390, 10), (60, 330), (200, 200), (0, 0), (400, 400)])
@pytest.mark.parametrize("method", ["ml", "moments"])
def test_cheating_at_the_boundary_has_an_interval_or_a_reason(family, yes, method):
    designs = {"y": [mw.When({"g": g}, mw.design(family, p=p, reports=[1, 0])) for g, p in ((1, "1/6"), (2, "5/6"))]}
    reports = [z for k in yes for z in [1] * k + [0] * (400 - k)]
    found = mw.estimate({"g": [1] * 400 + [2] * 400, "y": reports}, designs, method=method)
    assert "nan" not in repr(found)
    for one in found.quantities:
        assert np.isfinite([one.low, one.high]).all() or one.flags
