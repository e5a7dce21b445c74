"""What users of R and Stata get: matrices in plain decimals, and lines that give the numbers of the command."""

import csv
import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from tests.support.quiet import refused
from tests.support.releases import COLUMNS, ROWS, UNIFORM, Written, roof, sex, stage_within, written

import maskwell as mw
from maskwell import Categories
from maskwell.designs import Uniform
from maskwell.errors import PublishError
from maskwell.microdata import load_receipt
from maskwell.microdata.analysis.release_estimates import estimate_released
from maskwell.microdata.folder.readme import matrix_tables, recipes
from maskwell.microdata.folder.release_folder import check_public


@pytest.fixture
def made(tmp_path: Path) -> Written:
    """roof withheld within region, sex with a published matrix."""
    return written(tmp_path / "r", [roof(theta="0.2"), sex()])


def lines_of(readme: str, program: str) -> list[str]:
    after = readme.partition(f"The same in {program}, for one column")[2].split("\n\n")[1]
    return [line.removeprefix("    ") for line in after.splitlines()]


def test_the_lines_give_the_numbers_of_the_command_for_one_column_and_two(made: Written, tmp_path: Path) -> None:
    """The lines of R written in Python; ``test_r`` runs them themselves."""
    receipt, text = load_receipt(made.public / "receipt.json"), (made.public / "README.md").read_text()
    lines = lines_of(text, "R")
    assert len(lines) <= 10 and lines[0].startswith('d <- read.csv("data.csv"')
    kept = estimate_released(made.data, receipt, ["roof"]).estimate
    N = np.array([n for _, n in sorted(Counter(row[1] for row in made.rows).items())], dtype=float)
    n, f = N.sum(), float(lines[2].split("<-")[1].split("#")[0])
    p = N / n
    assert f == receipt.groups[0].inflation["roof"] and p == pytest.approx(kept.pi_hat)
    assert np.sqrt(p * (1 - p) * (n / (n - 1) ** 2 + (f - 1) / (n - 1))) == pytest.approx(kept.standard_error)
    solved = estimate_released(made.data, receipt, ["sex"]).estimate
    with (made.public / "matrix_sex.csv").open(newline="") as file:
        header, *rows = csv.reader(file)
    assert header == ["reported", "f", "m"] and [row[0] for row in rows] == ["f", "m"]
    P = np.array([[float(x) for x in row[1:]] for row in rows])
    assert np.array_equal(P, UNIFORM.matrix())
    lam = np.array([n for _, n in sorted(Counter(row[2] for row in made.rows).items())]) / n
    G = np.linalg.inv(P)
    s = G @ lam
    assert s == pytest.approx(solved.pi_hat)
    V = (G @ np.diag(lam) @ G.T - np.outer(s, s)) / (n - 1)
    assert np.sqrt(np.diag(V)) == pytest.approx(solved.standard_error)
    stata = lines_of(text, "Stata")
    assert "tabulate roof, matcell(N)" in stata and f"({f:g} - 1)" in stata[4]
    made = written(tmp_path / "two", [stage_within(ROWS, COLUMNS, ["roof", "sex"], [], "0.2")])
    lines = lines_of((made.public / "README.md").read_text(), "R")
    assert lines[4] == '# with sex: N <- table(interaction(d[c("roof", "sex")], drop = TRUE)), and f <- 2'
    both = estimate_released(made.data, load_receipt(made.public / "receipt.json"), ["roof", "sex"]).estimate
    p, n = both.pi_hat, len(made.rows)
    assert np.sqrt(p * (1 - p) * (n / (n - 1) ** 2 + 1 / (n - 1))) == pytest.approx(both.standard_error)


@pytest.mark.skipif(shutil.which("Rscript") is None, reason="R is not installed")
def test_r(made: Written) -> None:
    lines = lines_of((made.public / "README.md").read_text(), "R")
    command = ["Rscript", "-e", "\n".join(["options(digits = 12)", *lines])]
    answer = subprocess.run(command, cwd=made.public, check=True, capture_output=True, text=True)
    receipt, printed = load_receipt(made.public / "receipt.json"), answer.stdout.split()
    for column in ("roof", "sex"):
        found = estimate_released(made.data, receipt, [column]).estimate
        for number in (*found.pi_hat, *found.standard_error):
            assert any(abs(float(word) - number) < 1e-8 for word in printed if word[0] in "0.-" and word[-1].isdigit())


