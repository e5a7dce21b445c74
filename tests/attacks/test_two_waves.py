"""The same people are released again under one key, and somebody lays the releases side by side.

He knows who is who in all of them, and the matrix. What he may learn is the law of the pairs of reports: kept draws are
the same for the same truth and matrix, and independent for anything else. Every number below is worked out from that
law; the reports come from the command line. False alarms at a rate of 1e-6 for each test.
"""

import csv
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import combinations, product
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binom
from tests.support.arrays import Array
from tests.support.chisquare import fits
from tests.support.command_line import run
from tests.support.intruders import FALSE_ALARM

K = 3
KEY = "eb81ba5ff779ca24d480493b87b9ad1c6ae8fd62211d6b3e8344c03aa55d495b"
"""Fixed, as a seed: the same draws in every run."""

LABELS = "abc"
PEOPLE = 7500
GAMMA = 3
P = [[Fraction(GAMMA if i == j else 1, GAMMA + K - 1) for j in range(K)] for i in range(K)]
OTHER = [[Fraction(6 if i == j else 1, 6 + K - 1) for j in range(K)] for i in range(K)]
Codes = Sequence[int]
LawOf = Callable[[Codes], dict[Codes, Fraction]]
"""The chances of all reports of a person, by the path of the person's truths."""


@dataclass(frozen=True, eq=False)
class Waves:
    """True and reported codes, shape (waves, people)."""

    true: Array
    reported: Array


def truths() -> Array:
    """Three waves: a third of the people change from one to the next, some come back."""
    random = np.random.default_rng(17)
    first = random.integers(K, size=PEOPLE)
    second = np.where(random.random(PEOPLE) < 1 / 3, random.integers(K, size=PEOPLE), first)
    back = random.random(PEOPLE)
    third = np.where(back < 1 / 3, first, np.where(back < 2 / 3, second, random.integers(K, size=PEOPLE)))
    return np.array([first, second, third])


def released(codes: Array, name: str, *, gamma: int = GAMMA, key: str = "secret.key", **protect: str) -> Array:
    """One wave, released by the command in the order of its records; another variable beside it is always kept."""
    more = "".join(f"{entry} = {value}\n" for entry, value in protect.items())
    other = np.random.default_rng(3).integers(K, size=len(codes))
    plan = Path(f"{name}.toml")
    plan.write_text(
        '[release]\nid = "pid"\ndataset = "panel"\norder = "kept"\n'
        f'[[protect]]\nvariables = ["y"]\nmethod = "uniform"\ngamma = {GAMMA}\n'
        f'[[protect]]\nvariables = ["x"]\nmethod = "uniform"\ngamma = {gamma}\n{more}',
        encoding="utf-8",
    )
    rows = [(i, LABELS[x], LABELS[y]) for i, (x, y) in enumerate(zip(codes.tolist(), other.tolist(), strict=True))]
    with Path(f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("pid", "x", "y"), *rows])
    run("release", f"{name}.csv", "--plan", plan, "--key", key, "--draw-anew", "-o", name)
    return reports_of(name)["x"]


def reports_of(name: str) -> dict[str, Array]:
    """What anybody reads in a released file."""
    with (Path(name) / "public" / "data.csv").open(encoding="utf-8") as file:
        rows = [*csv.DictReader(file)]
    return {column: np.array([LABELS.index(row[column]) for row in rows]) for column in rows[0]}


def write_key(name: str, digits: str) -> None:
    Path(name).write_text(digits, encoding="utf-8")
    Path(name).chmod(0o600)


@pytest.fixture(scope="module", autouse=True)
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(tmp_path_factory.mktemp("waves"))
    write_key("secret.key", KEY)
    yield
    os.chdir(before)


@pytest.fixture(scope="module")
def kept(folder: None) -> Waves:
    true = truths()
    return Waves(true, np.array([released(codes, f"kept{i}") for i, codes in enumerate(true)]))


@cache
def law_of_kept(path: Codes) -> dict[Codes, Fraction]:
    """One draw for each truth, however often it comes back."""
    law = {}
    for reports in product(range(K), repeat=len(path)):
        drawn = {truth: reports[wave] for wave, truth in reversed([*enumerate(path)])}
        same = all(drawn[truth] == report for truth, report in zip(path, reports, strict=True))
        law[reports] = _times(P[report][truth] for truth, report in drawn.items()) if same else Fraction(0)
    return law


