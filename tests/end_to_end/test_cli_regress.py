"""``maskwell regress``: files in, coefficients out, as text, JSON and tables."""

import csv
import io
from pathlib import Path

import numpy as np
import pytest
from tests.support.command_line import design_file, refused, run
from tests.support.regression import draw

import maskwell as mw


@pytest.fixture
def files(tmp_path):
    """A survey of 900 people who answered by Warner's device, and its design."""
    design_file("w.json", "warner", "--p", "0.8")
    design_file("v.json", "warner", "--p", "0.3")
    design_file("k.json", "k-ary", "--gamma", 4, "--categories", "never,once,often")
    rng = np.random.default_rng(1)
    age, place = rng.normal(40, 12, 900).round(1), rng.choice(["town", "country"], 900)
    yes = rng.random(900) < 1 / (1 + np.exp(-(-1 + 0.03 * (age - 40) + 0.8 * (place == "town"))))
    reports = draw(mw.load_design("w.json").matrix(), np.where(yes, 0, 1), rng)
    often = draw(mw.load_design("k.json").matrix(), rng.integers(0, 3, 900), rng)
    i = np.arange(900)
    columns = {"y": np.array(["yes", "no"])[reports], "age": age, "place": place, "w": 1 + i % 3, "psu": i // 30}
    columns |= {"h": i % 2, "group": np.array(["a", "b"])[i % 2], "income": i * 1.5, "N": 600 + 200 * (i % 2)}
    columns["often"] = np.array(["never", "once", "often"])[often]
    with Path("s.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([columns, *zip(*columns.values(), strict=True)])
    return tmp_path


def fit(*more, formula="y ~ age + place"):
    return run("regress", "s.csv", "--formula", formula, "--design", "y=w.json", *more)


def test_the_headline_names_the_first_predictor_and_small_numbers_have_one_style(files):
    for formula, first in [("y ~ age + place", "age"), ("y ~ place + age", "place[T.town]")]:
        assert fit(formula=formula).out.startswith(f"y ~ {first}: log odds ratio ")
    assert fit("--exponentiate").out.startswith("y ~ age: odds ratio ")
    assert fit(formula="y ~ 1").out.startswith("y ~ Intercept: log odds -")
    assert fit("--exponentiate", formula="y ~ 1").out.startswith("y ~ Intercept: odds 0.")
    out = fit(formula="y ~ I(age * 1000) + place").out
    small = next(line for line in out.splitlines() if "1000" in line and "  " in line[2:]).split()
    assert "e-" not in out
    assert float(small[-4]) > 0 and all(len(cell.split(".")[1]) == 6 for cell in small[-5:-1])
    assert all(len(line.split()[-1].split(".")[1]) == 4 for line in out.splitlines()[2:5])


def test_weights_strata_clusters_and_population_and_all_digits_in_csv(files):
    simple = fit("--json").json()
    sampled = fit("--json", "--weights", "w", "--strata", "h", "--clusters", "psu").json()
    assert sampled["variance"] == "sandwich (weights, 2 strata, 60 clusters)"
    assert sampled["degrees_of_freedom"] == 58
    assert sampled["coefficients"][1]["estimate"] != simple["coefficients"][1]["estimate"]
    inclusion = fit("--json", "--population", "N", "--strata", "h").json()
    endless = fit("--json", "--strata", "h").json()
    for one, other in zip(inclusion["coefficients"], endless["coefficients"], strict=True):
        assert one["standard_error"] < other["standard_error"]
    assert "Degrees of freedom: 58" in fit("--weights", "w", "--strata", "h", "--clusters", "psu", "--format", "md").out
    rows = list(csv.DictReader(io.StringIO(fit("--format", "csv").out)))
    exact = fit("--json").json()["coefficients"]
    assert [float(row["estimate"]) for row in rows] == [row["estimate"] for row in exact]


def test_references_are_named_alone_or_with_their_column(files):
    assert "place[T.country]" in fit("--reference", "town").out
    assert "no, against yes" in fit("--reference", "y=yes", "--reference", "place=town").out
    content = run(
        "regress", "s.csv", "--formula", "often ~ age", "--design", "often=k.json", "--reference", "never", "--json"
    ).json()
    assert [row["term"] for row in content["coefficients"]][::2] == ["once: Intercept", "often: Intercept"]
    asked = ("regress", "s.csv", "--formula", "y ~ place", "--design", "y=w.json")
    assert "--json cannot be combined with --format md" in run(*asked, "--json", "--format", "md", status=2).err
    refused(*asked, "--reference", "place=village", saying="the column 'place' has no category 'village'")


def test_smaller_models_and_marginal_effects(files):
    content = fit("--smaller-model", "y ~ age", "--effects", "--json").json()
    smaller = fit("--json", formula="y ~ age").json()
    (test,) = content["tests"]
    assert test["statistic"] == pytest.approx(2 * (content["log_likelihood"] - smaller["log_likelihood"]))
    assert (test["method"], test["degrees_of_freedom"], test["formula"]) == ("likelihood-ratio", 1, "y ~ age")
    assert content["aic"] == pytest.approx(6 - 2 * content["log_likelihood"])
    assert [row["term"] for row in content["marginal_effects"]] == ["age", "place[town vs country]"]
    out = fit("--smaller-model", "y ~ age", "--effects").out
    assert "test             against y ~ age: likelihood ratio test, chi2(1) = " in out
    assert "change in the probability of yes" in out and max(map(len, out.splitlines())) <= 100
    weighted = fit("--weights", "w", "--smaller-model", "y ~ 1", "--reference", "yes")
    assert "Wald test, chi2(2)" in weighted.out and "compare models by Wald tests" in weighted.out
    table = fit("--effects", "--smaller-model", "y ~ age", "--format", "csv").out
    assert [row["term"] for row in csv.DictReader(io.StringIO(table))] == ["age", "place[town vs country]"]
    asked = ("regress", "s.csv", "--formula", "y ~ age", "--design", "y=w.json", "--smaller-model")
    refused(*asked, "y ~ place", saying="the larger model does not include 'place[T.town]' of the smaller one")


def test_designs_that_do_not_belong_to_the_column_or_are_one_of_several(files):
    design_file("s1.json", "simmons", "--p", "3/4")
    design_file("s2.json", "simmons", "--p", "1/3")
    args = ("regress", "s.csv", "--formula", "y ~ age")
    refused(
        *args, "--design", "y=s1.json", saying="this design, one of several samples, cannot distinguish 4 categories"
    )
    groups = ("--design", "y[group=a]=s1.json", "--design", "y[group=b]=s2.json")
    refused(*args, *groups, saying="these 2 designs together cannot distinguish 4 categories")
    refused(
        "regress", "s.csv", "--formula", "y ~ age", "--design", "y=k.json", saying="are not categories of the design"
    )
    refused("regress", "s.csv", "--formula", "y ~ age", saying="--design or --receipt must be given")
    refused("regress", "no.csv", "--formula", "y ~ age", "--design", "y=w.json", saying="does not exist")


def test_several_categories_and_a_randomized_predictor(files):
    several = run("regress", "s.csv", "--formula", "often ~ age", "--design", "often=k.json", "--json").json()
    assert several["method"] == "multinomial" and len(several["coefficients"]) == 4
    linear = run("regress", "s.csv", "--formula", "income ~ y + age", "--design", "y=w.json", "--json").json()
    assert linear["method"] == "linear" and linear["log_likelihood"] is None
    assert linear["coefficients"][1]["term"] == "y[T.yes]"
    out = run("regress", "s.csv", "--formula", "h ~ y + age", "--design", "y=w.json", "--latent", "~ age").out
    assert "true categories of the randomized predictor" in out and "y=yes: age" in out


def test_what_has_no_finite_estimate_or_a_missing_value_is_told(files):
    lines = (files / "s.csv").read_text().splitlines()
    lines[3] = lines[3].replace(lines[3].split(",")[1], "", 1)
    (files / "s.csv").write_text("\n".join(lines) + "\n")
    args = ("regress", "s.csv", "--formula", "y ~ age", "--design", "y=w.json")
    refused(*args, saying="column 'age': 1 of 900 values are missing", kind="missing_values")
    assert "note: 1 of 900 rows had a missing value and was left out" in run(*args, "--missing", "drop").out
    assert run(*args, "--missing", "drop", "--json").json()["dropped"] == 1
    rows = "".join(f"{'yes' if i % 20 == 0 else 'no'},{i % 7}\n" for i in range(400))
    Path("low.csv").write_text(f"y,x\n{rows}", encoding="utf-8")
    args = ("regress", "low.csv", "--formula", "y ~ 1", "--design", "y=w.json")
    out = run(*args).out
    assert "no finite estimate" in out and "runs to minus infinity" in " ".join(out.split())
    content = run(*args, "--json").json()
    assert content["converged"] is False and content["coefficients"][0]["standard_error"] is None
    assert "minus infinity" in content["flags"][0]


@pytest.mark.parametrize(
    ("formula", "more", "saying"),
    [
        ("y ~ agee", (), "the formula names 'agee', which is not a column"),
        ("y ~ exp(", (), "formula 'y ~ exp('"),
        ("y ~ eval('1')", (), "unknown function 'eval'"),
        ("y ~ age + I(2 * age)", (), "is a combination of the columns 'age'"),
        ("y ~ C(income)", (), "more rows than coefficients"),
        ("age ~ place", (), "a design was given for 'y', which is not in the formula"),
        ("y ~ age", ("--weights", "wgt"), "no column 'wgt'"),
        ("y ~ age", ("--weights", "place"), "is not a number"),
        ("y ~ age", ("--level", "95"), "level"),
        ("income ~ y", ("--exponentiate",), "leave it out: a linear regression has no odds ratios"),
        ("y ~ age", ("--clusters", "psu", "--variance", "observed"), "ignores clusters and population"),
        ("y ~ age", ("--population", "500"), "a population of 500"),
        ("y ~ 1", ("--plot", "c.svg"), "the model has no coefficients to draw"),
        ("y ~ age", ("--plot", "c.gif"), ".gif"),
    ],
)
def test_bad_input_is_refused(files, formula, more, saying):
    refused("regress", "s.csv", "--formula", formula, "--design", "y=w.json", *more, saying=saying)


def test_an_estimate_at_infinity_has_an_interval_with_one_end(files):
    rows = [("yes", 0)] * 8 + [("no", 0)] * 32 + [("yes", 1)] * 20 + [("no", 1)] * 20
    Path("edge.csv").write_text("y,x\n" + "".join(f"{y},{x}\n" for y, x in rows), encoding="utf-8")
    args = ("regress", "edge.csv", "--formula", "y ~ x", "--design", "y=w.json")
    content = run(*args, "--json").json()
    intercept, slope = content["coefficients"]
    assert (intercept["estimate"], intercept["standard_error"], intercept["interval"][0]) == ("-inf", None, "-inf")
    assert intercept["interval"][1] == pytest.approx(-1.186, abs=1e-3) and slope["interval"][1] == "inf"
    assert content["interval"] == "profile likelihood" == slope["interval_method"] + " likelihood"
    out = run(*args, "--effects").out
    assert "has no finite estimate (95 % interval 0.8554 to inf; 80 rows)" in out
    assert "nan" not in out and "—" in out and "intervals        profile likelihood" in out
    wald = run(*args, "--json", "--interval", "wald").json()["coefficients"][0]
    assert wald["interval"] == [None, None] and wald["interval_method"] == "wald"
    refused(
        *("regress", "s.csv", "--formula", "income ~ y", "--design", "y=w.json", "--interval", "profile"),
        saying="a profile interval is not available for a linear regression",
    )


def test_thresholds_are_not_exponentiated(files):
    args = ("regress", "s.csv", "--formula", "often ~ age", "--design", "often=k.json", "--model", "ordinal")
    plain, ratios = (run(*args, "--json", *more).json()["coefficients"] for more in ((), ("--exponentiate",)))
    assert ratios[0]["estimate"] == pytest.approx(np.exp(plain[0]["estimate"])) and ratios[1:] == plain[1:]
    assert [row["p_value"] is None for row in plain] == [False, True, True]
    assert "thresholds (log odds)" in run(*args, "--exponentiate").out
