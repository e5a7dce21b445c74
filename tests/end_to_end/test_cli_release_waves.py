"""``maskwell release --key``: what two waves of the same people keep, and what they must not tell."""

import csv
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from tests.support.command_line import refused, run

from maskwell import KeyedRandom, Release
from maskwell.microdata import load_plan
from maskwell.microdata.folder.receipt_contents import draws_told
from maskwell.microdata.publication import release_into

pytest.importorskip("pyarrow")

ROWS = 3000
JOBS = [f"job {i}" for i in range(16)]
HEAD = '[release]\nid = "pid"\ndataset = "panel"\norder = "kept"\n'
UNIFORM = '[[protect]]\nvariables = ["job"]\nmethod = "uniform"\nepsilon = 3\n'
METHOD1 = '[[protect]]\nvariables = ["job"]\nmethod = "method1"\ntheta = 1\n'


def write(name: str, columns: dict[str, Sequence[object]]) -> None:
    with Path(name).open("w", newline="") as file:
        csv.writer(file).writerows([[*columns], *zip(*columns.values(), strict=True)])


def jobs_of(folder: str) -> list[str]:
    with Path(folder, "public", "data.csv").open(newline="") as file:
        return [row["job"] for row in csv.DictReader(file)]


@pytest.fixture
def waves() -> tuple[list[str], list[str]]:
    """True jobs in two waves: half of the people change theirs."""
    draw = np.random.default_rng(4)
    first = draw.integers(0, 16, ROWS)
    later = np.where(np.arange(ROWS) % 2, first, (first + draw.integers(1, 16, ROWS)) % 16)
    columns = {"pid": range(ROWS), "sex": draw.choice(["f", "m"], ROWS)}
    labels = [[JOBS[i] for i in wave] for wave in (first, later)]
    for name, own in zip(("one.csv", "two.csv"), labels, strict=True):
        write(name, {**columns, "job": own})
    run("release", "--new-key", "secret.key")
    return labels[0], labels[1]


def release(file: str, plan: str, folder: str, matrices: str | None = None) -> Release:
    """As the command does, without the page for the board, which takes a second to draw."""
    Path("plan.toml").write_text(plan)
    key = KeyedRandom.from_file("secret.key", "panel")
    return release_into(file, load_plan("plan.toml"), folder, key=key, matrices=matrices)


def test_keyed_draws_stay_with_a_second_randomization_and_fresh_ones_are_new(
    waves: tuple[list[str], list[str]],
) -> None:
    """A report that was kept stays the one that is randomized again, so it is not told by two independent draws."""
    release("one.csv", HEAD + UNIFORM, "one")
    release("one.csv", HEAD + UNIFORM + 'again = "0.1"\n', "two")
    agree = np.mean([a == b for a, b in zip(jobs_of("one"), jobs_of("two"), strict=True)])
    assert agree > 0.8, "two independent draws agree in less than half of the records"
    plan = HEAD + UNIFORM + 'draws = "fresh"\n[[protect]]\nvariables = ["sex"]\nmethod = "uniform"\ngamma = 3\n'
    done = [release("one.csv", plan, name) for name in ("fresh", "anew")]
    assert jobs_of("fresh") != jobs_of("anew")
    assert [told["draws"] for told in draws_told(done[0])] == ["fresh", "kept"]
    Path("plan.toml").write_text(HEAD + UNIFORM + 'draws = "fresh"\n')
    command = ("release", "one.csv", "--plan", "plan.toml", "--key", "secret.key", "-o", "three")
    refused(*command, saying="a secret key has no effect")


def test_neither_the_kind_of_file_nor_a_label_of_the_codebook_changes_the_design(
    waves: tuple[list[str], list[str]],
) -> None:
    """Codes that are numbers in one file and texts in the other: one truth, one report."""
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    codes = np.random.default_rng(1).integers(1, 5, ROWS)
    write("codes.csv", {"pid": range(ROWS), "job": codes.tolist()})
    table = pyarrow.table({"pid": [str(i) for i in range(ROWS)], "job": [str(code) for code in codes]})
    parquet.write_table(table, "codes.parquet")
    release("codes.csv", HEAD + UNIFORM, "one")
    release("codes.parquet", HEAD + UNIFORM, "two")
    assert jobs_of("one") == parquet.read_table("two/public/data.parquet")["job"].to_pylist()
    first, _ = waves
    write("more.csv", {"pid": range(ROWS + 1), "job": [*first, "job 99"]})
    listed = "[codebook]\njob = " + json.dumps([*JOBS, "job 99"]) + "\n"
    for more, agree in (("", False), (listed, True)):
        for name in ("one", "more"):
            release(f"{name}.csv", HEAD + UNIFORM + more, f"{name} {agree}")
        same = np.array(jobs_of(f"one {agree}")) == np.array(jobs_of(f"more {agree}"))[:ROWS]
        assert same.all() == agree


