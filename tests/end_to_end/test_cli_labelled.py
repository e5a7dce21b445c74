"""randomize, estimate and regress on SPSS, Stata and SAS files, from the shell."""

import math
from pathlib import Path

import pytest
from tests.support.command_line import design_file, refused, run

pytest.importorskip("pyarrow")
pd = pytest.importorskip("pandas")
prs = pytest.importorskip("pyreadstat")


@pytest.fixture
def people(tmp_path: Path) -> str:
    """Ten people: five yes, four no, one who refused; and designs over labels and over codes."""
    frame = pd.DataFrame({"sex": [1.0, 2.0] * 5, "drugs": [1.0] * 5 + [2.0] * 4 + [9.0], "w": [1.5] * 10})
    prs.write_sav(
        frame,
        "people.sav",
        column_labels={"drugs": "Ever used drugs?"},
        variable_value_labels={"drugs": {1.0: "yes", 2.0: "no", 9.0: "refused"}, "sex": {1.0: "male", 2.0: "female"}},
        missing_ranges={"drugs": [9.0]},
    )
    design_file("labels.json", "k-ary", "--categories", "yes,no", "--gamma", "3")
    design_file("codes.json", "k-ary", "--categories", "1,2", "--gamma", "3")
    return "people.sav"


def test_refusals(people: str) -> None:
    refused("randomize", people, "--design", "drugs=labels.json", "-o", "out.sav", saying="missing")
    refused(
        "randomize", people, "--design", "drugs=labels.json", "--missing", "drop", "-o", "o.sas7bdat", saying=".xpt"
    )
    Path("bad.sav").write_bytes(b"nothing of the kind" * 9)
    refused("estimate", "bad.sav", "--design", "drugs=labels.json", saying="cannot read bad.sav")


@pytest.fixture
def survey(tmp_path: Path) -> Path:
    """Reports of 600 people with labels, in three kinds of files; women say yes more often."""
    design_file("w.json", "warner", "--p", "0.9")
    sex, area, age = ([1.0, 2.0] * 300, [3.0, 1.0, 2.0] * 200, [20.0 + i % 41 for i in range(600)])
    age[7] = 99.0
    y = [1.0 if i % (3 + 2 * int(s == 1)) == 0 else 2.0 for i, s in enumerate(sex)]
    frame = pd.DataFrame({"y": y, "age": age, "sex": sex, "area": area, "grade": [1.0 + i // 200 for i in range(600)]})
    labels = {
        "y": {1: "yes", 2: "no"},
        "age": {99: "99 or older"},
        "sex": {1: "woman", 2: "man"},
        "area": {1: "north", 2: "east", 3: "coast"},
        "grade": {1: "1", 2: "2", 3: "3"},
    }
    prs.write_sav(frame, "s.sav", variable_value_labels=labels)
    prs.write_dta(frame.astype(int), "s.dta", variable_value_labels=labels)
    spoken = {name: frame[name].map(labels[name]) for name in ("y", "sex", "area")}
    frame.assign(**spoken).to_csv("s.csv", index=False)
    return tmp_path


def terms_of(file: str, formula: str, *more: str) -> dict[str, float]:
    found = run("regress", file, "--formula", formula, "--design", "y=w.json", "--json", *more).json()
    values = {row["term"]: row["estimate"] for row in found["coefficients"]}
    return {term: math.nan if value is None else float(value) for term, value in values.items()}


def in_order(terms: dict[str, float]) -> list[float]:
    """By their size; those that are not defined come last."""
    return sorted(terms.values(), key=lambda value: (math.isnan(value), value))


@pytest.mark.parametrize("file", ["s.sav", "s.dta"])
def test_regression_goes_by_value_labels(survey: Path, file: str) -> None:
    found = terms_of(file, "y ~ age + sex + C(area) + grade")
    assert [*found] == ["Intercept", "age", "sex[T.man]", "C(area)[T.east]", "C(area)[T.coast]", "grade"]
    texts = terms_of("s.csv", 'y ~ age + C(sex, contr.treatment("woman")) + C(area, contr.treatment("north")) + grade')
    assert in_order(found) == pytest.approx(in_order(texts), abs=1e-6, nan_ok=True)


def test_labels_of_groups_strata_predictors_and_the_values_behind_them(survey: Path) -> None:
    assert [*terms_of("s.sav", "y ~ I(area) + sex")] == ["Intercept", "I(area)", "sex[T.man]"]
    assert [*terms_of("s.csv", "y ~ C(grade)")] == ["Intercept", "C(grade)[T.2]", "C(grade)[T.3]"]
    args = ("regress", "s.sav", "--formula", "y ~ sex", "--strata", "area", "--json")
    groups = ("--design", "y[sex=woman]=w.json", "--design", "y[sex=man]=w.json")
    found = run(*args, *groups).json()
    assert [row["term"] for row in found["coefficients"]] == ["Intercept", "sex[T.man]"]
    assert "3 strata" in found["variance"]
    predictor = run("regress", "s.sav", "--formula", "sex ~ y", "--design", "y=w.json", "--json").json()
    assert predictor["categories"] == ["man", "woman"] and predictor["coefficients"][1]["term"] == "y[T.yes]"
