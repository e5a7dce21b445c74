"""``maskwell estimate --receipt``: a user with the public folder, and the data holder with the internal receipt."""

from itertools import product
from pathlib import Path

import pytest
from tests.support.command_line import refused, run
from tests.support.releases import COLUMNS, ROWS, Written, fixed_stage, stage_within, written

from maskwell import Categories
from maskwell.designs import Uniform

UNIFORM = Uniform.from_gamma(3, Categories.of(["f", "m"]))


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Written:
    """roof withheld within region, sex with a published design; the working folder is the public one."""
    stages = [stage_within(ROWS, COLUMNS, ["roof"], ["region"]), fixed_stage(ROWS, COLUMNS, "sex", UNIFORM)]
    found = written(tmp_path / "r", stages)
    monkeypatch.chdir(found.public)
    return found


def estimate(*args: object, receipt: str = "receipt.json") -> tuple[object, ...]:
    return ("estimate", "data.csv", "--receipt", receipt, *args)


def test_a_published_design_is_estimated_and_the_data_holder_may_ask_for_any_table(made: Written) -> None:
    found = run(*estimate("--columns", "sex", "--method", "ml", "--json")).json()
    assert found["method"] == "ml"
    by = run(*estimate("--columns", "sex", "--by", "region", "--json")).json()
    assert [one["domain"] for one in by["domains"]] == ["north", "south"]
    in_file = run(*estimate("--columns", "sex", "--target", "file", "--json")).json()
    sampled = run(*estimate("--columns", "sex", "--json")).json()
    assert in_file["estimates"][0]["standard_error"] < sampled["estimates"][0]["standard_error"]
    both = run(*estimate("--columns", "sex,region", "--json")).json()
    assert sum(row["estimate"] for row in both["estimates"]) == pytest.approx(1)
    internal = str(made.folder / "internal" / "receipt.json")
    found = run(*estimate("--columns", "sex,roof", "--json", receipt=internal)).json()
    assert found["route"] == "solved"
    kept = run(*estimate("--columns", "region,roof", "--target", "file", "--json", receipt=internal)).json()
    public = run(*estimate("--columns", "region,roof", "--target", "file", "--json")).json()
    errors = [[row["standard_error"] for row in one["estimates"]] for one in (kept, public)]
    assert all(a < b for a, b in zip(*errors, strict=True))


def test_a_table_that_is_not_kept_texts_for_people_and_a_receipt_that_is_none(made: Written) -> None:
    """Its matrix of sex is known and undone, that of roof is withheld: the interval holds a bound of the bias."""
    found = run(*estimate("--columns", "roof,sex", "--json")).json()
    assert found["route"] == "bounded" and found["bias_bound"][0] == pytest.approx(0.15)
    text = " ".join(run(*estimate("--columns", "roof,sex")).out.split())
    assert "Estimated with the matrix of sex, which is known" in text and "; its bias is at most 0.15" in text
    planned = run(*estimate("--columns", "roof", "--strata", "region")).out
    assert "sampling plan: 120 rows, 2 strata" in planned and "at most" in planned
    lines = run(*estimate()).out.splitlines()
    assert lines[0].startswith("roof = ") and "95 % Wilson interval" in lines[0]
    assert lines[-1].startswith("Next: maskwell estimate data.csv --receipt receipt.json --columns region,roof")
    assert max(map(len, lines)) <= 100
    run(*lines[-1].split()[2:])
    refused(*estimate(receipt="codebook.json"), saying="not the receipt of a release", kind="bad_data_file")
    refused(*estimate(receipt="nowhere.json"), saying="nowhere.json")
    refused("estimate", "data.csv", "--columns", "roof", saying="--columns needs --receipt")


@pytest.mark.parametrize("style", ["md", "latex", "csv"])
def test_tables_for_a_paper(made: Written, style: str) -> None:
    assert "tile" in run(*estimate("--columns", "roof", "--format", style)).out


@pytest.mark.parametrize(
    ("args", "saying"),
    [
        (["--columns", "roof,roof"], "a column name is empty or occurs twice"),
        (["--columns", "rof"], "no column 'rof'"),
        (["--columns", "roof", "--weights", "region"], "column 'region': the value in data row 1 is not a number"),
        (["--columns", "roof", "--strata", "sex"], "the values of 'sex' were randomized"),
        (
            ["--columns", "roof", "--population", "900"],
            "--population cannot be combined with a matrix that is withheld",
        ),
        (["--columns", "roof", "--method", "ml"], "--method ml"),
        (["--columns", "roof", "--interval", "score"], "interval"),
        (["--plot", "x.svg"], "--plot draws one table only"),
        (["--direct", "region"], "--receipt cannot be combined with --direct"),
        (["--design", "sex=x.json"], "--receipt cannot be combined with --design"),
    ],
)
def test_what_is_refused(made: Written, args: list[str], saying: str) -> None:
    refused(*estimate(*args), saying=saying)


def test_released_values_are_no_domains_and_no_strata_of_true_ones(made: Written) -> None:
    """sex has a published design, roof was moved with a matrix that is withheld: by released roof, sex is biased."""
    text = run(*estimate("--columns", "sex", "--by", "roof")).out
    assert "note: by roof: this table is not preserved by the release" in text and "bias up to" in text
    refused(*estimate("--columns", "sex", "--strata", "roof"), saying="'roof' were randomized")
    refused(*estimate("--columns", "roof", "--by", "roof"), saying="in --columns and in --by")
    run(*estimate("--columns", "sex", "--strata", "region"))