def law_of_fresh(*matrices: Sequence[Sequence[Fraction]]) -> LawOf:
    """A new draw in every wave."""

    @cache
    def law(path: Codes) -> dict[Codes, Fraction]:
        return {
            reports: _times(M[z][x] for M, z, x in zip(matrices, reports, path, strict=True))
            for reports in product(range(K), repeat=len(path))
        }

    return law


def law_of_again(share: Fraction) -> LawOf:
    """A kept report that each wave randomizes once more, by ``share P + (1 - share) I``."""
    C = [[share * P[i][j] + (1 - share) * (i == j) for j in range(K)] for i in range(K)]

    @cache
    def law(path: Codes) -> dict[Codes, Fraction]:
        hidden = law_of_kept(path)
        return {
            reports: sum(
                (_times(C[z][y] for z, y in zip(reports, ys, strict=True)) * p for ys, p in hidden.items()), Fraction(0)
            )
            for reports in product(range(K), repeat=len(path))
        }

    return law


def _times(factors: Iterator[Fraction]) -> Fraction:
    found = Fraction(1)
    for factor in factors:
        found *= factor
    return found


# ---- the attacks


def wrong_laws(waves: Waves, law: LawOf) -> list[Codes]:
    """Paths whose reports do not come with the chances that they should."""
    paths = [*product(range(K), repeat=len(waves.true))]
    found = []
    for path in paths:
        those = (waves.true == np.array(path)[:, None]).all(axis=0)
        if not those.any():
            continue
        expected = law(path)
        seen = np.ravel_multi_index(tuple(waves.reported[:, those]), (K,) * len(path))
        counts = np.bincount(seen, minlength=K ** len(path))
        if not fits(counts, np.array([float(expected[z]) for z in expected]), FALSE_ALARM / len(paths)):
            found.append(path)
    return found


def caught_between(waves: Waves, law: LawOf) -> list[str]:
    """Two paths are equally likely before; whoever sees the reports is right at most g / (1 + g), for the parity g."""
    random = np.random.default_rng(5)
    paths = [*product(range(K), repeat=len(waves.true))]
    codes = np.ravel_multi_index(tuple(waves.reported), (K,) * len(waves.true))
    own = {path: codes[(waves.true == np.array(path)[:, None]).all(axis=0)] for path in paths}
    trials: dict[str, tuple[int, int, float]] = {}
    for one, other in combinations(paths, 2):
        first, second = law(one), law(other)
        n = min(len(own[one]), len(own[other]))
        heads = random.integers(2, size=n)
        report = np.where(heads == 0, own[one][:n], own[other][:n])
        for code, z in enumerate(first):
            high, low = max(first[z], second[z]), min(first[z], second[z])
            if not low:
                continue  # one of the two is impossible: parity is infinite, and said to be
            at = report == code
            guess = int(second[z] > first[z])
            trials[f"{one} or {other} from {z}"] = (
                int(at.sum()),
                int((heads[at] == guess).sum()),
                float(high / (high + low)),
            )
    level = FALSE_ALARM / len(trials)
    return [
        f"{name}: {hits} of {n}, expected {p:.3f}"
        for name, (n, hits, p) in trials.items()
        if binom.sf(hits - 1, n, p) < level
    ]


def caught_by_changes(waves: Waves, law: LawOf) -> bool:
    """Whether reports that changed tell both truths more often than the law of the reports lets them."""
    paths = [(a, b) for a in range(K) for b in range(K) if a != b]
    right, all_ = Fraction(0), Fraction(0)
    for path in paths:
        chances = law(path)
        all_ += sum((p for z, p in chances.items() if z[0] != z[1]), Fraction(0))
        right += chances[path]
    changed = (waves.reported[0] != waves.reported[1]) & (waves.true[0] != waves.true[1])
    told = (waves.reported[:2] == waves.true[:2]).all(axis=0) & changed
    return bool(binom.sf(int(told.sum()) - 1, int(changed.sum()), float(right / all_)) < FALSE_ALARM)


def two(waves: Waves) -> Waves:
    return Waves(waves.true[:2], waves.reported[:2])


# ---- draws kept by key


def test_kept_reports_have_the_law_of_one_draw_for_each_truth(kept: Waves) -> None:
    assert wrong_laws(two(kept), law_of_kept) == []
    assert not caught_by_changes(two(kept), law_of_kept)
    assert caught_between(two(kept), law_of_kept) == []
    assert wrong_laws(kept, law_of_kept) == []


def parity(one: dict[Codes, Fraction], other: dict[Codes, Fraction]) -> Fraction | float:
    pairs = [(one[z], other[z]) for z in one if one[z] or other[z]]
    return max(max(pair) / min(pair) if min(pair) else np.inf for pair in pairs)


