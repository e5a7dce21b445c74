"""Somebody who has all releases of the same people, and sees who is who in them, finds no more than is printed.

`python -m tests.support.waves_cases 2000` tries so many pairs of releases; here are some of each form. The law of kept
draws is also tried on draws themselves: a false alarm has a chance below 1e-6 for each.
"""

import csv
import json
from collections import Counter
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.support.command_line import run
from tests.support.quiet import refused
from tests.support.waves_cases import FORMS, KEY, Case, _Wave, case_of, law_of, tried

from maskwell import KeyedRandom, Release, ReleasePlan
from maskwell.core.randomness import SECURE
from maskwell.errors import ParameterError, PublishError
from maskwell.microdata.publication import release_into
from maskwell.microdata.records.row_releaser import draws_of
from maskwell.microdata.risk import several_waves
from maskwell.microdata.risk.arrivals import SparseArrivals
from maskwell.microdata.risk.identity_disclosure import risks_of
from maskwell.reports.text.release_report import release_report

EACH = 12
PEOPLE = [1, 1, 2, 3, 5, 9, 20, 40, 30]


def numbers_of(form: str) -> list[int]:
    return [FORMS.index(form) + len(FORMS) * i for i in range(EACH)]


@pytest.mark.parametrize("form", FORMS)
def test_nobody_who_links_releases_finds_more_than_is_printed(form: str) -> None:
    """And one look finds exactly what is printed, where all randomized columns are keys."""
    found = [(n, tried(n)) for n in numbers_of(form)]
    assert [(n, one.fault) for n, one in found if one.fault] == []
    assert any(one.outcome == "kept" for _, one in found)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def people(seed: int, changes: float, name: str, labels: str = "abcdefghi") -> dict[int, tuple[str, str]]:
    """A file of 400 people, of whom a share has other true values than in the file without changes."""
    random = np.random.default_rng(1)
    shares = np.array(PEOPLE[: len(labels)]) / sum(PEOPLE[: len(labels)])
    rows = {i: (str(random.choice([*labels], p=shares)), str(random.choice(["f", "m"]))) for i in range(400)}
    random = np.random.default_rng(seed)
    for i in rows:
        if random.random() < changes:
            rows[i] = (str(random.choice([*labels], p=shares)), rows[i][1])
    with Path(name).open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("pid", "region", "sex"), *((i, *row) for i, row in rows.items())])
    return rows


def plan_of(match: str = "0.1", accept: tuple[str, ...] = ("linked-releases",), **more: Any) -> ReleasePlan:
    protect = {"variables": ["region", "sex"], "method": "mixing", **more}
    accepted = ["record-order", *accept]
    named = {"id": "pid", "dataset": "people", "order": "kept", "accept": accepted, "match": match}
    return ReleasePlan.of([protect], keys=["region", "sex"], **named)


def released(file: str, folder: str, plan: ReleasePlan, **more: Any) -> Release:
    return release_into(file, plan, folder, key=KEY, ledger="k.ledger", **more)


def rows_of(folder: str) -> list[tuple[str, ...]]:
    with Path(folder, "public", "data.csv").open(encoding="utf-8") as file:
        return [tuple(row) for row in csv.reader(file)][1:]


@pytest.mark.parametrize("seed", [2, 3, 4, 6])
def test_a_second_wave_keeps_the_draws_of_those_who_did_not_change_and_the_limit(place: Path, seed: int) -> None:
    """A tenth of the people has changed: their draws are new, and so are those that the limit does not let stay."""
    then, now = people(1, 0, "one.csv"), people(seed, 0.1, "two.csv")
    released("one.csv", "one", plan_of())
    second = released("two.csv", "two", plan_of(), matrices="one/internal/receipt.json", earlier_files=["one.csv"])
    assert second.risk is not None and second.risk.headline["kept"]
    (stage,) = second.stages
    anew = {state for state, name in zip(stage.states, stage.kept_as or (), strict=False) if name is None}
    before, after = rows_of("one"), rows_of("two")
    stay = [i for i in then if then[i] == now[i] and now[i] not in anew]
    assert all(before[i] == after[i] for i in stay)
    assert len(stay) > 0.75 * sum(then[i] == now[i] for i in then)
    assert second.linked is not None and second.linked.changed == sum(then[i] != now[i] for i in then)
    third = released("two.csv", "three", plan_of(), matrices="two/internal/receipt.json", earlier_files=["one.csv"])
    assert rows_of("three") == after
    assert third.linked is not None and third.linked.one_look == second.linked.one_look


def test_new_categories_are_drawn_with_a_matrix_of_their_own(place: Path) -> None:
    people(1, 0, "one.csv", "cdefghi")
    people(1, 0, "two.csv")
    released("one.csv", "one", plan_of())
    second = released("two.csv", "two", plan_of(), matrices="one/internal/receipt.json", earlier_files=["one.csv"])
    assert second.risk is not None and second.risk.headline["kept"]


