"""``maskwell release``: from a file to its folder, and every way to ask for something that cannot be."""

import json
from pathlib import Path

import numpy as np
import pytest
from tests.support.command_line import refused, run

from maskwell.verbs import release as publish

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

PLAN = """
[release]
keys = ["sex", "region", "age"]
match = 0.5

[[protect]]
variables = ["sex", "region", "age"]
method = "inverse-frequency"
"""


def people(rows: int = 400, seed: int = 2) -> dict[str, list[object]]:
    draw = np.random.default_rng(seed)
    return {
        "pid": list(range(1000, 1000 + rows)),
        "sex": draw.choice(["f", "m"], rows).tolist(),
        "region": draw.choice(["north", "south", "west"], rows, p=[0.7, 0.25, 0.05]).tolist(),
        "age": draw.choice(["0-19", "20-64", "65+"], rows, p=[0.2, 0.7, 0.1]).tolist(),
        "income": draw.integers(10, 99, rows).tolist(),
    }


@pytest.fixture(autouse=True)
def board(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the page for the board, which takes a second to draw, in tests that do not ask for it."""
    if "board" not in request.function.__code__.co_varnames:
        monkeypatch.setattr(publish, "release_page", lambda *_, **__: "<!DOCTYPE html>")


@pytest.fixture
def csv() -> Path:
    rows = people()
    lines = [",".join(rows), *(",".join(map(str, row)) for row in zip(*rows.values(), strict=True))]
    path = Path("people.csv")
    path.write_text("\n".join(lines) + "\n")
    Path("plan.toml").write_text(PLAN.replace("match", 'drop = ["pid"]\nmatch'))
    return path


def test_a_release_has_its_two_folders_and_a_dry_run_nothing_but_the_map(csv: Path, board: None) -> None:
    done = run("release", csv, "--plan", "plan.toml", "-o", "out", "--record-risks", "--json").json()
    assert done["rows"] == 400 and set(done["variables"]) == {"sex", "region", "age"}
    assert {"method", "invariant", "expected_changed", "max_posterior", "changed"} <= set(done["variables"]["sex"])
    assert done["risk"]["after"]["max_risk"] <= 0.5
    assert done["risk"]["before"]["k_anonymity"]["smallest"] == done["risk"]["k_anonymity"]["smallest"]
    assert "internal/records.csv" in done["files"] and all((Path("out") / name).is_file() for name in done["files"])
    header, *rows = Path("out/public/data.csv").read_text().splitlines()
    assert header == "sex,region,age,income" and len(rows) == 400
    names, *records = (line.split(",") for line in Path("out/internal/records.csv").read_text().splitlines())
    last = dict(zip(names, records[-1], strict=True))  # the risk of every record stays inside
    assert len(records) == 400 and last["record"] == "400" and float(last["after"]) <= 0.5
    pytest.importorskip("matplotlib")
    done = run("release", csv, "--plan", "plan.toml", "--dry-run", "--plot", "map.svg", "--json").json()
    assert [point["chosen"] for point in done["map"]].count(True) == 1
    assert done["files"] == []
    assert {path.name for path in Path().iterdir()} == {"people.csv", "plan.toml", "out", "map.svg"}
    risks = [point["risk"] for point in done["map"]]
    assert risks == sorted(risks, reverse=True)


def test_a_plan_that_is_not_kept_ends_with_status_1_when_tried_out_and_is_refused_when_carried_out(csv: Path) -> None:
    weak = PLAN.replace("match", 'drop = ["pid"]\nmatch')
    Path("weak.toml").write_text(weak.replace('method = "inverse-frequency"', 'method = "method1"\ntheta = 0.01'))
    lines = run("release", csv, "--plan", "weak.toml", "--dry-run", status=1).out.splitlines()
    assert lines[0].startswith("The plan would be refused: ") and "(limit 50 %)." in " ".join(lines[:2])
    assert lines[2].startswith("Highest risk: sex = ") and "above 100 %" not in " ".join(lines)
    assert lines[-1] == "Next: change the plan, then: maskwell release people.csv --plan weak.toml --dry-run"
    refused("release", csv, "--plan", "weak.toml", "-o", "out", saying="correct match above 0.5")
    assert not Path("out").exists()


def test_the_plan_that_init_writes_works_as_it_is(csv: Path) -> None:
    told = run("release", csv, "--init", "-o", "first.toml").out
    assert "Next: maskwell release people.csv --plan first.toml --dry-run" in told
    run("release", csv, "--plan", "first.toml", "--dry-run")
    run("release", csv, "--plan", "first.toml", "-o", "out")
    assert "[[protect]]" in run("release", "--init", csv).out
    refused("release", csv, "--init", "-o", "first.toml", saying="exists")
    run("release", csv, "--init", "-o", "first.toml", "--force")
    assert "\nk = 2  # match = 1/2: no record" in run("release", csv, "--init", "--k", "2").out
    refused("release", csv, "--init", "--k", "5", "--match", "0.2", saying="--match cannot be combined with --k")
    refused("release", csv, "--plan", "first.toml", "--k", "5", saying="--k is for --init")


def test_labels_of_a_spss_file_are_kept() -> None:
    pyreadstat, pandas = pytest.importorskip("pyreadstat"), pytest.importorskip("pandas")
    rows = people()
    frame = pandas.DataFrame(
        {"sex": [1 if s == "f" else 2 for s in rows["sex"]], "age": rows["age"], "x": rows["income"]}
    )
    frame.loc[5, "sex"] = 9
    pyreadstat.write_sav(
        frame,
        "people.sav",
        column_labels={"sex": "Sex of the person"},
        variable_value_labels={"sex": {1: "female", 2: "male", 9: "refused"}},
        missing_ranges={"sex": [9]},
    )
    Path("plan.toml").write_text('[release]\norder = "kept"\n[[protect]]\nvariables = "sex"\nmethod = "sequential"\n')
    run("release", "people.sav", "--plan", "plan.toml", "-o", "out")
    released, meta = pyreadstat.read_sav("out/public/data.sav", user_missing=True)
    assert meta.variable_value_labels["sex"] == {1: "female", 2: "male", 9: "refused"}
    assert meta.column_names_to_labels["sex"] == "Sex of the person"
    assert released["sex"][5] == 9
    assert (released["x"] == frame["x"]).all()
    book = json.loads(Path("out/public/codebook.json").read_text())
    assert "female" in json.dumps(book)


def test_neither_free_text_nor_an_index_is_published() -> None:
    pyreadstat, pandas = pytest.importorskip("pyreadstat"), pytest.importorskip("pandas")
    frame = pandas.DataFrame({"sex": people()["sex"], "income": people()["income"]})
    pyreadstat.write_sav(frame, "people.sav", file_label="true file of 2025", note=["31 women in truth"])
    table = pa.Table.from_pandas(frame)
    noted = table.schema.field("income").with_metadata({b"note": b"31 women in truth"})
    pq.write_table(table.cast(table.schema.set(1, noted)), "people.parquet")
    Path("plan.toml").write_text('[[protect]]\nvariables = "sex"\nmethod = "sequential"\n')
    for ending in ("sav", "parquet"):
        out = run("release", f"people.{ending}", "--plan", "plan.toml", "-o", f"out-{ending}")
        content = Path(f"out-{ending}/public/data.{ending}").read_bytes()
        assert b"in truth" not in content and b"true file" not in content
        assert ("notes of the file are left out" in " ".join(out.out.split())) == (ending == "sav")
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(people())
    frame.set_index(frame.pop("pid").map("person {}".format)).to_parquet("people.parquet")
    Path("plan.toml").write_text('[release]\nid = "pid"\n[[protect]]\nvariables = "sex"\nmethod = "sequential"\n')
    run("release", "people.parquet", "--plan", "plan.toml", "-o", "out")
    assert b"pid" not in Path("out/public/data.parquet").read_bytes()


def test_draws_are_kept_by_key_and_a_seed_is_for_demonstrations(csv: Path) -> None:
    run("release", "--new-key", "secret.key")
    keyed = PLAN.replace("match", 'id = "pid"\ndataset = "people"\norder = "kept"\naccept = ["record-order"]\nmatch')
    Path("keyed.toml").write_text(keyed)
    run("release", csv, "--plan", "keyed.toml", "--key", "secret.key", "-o", "one")
    lines = csv.read_text().splitlines()
    Path("turned.csv").write_text("\n".join([lines[0], *reversed(lines[1:])]) + "\n")
    turned = ("release", "turned.csv", "--plan", "keyed.toml", "--key", "secret.key", "-o", "two")
    refused(*turned, saying="the true file of release 1 is not named")
    run(*turned, "--earlier-files", csv)
    one, two = (Path(f"{name}/public/data.csv").read_text().splitlines()[1:] for name in ("one", "two"))
    assert one == two[::-1]
    assert "pid" not in Path("one/public/data.csv").read_text().splitlines()[0]
    secret = Path("secret.key").read_text().strip()
    assert not any(secret in path.read_text() for path in Path("one").rglob("*.json"))
    refused("release", csv, "--plan", "plan.toml", "--seed", 1, "-o", "out", saying="seed")
    Path("demo.toml").write_text(PLAN.replace("match", 'drop = ["pid"]\ndemonstration = true\nmatch'))
    one = run("release", csv, "--plan", "demo.toml", "--seed", 1, "-o", "first")
    run("release", csv, "--plan", "demo.toml", "--seed", 1, "-o", "again")
    assert "demonstration" in one.err
    assert Path("first/public/data.csv").read_bytes() == Path("again/public/data.csv").read_bytes()
    assert json.loads(Path("first/public/receipt.json").read_text())["demonstration"] is True


def test_a_regression_is_compared_on_both_files(csv: Path) -> None:
    Path("plan.toml").write_text(PLAN.replace("match", 'drop = ["pid"]\nformulas = ["income ~ sex + age"]\nmatch'))
    done = run("release", csv, "--plan", "plan.toml", "-o", "out", "--json").json()
    (compared,) = done["utility"]["regressions"]
    assert compared["formula"] == "income ~ sex + age"
    assert {"original", "released", "overlap"} <= set(compared["terms"][0])


@pytest.mark.parametrize(
    ("formula", "saying"),
    [
        ("income ~ sexx", "has no column 'sexx'"),
        ("income ~ pid", "'pid', which the plan does not publish"),
        ("income ~ open(1)", "unknown function 'open'"),
    ],
)
def test_formulas_of_a_plan_are_read_before_any_work(csv: Path, formula: str, saying: str) -> None:
    Path("plan.toml").write_text(PLAN.replace("match", f'drop = ["pid"]\nformulas = ["{formula}"]\nmatch'))
    refused("release", csv, "--plan", "plan.toml", "-o", "out", saying=saying)
    assert not Path("out").exists()


def test_what_is_missing_is_asked_for(csv: Path) -> None:
    refused("release", saying="no FILE")
    refused("release", csv, "-o", "out", saying="no plan")
    refused("release", csv, "--plan", "plan.toml", saying="no folder")
    refused("release", csv, "--plan", "absent.toml", "-o", "out", saying="absent.toml")
    refused("release", "-", "--plan", "plan.toml", "-o", "out", stdin=b"sex\nf\n", saying="reads the file twice")
    refused("release", "absent.csv", "--plan", "plan.toml", "-o", "out", saying="absent.csv")


@pytest.mark.parametrize(
    ("old", "new", "saying"),
    [
        ('"age"]', '"agee"]', "has no column 'agee'"),
        (
            "[[protect]]",
            '[[rule]]\nforbid = { sex = ["f"], age = ["65+"] }\n[[protect]]',
            "number 1: a combination of sex and age that it forbids occurs",
        ),
        ("[[protect]]", '[[rule]]\nforbid = { sex = ["x"], age = ["65+"] }\n[[protect]]', "'x' is not a category"),
        ("[release]", "[release", "not TOML"),
        ("[[protect]]", '[codebook]\nsex = ["f"]\n[[protect]]', "1 value is not in its codebook"),
    ],
)
def test_plans_that_cannot_be_are_refused(csv: Path, old: str, new: str, saying: str) -> None:
    Path("bad.toml").write_text(PLAN.replace(old, new))
    refused("release", csv, "--plan", "bad.toml", "-o", "out", saying=saying)
    assert not Path("out").exists()


def test_many_values_and_ids_that_are_shared_say_what_to_do(csv: Path) -> None:
    rows = 100_500
    pq.write_table(pa.table({"x": pa.array(range(rows)), "y": pa.array(["a", "b", "c"] * (rows // 3))}), "many.parquet")
    Path("plan.toml").write_text('[[protect]]\nvariables = "x"\nmethod = "sequential"\n')
    hint = refused("release", "many.parquet", "--plan", "plan.toml", "-o", "out", saying="'x' has more than 100,000")
    assert "classes" in hint
    run("release", "--new-key", "secret.key")
    refused("release", csv, "--plan", "plan.toml", "--key", "secret.key", "-o", "out", saying="name for the data set")
    Path("keyed.toml").write_text(PLAN.replace("match", 'id = "income"\ndrop = ["pid"]\ndataset = "people"\nmatch'))
    refused("release", csv, "--plan", "keyed.toml", "--key", "secret.key", "-o", "out", saying="different ids")
    refused("release", "--new-key", "secret.key", saying="exists")


def test_an_interrupted_release_leaves_nothing(csv: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from maskwell.microdata.folder import release_folder

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(release_folder, "write_internal", interrupted)
    with pytest.raises((KeyboardInterrupt, AssertionError)):
        run("release", csv, "--plan", "plan.toml", "-o", "out")
    assert {path.name for path in Path().iterdir()} == {"people.csv", "plan.toml"}


def test_without_the_libraries_of_the_report_nothing_is_begun(csv: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(publish, "LIBRARIES", ("no_such_library",))
    refused("release", csv, "--plan", "plan.toml", "-o", "out", saying="no_such_library", kind="missing_extra")
    assert not Path("out").exists()


def test_missing_codes_are_categories_and_columns_that_tell_others_are_named(csv: Path) -> None:
    pyreadstat, pandas = pytest.importorskip("pyreadstat"), pytest.importorskip("pandas")
    frame = pandas.DataFrame({"x": [1.0, 2.0, 8.0, 9.0] * 25})
    pyreadstat.write_sav(frame, "x.sav", missing_ranges={"x": [8, 9]})
    plan = '[release]\nmissing = "category"\n[[protect]]\nvariables = "x"\nmethod = "swap"\nbase = "sequential"\n'
    Path("codes.toml").write_text(plan)
    run("release", "x.sav", "--plan", "codes.toml", "-o", "codes")
    released, _ = pyreadstat.read_sav("codes/public/data.sav", user_missing=True)
    assert released["x"].value_counts().to_dict() == {1.0: 25, 2.0: 25, 8.0: 25, 9.0: 25}
    lines = csv.read_text().splitlines()
    csv.write_text("\n".join([f"{lines[0]},name", *(f"{line},name {i}" for i, line in enumerate(lines[1:]))]) + "\n")
    command = ("release", csv, "--plan", "plan.toml")
    refused(*command, "--dry-run", saying="name identifies records: 100 % have a unique value")
    hint = refused(*command, "-o", "out", saying="name identifies records: 100 % have a unique value")
    assert 'hint: add drop = ["name"] to [release], or accept = ["name"] if it may be published' in hint
