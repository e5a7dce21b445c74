"""Hostile cases by number: the same ones everywhere, a few in every run of the tests, others for hours on request.

A case is made from its number alone, so that one that fails can be looked at again: ``MASKWELL_FUZZ_ONLY=17`` runs that
one. ``MASKWELL_FUZZ=20`` runs twenty times as many as usual, ``MASKWELL_FUZZ_START=1000000`` begins with another
number; ``make fuzz`` does both.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, overload

from tests.support.signals import signals_as_usual

LONGEST = 30
"""Seconds that a command may take."""

MOST_MEMORY = 4 << 30
DOCUMENTED = {0, 1, 2}
ENTRY = "maskwell.cli.main:main"


class Numbers(Sequence[int]):
    """Numbers of cases; the one that was given last is remembered, for a failure to tell."""

    latest: ClassVar[int | None] = None

    def __init__(self, held: range) -> None:
        self._held, self.start, self.stop = held, held.start, held.stop

    def __len__(self) -> int:
        return len(self._held)

    @overload
    def __getitem__(self, place: int) -> int: ...
    @overload
    def __getitem__(self, place: slice) -> Numbers: ...
    def __getitem__(self, place: int | slice) -> int | Numbers:
        return Numbers(self._held[place]) if isinstance(place, slice) else self._held[place]

    def __iter__(self) -> Iterator[int]:
        for number in self._held:
            Numbers.latest = number
            yield number


def numbers(few: int) -> Numbers:
    """The numbers of the cases to run: ``few`` of them, unless the environment asks for others."""
    if only := os.environ.get("MASKWELL_FUZZ_ONLY"):
        return Numbers(range(int(only), int(only) + 1))
    start = int(os.environ.get("MASKWELL_FUZZ_START", "0"))
    return Numbers(range(start, start + few * int(os.environ.get("MASKWELL_FUZZ", "1"))))


@dataclass(frozen=True)
class Ended:
    """How a command ended: a negative status is the signal that ended it, ``left`` what is in its temporary folder."""

    arguments: tuple[str, ...]
    status: int
    out: bytes
    err: bytes
    seconds: float
    memory: int = 0
    left: Mapping[str, bytes] = field(default_factory=dict)


def run_command(
    arguments: Iterable[object],
    folder: Path,
    *,
    stdin: bytes = b"",
    seconds: float = LONGEST,
    entry: str = ENTRY,
    quick: bool = False,
    plain: bool = False,
) -> Ended:
    """Run ``maskwell arguments`` in a process of its own, with bounded memory; it is killed after so many seconds.

    The process is forked from one that has imported everything already, and costs some 30 ms instead of a second.
    ``entry`` is another function to run instead, ``"module:function"``. A ``quick`` process does not take the
    interpreter apart when it ends, even where threads of a library are left that could make that go wrong. A ``plain``
    one can import no library that an extra brings.
    """
    if not hasattr(os, "fork"):
        return run_apart(arguments, folder, stdin=stdin, seconds=seconds)
    return _server(plain=plain).run(_words(arguments), folder, stdin, seconds, {"entry": entry, "quick": quick})


def run_apart(arguments: Iterable[object], folder: Path, *, stdin: bytes = b"", seconds: float = LONGEST) -> Ended:
    """Run ``python -m maskwell arguments`` as a user would: the witness of :func:`run_command`."""
    words = _words(arguments)
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as private:
        environment = os.environ | {"TMPDIR": private}
        command = [sys.executable, "-m", "maskwell", *words]
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        with process:
            try:
                out, err = process.communicate(stdin, timeout=seconds)
            except subprocess.TimeoutExpired:
                process.kill()
                out, err = process.communicate()
        return Ended(words, process.returncode, out, err, time.monotonic() - start, left=files_in(Path(private)))


def files_in(folder: Path) -> dict[str, bytes]:
    """Every file in a folder, to be compared afterwards; not databases, which change when they are opened."""
    found, top = dict[str, bytes](), str(folder)
    for place, _, names in os.walk(top):
        for name in names:
            path = Path(place, name)
            if path.is_file() and not name.endswith(_BESIDE) and not (content := path.read_bytes()).startswith(_SQLITE):
                found[str(path)[len(top) + 1 :]] = content
    return found


_SQLITE = b"SQLite format 3"
_BESIDE = ("-wal", "-shm", "-turn")


def check_ended(ended: Ended, folder: Path, before: Mapping[str, bytes], *, secrets: Iterable[bytes] = ()) -> None:
    """The rule for every input: a documented status, no traceback, nothing half-written, no value of the data told.

    ``before`` are the files of the folder before the command, ``secrets`` values that no message may hold.
    """
    told = ended.err.decode(errors="replace")
    shown = f"{ended.arguments} ended with {ended.status} after {ended.seconds:.1f} s:\n{told}"
    if ended.left:
        shown += "".join(f"\n{name}:\n{content.decode(errors='replace')}" for name, content in ended.left.items())
    assert ended.status in DOCUMENTED, shown
    assert b"Traceback" not in ended.err + ended.out, shown
    assert ended.memory < MOST_MEMORY, (ended.memory, shown)
    assert not ended.left, shown
    for secret in secrets:
        assert not re.search(rb"(?<!\w)" + re.escape(secret) + rb"(?!\w)", ended.err), (secret, shown)
    after = files_in(folder)
    assert not [name for name in after if name.endswith(".partial")], shown
    if ended.status == 2:
        assert after == dict(before), shown


def _words(arguments: Iterable[object]) -> tuple[str, ...]:
    """The arguments as the command line would have them: any bytes but zero, undecodable ones as surrogates."""
    words = tuple(os.fsdecode(os.fsencode(str(word))) for word in arguments)
    if any("\0" in word for word in words):
        raise ValueError("an argument with a zero byte: no process can be given that")
    return words


class _Server:
    """A process of ``tests.support.fuzz_server`` and the socket to it."""

    def __init__(self, *, plain: bool) -> None:
        self._lock = threading.Lock()
        self._folder = tempfile.TemporaryDirectory(prefix="fuzz-")
        ours, theirs = socket.socketpair()
        with theirs, signals_as_usual():
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.support.fuzz_server", str(theirs.fileno()), *["plain"] * plain],
                cwd=Path(__file__).parents[2],
                env=os.environ | {"OPENBLAS_NUM_THREADS": "1", "TMPDIR": self._folder.name},
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
            )
        self._socket, self._answers = ours, ours.makefile("rb")
        self._answer()

    def run(
        self, words: tuple[str, ...], folder: Path, stdin: bytes, seconds: float, more: Mapping[str, object]
    ) -> Ended:
        """Let a child run a command, kill it where it takes too long, and gather what it left."""
        with self._lock, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            private = tempfile.mkdtemp(dir=self._folder.name)
            request = {
                **more,
                "words": words,
                "folder": str(Path(folder).absolute()),
                "environment": dict(os.environ) | {"OPENBLAS_NUM_THREADS": "1", "TMPDIR": private},
                "memory": MOST_MEMORY,
                "seconds": int(2 * seconds) + 10,
            }
            with _fed(stdin) as given:
                streams = [given, out.fileno(), err.fileno()]
                socket.send_fds(self._socket, [json.dumps(request).encode()], streams)
                child = int(self._answer())
            status, taken, peak = self._ended(child, seconds)
            with contextlib.suppress(ProcessLookupError):  # whatever it started and left behind
                os.killpg(child, signal.SIGKILL)
            out.seek(0)
            err.seek(0)
            left = files_in(Path(private))
            memory = peak * (1 if sys.platform == "darwin" else 1024)
            return Ended(words, status, out.read(), err.read(), taken, memory, left)

    def _ended(self, child: int, seconds: float) -> tuple[int, float, int]:
        timer = threading.Timer(seconds, os.killpg, [child, signal.SIGKILL])
        timer.start()
        try:
            return tuple(json.loads(self._answer()))
        finally:
            timer.cancel()

    def _answer(self) -> bytes:
        answer = self._answers.readline()
        assert answer, "the server of the fuzz tests has ended"
        return answer

    def close(self) -> None:
        """End the process and remove its folder."""
        self._answers.close()
        self._socket.close()
        self._process.wait()
        self._folder.cleanup()


@contextlib.contextmanager
def _fed(content: bytes) -> Iterator[int]:
    """The reading end of a pipe that gives this content."""
    reading, writing = os.pipe()

    def feed() -> None:
        with contextlib.suppress(BrokenPipeError), os.fdopen(writing, "wb", buffering=0) as pipe:
            pipe.write(content)

    threading.Thread(target=feed, daemon=True).start()
    try:
        yield reading
    finally:
        os.close(reading)


_servers: dict[tuple[int, bool], _Server] = {}


def _server(*, plain: bool) -> _Server:
    """The server of this process, with all extras or with none."""
    key = os.getpid(), plain
    if key not in _servers:
        _servers[key] = server = _Server(plain=plain)
        atexit.register(server.close)
    return _servers[key]
