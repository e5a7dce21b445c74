"""Data that come with R packages give the figures of these packages, as typed on the command line.

GLMMRR has students' answers, of which every row names its device and its parameters; cWise has crosswise answers with
an anchor question (1 means "both or neither", the first report of a crosswise design); RRreg has a survey with the
stochastic lie detector; survey has openly asked questions of complex samples. RRTCS takes totals over the inclusion
probabilities and divides by the known size of the population. For samples drawn with equal chances its variance is that
of drawing without replacement with the randomization correction: ``--inclusion Pi --population N``.
"""

import csv
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.support.arrays import Array, Real
from tests.support.columns import read_columns
from tests.support.command_line import design_file, run
from tests.support.regression import gradient_of, hessian_of, mixed_log_likelihood
from tests.support.surveys import regress_with

import maskwell as mw
from maskwell.estimation import LeftInverse, regression

NAMED = ["--reports", "1,0"]


def fraction(text: str) -> Fraction:
    """0.166666666666667 stands for 1/6."""
    return Fraction(text).limit_denominator(1000)


def typed(model: str, p1: str, p2: str) -> list[str]:
    """The device of a row as typed.

    For forced answers p1 is the chance of the truth and p2 that of a forced yes, of all answers.
    """
    first, second = fraction(p1), fraction(p2)
    if model == "DQ":
        return ["warner", "--p", "1"]
    if model == "Crosswise":
        return ["crosswise", "--q", str(first)]
    if model == "UQM":
        return ["simmons", "--p", str(first), "--beta", str(second)]
    return ["forced", "--truth", str(first), "--yes", str(second), "--no", str(1 - first - second)]


def as_the_package_reads_it(model: str, p1: str, p2: str) -> list[str]:
    """The same but for forced answers: p2 as the share of yes among those who are forced."""
    if model != "Forced":
        return typed(model, p1, p2)
    truth = fraction(p1)
    yes = (1 - truth) * fraction(p2)
    return ["forced", "--truth", str(truth), "--yes", str(yes), "--no", str(1 - truth - yes)]


def assignments(file: Path, column: str, names: tuple[str, str, str], device: Any) -> list[str]:
    """A design for each combination of device and parameters in the file, as typed."""
    with file.open(encoding="utf-8", newline="") as opened:
        found = sorted({tuple(row[name] for name in names) for row in csv.DictReader(opened)})
    words = []
    for number, values in enumerate(found):
        run("design", *device(*values), *NAMED, "-o", f"d{number}.json", "--force")
        where = ",".join(f"{name}={value}" for name, value in zip(names, values, strict=True))
        words += ["--design", f"{column}[{where}]=d{number}.json"]
    return words


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def by_domain(content: dict[str, Any]) -> dict[tuple[str, ...], dict[str, Any]]:
    return {tuple(map(str, one["domain"])): one["estimates"][0] for one in content["domains"]}


ETHBE = ("RRmodel", "p1", "p2")


def copied(shared: Path, device: Any) -> dict[str, float]:
    file = shared / "data" / "glmmrr_ethbe.csv"
    designs = assignments(file, "RR_response", ETHBE, device)
    found = by_domain(run("estimate", file, *designs, "--by", "Question,RRmodel", "--json").json())
    return {model: round(row["estimate"], 3) for (question, model), row in found.items() if question == "copied"}


PROCEDURES = {
    "DQ": "warner(p=p1, reports=[1, 0])",
    "UQM": "simmons(p=p1, beta=p2, reports=[1, 0])",
    "Crosswise": "crosswise(q=p1, reports=[1, 0])",
    "Forced": "forced(truth=p1, yes=p2, no=1-p1-p2, reports=[1, 0])",
}
BY_COLUMNS = [
    word for model, text in PROCEDURES.items() for word in ("--design", f"RR_response[RRmodel={model}]={text}")
]


def test_students_who_copied_by_files_and_by_columns(shared: Path, here: Path) -> None:
    assert copied(shared, typed) == {"DQ": 0.218, "UQM": 0.174, "Crosswise": 0.287, "Forced": 0.246}
    # The file tells the device and its parameters in each row: the shares are those from design files.
    file = shared / "data" / "glmmrr_ethbe.csv"
    shares = by_domain(run("estimate", file, *BY_COLUMNS, "--by", "Question,RRmodel", "--json").json())
    assert {model: round(shares["copied", model]["estimate"], 3) for model in PROCEDURES} == {
        "DQ": 0.218, "UQM": 0.174, "Crosswise": 0.287, "Forced": 0.246,
    }  # fmt: skip
    # 0.413 in place of 0.246, from the same rows: 1/6 of all answers are a forced yes. Read as the share of yes among
    # those who are forced, it makes the device say yes far less often, and the difference is taken for students who
    # copied. A forced design here takes three chances that sum to 1: such a reading has to be typed on purpose.
    assert copied(shared, as_the_package_reads_it)["Forced"] == 0.413