def test_everything_says_what_a_key_does(waves: tuple[list[str], list[str]]) -> None:
    text = " ".join(run("release", "--new-key", "other.key").out.split())
    assert "A report that changed under the same matrix proves that the true value changed" in text
    assert "a report that changed shows that the true value did" in " ".join(run("release", "--help").out.split())
    Path("plan.toml").write_text(HEAD + UNIFORM)
    lines = run("release", "one.csv", "--plan", "plan.toml", "--key", "secret.key", "-o", "one").out
    assert "proves that the true value changed" in " ".join(lines.split())
    page = Path("one/internal/report.html").read_text()
    assert "proves that the true value changed" in page
    assert "infinite between one that stays and one that changes" in page
    assert "key" not in Path("one/public/README.md").read_text()
    tried = run("release", "one.csv", "--plan", "plan.toml", "--key", "secret.key", "--dry-run").out
    assert "proves that the true value changed" in " ".join(tried.split())
    assert "--key secret.key" in tried.splitlines()[-1]
    without = run("release", "one.csv", "--plan", "plan.toml", "-o", "two").out
    assert "kept by key" not in " ".join(without.split())


def test_earlier_matrices_keep_the_draws_of_unchanged_records_and_are_estimated_with(
    waves: tuple[list[str], list[str]],
) -> None:
    first, later = waves
    release("one.csv", HEAD + METHOD1, "one")
    done = release("two.csv", HEAD + METHOD1, "two", "one/internal/receipt.json")
    one, two = jobs_of("one"), jobs_of("two")
    assert all(a == b for a, b, s, t in zip(one, two, first, later, strict=True) if s == t)
    assert any(a != b for a, b in zip(one, two, strict=True))
    assert done.stages[0].invariance == "external"
    public, internal = (json.loads(Path(f"two/{kind}/receipt.json").read_text()) for kind in ("public", "internal"))
    (group,) = public["groups"]
    assert (group["invariance"], group["matrix"]) == ("external", "withheld")
    assert "not preserved" in public["advice"][0]
    assert internal["groups"][0]["stage"]["counts"] == [later.count(job) for job in sorted(JOBS)]
    data = ("estimate", "two/public/data.csv", "--columns", "job")
    found = run(*data, "--receipt", "two/internal/receipt.json", "--json").json()
    counted = run(*data, "--receipt", "two/public/receipt.json", "--json").json()  # the matrices are withheld
    for told, bounds in ((found, [0] * 16), (counted, counted["bias_bound"])):
        for row, bound in zip(told["estimates"], bounds, strict=True):
            away = abs(row["estimate"] - later.count(row["category"]) / ROWS)
            assert away < bound + 6 * row["standard_error"]
    release("one.csv", HEAD + METHOD1, "three", "two/internal/receipt.json")
    assert jobs_of("three") == one, "and so on, from release to release"


def test_states_and_combinations_that_earlier_matrices_do_not_know_are_refused(
    waves: tuple[list[str], list[str]],
) -> None:
    first, _ = waves
    plan = HEAD + METHOD1 + 'again = "0.5"\n'  # single draws of new states have columns of their own
    release("one.csv", plan, "one")
    write("secret.csv", {"pid": range(ROWS), "job": ["spy", *first[1:]]})
    more = ("--key", "secret.key", "--matrices", "one/internal/receipt.json", "-o", "two")
    command = ("release", "secret.csv", "--plan", "plan.toml", *more)
    assert "spy" not in refused(*command, saying="all categories of 'job': 1 new, records 1")
    assert not Path("two").exists()
    plan = plan.replace("method =", 'within = ["sex"]\nmethod =')
    write("one.csv", {"pid": range(60), "sex": ["f"] * 30 + ["m"] * 30, "job": ["a", "b"] * 15 + ["a", "c"] * 15})
    write("two.csv", {"pid": range(60), "sex": ["f"] * 30 + ["m"] * 30, "job": ["a", "c"] * 15 + ["a", "b"] * 15})
    release("one.csv", plan, "first")
    more = ("--key", "secret.key", "--matrices", "first/internal/receipt.json", "-o", "two")
    command = ("release", "two.csv", "--plan", "plan.toml", *more)
    refused(*command, saying="all combinations of sex, job: 2 new, records 30")


