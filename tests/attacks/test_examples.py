"""The releases that the documentation shows, attacked: the figure is the one that the command prints.

The commands of the pages are run as they stand. The intruder then has the folder ``public``, the keys of his target,
and what the headline grants him: the matrices and the counts. He looks for everybody who was alone with their keys, in
many releases by the same plan. False alarms at a rate of 1e-6 for each test.
"""

import csv
import json
import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binom
from tests.end_to_end.test_documents import run as shell
from tests.end_to_end.test_documents import steps
from tests.support.intruders import FALSE_ALARM, Record, drawn_rows, printed_figure
from tests.support.pages import write_files

from maskwell import SeededRandom
from maskwell.microdata import load_plan
from maskwell.microdata.assessment import assess_file

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Example:
    """A release as a page makes it: where it is, what it was made from, and what was printed."""

    folder: Path
    true: str
    released: str
    printed: str

    @property
    def figure(self) -> Fraction:
        return printed_figure(self.printed)

    @property
    def times(self) -> int:
        """How often it is released again for an attack: fewer times where many people are looked for."""
        return 30 if self.true == "labour.csv" else 400


def carried_out(page: str, folder: Path, first: str, last: str) -> str:
    """Run the commands of a page from one to another, without those that only look; what the last one printed."""
    commands = [command for command, _ in steps(ROOT / page)]
    start = next(i for i, command in enumerate(commands) if command.startswith(first))
    end = next(i for i, command in enumerate(commands) if i >= start and command.startswith(last))
    printed = ""
    for command in commands[start : end + 1]:
        if "--dry-run" in command or command.startswith(("maskwell risk", "head", "grep", "maskwell estimate")):
            continue
        code, printed = shell(command, folder)
        assert code == 0, f"{command}\n{printed}"
    return printed


@pytest.fixture(scope="module")
def readme(tmp_path_factory: pytest.TempPathFactory) -> Example:
    folder = tmp_path_factory.mktemp("readme")
    last = "maskwell release census.csv --plan plan.toml -o released"
    return Example(
        folder, "census.csv", "released", carried_out("docs/tutorials/tour.md", folder, "printf 'sex,region,age", last)
    )


@pytest.fixture(scope="module")
def tutorial(tmp_path_factory: pytest.TempPathFactory) -> Example:
    folder = tmp_path_factory.mktemp("tutorial")
    write_files(ROOT / "docs/tutorials/release.md", folder)
    last = "maskwell release labour.csv --plan plan.toml -o released"
    printed = carried_out("docs/tutorials/release.md", folder, "python labour_survey.py", last)
    return Example(folder, "labour.csv", "released", printed)


