"""A release folder appears whole or not at all, later changes are told, and nothing public tells an internal hash."""

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from shutil import copytree, which

import pytest
from tests.support.quiet import refused
from tests.support.together import together

import maskwell as mw
from maskwell.errors import DataFileError, ParameterError
from maskwell.microdata.folder.release_folder import release_folder
from maskwell.microdata.folder.release_metadata import sha256_of

PLAN = {"protect": [{"variables": ["sex"], "within": ["region"], "method": "method1", "theta": "1/2"}]}
PEOPLE = "sex,region\n" + "f,north\nm,north\nf,south\nm,south\n" * 10


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("release")
    (folder / "people.csv").write_text(PEOPLE)
    mw.release(folder / "people.csv", PLAN, folder / "out")
    return folder


@pytest.fixture
def out(released: Path, tmp_path: Path) -> Path:
    return Path(copytree(released / "out", tmp_path / "out"))


def failed(*args: object, **options: object) -> list[str]:
    return [check.name for check in mw.verify(*args, **options).failed]  # type: ignore[arg-type]


def test_a_release_holds_as_written_and_its_page_to_sign_has_hashes_nothing_public_has(released: Path) -> None:
    signed = sha256_of(released / "out/internal/manifest.json")
    options = {"source": released / "people.csv", "plan": mw.ReleasePlan.from_dict(PLAN), "sha256": signed.upper()}
    verified = mw.verify(released / "out", **options)
    assert verified.ok and verified.to_dict()["holds"]
    assert [check.name for check in verified.checks][-3:] == ["source", "plan", "signed hash"]
    assert mw.verify(str(released / "out/public")).ok
    content = json.loads((released / "out/internal/manifest.json").read_text())
    internal = [one["sha256"] for one in content["files"] if one["file"].startswith("internal/")]
    secret = [*internal, *(one["sha256"] for one in content["source"]), content["plan"]]
    texts = [path.read_text() for path in (released / "out/public").iterdir()]
    assert len(secret) >= 4
    assert not [one for one in secret for text in texts if one in text]
    page = (released / "out/internal/report.html").read_text()
    content = json.loads((released / "out/internal/manifest.json").read_text())
    hashes = {one["file"]: one["sha256"] for one in [*content["files"], *content["source"]]}
    for digest in (hashes["people.csv"], content["plan"], hashes["public/data.csv"], hashes["public/receipt.json"]):
        assert digest in page


@pytest.mark.skipif(which("sha256sum") is None, reason="no sha256sum here")
def test_users_need_no_maskwell_for_it(out: Path) -> None:
    command = ["sha256sum", "--check", "--strict", "SHA256SUMS"]
    assert subprocess.run(command, cwd=out / "public", capture_output=True, check=False).returncode == 0
    (out / "public/data.csv").write_text("other")
    assert subprocess.run(command, cwd=out / "public", capture_output=True, check=False).returncode == 1


def append(name: str) -> Callable[[Path], object]:
    return lambda folder: (folder / name).write_bytes((folder / name).read_bytes() + b" ")


CHANGES: dict[str, tuple[Callable[[Path], object], list[str]]] = {
    "a record": (append("public/data.csv"), ["public files"]),
    "a receipt": (append("internal/receipt.json"), ["internal files"]),
    "the report": (append("internal/report.html"), ["internal files"]),
    "a file less": (lambda folder: (folder / "public/ddi.xml").unlink(), ["public files"]),
    "a file more": (lambda folder: (folder / "public/more.csv").write_text(""), ["nothing else"]),
    "a link": (lambda folder: (folder / "internal/more").symlink_to("/etc"), ["nothing else"]),
    "a list for users": (
        lambda folder: (folder / "public/SHA256SUMS").write_text(f"{'0' * 64}  data.csv\n"),
        ["public files", "public/SHA256SUMS"],
    ),
}


@together("what", list(CHANGES))
def test_what_is_changed_is_told(what: str, released: Path, tmp_path: Path) -> None:
    out = Path(copytree(released / "out", tmp_path / "out"))
    change, names = CHANGES[what]
    change(out)
    assert failed(out) == names


def test_another_source_or_plan_is_told_and_whoever_changes_the_list_caught_by_its_hash(
    out: Path, released: Path, tmp_path: Path
) -> None:
    other = tmp_path / "people.csv"
    other.write_text(PEOPLE + "f,south\n")
    protect = [{**PLAN["protect"][0], "theta": "1/3"}]
    assert failed(out, source=other) == ["source"]
    assert failed(out, plan=mw.ReleasePlan.from_dict({"protect": protect})) == ["plan"]
    assert failed(out, source=released / "people.csv") == []
    if os.name == "nt":  # no pipes and devices that have names
        return
    os.mkfifo(tmp_path / "pipe.csv")
    for source in ("/dev/zero", tmp_path / "pipe.csv"):
        refused(DataFileError, "is a device, a pipe or a folder, not a file", mw.verify, out, source=source)
    manifest = out / "internal/manifest.json"
    signed, content = sha256_of(manifest), json.loads(manifest.read_text())
    (out / "public/data.csv").write_text("sex,region\n")
    changed = {name: sha256_of(out / name) for name in ("public/data.csv",)}
    sums = (out / "public/SHA256SUMS").read_text().splitlines()
    sums = [f"{changed['public/data.csv']}  data.csv" if line.endswith("data.csv") else line for line in sums]
    (out / "public/SHA256SUMS").write_text("\n".join(sums) + "\n")
    changed["public/SHA256SUMS"] = sha256_of(out / "public/SHA256SUMS")
    for file in content["files"]:
        file["sha256"] = changed.get(file["file"], file["sha256"])
    manifest.write_text(json.dumps(content))
    assert failed(out) == [] and failed(out, sha256=signed) == ["signed hash"]


