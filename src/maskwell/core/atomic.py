"""Files and folders that appear whole or not at all: written beside under another name, brought to disk, then renamed.

``force`` replaces a regular file and nothing else; devices and pipes are written into, at the end and all at once.
What a killed run left is found by the next that writes to the same place (:mod:`maskwell.core.leftovers`).
"""

from __future__ import annotations

import errno
import os
import shutil
import stat
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

from maskwell.core.arguments import Flag, check_kind, check_path
from maskwell.core.leftovers import clear_leftovers, is_locked, partial_name, throw_away
from maskwell.core.phrases import in_language
from maskwell.core.renames import rename_new, sync, sync_folder
from maskwell.errors import DataFileError, InputError

FULL_DISK = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)  # what the system says where there is no room
TRIES = 10
OWNER_ONLY = 0o600
_UMASK = threading.Lock()


@contextmanager
def atomic_file(
    path: str | Path,
    *,
    force: bool = False,
    inputs: Sequence[str] = (),
    like: str | Sequence[str] | None = None,
    mode: int = 0o666,
    again: str | None = None,
) -> Iterator[BinaryIO]:
    """Open a new file that gets its name only when the block ends well; otherwise nothing is left."""
    with atomic_files([path], force=force, inputs=inputs, like=like, mode=mode, again=again) as (file,):
        yield file


@contextmanager
def atomic_files(
    paths: Sequence[str | Path],
    *,
    force: bool = False,
    inputs: Sequence[str] = (),
    like: str | Sequence[str] | None = None,
    mode: int = 0o666,
    again: str | None = None,
) -> Iterator[list[BinaryIO]]:
    """The same for several files: all get their names, or none, once all of them are complete and on the disk."""
    check_outputs(paths, force=force, inputs=inputs, again=again)
    owner = os.getpid()
    with ExitStack() as stack:
        try:
            outputs = [stack.enter_context(_opened(path)) for path in paths]
            yield [output.file for output in outputs]
            if os.getpid() != owner:
                return
            for output in outputs:
                output.settle(like, mode)
            _name_all(outputs, force=force, again=_again(again))
        except OSError as error:
            if isinstance(error, BrokenPipeError) and "-" in paths:
                raise
            raise _cannot_write(" and ".join(map(str, paths)), error) from error


def save_text(path: str | Path, text: str, *, overwrite: bool, error: type[InputError]) -> None:
    """Write a document that somebody saves from Python; an existing file is replaced only if asked."""
    check_kind(Flag, overwrite=overwrite)
    check_path(path=path)
    try:
        with atomic_file(Path(path), force=overwrite, again="overwrite=True") as file:
            file.write(text.encode())
    except DataFileError as fault:
        raise error(fault.message, hint=fault.hint, path=path) from fault


def write_files(
    contents: Mapping[str, tuple[str | None, bytes | None]], *, force: bool = False, inputs: Sequence[str] = ()
) -> dict[str, str]:
    """Write the outputs that have a path and a content, all or none, and give the paths of those."""
    asked = {name: (path, content) for name, (path, content) in contents.items() if path is not None and content}
    with atomic_files([path for path, _ in asked.values()], force=force, inputs=inputs) as files:
        for file, (_, content) in zip(files, asked.values(), strict=True):
            file.write(content)
    return {name: path for name, (path, _) in asked.items()}


@contextmanager
def partial_folder(target: Path) -> Iterator[Path]:
    """A new folder beside a target, open to its owner alone; thrown away in the end unless it was renamed."""
    clear_leftovers(target)
    owner, tried = os.getpid(), list[Path]()
    handle: int | None = None
    try:
        for _ in range(TRIES):
            tried.append(partial_name(target))
            tried[-1].mkdir(mode=0o700)
            if os.name == "nt":
                break
            with suppress(FileNotFoundError):
                handle = os.open(tried[-1], os.O_RDONLY)
                if is_locked(handle) and tried[-1].is_dir():
                    break
                os.close(handle)  # somebody took it for a leftover in the moment before it was locked
                handle = None
        else:
            raise OSError("temporary folders disappear")
        yield tried[-1]
    finally:
        if os.getpid() == owner:
            throw_away(tried)
        if handle is not None:
            with suppress(OSError):
                os.close(handle)