def test_standard_error_of_partial_plagiarism(shared: Path, here: Path) -> None:
    """The published standard error is that of maximum likelihood: n in place of n - 1."""
    with (shared / "data" / "glmmrr_plagiarism.csv").open(encoding="utf-8", newline="") as file:
        answers = [row["response"] for row in csv.DictReader(file) if row["question"] == "3"]
    Path("partial.csv").write_text("\n".join(["response", *answers]) + "\n", encoding="utf-8")
    design_file("cw.json", "crosswise", "--q", "1/4", *NAMED)
    rows = {
        method: run("estimate", "partial.csv", "--design", "response=cw.json", "--method", method, "--json").json()
        for method in ("ml", "moments")
    }
    likely, unbiased = rows["ml"]["estimates"][0], rows["moments"]["estimates"][0]
    assert [round(likely["estimate"], 4), round(likely["standard_error"], 4)] == [0.2226, 0.0546]
    assert unbiased["standard_error"] == pytest.approx(likely["standard_error"] * (310 / 309) ** 0.5)


def test_the_random_intercept_of_the_manual_by_a_plain_sum(shared: Path) -> None:
    """The example of RRglmer, of which the manual prints no figures: the top of a sum over many nodes."""
    file, formula = shared / "data" / "glmmrr_plagiarism.csv", "response ~ Gender + RR + pp + (1 | age)"
    devices = {"DQ": "warner(p=1, reports=[1, 0])", "Crosswise": "crosswise(q=RRp1, reports=[1, 0])"}
    designs = {"response": [mw.When({"RRmodel": name}, text) for name, text in devices.items()]}
    model = regress_with(str(file), formula, designs, missing="drop", missing_codes="NA")
    assert (model.n, model.dropped, model.random.groups) == (802, 10, 20)
    with file.open(encoding="utf-8", newline="") as opened:
        rows = [row for row in csv.DictReader(opened) if all(row[name] for name in ("Gender", "pp", "age"))]
    X = np.array([[1, *(float(row[name]) for name in ("Gender", "RR", "pp"))] for row in rows])
    told = np.array([float(row["RRp1"]) if row["RRmodel"] == "Crosswise" else 1.0 for row in rows])
    a = np.where([row["response"] == "1" for row in rows], told, 1 - told)
    groups = np.unique([row["age"] for row in rows], return_inverse=True)[1]

    def likelihood(theta: Any) -> float:
        return mixed_log_likelihood(theta, X, a, 1 - a, groups, nodes=61, reach=6.0)

    theta = np.append(model.estimates, model.random.deviation)
    assert model.log_likelihood == pytest.approx(likelihood(theta), abs=1e-6)
    assert np.abs(gradient_of(likelihood, theta, 1e-4)).max() < 1e-3
    errors = np.sqrt(np.diag(np.linalg.inv(-hessian_of(likelihood, theta))))
    assert np.sqrt(np.diag(model.random.covariance)) == pytest.approx(errors, rel=2e-3)
    assert model.estimates.round(3).tolist() == [-4.977, 0.107, 1.323, 2.164]


SRS = ["--inclusion", "Pi", "--population"]


def told(shared: Path, name: str, design: list[str], sampling: list[str], columns: str = "z") -> dict[str, Any]:
    design_file("d.json", *design)
    file = shared / "data" / f"rrtcs_{name}.csv"
    return run("estimate", file, "--design", f"{columns}=d.json", *sampling, "--json").json()