def test_tables_of_matrices_tell_what_the_receipt_tells(made: Written) -> None:
    """No table for a matrix that is withheld, and no other content than that of the receipt."""
    tables = sorted(path.name for path in made.public.glob("matrix_*"))
    assert tables == ["matrix_sex.csv"]
    check_public(made.public, made.release)
    path = made.public / "matrix_sex.csv"
    path.write_text(path.read_text().replace("0.75", "0.7500001"))
    refused(PublishError, "differs from the matrix in the receipt", check_public, made.public, made.release)


def fixed_group(name: str, *labels: str | None) -> dict[str, object]:
    """One column with a published matrix, missing values among its categories where a label is None."""
    design = {**Uniform.from_gamma(3, Categories.numbered(len(labels))).to_dict(), "provenance": {}}
    how = {"method": "pram", "invariance": "none", "matrix": "included", "missing": "category", "design": design}
    states = [[label] for label in labels]
    return {**how, "variables": [name], "within": [], "linked": [], "vif": {}, "states": states, "outputs": states}


def test_names_and_labels_are_those_that_programs_keep_and_read_as_texts() -> None:
    """R makes 1 of "01", TRUE of "T" and nothing of "NA"; Stata reads UTF-8 and doubles where it is told to."""
    made = recipes([fixed_group("job", "01", "NA", "T")], "data.csv", ".csv")
    read = [line for line in made["R"] if "read.csv" in line]
    assert len(read) == 2 and all('"character"' in line and 'na.strings = ""' in line for line in read)
    imports = "\n".join(made["Stata"]).split("import delimited")[1:]
    assert len(imports) == 2 and all('encoding("UTF-8") asdouble' in one.split(" clear\n")[0] for one in imports)
    assert '"`counts\'"' in "".join(made["Stata"])  # folders of temporary files may have blanks in their names
    names = ("int", "if", "str8", "reported", "_job", "job", "string")
    assert [bool(recipes([fixed_group(name, "a", "b")], "d.csv", ".csv")["Stata"]) for name in names] == [
        *[False] * 5,
        *[True] * 2,
    ]
    design = {**UNIFORM.to_dict(), "provenance": {}}
    group = {"within": [], "states": [["f"], ["m"]], "outputs": [["f"], ["m"]], "design": design}
    names = [*matrix_tables([{**group, "variables": [name]} for name in ("../a b", "a b", "é" * 90)])]
    assert names == ["matrix__a_b.csv", "matrix_a_b.csv", "matrix__.csv"]
    assert [*matrix_tables([{**group, "variables": ["a"]}] * 2)] == ["matrix_a.csv", "matrix_a.2.csv"]


def test_missing_values_and_households_are_counted_by_other_programs_too() -> None:
    made = recipes([fixed_group("job", "a", "b", None)], "data.csv", ".csv")
    assert '    y[is.na(y)] <- "missing"' in made["R"]
    assert '    replace job = "missing" if job == ""' in made["Stata"]
    assert not any("missing" in line for line in recipes([fixed_group("job", "a", "b")], "data.csv", ".csv")["R"])
    assert recipes([fixed_group("job", "missing", None)], "data.csv", ".csv") == {"R": [], "Stata": []}
    kept = {**fixed_group("job", "a", "b"), "invariance": "counts", "matrix": "withheld", "vif": {"job": 1.5}}
    hidden = {name: value for name, value in kept.items() if name not in ("design", "states", "outputs")}
    withheld = recipes([hidden], "data.csv", ".csv")
    assert 'table(d[["job"]], useNA = "ifany")' in withheld["R"][1]
    assert "    tabulate job, missing matcell(N)" in withheld["Stata"]
    two = recipes([{**hidden, "variables": ["job", "sex"]}], "data.csv", ".csv")["R"]
    assert two[-1] == '    # with sex: N <- table(paste(d[["job"]], d[["sex"]], sep = " | ")), and f <- 2'
    # Of records drawn one by one it is 2 at most; where a household has one draw, it may be one more than its size.
    kept = {**fixed_group("job", "a", "b"), "invariance": "counts", "matrix": "withheld", "vif": {"job": 4.5}}
    kept["variables"] = ["job", "sex"]
    for each, factor, beside in (({}, "2", True), ({"each": "unit"}, "4.5", False)):
        made = recipes([{**kept, **each}], "data.csv", ".csv")
        assert made["R"][2].startswith(f"    f <- {factor}  #")
        assert f"({factor} - 1)" in made["Stata"][-1]
        assert ("with sex" in made["R"][-1]) == beside


