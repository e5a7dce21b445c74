"""The ledger of a data set: what it says of earlier releases, what they tell together, and that it never lies."""

import csv
import json
import multiprocessing
import re
import shutil
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.support.matching import told_risk
from tests.support.quiet import refused

from maskwell import KeyedRandom, Release, ReleasePlan
from maskwell.core.atomic import name_folder
from maskwell.errors import DataFileError, MaskwellError, PublishError
from maskwell.microdata.folder import ledger as ledgers
from maskwell.microdata.folder import release_folder
from maskwell.microdata.folder.ledger import ABANDONED, BEGUN, RELEASED, read_ledger
from maskwell.microdata.folder.release_check import verify_release
from maskwell.microdata.publication import release_into
from maskwell.microdata.stages.stage import Stage

KEY = KeyedRandom.of(bytes(range(32)), "people")
REGIONS = [1, 2, 3, 9, 20, 40]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a file of 150 persons."""
    monkeypatch.chdir(tmp_path)
    random = np.random.default_rng(1)
    regions = random.choice(list("abcdef"), 150, p=np.array(REGIONS) / sum(REGIONS))
    with Path("people.csv").open("w", encoding="utf-8", newline="") as file:
        rows = zip(range(150), regions, random.choice(list("fm"), 150), strict=True)
        csv.writer(file).writerows([("pid", "region", "sex"), *rows])
    return tmp_path


def plan_of(match: str = "0.4", variables: tuple[str, ...] = ("region", "sex"), **protect: Any) -> ReleasePlan:
    protection = {"variables": list(variables), "method": "mixing", **protect}
    return ReleasePlan.of([protection], keys=["region", "sex"], match=match, id="pid", dataset="people")


def released(folder: str, plan: ReleasePlan | None = None, **more: Any) -> Release:
    options = {"key": KEY, "ledger": "k.ledger", **more}
    return release_into("people.csv", plan or plan_of(), folder, **options)


def beyond(folder: str, plan: ReleasePlan, **more: Any) -> dict[str, Any]:
    """What is said of the first columns that would be drawn anew."""
    error = refused(PublishError, "", released, folder, plan, **more)
    again: dict[str, Any] = next(one for one in error.objects["again"] if one["beyond"])
    return again


def changed(plan: ReleasePlan, **entries: Any) -> ReleasePlan:
    content = plan.to_dict()
    return ReleasePlan.from_dict({**content, "release": {**content["release"], **entries}})


def rows(folder: str) -> list[str]:
    return sorted(Path(folder, "public", "data.csv").read_text(encoding="utf-8").splitlines())


def dense(stage: Stage) -> np.ndarray[Any, Any]:
    matrix = np.zeros((len(stage.outputs), len(stage.states)))
    report, true, p = stage.transitions
    matrix[report, true] = p
    return matrix


def test_the_same_plan_tells_nothing_new_and_two_at_once_lose_no_line(place: Path) -> None:
    released("one")
    again = released("two")
    assert rows("one") == rows("two")
    assert again.drawn_again == ()
    first, second = read_ledger("k.ledger").releases
    assert (first.state, second.state) == (RELEASED, RELEASED)
    assert first.stages[0].matrix == second.stages[0].matrix
    assert Path("k.ledger").stat().st_mode & 0o077 == 0
    assert verify_release("two", ledger="k.ledger").ok
    before = read_ledger("k.ledger")
    released("three")
    refused(DataFileError, "meanwhile", ledgers._append, before, {"event": RELEASED, "number": 1, "time": ""})


def end_of(number: int) -> None:
    ledgers.settle(read_ledger("k.ledger"), number, RELEASED)


@pytest.mark.parametrize("kind", ["threads", "processes"])
def test_releases_that_end_at_once_lose_no_line(place: Path, kind: str) -> None:
    """Without the lock, two threads lost a line in most runs."""
    released("one")
    lines = len(read_ledger("k.ledger").lines)
    context = multiprocessing.get_context("spawn")
    pool = ThreadPoolExecutor(4) if kind == "threads" else ProcessPoolExecutor(4, mp_context=context)
    with pool:
        assert [*pool.map(end_of, [1] * 24)] == [None] * 24
    assert len(read_ledger("k.ledger").lines) == lines + 24


def test_of_releases_at_once_each_is_in_the_ledger_or_is_refused(place: Path) -> None:
    def one(folder: str) -> None:
        with suppress(DataFileError):  # another release was written down meanwhile
            released(folder)

    released("before")
    with ThreadPoolExecutor(3) as pool:
        assert [*pool.map(one, "abc")] == [None] * 3
    out = {folder for folder in "abc" if Path(folder).is_dir()}
    written = {Path(record.folder).name for record in read_ledger("k.ledger").releases if record.state == RELEASED}
    assert out and written == {"before", *out}


def test_another_bound_or_order_draws_anew_and_is_refused_with_figures(place: Path) -> None:
    """Two independent draws are one release with the product of their chances: a slow twin gives the same figure."""
    first = released("one").stages[0]
    error = refused(PublishError, "together with release 1", released, "two", plan_of("0.3"))
    assert not Path("two").exists()
    assert len(error.message) <= 100
    later = released("two", plan_of("0.3"), draw_anew=True)
    (again,) = later.drawn_again
    assert again.reason.startswith("match of [release]")
    assert rows("one") != rows("two")
    stage = later.stages[0]
    counts = stage.counts.tolist()
    both = (dense(first)[:, None, :] * dense(stage)[None, :, :]).reshape(-1, len(counts))
    chances = [
        told_risk(counts, row.tolist(), int(x)).strict
        for matrix in (both, dense(first), dense(stage))
        for row in matrix
        for x in np.flatnonzero(row)
    ]
    assert again.match_together == pytest.approx(max(chances))
    assert again.match == pytest.approx(max(chances[-int((dense(stage) > 0).sum()) :]))
    with pytest.raises(PublishError, match="releases 1 and 2") as order:
        released("three", plan_of(variables=("sex", "region")))
    assert order.value.objects["again"][0]["reason"] == "variables are in another order"
    assert order.value.objects["again"][0]["draws"] == 3


def test_earlier_matrices_keep_the_draws_of_a_corrected_file(place: Path) -> None:
    plan = ReleasePlan.of([{"variables": ["region"], "method": "method1", "theta": "0.5"}], id="pid", dataset="people")
    released("one", plan)
    lines = Path("people.csv").read_text(encoding="utf-8").splitlines()
    rare = next(line for line in lines if ",b," in line)
    Path("people.csv").write_text("".join(f"{line}\n" for line in lines if line != rare), encoding="utf-8")
    assert released("two", plan, matrices="one/internal/receipt.json").drawn_again == ()
    (again,) = released("three", plan).drawn_again
    assert "counts" in again.reason and (again.earlier, again.draws) == ((1, 2), 2)


def test_what_is_said_of_two_releases_names_what_is_known_and_what_is_not_at_hand(place: Path) -> None:
    released("one")
    told = beyond("two", plan_of("0.3"))["words"]
    assert "if all these files hold the same people" in told
    assert "knows only region and sex of a person" in told  # of a record more may be found
    Path("one").rename("elsewhere")
    again = beyond("two", plan_of("0.3"))
    assert again["match_together"] is None and "is not known" in again["words"]


def test_fresh_draws_and_other_keys_are_new_and_other_data_sets_are_not_asked(place: Path) -> None:
    released("one", plan_of(draws="fresh"), key=None)
    assert beyond("two", plan_of(draws="fresh"), key=None)["reason"] == "draws are new in each release"
    assert "another secret key" in beyond("two", plan_of())["reason"]
    other_key = KeyedRandom.of(bytes(range(1, 33)), "people")
    released("kept", ledger="another.ledger")
    (again,) = released("two", key=other_key, ledger="another.ledger", draw_anew=True).drawn_again  # the same matrix
    assert again.draws == 2
    elsewhere, its_key = changed(plan_of(), dataset="b"), KeyedRandom.of(bytes(range(32)), "b")
    with pytest.raises(PublishError, match="drawn anew"):  # the same file under another name
        released("three", elsewhere, key=its_key)
    with Path("people.csv").open("a", encoding="utf-8") as file:
        file.write("150,f,m\n")
    assert released("three", elsewhere, key=its_key).drawn_again == ()


def test_draws_under_one_matrix_are_new_where_ids_recodes_or_what_they_are_within_changed(place: Path) -> None:
    """Each of these gives independent draws, or draws that tell who changed, under the same key and matrix."""
    text = Path("people.csv").read_text(encoding="utf-8").splitlines()
    more = [f"{line},{1000 - i}" for i, line in enumerate(text[1:])]
    Path("people.csv").write_text("\n".join([f"{text[0]},nr", *more, ""]), encoding="utf-8")
    by_pid = changed(plan_of(), drop=["nr"])
    released("by-pid", by_pid, ledger="ids.ledger")
    ids = beyond("by-nr", changed(plan_of(), drop=["pid"], id="nr"), ledger="ids.ledger")
    assert ids["reason"] == "draws are kept by another column"
    sex = [{"variables": ["sex"], "method": "method1", "theta": "0.5", "draws": "fresh"}]
    within = {"variables": ["region"], "within": ["sex"], "method": "mixing", "match": "0.6"}
    nested = ReleasePlan.of([*sex, within], id="pid", dataset="people", drop=["nr"])
    released("nested", nested, ledger="nested.ledger")
    assert beyond("again", nested, ledger="nested.ledger")["variables"] == ("region",)

    def grouped(**groups: list[str]) -> ReleasePlan:
        protect = [{"variables": ["region"], "method": "uniform", "gamma": "3"}]
        plan = ReleasePlan.of(protect, id="pid", dataset="people", drop=["nr"])
        return ReleasePlan.from_dict({**plan.to_dict(), "recode": {"region": {"group": groups}}})

    first = released("low", grouped(low=[*"abcd"], high=[*"ef"]), ledger="groups.ledger").stages[0]
    other = beyond("lower", grouped(low=[*"abc"], high=[*"def"]), ledger="groups.ledger")
    assert (other["parity_together"], other["match_together"]) == (np.inf, None)
    again = released("lower", grouped(low=[*"abc"], high=[*"def"]), ledger="groups.ledger", draw_anew=True)
    assert again.stages[0].fingerprint == first.fingerprint


def test_categories_that_were_recoded_otherwise_are_not_taken_for_new_persons(place: Path) -> None:
    recoded = {**plan_of().to_dict(), "recode": {"region": {"group": {"rare": [*"abc"], "common": [*"def"]}}}}
    released("one", ReleasePlan.from_dict(recoded))
    finer = beyond("two", plan_of())
    assert finer["match_together"] is None and finer["reason"] == "columns are recoded in another way"


def test_kept_reports_that_are_randomized_once_more_tell_no_more_than_the_kept_ones(place: Path) -> None:
    plan = plan_of("0.6", method="uniform", gamma="3", again="0.5")  # which changes most records each time
    released("one", plan)
    assert released("two", plan).drawn_again == ()
    assert rows("one") != rows("two")


def test_without_a_bound_a_second_draw_is_a_warning(place: Path) -> None:
    protect = [{"variables": ["sex"], "method": "method1", "theta": "0.5"}]
    plan = ReleasePlan.of(protect, id="pid", dataset="people")
    other = ReleasePlan.of([{**protect[0], "theta": "0.6"}], id="pid", dataset="people")
    released("one", plan)
    (again,) = released("two", other).drawn_again
    assert not again.beyond and again.parity_together > again.parity > 1
    assert "theta changed" in again.words


def test_killed_between_the_folder_and_the_ledger_it_says_begun(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(ledgers, "settle", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        refused(KeyboardInterrupt, "", released, "one")
    assert Path("one").is_dir()
    (record,) = read_ledger("k.ledger").releases
    assert record.state == BEGUN
    assert [check.name for check in verify_release("one", ledger="k.ledger").failed] == ["in the ledger"]
    assert "may be out" in beyond("two", plan_of("0.3"))["words"]


def test_a_folder_that_never_appeared_is_abandoned(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(release_folder, "name_folder", fails)
        refused(DataFileError, "", released, "one")
    assert not Path("one").exists()
    assert [one.state for one in read_ledger("k.ledger").releases] == [ABANDONED]
    assert released("two", plan_of("0.3")).drawn_again == ()


def test_interrupted_after_the_folder_got_its_name_it_is_not_abandoned(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(partial: Path, target: Path) -> None:
        name_folder(partial, target)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(release_folder, "name_folder", interrupted)
        refused(KeyboardInterrupt, "", released, "one")
    assert Path("one").is_dir()
    assert [one.state for one in read_ledger("k.ledger").releases] == [BEGUN]
    assert "may be out" in beyond("two", plan_of("0.3"))["words"]


def test_a_ledger_that_was_changed_is_refused(place: Path) -> None:
    released("one")
    whole = Path("k.ledger").read_text(encoding="utf-8")
    lines = whole.splitlines(keepends=True)
    first = json.loads(lines[0])
    wrong = [{"time": 1}, {"stages": [1]}, {"stages": None}, {"rows": "x"}]
    wrong += [{"stages": [{**first["stages"][0], "parity": "-1"}]}]
    wrong += [{"number": "7"}, {"source": [["a"]]}, {"dataset": ["people"]}, {"commitment": 5}]
    hidden = json.dumps({**first, "previous": read_ledger("k.ledger").last, "folder": "elsewhere"})
    strange = [f"{whole}{hidden}\n", "[1]", json.dumps(first)[:-9], *(json.dumps({**first, **more}) for more in wrong)]
    changes = [whole.replace('"people"', '"others"'), lines[1], f"{whole}{{}}\n", f"{whole}no\n", f"pid\n{whole}"]
    for changed in [*changes, *strange]:
        Path("k.ledger").write_text(changed, encoding="utf-8")
        refused(DataFileError, "line", released, "two")
        assert not verify_release("one", ledger="k.ledger").ok
        assert not Path("two").exists()
    Path("k.ledger").write_text(whole, encoding="utf-8")
    released("two")
    assert json.loads(Path("k.ledger").read_text(encoding="utf-8").splitlines()[2])["number"] == 2


def test_a_release_that_is_not_in_the_ledger_is_told(place: Path) -> None:
    released("one")
    released("two", ledger=None)
    (failed,) = verify_release("two", ledger="k.ledger").failed
    assert failed.words == "it has no release with this list of files"
    refused(MaskwellError, "does not exist", verify_release, "two", ledger="other.ledger")


def test_an_end_that_was_cut_off_is_missed_by_the_folders_that_are_there(place: Path) -> None:
    """By the next release beside them, and where a later one is verified; not where the folder is gone."""
    released("one")
    first = Path("k.ledger").read_text(encoding="utf-8")
    released("two")
    assert verify_release("two", ledger="k.ledger").ok
    Path("k.ledger").write_text(first, encoding="utf-8")
    error = refused(PublishError, "lacks the release 'two'", released, "three")
    assert max(len(error.message), len(error.hint)) <= 93
    assert [one.name for one in verify_release("two", ledger="k.ledger").failed] == ["in the ledger"]
    Path("k.ledger").write_text("", encoding="utf-8")  # a ledger that begins anew
    failed = {one.name for one in verify_release("two", ledger="k.ledger").failed}
    assert failed == {"ledger, since then", "in the ledger"}
    shutil.rmtree("two")
    refused(PublishError, "lacks the release 'one'", released, "three")
    shutil.rmtree("one")
    released("three")


def test_what_changed_since_an_earlier_release_is_told(place: Path) -> None:
    released("one")
    released("two", plan_of("0.3"), draw_anew=True)
    told = verify_release("two", earlier="one")
    assert told.ok
    words = {check.name: check.words for check in told.checks}
    assert words["earlier release"] == "one is as it was released"
    assert words["since then: source"] == "the same file, by its SHA-256 hash"
    assert words["… records"] == "150, as before" and words["… columns"] == "the same 2 names"
    assert words["… plan"] == "release.match 0.3 (before 0.4)"
    assert words["… matrices"] == "region, sex: another one: its fingerprint differs"
    assert words["… draws"] == "new: the same key and data set, but no matrix is the same"
    assert words["… highest probability"] == "30 %, before 40 %"
    again = {check.name: check.words for check in verify_release("one", earlier="one").checks}
    assert again["… matrices"] == "region, sex: the same, by fingerprint"
    assert again["… draws"].startswith("kept, unless")
    assert re.fullmatch(r"the same in all \d+ entries", again["… plan"])
    Path("one/public/data.csv").write_text("", encoding="utf-8")
    assert [check.name for check in verify_release("two", earlier="one").failed] == ["earlier release"]
    refused(MaskwellError, "public part", verify_release, "two/public", earlier="one")