def test_unchanged_truths_are_drawn_anew_only_with_another_key_and_variables_apart(kept: Waves) -> None:
    """A second matrix must not share its random words with the first: the two would tell where the thresholds lie.
    The same truth in two columns of one release; the first is drawn as it was before.
    """
    again = released(kept.true[0], "other", gamma=6)
    waves = Waves(kept.true[[0, 0]], np.array([kept.reported[0], again]))
    assert wrong_laws(waves, law_of_fresh(P, OTHER)) == []
    write_key("other.key", KEY[::-1])
    again = released(kept.true[0], "rekeyed", key="other.key")
    waves = Waves(kept.true[[0, 0]], np.array([kept.reported[0], again]))
    assert wrong_laws(waves, law_of_fresh(P, P)) == []
    rows = [(i, LABELS[x], LABELS[x]) for i, x in enumerate(kept.true[0].tolist())]
    with Path("twins.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("pid", "x", "z"), *rows])
    protect = "".join(f'[[protect]]\nvariables = ["{v}"]\nmethod = "uniform"\ngamma = {GAMMA}\n' for v in "xz")
    Path("twins.toml").write_text(f'[release]\nid = "pid"\ndataset = "panel"\norder = "kept"\n{protect}')
    run("release", "twins.csv", "--plan", "twins.toml", "--key", "secret.key", "--draw-anew", "-o", "twins")
    both = reports_of("twins")
    assert wrong_laws(Waves(kept.true[[0, 0]], np.array([both["x"], both["z"]])), law_of_fresh(P, P)) == []
    assert (both["x"] == kept.reported[0]).all()


# ---- changes that are hidden


def test_fresh_draws_and_a_second_randomization_hide_changes(kept: Waves) -> None:
    """Every two paths have a finite parity; the price is that each wave tells more."""
    fresh = np.array([released(codes, f"fresh{i}", draws='"fresh"') for i, codes in enumerate(kept.true[:2])])
    waves, law = Waves(kept.true[:2], fresh), law_of_fresh(P, P)
    assert wrong_laws(waves, law) == []
    assert caught_between(waves, law) == []
    worst = max(parity(law(a), law(b)) for a in _paths() for b in _paths())
    assert worst == GAMMA**2
    twice = np.array([released(codes, f"again{i}", again='"0.5"') for i, codes in enumerate(kept.true[:2])])
    waves, law = Waves(kept.true[:2], twice), law_of_again(Fraction(1, 2))
    assert wrong_laws(waves, law) == []
    assert caught_between(waves, law) == []
    assert max(parity(law(a), law(b)) for a in _paths() for b in _paths()) < np.inf


def _paths() -> list[tuple[int, int]]:
    return [(a, b) for a in range(K) for b in range(K)]


# ---- negative controls: releases that are known to tell more


def coupled(true: Array, *matrices: Sequence[Sequence[Fraction]]) -> Waves:
    """The same random number of a person decides in every wave whether the truth is told, and what else is."""
    random = np.random.default_rng(23)
    tells, instead = random.random(true.shape[1]), random.integers(K, size=true.shape[1])
    truth = [float((K * M[0][0] - 1) / (K - 1)) for M in matrices]
    reported = [np.where(tells < p, codes, instead) for p, codes in zip(truth, true, strict=True)]
    return Waves(true, np.array(reported))


def independent(true: Array, *matrices: Sequence[Sequence[Fraction]]) -> Waves:
    random = np.random.default_rng(29)
    cumulated = [np.cumsum(np.array(M, dtype=float), axis=0) for M in matrices]
    reported = [
        (random.random(true.shape[1]) > C[:, codes]).sum(axis=0) for C, codes in zip(cumulated, true, strict=True)
    ]
    return Waves(true, np.array(reported))


def test_laws_that_do_not_fit_are_caught() -> None:
    waves = coupled(truths()[:2], P, P)
    assert caught_by_changes(waves, law_of_kept)
    assert wrong_laws(waves, law_of_kept)
    assert caught_between(waves, law_of_kept)
    true = truths()[[0, 0]]
    assert wrong_laws(coupled(true, P, OTHER), law_of_fresh(P, OTHER))
    true = truths()[:2]
    assert wrong_laws(independent(true, P, P), law_of_kept)
    assert wrong_laws(independent(true, P, P), law_of_fresh(P, P)) == []
    assert not caught_by_changes(independent(true, P, P), law_of_kept)