# ---- the page for users of a released file

PAGE = Path(__file__).parents[4] / "docs" / "how-to" / "released-files.md"


@pytest.fixture
def survey(tmp_path: Path) -> mw.Survey:
    """The release of the page, written beside for the other programs."""
    random = np.random.default_rng(1)
    sex = random.choice(["f", "m"], 3000)
    job = np.where(random.random(3000) < np.where(sex == "m", 0.6, 0.35), "yes", "no")
    plan = mw.ReleasePlan.of([{"variables": ["sex"], "method": "method1", "theta": "0.02"}], demonstration=True)
    public = mw.release({"sex": sex.tolist(), "job": job.tolist()}, plan, random=mw.SeededRandom(1))
    with (tmp_path / "data.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("sex", "job"), *zip(public.data["sex"], public.data["job"], strict=True)])
    return mw.Survey.from_release(public.data, public.receipt())


def lines_for(program: str) -> str:
    """The lines of the page under a heading."""
    found = re.search(rf"## In {program}\n.*?```text\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert found is not None
    return found[1]


def printed_by(command: list[str], folder: Path) -> list[float]:
    """All numbers that a program prints."""
    answer = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
    return [float(word) for word in re.findall(r"-?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?", answer.stdout)]


def figures_of(survey: mw.Survey) -> list[float]:
    """What the page promises in other programs: the p-value, and the slope with its error and interval."""
    fit = survey.regress("job ~ sex")
    low, high = fit.confidence_interval()[1]
    return [survey.table("sex", "job").independence().p_value, fit.standard_error[1], (high - low) / 2]


def shown(number: float, printed: list[float], digits: float) -> bool:
    return any(abs(one - number) <= digits * max(abs(number), 1e-300) for one in printed)


@pytest.mark.skipif(shutil.which("Rscript") is None, reason="R is not installed")
def test_the_lines_of_the_page_in_r(survey: mw.Survey, tmp_path: Path) -> None:
    printed = printed_by(["Rscript", "-e", "options(digits = 10)\n" + lines_for("R")], tmp_path)
    p_value, error, _ = figures_of(survey)
    fit = survey.regress("job ~ sex")
    wanted = [p_value, error, *fit.estimates, *fit.confidence_interval().ravel()]
    wanted += list(survey.shares("sex", "job").pi_hat)
    low, high = survey.table("sex", "job").odds_ratio().confidence_interval()
    wanted += [-np.log(low), -np.log(high)]
    assert [number for number in wanted if not shown(number, printed, 1e-6)] == []
    assert not shown(1.01 * error, printed, 1e-6)


@pytest.mark.skipif(shutil.which("pspp") is None, reason="PSPP is not installed")
def test_the_lines_of_the_page_in_spss(survey: mw.Survey, tmp_path: Path) -> None:
    (tmp_path / "lines.sps").write_text(lines_for("SPSS"), encoding="utf-8")
    printed = printed_by(["pspp", "lines.sps"], tmp_path)
    shares = survey.shares("sex", "job").pi_hat
    assert [number for number in (*figures_of(survey), *shares) if not shown(number, printed, 1e-4)] == []


def test_the_figures_of_the_page_are_those_of_the_receipt(survey: mw.Survey) -> None:
    """The lines of all three programs hold the bounds of the table."""
    assert survey.receipt is not None
    errors = survey.receipt.tables[frozenset({"sex", "job"}), "counts"]
    for program, sign in (("R", "<-"), ("Stata", "="), ("SPSS", "=")):
        for name, value in (("b", errors.bias), ("e", errors.error)):
            assert re.search(rf"\b{name} {sign} {value:g}\b", lines_for(program)), (program, name)
