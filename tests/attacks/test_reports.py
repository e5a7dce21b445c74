"""Somebody reads the file of reports that ``randomize`` wrote, and learns no more than the audit of the design says.

What he has is the file as it is on the disk: texts, order, size. What he is held to is what ``audit`` prints. He learns
how each text should be read from people whose truth he knows, and then guesses the truth of others: so a promise is
kept only if nothing in the file tells more. False alarms at a rate of 1e-6 for each test.
"""

import csv
import json
import math
import re
from collections import Counter, defaultdict
from collections.abc import Hashable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest
from scipy.stats import binom
from tests.support.command_line import design_file, run
from tests.support.intruders import FALSE_ALARM

from maskwell import Design, SeededRandom, load_design

LABELS = ["no", "sometimes", "very often", "x"]
PEOPLE = 24_000
DESIGNS: dict[str, list[Any]] = {
    "k-ary": ["k-ary", "--gamma", 4],
    "subset": ["subset", "--gamma", 3, "--size", 2],
    "rappor": ["rappor", "--epsilon", 1],
    "oue": ["oue", "--epsilon", 1],
    "l-diverse": ["l-diverse", "--l", 2],
    "rho": ["k-ary", "--rho", 0.1, 0.5],
    "extremal": ["extremal", "--pi", "0.4,0.3,0.2,0.1", "--gamma", 5],
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def make(name: str) -> tuple[Design, dict[str, Any]]:
    """A design by the command line, and what its audit says."""
    family, *options = DESIGNS[name]
    design_file("d.json", family, "--categories", ",".join(LABELS), *options)
    return load_design("d.json"), run("audit", "d.json", "--json").json()


def reports_of(truths: Sequence[str], seed: int = 1) -> list[str]:
    """The lines of the file that was written, without the ids."""
    with Path("true.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("id", "x"), *enumerate(truths)])
    run("randomize", "true.csv", "--design", "x=d.json", "-o", "reports.csv", "--seed", seed, "--force")
    lines = Path("reports.csv").read_text(encoding="utf-8").splitlines()[1:]
    return [line.partition(",")[2] for line in lines]


def guessed(truths: Sequence[Hashable], seen: Sequence[Hashable]) -> tuple[int, int]:
    """How many of the second half are guessed right by somebody who knows the first."""
    half = len(truths) // 2
    known: dict[Hashable, Counter[Hashable]] = defaultdict(Counter)
    for truth, report in zip(truths[:half], seen[:half], strict=True):
        known[report][truth] += 1
    best = {report: counts.most_common(1)[0][0] for report, counts in known.items()}
    right = sum(best.get(report) == truth for truth, report in zip(truths[half:], seen[half:], strict=True))
    return right, len(truths) - half


def beaten(right: int, tried: int, chance: float, tests: int = 1) -> bool:
    """Whether so many right guesses are too many for a chance."""
    return chance < 1 and bool(binom.sf(right - 1, tried, chance) < FALSE_ALARM / tests)


def people(shares: Sequence[float] = (0.25,) * 4) -> list[str]:
    return [LABELS[i] for i in np.random.default_rng(3).choice(4, size=PEOPLE, p=shares).tolist()]


@pytest.mark.parametrize("name", list(DESIGNS))
def test_guesses_are_right_no_more_often_than_the_audit_says(name: str) -> None:
    _, stated = make(name)
    truths = people()
    assert not beaten(*guessed(truths, reports_of(truths)), stated["guess_probability"])


@pytest.mark.parametrize("name", ["k-ary", "subset", "rappor", "oue", "rho", "extremal"])
def test_two_suspects_are_told_apart_no_better_than_the_parity_says(name: str) -> None:
    """Two answers are equally likely before the report; after it the likelier has at most parity / (1 + parity)."""
    _, stated = make(name)
    truths = people()
    reports = reports_of(truths)
    tests = 0
    found = []
    for a in LABELS:
        for b in LABELS:
            if a >= b:
                continue
            both = [(x, z) for x, z in zip(truths, reports, strict=True) if x in (a, b)]
            right, tried = guessed([x for x, _ in both], [z for _, z in both])
            tests += 1
            if beaten(right, tried, stated["parity"] / (1 + stated["parity"]), 6):
                found.append((a, b, right, tried))
    assert tests == 6
    assert found == []


@pytest.mark.parametrize("name", ["k-ary", "subset", "rho"])
def test_no_suspicion_rises_above_what_the_audit_says(name: str) -> None:
    """A tenth of the people have one answer; of all who sent the same report, how many have it?"""
    _, stated = make(name)
    most = next(one["highest"] for one in stated["posteriors"] if one["prior"] == 0.1)
    least = next(one["lowest"] for one in stated["posteriors"] if one["prior"] == 0.1)
    truths = people((0.1, 0.4, 0.3, 0.2))
    reports = reports_of(truths)
    seen, both = Counter(reports), Counter(z for x, z in zip(truths, reports, strict=True) if x == LABELS[0])
    for report, n in seen.items():
        assert not beaten(both[report], n, most, 2 * len(seen))
        assert not beaten(n - both[report], n, 1 - least, 2 * len(seen))
    if name == "rho":
        assert most == pytest.approx(0.5)


def test_protection_wears_out_as_stated_also_for_guesses_from_several_reports() -> None:
    """The same person is asked several times, with new draws."""
    design, stated = make("k-ary")
    random = np.random.default_rng(7)
    truths = random.integers(2, size=8000)
    for one in stated["wear_out"][:3]:
        times = one["reports"]
        reports = [design.sample(truths, random=SeededRandom(100 * times + i)).data for i in range(times)]
        votes = np.array([z == 0 for z in reports]).sum(axis=0) - np.array([z == 1 for z in reports]).sum(axis=0)
        guess = np.where(votes == 0, random.integers(2, size=len(truths)), votes < 0)
        right = int((guess == truths).sum())
        assert not beaten(right, len(truths), one["parity"] / (1 + one["parity"]), 3)
        assert right / len(truths) > stated["parity"] / (1 + stated["parity"]) * 0.9
    design, _ = make("k-ary")
    truths = np.random.default_rng(9).integers(4, size=PEOPLE)
    joint = np.full((1, 4), 1 / 4)
    for times in (1, 2, 3):
        joint = (joint[:, None, :] * design.matrix()).reshape(-1, 4)  # one row for each sequence of reports
        reports = [design.sample(truths, random=SeededRandom(40 + i)).data.tolist() for i in range(times)]
        guesses = guessed(truths.tolist(), [*zip(*reports, strict=True)])
        assert not beaten(*guesses, float(joint.max(axis=1).sum()), 3)


def test_answers_that_are_hidden_among_others_intersect_to_the_truth() -> None:
    """One report names at least l answers; a few reports name one. The audit promises no parity, and says so."""
    _, stated = make("l-diverse")
    truths = people()[:2000]
    reports = [reports_of(truths, seed) for seed in range(12)]
    named = [[{i for i, c in enumerate(z) if c == "1"} for z in one] for one in reports]
    assert min(map(len, named[0])) == 2
    left = [set.intersection(*sets) for sets in zip(*named, strict=True)]
    alone = [next(iter(one)) for one in left if len(one) == 1]
    assert len(alone) > 0.9 * len(truths)
    assert all(LABELS.index(x) in one for x, one in zip(truths, left, strict=True))
    assert stated["parity"] == "inf"
    assert all(one["parity"] == "inf" for one in stated["wear_out"])
    assert run("audit", "d.json", "--gamma", 1000, status=1)
    assert any("each time" in sentence for sentence in stated["explanation"])


# ---- files that differ in one person


EQUAL = "\n".join(["1/4,1/4,1/4,1/4"] * 4)
ENDINGS = [".csv", ".tsv", ".csv.gz", ".parquet", ".arrow", ".sav", ".dta"]


def source_of(ending: str, truths: Sequence[str]) -> str:
    """The true file, of the same kind as the one to be written."""
    with Path("true.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("y", "x"), *zip("pq" * (len(truths) // 2), truths, strict=True)])
    table = pyarrow.csv.read_csv("true.csv")
    if ending == ".parquet":
        pyarrow.parquet.write_table(table, "true.parquet")
    elif ending == ".arrow":
        pyarrow.feather.write_feather(table, "true.arrow", compression="uncompressed")
    return f"true{ending}" if ending in (".parquet", ".arrow") else "true.csv"


def written(ending: str, truths: Sequence[str], design: str) -> tuple[bytes, str]:
    """The file that ``randomize`` writes, and what it prints."""
    out = Path(f"out{ending}")
    source = source_of(ending, truths)
    ran = run("randomize", source, "--design", f"x={design}", "-o", out, "--seed", 5, "--force")
    head, rest = out.read_bytes()[:300], out.read_bytes()[300:]
    return re.sub(rb"\d\d:\d\d(:\d\d)?", b"", head) + rest, ran.out + ran.err  # some formats note the hour


THREE = [people()[:3000], [*people()[:2999], "no" if people()[2999] == "x" else "x"], LABELS * 750]
"""The truths of some people, of the same with one person changed, and of quite others."""


@pytest.mark.parametrize("ending", ENDINGS)
def test_the_file_depends_on_the_truth_by_its_reports_only(ending: str) -> None:
    """A design whose reports do not depend on the truth: from one seed the files must be the same, byte for byte."""
    Path("m.csv").write_text(EQUAL, encoding="utf-8")
    run("design", "matrix", "m.csv", "--categories", ",".join(LABELS), "-o", "deaf.json")
    files = [written(ending, truths, "deaf.json") for truths in THREE]
    assert len({len(file) for file, _ in files}) == 1, "the truth changes the size of the file"
    assert files[0] == files[1] == files[2]


@pytest.mark.parametrize("ending", [".csv", ".parquet", ".arrow"])
def test_a_file_of_many_pieces_depends_on_the_truth_by_its_reports_only(ending: str) -> None:
    """Long labels move the places where a reader cuts a file; the cuts must not show in what is written."""
    Path("m.csv").write_text(EQUAL, encoding="utf-8")
    run("design", "matrix", "m.csv", "--categories", ",".join(LABELS), "-o", "deaf.json")
    files = []
    for truth in ("no", "very often"):
        rows = "".join(f"{i},{truth},n{i % 977}\n" for i in range(150_000))
        Path("many.csv").write_text(f"id,x,name\n{rows}", encoding="utf-8")
        run("randomize", "many.csv", "--design", "x=deaf.json", "-o", f"written{ending}", "--seed", 5, "--force")
        files.append(Path(f"written{ending}").read_bytes())
    assert len(files[0]) == len(files[1])
    assert files[0] == files[1]


@pytest.mark.parametrize("ending", [".csv", ".parquet", ".arrow"])
def test_a_released_file_depends_on_the_truth_by_its_rows_only(ending: str) -> None:
    rows = ", ".join(f"[{line}]" for line in EQUAL.replace("1/4", '"1/4"').splitlines())
    Path("p.toml").write_text(
        '[release]\ndemonstration = true\n[[protect]]\nvariables = ["x"]\nmethod = "fixed"\n'
        f'orientation = "columns"\npublish = "withheld"\ncategories = {json.dumps(LABELS)}\nmatrix = [{rows}]\n',
        encoding="utf-8",
    )
    files = []
    for number, truths in enumerate(THREE):
        run("release", source_of(ending, truths), "--plan", "p.toml", "--seed", 4, "-o", f"r{number}")
        files.append((Path(f"r{number}") / "public" / f"data{ending}").read_bytes())
    assert files[0] == files[1] == files[2]


# ---- negative controls


def test_marked_reports_and_weaker_designs_than_stated_are_caught() -> None:
    """A blank after every true answer: nobody sees it, and it tells all."""
    _, stated = make("k-ary")
    truths = people()
    reports = reports_of(truths)
    marked = [z + " " * (z == x) for x, z in zip(truths, reports, strict=True)]
    assert beaten(*guessed(truths, marked), stated["guess_probability"])
    both = [(x, z) for x, z in zip(truths, marked, strict=True) if x in LABELS[:2]]
    told = guessed([x for x, _ in both], [z for _, z in both])
    assert beaten(*told, stated["parity"] / (1 + stated["parity"]))
    run("design", "k-ary", "--categories", ",".join(LABELS), "--gamma", 6, "-o", "d.json", "--force")
    truths = people()
    reports = reports_of(truths)
    assert beaten(*guessed(truths, reports), stated["guess_probability"])
    both = [(x, z) for x, z in zip(truths, reports, strict=True) if x in LABELS[:2] and z in LABELS[:2]]
    assert beaten(*guessed([x for x, _ in both], [z for _, z in both]), stated["parity"] / (1 + stated["parity"]))


def test_reports_in_the_order_of_their_truths_are_caught() -> None:
    """The place of a report in the file is part of what is seen."""
    _, stated = make("k-ary")
    truths = people()
    pairs = sorted(zip(truths, reports_of(truths), strict=True))
    quarter = [(x, (z, 8 * i // len(pairs))) for i, (x, z) in enumerate(pairs)]
    shuffled = [quarter[i] for i in np.random.default_rng(1).permutation(len(quarter))]
    assert beaten(*guessed([x for x, _ in shuffled], [z for _, z in shuffled]), stated["guess_probability"])


def test_the_test_of_equal_files_sees_a_difference() -> None:
    design_file("k.json", "k-ary", "--categories", ",".join(LABELS), "--gamma", 4)
    truths = people()[:3000]
    assert written(".csv", truths, "k.json")[0] != written(".csv", LABELS * 750, "k.json")[0]


def test_the_bound_of_a_guess_is_tight_enough_to_matter() -> None:
    """The same guesses would beat nine tenths of the stated chance."""
    _, stated = make("k-ary")
    truths = people()
    right, tried = guessed(truths, reports_of(truths))
    assert beaten(right, tried, 0.9 * stated["guess_probability"])
    assert math.isclose(stated["guess_probability"], float(Fraction(4, 7)))