@pytest.fixture(scope="module")
def shortest(tmp_path_factory: pytest.TempPathFactory) -> Example:
    """The ten lines of the page about plans, on a file of 300 people."""
    folder = tmp_path_factory.mktemp("plan")
    page = (ROOT / "docs/how-to/release-plan.md").read_text(encoding="utf-8")
    (folder / "plan.toml").write_text(re.findall(r"```toml\n(.*?)```", page, re.DOTALL)[0], encoding="utf-8")
    random = np.random.default_rng(4)
    labels = {"sex": "fm", "region": "nsewc", "marital": ["single", "married", "widowed", "divorced"]}
    rows = [
        [own[int(min(random.geometric(0.45), len(own))) - 1] for own in labels.values()] + [int(random.integers(9))]
        for _ in range(300)
    ]
    with (folder / "people.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([[*labels, "answer"], *rows])
    code, printed = shell("maskwell release people.csv --plan plan.toml -o released", folder)
    assert code == 0, printed
    return Example(folder, "people.csv", "released", printed)


@pytest.fixture(params=["readme", "shortest", "tutorial"])
def example(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Example:
    found: Example = request.getfixturevalue(request.param)
    monkeypatch.chdir(found.folder)
    return found


def read(path: Path | str) -> tuple[list[str], list[Record]]:
    with Path(path).open(encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file)
    return header, [tuple(row) for row in rows]


def caught(
    true: Sequence[Record],
    releases: Sequence[Sequence[Record]],
    keys: Sequence[int],
    seen: Sequence[int],
    figure: Fraction,
) -> list[str]:
    """Attacks on people who were alone with their keys: those who pick among rows that show their keys.

    ``keys`` and ``seen`` are the places of the keys, and of what else of a person is known and seen. Row i of a
    release belongs to record i; a pick uses the rows only, in whatever order they come.
    """
    random = np.random.default_rng(6)
    alone = {key for key, n in Counter(tuple(row[i] for i in keys) for row in true).items() if n == 1}
    targets = [i for i, row in enumerate(true) if tuple(row[j] for j in keys) in alone]
    trials: dict[int, list[int]] = defaultdict(lambda: [0, 0])
    for release in releases:
        where: dict[Record, list[int]] = defaultdict(list)
        for i, row in enumerate(release):
            where[tuple(row[j] for j in seen)].append(i)
        for i in targets:
            rows = where[tuple(true[i][j] for j in seen)]
            if rows:
                trials[len(rows)][0] += 1
                trials[len(rows)][1] += int(random.choice(rows) == i)
    level = FALSE_ALARM / max(1, len(trials))
    return [
        f"{right} of {tried} right where {t} rows show the keys"
        for t, (tried, right) in sorted(trials.items())
        if figure < 1 and binom.sf(right - 1, tried, float(figure)) < level
    ]


@cache
def releases_of(example: Example, times: int) -> tuple[list[str], list[Record], list[list[Record]]]:
    """The same file released anew, in the order of its records, by the matrices of the plan."""
    header, true = read(example.true)
    release = assess_file(example.true, load_plan("plan.toml"))
    work = replace(release.plan, order="kept")
    kept = replace(release, plan=work)
    typed = [tuple(_typed(value) for value in row) for row in true]
    rows = drawn_rows(kept, typed * times, header, SeededRandom(12))
    columns = [name for name in header if name not in (*work.drop, work.id)]
    text = [tuple(map(str, row)) for row in rows]
    own = [tuple(row[header.index(name)] for name in columns) for row in true]
    return columns, own, [text[i * len(true) : (i + 1) * len(true)] for i in range(times)]


def _typed(value: str) -> str | int:
    return int(value) if value.isdigit() else value


def places(columns: Sequence[str], names: Sequence[str]) -> list[int]:
    return [columns.index(name) for name in names]


def test_who_knows_the_keys_does_not_beat_the_headline(example: Example) -> None:
    plan = load_plan("plan.toml")
    columns, true, releases = releases_of(example, example.times)
    keys = places(columns, plan.keys)
    assert caught(true, releases, keys, keys, example.figure) == []


def test_the_public_folder_names_no_record_and_holds_no_matrix(example: Example) -> None:
    public = Path(example.released) / "public"
    columns, rows = read(public / "data.csv")
    plan = load_plan("plan.toml")
    assert plan.id not in columns
    assert len(rows) == len(read(example.true)[1])
    for place, name in enumerate(columns):
        assert len({row[place] for row in rows}) < len(rows) / 2, f"{name} tells records apart"
    receipt = json.loads((public / "receipt.json").read_text(encoding="utf-8"))
    assert {group["matrix"] for group in receipt["groups"]} == {"withheld"}
    assert not any({"counts", "design", "states"} & {*group} for group in receipt["groups"])


def test_all_public_files_together_tell_no_count(example: Example) -> None:
    """Every number in every public document, beside those of the released file itself, is one that may be there."""
    public = Path(example.released) / "public"
    columns, rows = read(public / "data.csv")
    told = {str(len(rows)), str(len(columns))}
    told |= {str(n) for place in range(len(columns)) for n in Counter(row[place] for row in rows).values()}
    told |= {value for row in rows for value in row}
    keys = places(columns, load_plan("plan.toml").keys)
    header, true = read(example.true)
    secret = {
        str(n)
        for size in (1, 2)
        for names in combinations([columns[i] for i in keys], size)
        for n in Counter(tuple(row[header.index(name)] for name in names) for row in true).values()
        if n > 100
    } - told
    for path in sorted(public.iterdir()):
        if path.name not in ("data.csv", "SHA256SUMS"):
            numbers = {*re.findall(r"(?<![\w.])\d{3,}(?![\w.])", path.read_text(encoding="utf-8"))}
            assert not numbers & secret, path.name


@pytest.mark.parametrize("name", ["shortest", "tutorial"])
def test_the_place_of_a_row_tells_nothing(
    name: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Unchanged columns of a row are those of the row that stood there before no more often than by chance."""
    example: Example = request.getfixturevalue(name)
    monkeypatch.chdir(example.folder)
    header, true = read(example.true)
    columns, rows = read(Path(example.released) / "public" / "data.csv")
    unchanged = [name for name in columns if name not in load_plan("plan.toml").randomized]
    before = [tuple(row[header.index(name)] for name in unchanged) for row in true]
    after = [tuple(row[columns.index(name)] for name in unchanged) for row in rows]
    assert Counter(before) == Counter(after)
    chance = sum((n / len(before)) ** 2 for n in Counter(before).values())
    assert binom.sf(_alike(before, after) - 1, len(before), chance) > FALSE_ALARM
    assert binom.sf(_alike(before, before) - 1, len(before), chance) < FALSE_ALARM  # the order kept would be noticed


def _alike(before: Sequence[Record], after: Sequence[Record]) -> int:
    return sum(a == b for a, b in zip(before, after, strict=True))


# ---- negative controls


def test_a_release_that_changes_too_little_is_caught(tutorial: Example, monkeypatch: pytest.MonkeyPatch) -> None:
    """The true file under the headline of the tutorial; and one of which only a fifth is randomized."""
    monkeypatch.chdir(tutorial.folder)
    plan = load_plan("plan.toml")
    columns, true, releases = releases_of(tutorial, tutorial.times)
    keys = places(columns, plan.keys)
    assert caught(true, [true] * 2, keys, keys, tutorial.figure)
    random = np.random.default_rng(3)
    weak = [
        [row if random.random() < 0.2 else own for row, own in zip(release, true, strict=True)]
        for release in releases[:4]
    ]
    assert caught(true, weak, keys, keys, tutorial.figure)


# ---- the page about promises


def test_the_page_of_promises_and_the_attacks_name_each_other(root: Path) -> None:
    page = (root / "docs/theory/promises.md").read_text(encoding="utf-8")
    named = {*re.findall(r"`(tests/[^`]+\.py)`", page)}
    assert sorted(name for name in named if not (root / name).exists()) == []
    attacks = {path.relative_to(root).as_posix() for path in (root / "tests/attacks").glob("test_*.py")}
    assert sorted(attacks - named) == []
    for name in ("docs/index.md", "docs/asking.md"):
        assert "theory/promises.md" in (root / name).read_text(encoding="utf-8")