def test_without_the_earlier_file_or_above_the_limit_a_plan_is_refused_and_each_hint_works(place: Path) -> None:
    people(1, 0, "one.csv")
    people(2, 0.1, "two.csv")
    carried: dict[str, Any] = {"matrices": "one/internal/receipt.json"}
    released("one.csv", "one", plan_of(accept=()))
    unknown = refused(
        PublishError, "not known: the true file of release 1", released, "two.csv", "two", plan_of(accept=()), **carried
    )
    assert "earlier_files" in unknown.hint and unknown.objects["linked"]["chance"] is None
    refused(
        ParameterError, "no earlier release", released, "two.csv", "x", plan_of(), earlier_files=["two.csv"], **carried
    )
    carried |= {"earlier_files": ["one.csv"]}
    above = refused(PublishError, "links all releases", released, "two.csv", "two", plan_of(accept=()), **carried)
    assert above.objects["linked"]["one_look"] > 0.1
    accepted = released("two.csv", "two", plan_of(), **carried)
    assert accepted.linked is not None and accepted.linked.accepted
    said = accepted.linked.words
    assert f"{said[0].upper()}{said[1:]}." in " ".join(str(release_report(accepted, "two")).split())
    assert accepted.to_dict()["linked_releases"]["chance"] == above.objects["linked"]["chance"]


@pytest.mark.parametrize("follows", [False, True])
def test_the_same_file_again_needs_no_earlier_file_and_finds_what_one_release_finds(place: Path, follows: bool) -> None:
    """Also where a column follows from a key, stays as it is, and so shows which records moved."""
    people(1, 0, "one.csv")
    if follows:
        lines = Path("one.csv").read_text(encoding="utf-8").splitlines()
        north = [f"{line},{'north' if line.split(',')[1] in 'abcdeg' else 'south'}" for line in lines[1:]]
        Path("one.csv").write_text("\n".join([f"{lines[0]},part", *north, ""]), encoding="utf-8")
    protect = [{"variables": ["region", "sex"], "method": "method1", "theta": "0.5"}]
    plan = ReleasePlan.of(protect, keys=["region", "sex"], id="pid", dataset="people")
    first = released("one.csv", "one", plan)
    second = released("one.csv", "two", plan)
    assert sorted(rows_of("one")) == sorted(rows_of("two"))
    assert first.linked is None and second.linked is not None and first.risk is not None
    assert first.risk.after is not None and second.file.seen == ("part",) * follows
    assert second.linked.one_look == pytest.approx(first.risk.after.max_risk_any_release, abs=1e-12)


def test_a_column_that_follows_from_a_key_is_seen_also_where_only_the_earlier_release_had_it(place: Path) -> None:
    people(1, 0, "one.csv")
    lines = Path("one.csv").read_text(encoding="utf-8").splitlines()
    north = [f"{line},{'north' if line.split(',')[1] in 'abcdeg' else 'south'}" for line in lines[1:]]
    Path("one.csv").write_text("\n".join([f"{lines[0]},part", *north, ""]), encoding="utf-8")
    protect = [{"variables": ["region", "sex"], "method": "method1", "theta": "0.5"}]
    plans = [
        ReleasePlan.of(protect, keys=["region", "sex"], id="pid", dataset="people", drop=d) for d in ([], ["part"])
    ]
    first, second = (released("one.csv", folder, plan) for folder, plan in zip(("one", "two"), plans, strict=True))
    assert second.linked is not None and second.linked.one_look is not None
    assert first.risk is not None and first.risk.after is not None and second.risk is not None
    known = first.risk.after.max_risk_any_release
    assert second.risk.after is not None and second.risk.after.max_risk_any_release < known
    assert second.linked.one_look >= known - 1e-12