@contextmanager
def scratch_file(target: Path, name: str, write: Callable[[Path], None]) -> Iterator[Path]:
    """A path that ``write`` puts true records in: a file without a name, gone when the process is.

    What a kill leaves is a link to it beside ``target``; only without ``/proc`` the path is a file in that folder.
    """
    with ExitStack() as stack:
        try:
            folder = stack.enter_context(partial_folder(target))
            path, file = folder / name, stack.enter_context(tempfile.TemporaryFile(dir=folder))
            _link(path, file.fileno())
            write(path)
        except OSError as error:
            raise _cannot_write(f"the records into {target.parent}", error) from error
        yield path


def _link(path: Path, handle: int) -> None:
    """Let a path lead to an open file, where the system can do that; else leave it free."""
    with suppress(OSError):
        path.symlink_to(f"/proc/self/fd/{handle}")
        if os.path.samestat(path.stat(), os.fstat(handle)):
            return
    path.unlink(missing_ok=True)


def name_folder(partial: Path, target: Path, *, over_empty: bool = False) -> None:
    """Bring a partial folder to the disk, then give it its name; nothing but an empty folder is replaced."""
    for place in sorted(partial.rglob("*")):
        sync(place)
    sync(partial)
    if over_empty and target.is_dir():
        if os.name == "nt":
            target.rmdir()
        partial.rename(target)  # fails unless it is empty
    else:
        rename_new(partial, target)
    sync_folder(target.parent)


def allowed_mode(most: int) -> int:
    """The permissions among ``most`` that the user's umask leaves."""
    with _UMASK:  # it can only be read by setting it, for all threads
        mask = os.umask(0o077)
        os.umask(mask)
    return most & ~mask


# ---- where an output may go


def check_outputs(
    paths: Sequence[str | Path], *, force: bool = False, inputs: Sequence[str] = (), again: str | None = None
) -> None:
    """Raise unless files may be written there, each under a name of its own."""
    for path in paths:
        check_output(path, force=force, inputs=inputs, again=again)
    names = ["-" if path == "-" else os.path.realpath(path) for path in paths]
    for path, name in zip(paths, names, strict=True):
        if names.count(name) > 1:
            raise DataFileError("two-outputs-have-the-name", path=path)


def check_output(
    path: str | Path, *, force: bool = False, inputs: Sequence[str] = (), again: str | None = None
) -> None:
    """Raise unless a file may be written there."""
    if path == "-":
        return
    target = Path(path)
    status = _found(target)
    if not target.is_absolute():
        try:
            os.getcwd()  # noqa: PTH109 - only whether there is one
        except OSError as error:
            raise DataFileError("cannot-write-the-working-folder-does", path=path) from error
    for source in inputs:
        if source != "-" and _is_same(target, Path(source)):
            raise DataFileError("the-output-is-also-an-input", path=path)
    if status is None:
        if not Path(os.path.realpath(target)).parent.is_dir():
            raise DataFileError("there-is-no-folder", parent=target.parent, path=path)
        return
    if stat.S_ISDIR(status.st_mode):
        raise DataFileError("the-output-is-a-folder", path=path)
    if not (stat.S_ISREG(status.st_mode) or _is_writable_stream(status)):
        raise DataFileError("the-output-is-not-a-file", path=path)
    if _is_shown_already(status):
        raise DataFileError("the-output-is-where-messages", path=path)
    if stat.S_ISREG(status.st_mode) and not force:
        raise _exists(path, _again(again))


def _found(path: Path) -> os.stat_result | None:
    """What has this name, links followed; None where nothing has."""
    try:
        return path.stat()
    except (FileNotFoundError, NotADirectoryError):
        if not path.is_symlink():
            return None
        reason = "it is a link to a file that does not exist"
    except UnicodeError:
        reason = "its name cannot be written in the code of this system"
    except ValueError:
        reason = "a name cannot hold a null character"
    except OSError as error:
        reason = _reason(error)
    raise DataFileError("cannot-write", reason=reason, path=path)


def _is_writable_stream(status: os.stat_result) -> bool:
    """Pipes, terminals, /dev/null; no disks and no sockets."""
    return stat.S_ISCHR(status.st_mode) or stat.S_ISFIFO(status.st_mode)