def test_domains_of_a_column_with_a_published_design(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    roofs = Uniform.from_gamma(9, Categories.of(["straw", "tile", "tin"]))
    stages = [fixed_stage(ROWS, COLUMNS, "sex", UNIFORM), fixed_stage(ROWS, COLUMNS, "roof", roofs)]
    monkeypatch.chdir(written(tmp_path / "r", stages).public)
    by = run(*estimate("--columns", "sex", "--by", "roof", "--json")).json()
    joint = run(*estimate("--columns", "sex,roof", "--json")).json()
    cells = {tuple(row["category"]): row["estimate"] for row in joint["estimates"]}
    for one in by["domains"]:
        total = cells["f", one["domain"]] + cells["m", one["domain"]]
        assert one["estimates"][0]["estimate"] == pytest.approx(cells["f", one["domain"]] / total)


SURVEY = """
[release]
weights = "w"
accept = ["w"]
missing = "category"

[[protect]]
variables = ["region"]
method = "method1"
theta = 0.4
invariance = "counts"
[[protect]]
variables = ["edu"]
method = "method1"
theta = 0.4
invariance = "weights"
[[protect]]
variables = ["sex"]
method = "uniform"
gamma = 4
[[protect]]
variables = ["job"]
method = "swap"
base = "method1"
theta = 0.3
"""


@pytest.fixture(scope="module")
def survey(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A survey with weights and missing values; its release keeps counts, weights, neither, and counts exactly."""
    folder = tmp_path_factory.mktemp("survey")
    lines = [
        f"{region},{edu},{job},{sex},{4 if region == 'south' else 1},{'x' if edu else 'y'}"
        for region, edu, job, sex in product(["north", "south"], ["low", "high", ""], ["office", "farm"], "ffm")
    ]
    (folder / "true.csv").write_text("\n".join(["region,edu,job,sex,w,area", *lines * 10]) + "\n")
    (folder / "plan.toml").write_text(SURVEY)
    run("release", folder / "true.csv", "--plan", folder / "plan.toml", "-o", folder / "r")
    return folder / "r" / "public"


def test_whose_shares_they_are(survey: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(survey)
    records = "Shares of the records, not of the population: this release preserves counts, not weighted counts, of"
    for name, saying in {
        "region": records,
        "job": records,
        "edu": "Every record counts with its weight (w), as the receipt says.",
        "area": "Every record counts with its weight (w), as the receipt says.",
    }.items():
        text = run(*estimate("--columns", name)).out.splitlines()
        assert text[1].startswith(saying), name
        flags = run(*estimate("--columns", name, "--json")).json()["flags"]
        assert flags[0].startswith(f"{saying[0].lower()}{saying[1:].rstrip('.')}"), name
    assert records in run(*estimate("--columns", "region", "--format", "md")).out
    area = run(*estimate("--columns", "area", "--json")).json()
    assert area["estimates"][0]["estimate"] == pytest.approx(2 / 3)


def test_fixed_designs_take_the_weights_of_the_receipt(survey: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(survey)
    unasked, asked = (run(*estimate("--columns", "sex", *more, "--json")).json() for more in ([], ["--weights", "w"]))
    assert unasked["estimates"] == asked["estimates"]
    assert unasked["flags"][0] == "every record counts with its weight (w), as the receipt says"
    assert asked["flags"] == unasked["flags"][1:]
    refused(*estimate("--columns", "sex", "--method", "ml"), saying="every record counts with its weight (w)")


def test_missing_values_that_were_randomized_count_unasked(survey: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(survey)
    one = run(*estimate("--columns", "edu", "--json")).json()
    assert "missing" in [row["category"] for row in one["estimates"]] and one["dropped"] == 0
    every = run(*estimate("--json")).json()
    assert every["variables"] == ["region", "edu", "sex", "job"] and not every["refused"]


def test_the_readme_says_what_is_kept(survey: Path) -> None:
    text = " ".join((survey / "README.md").read_text().split())
    assert "tables weighted with w are biased" in text
    assert "if every record counts with its weight (w); numbers of records are not preserved" in text
    assert "Values of job were swapped between records; counts of job are preserved exactly" in text
    assert "Tables of columns that were not randomized are weighted as in any survey (w)." in text


def test_domains_that_are_not_weighted_say_so(survey: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(survey)
    assert "bias up to" in run(*estimate("--columns", "area", "--by", "region")).out
    plan = SURVEY.replace('invariance = "counts"', 'within = ["area"]\ninvariance = "counts"')
    (survey.parent.parent / "within.toml").write_text(plan)
    monkeypatch.chdir(survey.parent.parent)
    run("release", "true.csv", "--plan", "within.toml", "-o", "within")
    monkeypatch.chdir("within/public")
    found = run(*estimate("--columns", "area", "--by", "region", "--json")).json()
    assert [flag.partition(",")[0] for flag in found["flags"][:2]] == [
        "every record counts with its weight (w)",
        "by region: shares of the records",
    ]