def estimated(shared: Path, name: str, design: list[str], sampling: list[str]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = told(shared, name, design, sampling)["estimates"]
    return found


def as_printed(value: float, published: str) -> str:
    return f"{value:.{len(published.partition('.')[2])}f}"


@pytest.mark.parametrize(
    ("name", "design", "sampling", "what", "published"),
    [
        ("warner", ["warner", "--p", "0.7"], [*SRS, "802"], "total", "360.9"),
        ("horvitz", ["simmons", "--p", "0.5", "--beta", "0.6666667"], [*SRS, "10777"], "estimate", "0.136253"),
        (
            "horvitz_stcl",
            ["simmons", "--p", "0.6", "--beta", "0.5"],
            ["--inclusion", "Pi", "--strata", "ST", "--clusters", "CL", "--denominator", "1500"],
            "estimate",
            "0.393939",
        ),
        ("forced", ["forced", "--truth", "0.6", "--yes", "0.2", "--no", "0.2"], [*SRS, "10000"], "total", "5133.33"),
        (
            "forced",
            ["forced", "--truth", "0.6", "--yes", "0.2", "--no", "0.2"],
            [*SRS, "10000"],
            "estimate",
            "0.513333",
        ),
        (
            "forced_st",
            ["forced", "--truth", "0.6", "--yes", "0.2", "--no", "0.2"],
            ["--inclusion", "Pi", "--strata", "ST"],
            "total",
            "2599.83",
        ),
        ("devore", ["devore", "--p", "0.7"], [*SRS, "802", "--strata", "ST"], "estimate", "0.868982"),
        (
            "mangat_singh",
            ["mangat-singh", "--p", "0.7", "--t", "0.55"],
            [*SRS, "802", "--strata", "ST"],
            "estimate",
            "0.500456",
        ),
        (
            "mangat_singh_singh",
            ["mangat-singh-singh", "--p", "0.6", "--alpha", "0.5"],
            ["--inclusion", "Pi", "--strata", "ST", "--clusters", "CL"],
            "total",
            "1206.5",
        ),
        ("singh_joarder", ["singh-joarder", "--p", "0.6"], [*SRS, "802"], "estimate", "0.334225"),
        (
            "soberanis_cruz",
            ["soberanis-cruz", "--p", "0.7", "--beta", "0.5"],
            ["--inclusion", "Pi", "--clusters", "CL", "--level", "0.90"],
            "total",
            "196.43",
        ),
    ],
)
def test_yes_or_no(shared, here, name, design, sampling, what, published) -> None:
    yes, _ = estimated(shared, name, [*design, *NAMED], sampling)
    assert as_printed(yes[what], published) == published


def surveyed(shared: Path, name: str) -> tuple[dict[str, Real], mw.Sampling]:
    data = read_columns(shared / "data" / f"rrtcs_{name}.csv")
    return data, mw.Sampling(inclusion=data["Pi"], population=802)


@pytest.mark.parametrize(
    ("name", "family", "parameters", "published", "typed"),
    [
        (
            "kuk",
            "kuk",
            {"theta1": "0.6", "theta2": "0.2", "draws": 25},
            "0.1335",
            ["--theta1", "0.6", "--theta2", "0.2", "--draws", "25"],
        ),
        (
            "christofides",
            "christofides",
            {"probabilities": ["0.1", "0.2", "0.3", "0.2", "0.2"]},
            "0.45",
            ["--probabilities", "0.1,0.2,0.3,0.2,0.2"],
        ),
    ],
)
def test_means_of_reported_numbers(shared, here, name, family, parameters, published, typed) -> None:
    """The published estimate is the mean of the reported numbers, set straight.

    It is unbiased, and so is the estimate that the command line gives: the best left inverse at equal shares, with a
    smaller standard error. Both are given by the library.
    """
    data, plan = surveyed(shared, name)
    design = mw.design(family, **parameters)
    by_mean = mw.estimation.LeftInverse.of_scores(design, range(design.m))
    found = mw.estimation.estimate_survey(data["z"].astype(int), design, plan, inverse=by_mean, denominator=802)
    assert as_printed(found.pi_hat[0], published) == published
    yes, _ = estimated(shared, name, [family, *typed], [*SRS, "802"])
    best = mw.estimation.estimate_survey(data["z"].astype(int), design, plan)
    assert yes["estimate"] == pytest.approx(best.pi_hat[0])
    assert abs(yes["estimate"] - found.pi_hat[0]) < yes["standard_error"] < found.standard_error[0]


def test_variance_intervals_and_weights_that_do_not_reach_the_population(shared: Path, here: Path) -> None:
    yes, _ = estimated(shared, "warner", ["warner", "--p", "0.7", *NAMED], [*SRS, "802"])
    assert round(yes["total_standard_error"] ** 2, 2) == 7883.34
    assert [round(end, 2) for end in yes["total_interval"]] == [186.88, 534.92]
    design = ["simmons", "--p", "0.5", "--beta", "0.6666667", *NAMED]
    yes, _ = estimated(shared, "horvitz", design, [*SRS, "10777"])
    assert [round(end, 4) for end in yes["interval"]] == [0.0416, 0.2309]
    # They add up to 1469.2 of 1500 people, so that shares of the 1500 are smaller and do not sum to one.
    design, plan = ["simmons", "--p", "0.6", "--beta", "0.5", *NAMED], ["--strata", "ST", "--clusters", "CL"]
    ratio = estimated(shared, "horvitz_stcl", [*design, "--force"], ["--inclusion", "Pi", *plan])
    of_all = ["--inclusion", "Pi", *plan, "--denominator", "1500"]
    known = estimated(shared, "horvitz_stcl", [*design, "--force"], of_all)
    assert sum(row["estimate"] for row in ratio) == pytest.approx(1)
    assert sum(row["estimate"] for row in known) == pytest.approx(1469.1558 / 1500)
    assert round(ratio[0]["estimate"], 6) == 0.402210
    # Four reports for four pairs of truths: the design has an inverse, and its estimate is the published one.
    design = ["simmons-twice", "--p1", "0.6", "--p2", "0.7", *NAMED]
    wanted = told(shared, "horvitz_ub", design, ["--inclusion", "Pi"], "I,J")["wanted"]
    assert wanted["variable"] == "own answer" and round(wanted["estimates"][0]["estimate"], 6) == 0.121317


def test_two_answers_of_mangat_singh_and_singh(shared: Path, here: Path) -> None:
    """The published score is unbiased, but does not use that "yes, no" and "no, yes" tell the same.

    It gives 0.656; the command line merges the two, which is unbiased too and has a smaller standard error.
    """
    data, plan = surveyed(shared, "mangat_singh_singh_ub")
    p1, p2 = 0.6, 0.8
    design = mw.design("mangat-singh-singh-twice", p1="0.6", p2="0.8")
    labels = list(zip(*(np.where(data[c] == 1, "yes", "no").tolist() for c in ("I", "J")), strict=True))
    score = np.array([((1 - p2) * i - (1 - p1) * j) / (p1 - p2) for i, j in ((1, 1), (1, 0), (0, 1), (0, 0))])
    own = mw.estimation.LeftInverse.best(design).L
    published = LeftInverse(np.vstack([score, own[1] + own[0] - score, own[2]]), "scores", design.fingerprint)
    assert published.L @ design.matrix() == pytest.approx(np.eye(3), abs=1e-12)
    found = mw.estimation.estimate_survey(labels, design, plan, inverse=published, denominator=802)
    assert round(found.pi_hat[0], 6) == 0.656
    typed = ["mangat-singh-singh-twice", "--p1", "0.6", "--p2", "0.8", *NAMED]
    merged = told(shared, "mangat_singh_singh_ub", typed, [*SRS, "802"], "I,J")["wanted"]["estimates"][0]
    assert round(merged["estimate"], 4) == 0.6653 and merged["standard_error"] < found.standard_error[0]


def test_how_often_students_cheated(shared: Path, here: Path) -> None:
    """Half of the reports are the true number, half are 0, 1, 3, 5 or 8 by chance.

    The numbers are the categories, those of the device with a fixed chance of a tenth each. The published mean is over
    the 53376 students; the weights add up to 53375.2 of them.
    """
    data = read_columns(shared / "data" / "rrtcs_eriksson.csv")
    values = sorted({0, 1, 3, 5, 8} | {int(z) for z in data["z"]})
    by_chance = ["1/10" if value in (0, 1, 3, 5, 8) else "0" for value in values]
    design = mw.design("liu-chow", categories=mw.Categories.of(values), p="1/2", q=by_chance)
    plan = mw.Sampling(inclusion=data["Pi"], strata=data["ST"])
    found = mw.estimation.estimate_survey(data["z"].astype(int).tolist(), design, plan, denominator=53376)
    mean, error = found.mean()
    assert round(mean, 5) == 4.44307 and error > 0
    typed = ["liu-chow", "--categories", ",".join(map(str, values)), "--p", "1/2", "--q", ",".join(by_chance)]
    rows = estimated(shared, "eriksson", typed, ["--inclusion", "Pi", "--strata", "ST", "--denominator", "53376"])
    assert sum(int(row["category"]) * row["estimate"] for row in rows) == pytest.approx(mean)


def codes(answers: Real) -> Array:
    return 1 - answers.astype(int)


@pytest.fixture(scope="module")
def shares(shared: Path) -> dict[str, Real]:
    return read_columns(shared / "data" / "cwise_cmdata.csv")


@pytest.mark.parametrize(
    ("weighted", "naive", "corrected", "attentive"), [(False, 0.1950, 0.1054, 0.7729), (True, 0.1921, 0.1097, None)]
)
def test_shares_corrected_for_inattention(shares, weighted, naive, corrected, attentive) -> None:
    design = mw.design("crosswise", q="0.15")
    weights = shares["weight"] if weighted else None
    found = regression.estimate_with_anchor(
        codes(shares["Y"]),
        design,
        regression.Anchor(codes(shares["A"]), design),
        codes=True,
        plan=mw.Sampling(weights=weights),
    )
    assert [round(x, 4) for x in (found.naive, found.corrected)] == [naive, corrected]
    assert attentive is None or round(found.attentive, 4) == attentive


@pytest.fixture(scope="module")
def predicted(shared: Path) -> dict[str, Real]:
    return read_columns(shared / "data" / "cwise_cmdata2.csv")


def log_likelihood(theta: Real, data: dict[str, Real], p: float = 0.1, anchor_p: float = 0.15) -> float:
    X = np.column_stack([np.ones(len(data["Y"])), data["female"], data["age"]])
    trait, attentive = 1 / (1 + np.exp(-X @ theta[:3])), 1 / (1 + np.exp(-X @ theta[3:]))
    lam = attentive * ((2 * p - 1) * trait + 1 - p) + (1 - attentive) / 2
    anchor = attentive * (1 - anchor_p) + (1 - attentive) / 2
    chances = np.where(data["Y"] == 1, lam, 1 - lam) * np.where(data["A"] == 1, anchor, 1 - anchor)
    return float(np.log(chances).sum())


def test_regression_corrected_for_inattention(predicted: dict[str, Real]) -> None:
    """The published coefficients, 0.2816 and 0.0326, were read off before the search had reached the maximum.

    Standard errors agree in all digits. The likelihood with the published coefficients is lower, whatever the others,
    and its maximum, found here with another program too, has 0.2814 and 0.0327.
    """
    from scipy.optimize import minimize

    X = np.column_stack([predicted["female"], predicted["age"]])
    question, anchor = mw.design("crosswise", q="0.1"), mw.design("crosswise", q="0.15")
    found = regression.fit_with_anchor(
        X,
        codes(predicted["Y"]),
        question,
        regression.Anchor(codes(predicted["A"]), anchor),
        names=["female", "age"],
        codes=True,
    )
    errors = dict(zip(found.terms, found.standard_error, strict=True))
    assert [round(errors[term], 4) for term in ("female", "age")] == [0.1427, 0.0133]
    assert found.estimates[1:] == pytest.approx([0.2816, 0.0326], abs=3e-4)
    assert [round(x, 4) for x in found.estimates[1:]] == [0.2814, 0.0327]
    maximum = np.concatenate([found.estimates, found.latent.estimates])
    assert log_likelihood(maximum, predicted) == pytest.approx(found.log_likelihood, abs=1e-8)
    free = minimize(lambda theta: -log_likelihood(theta, predicted), np.zeros(6), method="BFGS")
    assert found.estimates[1:] == pytest.approx(free.x[1:3], abs=1e-5)

    def with_published(rest: Real) -> float:
        return -log_likelihood(np.array([rest[0], 0.2816, 0.0326, *rest[1:]]), predicted)

    best = minimize(with_published, maximum[[0, 3, 4, 5]], method="BFGS")
    assert -best.fun < found.log_likelihood - 1e-6


@pytest.fixture
def asked(shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The rows that were asked with the device, and the two designs; conditions 1 and 2 differ in the cards."""
    monkeypatch.chdir(tmp_path)
    with (shared / "data" / "rrreg_minarets.csv").open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["RRdesign"] == "1"]
    lines = ["rrt,condition", *(f"{row['rrt']},{row['condition']}" for row in rows)]
    Path("asked.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    for condition, p in (("1", "2/12"), ("2", "10/12")):
        design_file(f"d{condition}.json", "lie-detector", "--p", p, "--reports", "1,0")
    return {"1": "d1.json", "2": "d2.json"}


def by_detector(designs: dict[str, str], method: str) -> dict[str, Any]:
    words = [word for value, path in designs.items() for word in ("--design", f"rrt[condition={value}]={path}")]
    return run("estimate", "asked.csv", *words, "--method", method, "--json").json()


@pytest.mark.parametrize("method", ["moments", "ml"])
def test_against_the_ban_on_minarets(asked: dict[str, str], method: str) -> None:
    """Carriers are those who were for the ban; t is the chance that one of them said so."""
    found = by_detector(asked, method)
    assert found["n"] == 1256
    honest, lying, _ = (row["estimate"] for row in found["estimates"])
    carriers = np.array([1.0, 1.0, 0.0])
    error = np.sqrt(carriers @ np.array(found["covariance"]) @ carriers)
    assert [round(x, 4) for x in (honest + lying, error, honest / (honest + lying))] == [0.8707, 0.0411, 0.6358]


def test_rows_without_a_design_are_named_and_a_regression_gives_the_shares(asked: dict[str, str], shared: Path) -> None:
    """The file also has people who were asked directly: 365 rows of condition 0."""
    words = [word for value, path in asked.items() for word in ("--design", f"rrt[condition={value}]={path}")]
    done = run("estimate", shared / "data" / "rrreg_minarets.csv", *words, "--show-values", status=2)
    assert "'condition': 365 of 1,621 values have no design" in done.err and "'0' (365 times)" in done.err
    words = [word for value, path in asked.items() for word in ("--design", f"rrt[condition={value}]={path}")]
    found = run("regress", "asked.csv", "--formula", "rrt ~ 1", *words, "--model", "lie-detector", "--json").json()
    (odds,) = found["coefficients"]
    share = 1 / (1 + np.exp(-odds["estimate"]))
    assert [round(share, 4), round(found["parameters"][0]["estimate"], 4)] == [0.8707, 0.6358]
    assert round(share * (1 - share) * odds["standard_error"], 3) == 0.041


def asked_openly(shared: Path, name: str, *options: str) -> dict[str, dict[str, Any]]:
    file = shared / "data" / f"survey_{name}.csv"
    found = run("estimate", file, *options, "--json").json()
    return {str(row["category"]): row for row in found["estimates"]}


@pytest.mark.parametrize(
    ("name", "plan", "share", "error"),
    [
        ("apistrat", ["--strata", "stype", "--population", "fpc"], 0.63894, 0.03441),
        ("apiclus1", ["--clusters", "dnum", "--population", "fpc"], 0.71038, 0.03302),
        ("apiclus2", ["--clusters", "dnum,snum", "--population", "fpc1,fpc2"], 0.63985, 0.06340),
    ],
)
def test_schools_with_awards(shared: Path, name: str, plan: list[str], share: float, error: float) -> None:
    yes = asked_openly(shared, name, "--direct", "awards", "--weights", "pw", *plan)["Yes"]
    assert [round(yes["estimate"], 5), round(yes["standard_error"], 5)] == [share, error]


NESTED = ["--weights", "WTMEC2YR", "--strata", "SDMVSTRA", "--clusters", "SDMVPSU"]


def test_randomized_and_measured_answers_of_a_complex_sample(
    shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same school survey with awards reported by Warner's device: the open figure lies within the interval."""
    rows = asked_openly(shared, "nhanes", "--direct", "race", *NESTED)
    assert [round(rows[code]["estimate"], 5) for code in "1234"] == [0.15055, 0.65743, 0.11938, 0.07264]
    # 745 people were not measured; every cluster still has some who were, so that leaving them out changes none.
    rows = asked_openly(shared, "nhanes", "--direct", "HI_CHOL", "--missing", "drop", *NESTED)
    assert [round(rows["1"]["estimate"], 5), round(rows["1"]["standard_error"], 5)] == [0.11214, 0.00545]
    monkeypatch.chdir(tmp_path)
    design_file("w.json", "warner", "--p", "0.9", "--categories", "Yes,No", "--reports", "Yes,No")
    file = shared / "data" / "survey_apistrat.csv"
    run("randomize", file, "--design", "awards=w.json", "-o", "reports.csv", "--seed", "7")
    plan = ["--weights", "pw", "--strata", "stype", "--population", "fpc"]
    yes = run("estimate", "reports.csv", "--design", "awards=w.json", *plan, "--json").json()["estimates"][0]
    low, high = yes["interval"]
    assert low < 0.63894 < high and yes["standard_error"] > 0.03441