def _is_shown_already(status: os.stat_result) -> bool:
    """Whether standard output or standard error goes to the same file or pipe: they would be mixed, or lost."""
    for handle in (1, 2):
        with suppress(OSError):
            if os.path.samestat(status, os.fstat(handle)) and not stat.S_ISCHR(status.st_mode):
                return True
    return False


def _is_same(a: Path, b: Path) -> bool:
    try:
        return a.samefile(b)
    except (OSError, ValueError):
        return os.path.realpath(a) == os.path.realpath(b)


def _exists(path: str | Path, again: str) -> DataFileError:
    return DataFileError("the-output-exists", path_shown=path, again=again, path=str(path))


def _again(again: str | None) -> str:
    """What has an output replaced that exists."""
    return again or in_language("--force", "force=True")


def _cannot_write(path: str, error: OSError) -> DataFileError:
    hint = "choose a place where files may be written"
    if error.errno in FULL_DISK:
        hint = "make room, or choose another place; nothing was written"
    if error.errno == errno.ENXIO:
        hint = "start the program that reads first, or give the name of a file"
    if path == "-":
        path, hint = "standard output", f"look where it goes, and whether {tempfile.gettempdir()} has room"
    return DataFileError("cannot-write-2", hint=hint, reason=_reason(error), path=path)


def _reason(error: OSError) -> str:
    if error.errno == errno.ENXIO:
        return "nobody is reading from this pipe"
    return error.strerror or str(error)


# ---- making them


@dataclass(frozen=True)
class _Spool:
    """Everything for standard output, a device or a pipe, kept until it is complete."""

    path: str | Path
    file: BinaryIO

    def settle(self, like: str | Sequence[str] | None, mode: int) -> None:
        self.file.seek(0)

    def finish(self, naming: _Naming) -> None:
        self._copy()
        naming.back.callback(naming.stay.append, "standard output" if self.path == "-" else str(self.path))

    def _copy(self) -> None:
        if self.path == "-":
            shutil.copyfileobj(self.file, sys.stdout.buffer, 1 << 20)
            sys.stdout.buffer.flush()
            return
        with open(self.path, "wb", opener=_without_waiting) as stream:
            if not _is_writable_stream(os.fstat(stream.fileno())):
                raise OSError("it was replaced meanwhile")
            os.set_blocking(stream.fileno(), True)
            shutil.copyfileobj(self.file, stream, 1 << 20)