@pytest.mark.parametrize("order", [1, -1])
def test_a_key_that_another_release_has_unchanged_is_seen_there(place: Path, order: int) -> None:
    """One release has the region randomized, and sex as it is; the other both: a look at all of that."""
    counts = {("a", "f"): 30, ("a", "m"): 25, ("b", "f"): 40, ("b", "m"): 4, ("c", "f"): 30, ("c", "m"): 25}
    rows = enumerate(cell for cell, n in counts.items() for _ in range(n))
    with Path("one.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("pid", "region", "sex"), *((i, *cell) for i, cell in rows)])
    named: dict[str, Any] = {"id": "pid", "dataset": "people"}
    plans = [
        ReleasePlan.of([{"variables": names, "method": "uniform", "gamma": 3}], keys=names, **named)
        for names in (["region"], ["region", "sex"])
    ]
    for i, plan in enumerate(plans[::order]):
        linked = released("one.csv", f"r{i}", plan, draw_anew=True).linked
    cells = [*counts]
    P = [
        [(3 if z == x[0] else 1) / 5 * (sex == x[1]) * (3 if both == x else 1) / 8 for x in cells]
        for z in "abc"
        for sex in "fm"
        for both in cells
    ]
    own = {cell: i for i, cell in enumerate(cells)}
    arrivals = SparseArrivals.of(
        np.array([*counts.values()]),
        np.array([["abc".index(x[0]) * 12 + "fm".index(x[1]) * 6 + own[x]] for x in cells]).ravel(),
        len(P),
        *(
            np.array(part)
            for part in zip(*((i, j, p) for i, one in enumerate(P) for j, p in enumerate(one)), strict=True)
        ),
    )
    assert linked is not None and linked.one_look == pytest.approx(risks_of(arrivals).any_release.max(), abs=1e-12)


def test_the_command_prints_the_figure_in_dry_runs_json_and_receipts(place: Path) -> None:
    people(1, 0, "wave1.csv")
    people(2, 0.1, "wave2.csv")
    Path("refused.toml").write_text(plan_of(accept=()).to_toml(), encoding="utf-8")
    Path("plan.toml").write_text(plan_of().to_toml(), encoding="utf-8")
    KeyedRandom.new_file("secret.key")
    key = ["--key", "secret.key"]
    run("release", "wave1.csv", "--plan", "refused.toml", *key, "-o", "first")
    more = [*key, "--matrices", "first/internal/receipt.json", "--earlier-files", "wave1.csv"]
    dry = run("release", "wave2.csv", "--plan", "refused.toml", *more, "--dry-run", status=1)
    said = " ".join(dry.out.split())
    assert (
        "identifies the right record with a probability of 100 %" in said
        and "--earlier-files wave1.csv --dry-run" in said
    )
    told = run("release", "wave2.csv", "--plan", "plan.toml", *more, "--json", "-o", "second").json()
    receipt = json.loads(Path("second/internal/receipt.json").read_text(encoding="utf-8"))
    assert told["linked_releases"] == receipt["linked_releases"]
    assert told["linked_releases"]["earlier"] == [1] and told["linked_releases"]["accepted"]
    assert told["linked_releases"]["words"][1:] in " ".join(
        unescape(Path("second/internal/report.html").read_text(encoding="utf-8")).split()
    )
    assert "linked_releases" not in Path("second/public/receipt.json").read_text(encoding="utf-8")


def test_too_many_combinations_get_a_bound(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    people(1, 0, "one.csv")
    people(2, 0.1, "two.csv")
    released("one.csv", "one", plan_of())
    monkeypatch.setattr(several_waves, "MOST_WAYS", 10)
    linked = released("two.csv", "two", plan_of(), earlier_files=["one.csv"], draw_anew=True).linked
    assert linked is not None
    assert (linked.exact, linked.chance, linked.one_file) == (False, 1.0, None)
    assert "at most 100" in linked.words


@pytest.mark.parametrize("form", ["one key, carried on", "again", "within"])
def test_kept_draws_follow_the_law_that_the_intruder_is_granted(form: str, place: Path) -> None:
    """One person with 40,000 ids: as often released as each pair as the law says."""
    n, number = 40_000, next(i for i in range(FORMS.index(form), 500, len(FORMS)) if tried(i).outcome == "kept")
    case: Case = case_of(number)
    waves = []
    for t, file in enumerate(case.files):
        with Path(f"{t}.csv").open("w", encoding="utf-8", newline="") as out:
            csv.writer(out).writerows([("pid", *case.columns), *((pid, *row) for pid, row in file.items())])
        more = {"matrices": "r0/internal/receipt.json"} if t and case.carried_on else {}
        done = released(f"{t}.csv", f"r{t}", case.plan, earlier_files=["0.csv"] * (t > 0), draw_anew=True, **more)
        waves.append(_Wave(case, [*done.stages]))
    pid = next(pid for pid in case.files[0] if pid in case.files[1])
    truth = (case.files[0][pid], case.files[1][pid])
    names = KEY.names(np.arange(n))
    seen = []
    for row, wave in zip(truth, waves, strict=True):
        values = {name: np.full(n, value, dtype=object) for name, value in zip(case.columns, row, strict=True)}
        for stage in wave.stages:
            draws = draws_of(stage, SECURE, KEY)
            places = {state: i for i, state in enumerate(stage.states)}
            states = np.array([places[key] for key in zip(*(values[c] for c in stage.columns), strict=True)])
            drawn = draws.draw(states.astype(np.uint32), names)
            for i, name in enumerate(stage.columns):
                values[name] = np.array([output[i] for output in stage.outputs], dtype=object)[drawn]
        seen.append([tuple(map(str, one)) for one in zip(*(values[c] for c in case.columns), strict=True)])
    counts = Counter(zip(*seen, strict=True))
    law = {outcome[0]: p for outcome, p in law_of(truth, waves)}
    assert {*counts} <= {*law}
    for pair, p in law.items():
        assert abs(counts[pair] / n - p) <= 5.5 * np.sqrt(p * (1 - p) / n) + 1e-12