def test_the_day_can_be_set_so_that_a_release_is_made_again_bit_for_bit(
    released: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    mw.release(released / "people.csv", PLAN, tmp_path / "out")
    assert json.loads((tmp_path / "out/internal/manifest.json").read_text())["date"] == "2023-11-14"


HOSTILE = (  # manifests
    "{",
    "{}",
    '{"maskwell": "manifest", "version": 2, "files": [], "source": []}',
    '{"maskwell": "manifest", "version": 1, "files": [3], "source": []}',
    "[" * 100_000,
)


def test_bad_input_and_manifests_of_an_enemy_are_refused(out: Path, tmp_path: Path) -> None:
    refused(DataFileError, "holds no internal", mw.verify, tmp_path)
    refused(ParameterError, "not a SHA-256 hash", mw.verify, out, sha256="abc")
    refused(ParameterError, "cannot be compared with a source", mw.verify, out / "public", source="people.csv")
    refused(ParameterError, "design cannot be combined with a release", mw.verify, out, design="d.json")
    refused(
        ParameterError, "source cannot be combined with a certificate", mw.verify, "proof.json", source="people.csv"
    )
    outside = tmp_path / "outside"
    outside.write_text("")
    manifest = out / "internal/manifest.json"
    content = json.loads(manifest.read_text())
    for hostile in HOSTILE:
        manifest.write_text(hostile)
        refused(DataFileError, "manifest", mw.verify, out)
    # names outside the folder are not opened
    content["files"].append({"file": "public/../../outside", "sha256": sha256_of(outside)})
    manifest.write_text(json.dumps(content))
    assert failed(out)[0] == "public files"


def test_neither_a_file_nor_the_list_itself_is_behind_a_link(out: Path, tmp_path: Path) -> None:
    moved = (out / "public/data.csv").rename(tmp_path / "data.csv")
    (out / "public/data.csv").symlink_to(moved)
    assert failed(out) == ["public files"]
    (out / "internal").rename(tmp_path / "elsewhere")
    (out / "internal").symlink_to(tmp_path / "elsewhere")
    refused(DataFileError, "holds no internal", mw.verify, out)


@together("name", ["extra.csv", "../outside", "public/README.md"])
def test_every_listed_file_is_looked_at_once(name: str, released: Path, tmp_path: Path) -> None:
    out = Path(copytree(released / "out", tmp_path / "out"))
    (out / "extra.csv").write_text("")
    manifest = out / "internal/manifest.json"
    content = json.loads(manifest.read_text())
    content["files"].insert(0, {"file": name, "sha256": "0" * 64})
    manifest.write_text(json.dumps(content))
    if name.startswith("public/"):
        refused(DataFileError, "listed twice", mw.verify, out)
    else:
        assert "internal files" in failed(out)


def test_it_gets_its_name_at_the_end(tmp_path: Path) -> None:
    target = tmp_path / "labour-2025"
    with release_folder(target) as partial:
        (partial / "public" / "data.csv").write_text("a\n1\n")
        assert not target.exists()
        assert partial.parent == tmp_path and partial.name.startswith(".labour-2025.")
    assert [p.name for p in tmp_path.iterdir()] == ["labour-2025"]
    assert (target / "public" / "data.csv").read_text() == "a\n1\n" and (target / "internal").is_dir()
    if os.name != "nt":
        assert (target / "internal").stat().st_mode & 0o077 == 0  # the internal part is for the owner


def _stopped(target: Path, error: BaseException) -> None:
    with release_folder(target) as partial:
        (partial / "public" / "data.csv").write_text("a")
        raise error


FULL = OSError(28, "No space left on device")


@pytest.mark.parametrize("error", [ValueError(), KeyboardInterrupt(), SystemExit(), FULL], ids=repr)
def test_after_an_error_nothing_is_left(tmp_path: Path, error: BaseException) -> None:
    raised, said = (DataFileError, "cannot write .*No space left") if error is FULL else (type(error), None)
    refused(raised, said, _stopped, tmp_path / "r", error)
    assert list(tmp_path.iterdir()) == []


def test_an_existing_name_is_refused_also_if_it_appears_meanwhile(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("mine")
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    for name, saying in (("folder", "exists"), ("file", "exists"), ("link", "exists"), ("a/b", "does not exist")):
        with pytest.raises(DataFileError, match=saying), release_folder(tmp_path / name):
            raise AssertionError("the block must not run")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["file", "folder", "link"]
    target = tmp_path / "r"
    refused(DataFileError, "exists", _overtaken, target)
    assert (target / "other").read_text() == "somebody else's"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["file", "folder", "link", "r"]


def _overtaken(target: Path) -> None:
    with release_folder(target):
        target.mkdir()
        (target / "other").write_text("somebody else's")