@dataclass(frozen=True)
class _Partial:
    """A file beside its target."""

    path: str | Path
    target: Path
    file: BinaryIO
    old: Path
    """Another name for the file that is replaced, until all outputs have their names."""

    def settle(self, like: str | Sequence[str] | None, mode: int) -> None:
        self.file.flush()
        _open_up(self.file, self.target, like, mode)
        os.fsync(self.file.fileno())

    def finish(self, naming: _Naming) -> None:
        made = os.fstat(self.file.fileno())
        if os.name == "nt":
            self.file.close()  # an open file cannot be renamed there; elsewhere it keeps its lock until it has its name
        place, replaces = Path(self.file.name), naming.force and os.path.lexists(self.target)
        if replaces and not stat.S_ISREG(self.target.lstat().st_mode):
            raise OSError("something else than a file has taken its name")
        if replaces and naming.several:
            self._keep_old(naming.held)
        naming.back.callback(self._take_back, naming, made, replaces=replaces)
        if naming.force:
            place.replace(self.target)
        else:
            try:
                rename_new(place, self.target)
            except FileExistsError as error:
                raise _exists(self.path, naming.again) from error
        sync_folder(self.target.parent)

    def _keep_old(self, held: ExitStack) -> None:
        if os.name != "nt":  # both names are of one file: while it is locked, no other run takes one for a leftover
            with suppress(OSError):
                handle = os.open(self.target, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
                held.callback(os.close, handle)
                is_locked(handle)
        try:
            os.link(self.target, self.old)
        except OSError as error:  # without links it stays replaced, and that is said
            if error.errno in FULL_DISK:
                raise

    def _take_back(self, naming: _Naming, made: os.stat_result, *, replaces: bool) -> None:
        try:
            if os.path.lexists(self.target) and os.path.samestat(self.target.lstat(), made):
                self.old.replace(self.target) if replaces else self.target.unlink()
                sync_folder(self.target.parent)
        except OSError:
            naming.stay.append(str(self.path))


@dataclass(frozen=True)
class _Naming:
    """Outputs that are given their names together: how to take back those that have theirs, and which had to stay."""

    force: bool
    again: str
    several: bool
    back: ExitStack
    stay: list[str]
    held: ExitStack  # closed when all have their names, or none


def _name_all(outputs: Sequence[_Spool | _Partial], *, force: bool, again: str) -> None:
    """Give all outputs their names, or none; the error says what could not be taken back."""
    naming = _Naming(force, again, len(outputs) > 1, ExitStack(), [], ExitStack())
    try:
        with naming.held, naming.back:
            for output in sorted(outputs, key=lambda one: isinstance(one, _Partial)):  # streams fail more easily
                output.finish(naming)
            naming.back.pop_all()
    except (OSError, DataFileError) as error:
        if not naming.stay:
            raise
        written, fault = " and ".join(naming.stay), _reason(error) if isinstance(error, OSError) else error.message
        raise DataFileError("only-some-outputs-were-written", written=written, fault=fault, again=again) from error


@contextmanager
def _opened(path: str | Path) -> Iterator[_Spool | _Partial]:
    """What is written into, as standard output is, gets a spool; what is replaced gets a file beside it."""
    status = None if path == "-" else _found(Path(path))
    if path == "-" or (status is not None and _is_writable_stream(status)):
        with tempfile.TemporaryFile() as file:
            yield _Spool(path, cast(BinaryIO, file))
    else:
        with _partial_file(path) as partial:
            yield partial


@contextmanager
def _partial_file(path: str | Path) -> Iterator[_Partial]:
    target = Path(os.path.realpath(path))
    clear_leftovers(target)
    owner, tried, old = os.getpid(), list[Path](), partial_name(target)
    file: BinaryIO | None = None
    try:
        for _ in range(TRIES):
            tried.append(partial_name(target))
            file = _new_file(tried[-1])
            if is_locked(file.fileno()) and os.fstat(file.fileno()).st_nlink:
                break
            file.close()  # somebody took it for a leftover in the moment before it was locked
        else:
            raise OSError("temporary files disappear")
        yield _Partial(path, target, file, old)
    finally:
        if os.getpid() == owner:
            if file is not None and os.name == "nt":
                file.close()  # there, an open file cannot be thrown away
            throw_away([*tried, old])
        elif file is not None:  # in a copy made by a fork, what is still to be written is the other one's business
            with Path(os.devnull).open("wb") as nowhere:
                os.dup2(nowhere.fileno(), file.fileno())
        if file is not None:
            with suppress(OSError):
                file.close()


def _new_file(place: Path) -> BinaryIO:
    return open(place, "xb", opener=_for_owner)


def _for_owner(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0), OWNER_ONLY)


def _without_waiting(path: str, flags: int) -> int:  # noqa: ARG001 - nothing is made and nothing is emptied
    return os.open(path, os.O_WRONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0))


def _open_up(file: BinaryIO, target: Path, like: str | Sequence[str] | None, most: int) -> None:
    """Permissions of the finished file: no more than the umask, the file that it replaces and the input leave."""
    if not hasattr(os, "fchmod"):
        return
    mode, group = allowed_mode(most) | most & OWNER_ONLY, os.fstat(file.fileno()).st_gid
    sources = [like] if isinstance(like, str) else like or []
    for status in (_status(target), *map(_status, sources)):
        if status is not None:
            mode &= status.st_mode | OWNER_ONLY
            mode &= 0o666 if status.st_gid == group else 0o606  # what one group may read is not for another
    os.fchmod(file.fileno(), mode)


def _status(path: str | Path) -> os.stat_result | None:
    """What is known of a file, None where it is missing or not a regular file."""
    try:
        status = os.fstat(sys.stdin.fileno()) if path == "-" else Path(path).stat()
    except (OSError, ValueError):
        return None
    return status if stat.S_ISREG(status.st_mode) else None