def test_bounds_rules_and_risk_are_looked_at_again(waves: tuple[list[str], list[str]]) -> None:
    more = ("--key", "secret.key", "--matrices", "one/internal/receipt.json", "-o", "two")
    even = {"pid": range(100), "sex": ["f"] * 50 + ["m"] * 50, "job": [*"abbaa" * 10, *"babab" * 10]}
    skew = {**even, "job": ["a"] * 95 + ["b"] * 5}
    write("one.csv", even)
    write("two.csv", skew)
    optimal = HEAD + '[[protect]]\nvariables = ["job"]\nmethod = "optimal"\nposterior = 0.7\n'
    release("one.csv", optimal, "one")
    refused("release", "two.csv", "--plan", "plan.toml", *more, saying="posterior = 0.7 is broken")

    risky = (
        HEAD + 'keys = ["job"]\naccept = ["record-order"]\nmatch = 0.1\n' + METHOD1.replace("theta = 1", "theta = 0.01")
    )
    Path("one").rename("first")
    release("one.csv", risky, "one")
    refused("release", "two.csv", "--plan", "plan.toml", *more, saying="correct match above 0.1")

    ruled = HEAD + METHOD1 + '[[rule]]\nforbid = { sex = ["f"], job = ["b"] }\n'
    Path("one").rename("second")
    release("two.csv", ruled, "one")
    refused("release", "one.csv", "--plan", "plan.toml", *more, saying="forbids")


def test_receipts_of_other_releases_are_refused(waves: tuple[list[str], list[str]]) -> None:
    release("one.csv", HEAD + METHOD1, "one")
    run("release", "--new-key", "other.key")
    internal = ("--matrices", "one/internal/receipt.json", "-o", "two")
    start = ("release", "two.csv", "--plan", "plan.toml")
    refused(*start, *internal, saying="without a key")
    refused(*start, "--key", "other.key", *internal, saying="another key")
    public = ("--matrices", "one/public/receipt.json", "-o", "two")
    refused(*start, "--key", "secret.key", *public, saying="public receipt")
    for plan, saying in (
        (HEAD + METHOD1.replace("theta = 1", "theta = 0.5"), "theta is not as in the earlier release"),
        (HEAD + METHOD1.replace('"job"', '"sex"'), "variables is not as in the earlier release"),
        (HEAD + METHOD1 + METHOD1.replace('"job"', '"sex"'), "that of the earlier release 1"),
        (HEAD + 'missing = "category"\n' + METHOD1, "missing is not as in the earlier release"),
        (HEAD.replace("panel", "other"), "another key"),
    ):
        Path("plan.toml").write_text(plan if "protect" in plan else plan + METHOD1)
        refused(*start, "--key", "secret.key", *internal, saying=saying)
    Path("plan.toml").write_text(HEAD + METHOD1)
    run("release", "one.csv", "--plan", "plan.toml", "-o", "unkeyed")
    unkeyed = ("--matrices", "unkeyed/internal/receipt.json", "-o", "two")
    refused(*start, "--key", "secret.key", *unkeyed, saying="drawn without a key")
    assert not Path("two").exists()


def test_a_swap_is_drawn_anew_beside_kept_draws(waves: tuple[list[str], list[str]]) -> None:
    swap = '[[protect]]\nvariables = ["sex"]\nmethod = "swap"\nbase = "sequential"\n'
    Path("plan.toml").write_text(HEAD + UNIFORM + swap)
    keyed = ("--key", "secret.key", "-o", "one")
    said = refused("release", "one.csv", "--plan", "plan.toml", *keyed, saying="cannot be kept by key")
    assert 'draws = "fresh"' in said
    release("one.csv", HEAD + UNIFORM + swap + 'draws = "fresh"\n', "one")
    more = (*keyed[:2], "--matrices", "one/internal/receipt.json", "-o", "two")
    refused("release", "two.csv", "--plan", "plan.toml", *more, saying="swap")
