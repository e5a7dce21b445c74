"""What an output may replace, what it is written into, and who wins where two write to the same place."""

import errno
import os
import socket
import stat
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from maskwell.core import renames
from maskwell.core.atomic import atomic_file, atomic_files, check_outputs, name_folder, partial_folder, write_files
from maskwell.errors import DataFileError, MaskwellError

pytestmark = pytest.mark.skipif(os.name == "nt", reason="devices, pipes and links of POSIX")


def write(
    path: str | Path, content: bytes = b"new", *, force: bool = False, meanwhile: Callable[[], object] = lambda: None
) -> None:
    with atomic_file(path, force=force) as file:
        file.write(content)
        meanwhile()


def names(folder: Path) -> list[str]:
    return sorted(place.name for place in folder.iterdir())


@pytest.mark.parametrize("force", [False, True])
def test_a_device_is_written_into_and_never_replaced(tmp_path: Path, *, force: bool) -> None:
    master, terminal = os.openpty()  # a device of our own: were /dev/null replaced, the machine would suffer
    link = tmp_path / "terminal"
    link.symlink_to(os.ttyname(terminal))
    try:
        write(link, force=force)
        assert os.read(master, 100) == b"new"
    finally:
        os.close(master)
        os.close(terminal)
    assert link.is_symlink() and names(tmp_path) == ["terminal"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_device_that_takes_nothing_is_an_error() -> None:
    with pytest.raises(DataFileError, match="No space left"):
        write("/dev/full")
    assert stat.S_ISCHR(Path("/dev/full").stat().st_mode)


@pytest.mark.parametrize("force", [False, True])
def test_a_pipe_gets_everything_or_nothing(tmp_path: Path, *, force: bool) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(DataFileError, match="nobody is reading"):
        write(pipe, force=force)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        with pytest.raises(ZeroDivisionError):
            write(pipe, b"half", meanwhile=lambda: 1 // 0)
        write(pipe, b"all of it", force=force)
        assert os.read(reader, 100) == b"all of it"
    finally:
        os.close(reader)
    assert stat.S_ISFIFO(pipe.stat().st_mode)


@pytest.mark.parametrize("force", [False, True])
def test_folders_and_sockets_are_no_outputs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, force: bool) -> None:
    monkeypatch.chdir(tmp_path)  # names of sockets must be short
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket")
        with pytest.raises(DataFileError, match="is not a file"):
            write("socket", force=force)
    Path("folder").mkdir()
    with pytest.raises(DataFileError, match="is a folder"):
        write("folder", force=force)
    assert names(tmp_path) == ["folder", "socket"]


@pytest.mark.parametrize("force", [False, True])
def test_a_link_that_leads_nowhere_is_refused(tmp_path: Path, *, force: bool) -> None:
    (tmp_path / "dangling").symlink_to(tmp_path / "made-by-it")
    (tmp_path / "loop").symlink_to("loop")
    for name, said in (("dangling", "does not exist"), ("loop", "symbolic links"), ("loop/out", "symbolic links")):
        with pytest.raises(DataFileError, match=said):
            write(tmp_path / name, force=force)
    assert names(tmp_path) == ["dangling", "loop"]


def test_a_link_to_a_file_stays_and_the_file_is_replaced_but_not_its_other_names(tmp_path: Path) -> None:
    old, link, other = tmp_path / "old", tmp_path / "link", tmp_path / "other"
    old.write_bytes(b"old")
    link.symlink_to(old)
    other.hardlink_to(old)
    with pytest.raises(DataFileError, match="exists"):
        write(link)
    write(link, force=True)
    assert link.is_symlink() and old.read_bytes() == b"new" and other.read_bytes() == b"old"


@pytest.mark.parametrize("name", ["nul\0", "x" * 300])
def test_a_name_that_no_file_can_have(tmp_path: Path, name: str) -> None:
    with pytest.raises(DataFileError, match="cannot write"):
        write(tmp_path / name)


SHOWN = "import sys; from maskwell.core.atomic import check_output; check_output(sys.argv[1], force=True)"


@pytest.mark.parametrize("path", ["out", "/dev/stdout", "/dev/fd/1"])
def test_where_messages_go_is_no_output(tmp_path: Path, path: str) -> None:
    with (tmp_path / "out").open("wb") as out:
        done = subprocess.run(
            [sys.executable, "-c", SHOWN, path], cwd=tmp_path, stdout=out, stderr=subprocess.PIPE, check=False
        )
    assert b"also receives the messages of this command" in done.stderr


def no_links(*_: Any) -> None:
    raise PermissionError(errno.EPERM, "no links here")


@pytest.fixture(params=["system call", "links", "neither"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Every way to rename without replacing."""
    if request.param != "system call":
        monkeypatch.setattr(renames, "_renameat2", lambda: None)
    if request.param == "neither":
        monkeypatch.setattr(os, "link", no_links)
    return str(request.param)


@pytest.mark.usefixtures("way")
def test_a_file_that_somebody_made_meanwhile_stays(tmp_path: Path) -> None:
    target = tmp_path / "out"
    with pytest.raises(DataFileError, match="exists") as caught:
        write(target, meanwhile=lambda: target.write_bytes(b"somebody else's"))
    assert "force=True" in caught.value.hint
    assert target.read_bytes() == b"somebody else's" and names(tmp_path) == ["out"]
    target.unlink()
    write(target)
    assert target.read_bytes() == b"new" and names(tmp_path) == ["out"]
    assert target.stat().st_nlink == 1


@pytest.mark.usefixtures("way")
def test_a_folder_that_somebody_made_meanwhile_stays_even_if_it_is_empty(tmp_path: Path) -> None:
    target = tmp_path / "out"
    with partial_folder(target) as partial:
        (partial / "file").write_bytes(b"new")
        target.mkdir()
        with pytest.raises(FileExistsError):
            name_folder(partial, target)
    assert names(tmp_path) == ["out"] and names(target) == []
    with partial_folder(target) as partial:
        (partial / "file").write_bytes(b"new")
        name_folder(partial, target, over_empty=True)
    assert names(tmp_path) == ["out"] and names(target) == ["file"]
    with partial_folder(target) as partial, pytest.raises(OSError, match="not empty"):
        name_folder(partial, target, over_empty=True)


def test_with_force_only_a_file_is_replaced_that_is_still_one(tmp_path: Path) -> None:
    target = tmp_path / "out"
    target.write_bytes(b"old")

    def replaced() -> None:
        target.unlink()
        os.mkfifo(target)

    with pytest.raises(DataFileError, match="something else than a file"):
        write(target, force=True, meanwhile=replaced)
    assert stat.S_ISFIFO(target.stat().st_mode) and names(tmp_path) == ["out"]


def test_a_file_and_then_its_folder_are_brought_to_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    steps: list[str] = []

    def synced(handle: int, real: Callable[[int], None] = os.fsync) -> None:
        steps.append("folder" if stat.S_ISDIR(os.fstat(handle).st_mode) else "file")
        real(handle)

    def renamed(*args: Any, real: Callable[..., bool] = renames._is_renamed) -> bool:
        steps.append("name")
        return real(*args)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(renames, "_is_renamed", renamed)
    write(tmp_path / "out")
    assert steps == ["file", "name", "folder"]
    steps.clear()
    write_files({"a": (str(tmp_path / "a"), b"a"), "b": (str(tmp_path / "b"), b"b"), "c": (None, b"c")})
    assert steps == ["file", "file", "name", "folder", "name", "folder"]
    steps.clear()
    with partial_folder(tmp_path / "folder") as partial:
        (partial / "one").write_bytes(b"1")
        name_folder(partial, tmp_path / "folder")
    assert steps == ["file", "folder", "name", "folder"]


def test_a_disk_that_is_full_at_the_last_moment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = tmp_path / "old"
    old.write_bytes(b"old")
    synced: list[int] = []

    def no_space(handle: int) -> None:
        synced.append(handle)
        if len(synced) > 1:  # the first file is still brought to the disk
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", no_space)
    with pytest.raises(DataFileError, match="No space left") as caught:
        write_files({"first": (str(old), b"new"), "second": (str(tmp_path / "second"), b"new")}, force=True)
    assert "make room" in caught.value.hint
    assert old.read_bytes() == b"old" and names(tmp_path) == ["old"]


def fails_at(name: str, number: int, code: int, patch: pytest.MonkeyPatch) -> None:
    """Let the system refuse one call, counted from 1, of those that give names; later ones may take them back."""
    real, calls = getattr(os, name), list[Any]()

    def called(*args: Any, **options: Any) -> Any:
        calls.append(args)
        if len(calls) == number:
            raise OSError(code, os.strerror(code))
        return real(*args, **options)

    patch.setattr(os, name, called)


OLD_ONES = {"a": b"old a", "b": b"old b"}
TWO = ({}, {"a": b"old a"}, {"b": b"old b"}, OLD_ONES)


@pytest.mark.parametrize("old", TWO, ids=["none replaced", "first", "second", "both"])
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO])
def test_where_the_second_output_gets_no_name_the_first_is_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, old: dict[str, bytes], code: int
) -> None:
    for name, content in old.items():
        (tmp_path / name).write_bytes(content)
    with monkeypatch.context() as patch:
        fails_at("replace", 2, code, patch)
        with pytest.raises(DataFileError, match=os.strerror(code)) as caught:
            write_files({name: (str(tmp_path / name), b"new") for name in "ab"}, force=True)
    assert ("nothing was written" in caught.value.hint) == (code == errno.ENOSPC)
    assert {place.name: place.read_bytes() for place in tmp_path.iterdir()} == old
    write_files({name: (str(tmp_path / name), b"new") for name in "ab"}, force=True)
    assert {place.name: place.read_bytes() for place in tmp_path.iterdir()} == dict.fromkeys("ab", b"new")
    assert {(tmp_path / name).stat().st_nlink for name in "ab"} == {1}


@pytest.mark.usefixtures("way")
def test_new_outputs_appear_together_or_not_at_all(tmp_path: Path) -> None:
    paths = [tmp_path / name for name in "abc"]
    with pytest.raises(DataFileError, match="already exists"), atomic_files(paths):
        paths[1].write_bytes(b"somebody else's")
    assert names(tmp_path) == ["b"] and paths[1].read_bytes() == b"somebody else's"


def test_an_output_that_cannot_be_taken_back_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, content in OLD_ONES.items():
        (tmp_path / name).write_bytes(content)
    fails_at("replace", 2, errno.ENOSPC, monkeypatch)
    monkeypatch.setattr(os, "link", no_links)  # so that the old file cannot be kept
    with pytest.raises(DataFileError, match=r"only some outputs were written \(.*/a\): No space left") as caught:
        write_files({name: (str(tmp_path / name), b"new") for name in "ab"}, force=True)
    assert "nothing was written" not in caught.value.hint and "force=True" in caught.value.hint
    assert {place.name: place.read_bytes() for place in tmp_path.iterdir()} == {"a": b"new", "b": b"old b"}


def test_what_a_pipe_got_is_named_where_the_file_beside_it_gets_no_name(tmp_path: Path) -> None:
    pipe, file = tmp_path / "pipe", tmp_path / "file"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        with (
            pytest.raises(DataFileError, match=r"only some outputs were written \(.*pipe\)"),
            atomic_files([file, pipe]) as (_, stream),
        ):
            write(file, meanwhile=lambda: stream.write(b"all of it"))  # somebody else's
        assert os.read(reader, 100) == b"all of it" and names(tmp_path) == ["file", "pipe"]
    finally:
        os.close(reader)


def test_pages_of_a_picture_are_saved_together_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from maskwell.reports.pictures.revelation import plot_revealed

    picture = plot_revealed(3)
    monkeypatch.setattr(type(picture), "contents", lambda _, path: {f"{path}": b"1", f"{path}-2": b"2"})
    fails_at("replace", 2, errno.ENOSPC, monkeypatch)
    with pytest.raises(DataFileError, match="No space left"):
        picture.save(tmp_path / "p.svg")
    assert names(tmp_path) == []


def test_two_outputs_need_two_names(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path)
    with pytest.raises(DataFileError, match="two outputs"):
        check_outputs([str(tmp_path / "out"), str(tmp_path / "link" / "out")])
    with pytest.raises(DataFileError, match="two outputs"), atomic_files(["-", "-"]):
        pass


def test_of_many_threads_one_wins_and_the_umask_stays(tmp_path: Path) -> None:
    target, start = tmp_path / "out", threading.Barrier(8)
    before = os.umask(0o027)

    def run(number: int) -> bool:
        start.wait()
        try:
            write(target, bytes([number]) * 100_000)
        except DataFileError:
            return False
        return True

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a file of a moment may be taken for a leftover before it is locked
            with ThreadPoolExecutor(8) as pool:
                won = [number for number, whether in enumerate(pool.map(run, range(8))) if whether]
        assert os.umask(0o027) == 0o027
    finally:
        os.umask(before)
    assert target.read_bytes() == bytes(won) * 100_000 and len(won) == 1
    assert names(tmp_path) == ["out"] and stat.S_IMODE(target.stat().st_mode) == 0o640


RACE = """
import os, sys, warnings
from maskwell.core.atomic import atomic_file
from maskwell.errors import DataFileError, MaskwellError
warnings.simplefilter("ignore")
children = []
for number in range(6):
    children.append(os.fork())
    if not children[-1]:
        for turn in range(30):
            with atomic_file(sys.argv[1], force=True) as file:
                file.write(bytes([number]) * 5000)
                file.write(bytes([number]) * (5000 + turn))
        os._exit(0)
for child in children:
    while os.waitpid(child, os.WNOHANG) == (0, 0):
        if os.path.exists(sys.argv[1]):
            with open(sys.argv[1], "rb") as file:
                content = file.read()
            assert len(set(content)) == 1 and len(content) >= 10000, (len(set(content)), len(content))
"""


def test_processes_that_replace_the_same_file_never_mix(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", RACE, str(tmp_path / "out")], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    assert names(tmp_path) == ["out"]


FORK = """
import os, sys
from maskwell.core.atomic import atomic_file, partial_folder
with atomic_file("out") as file, partial_folder(__import__("pathlib").Path("folder")) as folder:
    file.write(b"first,")
    child = os.fork()
    if not child:
        sys.exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert os.path.exists(file.name) and folder.is_dir()
    file.write(b"second")
"""


def test_a_fork_that_ends_takes_nothing_away_and_adds_nothing(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", FORK], cwd=tmp_path, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    assert (tmp_path / "out").read_bytes() == b"first,second" and names(tmp_path) == ["out"]


@pytest.fixture(params=["design", "certificate", "picture"])
def save(request: pytest.FixtureRequest) -> Callable[[Path], object]:
    from maskwell import Categories, certify
    from maskwell.designs import Uniform
    from maskwell.designs.wire import save_design
    from maskwell.reports.pictures.revelation import plot_revealed

    design = Uniform.from_gamma(3, Categories.numbered(4))
    return {
        "design": lambda path: save_design(design, path, overwrite=True),
        "certificate": lambda path: certify(design).save(path, overwrite=True),
        "picture": lambda path: plot_revealed(3).save(path),
    }[request.param]


def test_what_is_saved_is_whole_or_the_old_one(
    save: Callable[[Path], object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    path, other = tmp_path / "saved.svg", tmp_path / "other"
    path.write_bytes(b"old")
    other.hardlink_to(path)
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(MaskwellError, match="No space left"):
            save(path)
    assert path.read_bytes() == b"old" and names(tmp_path) == ["other", "saved.svg"]
    save(path)
    assert len(path.read_bytes()) > 100 and other.read_bytes() == b"old"
