"""A process that reads files with a C library, so that a damaged file which crashes it ends that process, not ours.

Questions go there as lines of JSON, answers come back as messages: a kind of one byte, a length, and the content. A
process that has answered is kept for the next file. It takes the modules from where ours come from, never from the
folder of the data, and ends when ours does.
"""

from __future__ import annotations

import atexit
import json
import os
import signal
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

from maskwell.engines.arrow_arrays import WRITE_AGAIN
from maskwell.errors import DataFileError, MaskwellError

CONTENT, REFUSAL, FAULT, END = b"c", b"r", b"f", b"."
_HEAD = struct.Struct(">cQ")
_START = "import sys; module, sys.path[:] = sys.argv[1], sys.argv[2:]; __import__(module, fromlist=['serve']).serve()"
_IDLE: list[ReaderProcess] = []


class ReaderProcess:
    """The process in which a module answers: its function ``serve`` calls :func:`answer_questions`."""

    def __init__(self, module: str) -> None:
        self.module, self.owner = module, os.getpid()
        root = str(Path(__file__).parents[2])
        places = [root, *(place for place in sys.path if place and place != root)]
        try:
            self._process = subprocess.Popen(  # noqa: S603 - our own interpreter and module
                [sys.executable or "", "-I", "-c", _START, module, *places],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
        except OSError as error:
            raise DataFileError(
                f"files of this kind are read by a Python of their own, which cannot start: {error.strerror}",
                hint="look at sys.executable and at how many processes may run, or save the file as CSV",
            ) from error

    @classmethod
    def for_module(cls, module: str) -> ReaderProcess:
        """One that waits already, or a new one."""
        for waiting in [*_IDLE]:
            if waiting.module != module or waiting.owner != os.getpid():
                continue
            with suppress(ValueError):  # another thread took it
                _IDLE.remove(waiting)
                if waiting.is_usable():
                    return waiting
                waiting.end()
        return cls(module)

    def is_usable(self) -> bool:
        """Whether it is alive, and ours: a fork of this process must not share it."""
        return self.owner == os.getpid() and self._process.poll() is None

    def ask(self, question: dict[str, Any]) -> Iterator[bytes]:
        """The answers to a question about a file, which messages call ``called``; a refusal there is raised here."""
        path, to, back = question["called"], self._process.stdin, self._process.stdout
        if to is None or back is None:
            raise RuntimeError("a process without pipes")
        try:
            to.write(json.dumps(question).encode() + b"\n")
            to.flush()
            while (answer := _receive(back))[0] == CONTENT:
                yield answer[1]
        except (OSError, EOFError):
            self.end()
            raise DataFileError(f"{path} is damaged: its reader crashed", hint=WRITE_AGAIN, path=path) from None
        if answer[0] == REFUSAL:
            raise DataFileError(**json.loads(answer[1]), path=path)
        if answer[0] == FAULT:
            raise RuntimeError(answer[1].decode(errors="replace"))

    def keep(self) -> None:
        """Let it wait for the next file."""
        if self.is_usable():
            _IDLE.append(self)

    def end(self) -> None:
        """End the process."""
        if self.owner == os.getpid():
            self._process.kill()
            self._process.communicate()


@atexit.register
def _end_all() -> None:
    while _IDLE:
        _IDLE.pop().end()


# ---- within the process


def answer_questions(answers: Callable[[dict[str, Any]], Iterator[bytes]]) -> None:
    """Answer every line on standard input on standard output, until there is none."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the other side decides
    questions, out = sys.stdin.buffer, os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # whatever a library prints does not mix with answers
    for question in questions:
        kind, last = _answer(json.loads(question), answers, out)
        _send(out, kind, last)
        out.flush()


def _answer(
    question: dict[str, Any], answers: Callable[[dict[str, Any]], Iterator[bytes]], out: BinaryIO
) -> tuple[bytes, bytes]:
    try:
        for answer in answers(question):
            _send(out, CONTENT, answer)
    except MaskwellError as error:
        about = {"message": error.message, "hint": error.hint, "values": error.values}
        return REFUSAL, json.dumps(about).encode()
    except BrokenPipeError:
        raise
    except Exception as error:  # noqa: BLE001 - a fault of ours is raised again on the other side
        return FAULT, repr(error).encode(errors="backslashreplace")
    return END, b""


def _send(out: BinaryIO, kind: bytes, content: bytes) -> None:
    out.write(_HEAD.pack(kind, len(content)))
    out.write(content)


def _receive(back: Any) -> tuple[bytes, bytes]:
    head = back.read(_HEAD.size)
    if len(head) < _HEAD.size:
        raise EOFError
    kind, length = _HEAD.unpack(head)
    content = back.read(length)
    if len(content) < length:
        raise EOFError
    return kind, content
