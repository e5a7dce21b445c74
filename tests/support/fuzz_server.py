"""A process that has imported all of maskwell, and forks a child for each command that it is asked to run.

Importing takes a second, forking some milliseconds: that is what makes thousands of commands in a test possible. The
child goes on as ``python -m maskwell`` would: its own folder, standard streams, environment and signal handlers, and
the interpreter ends as it always does where the command has started threads. Where it has not, there is nothing that
ending could trip over, and the child skips taking the modules apart, which would take ten times as long as the rest.
``tests.support.fuzzing`` starts the process and speaks with it over a socket.
"""

import array
import atexit
import gc
import importlib
import json
import os
import pkgutil
import resource
import signal
import socket
import sys
import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

LIBRARIES = (
    "jinja2", "matplotlib.backends.backend_agg", "matplotlib.backends.backend_svg", "matplotlib.pyplot", "pandas",
    "pyarrow.compute", "pyarrow.csv", "pyarrow.dataset", "pyarrow.parquet", "pyreadstat", "scipy.optimize",
    "scipy.sparse.linalg", "scipy.stats",
)  # fmt: skip
"""Imported where they are installed; not polars, which starts threads when it is imported."""

STREAMS = 3
LARGEST_REQUEST = 1 << 20
LARGEST_FILE = 1 << 30
FOR_THREADS = 80 << 20
"""Bytes of addresses, not of memory, that a thread takes for its stack and its part of the heap."""


QUIET = 1e6
"""Seconds between two lines of a log: what a command prints must not depend on how busy the machine is."""


def serve(number: int) -> dict[str, Any]:
    """Answer requests on the socket with this number until its other end is closed; return in each child.

    Gives the child what was asked for.
    """
    import maskwell
    from maskwell.cli import output

    own = [one.name for one in pkgutil.walk_packages(maskwell.__path__, "maskwell.", onerror=lambda _: None)]
    for name in [*(one for one in own if not one.endswith(("__main__", "polars_"))), *LIBRARIES]:
        with suppress(ImportError):  # an extra that is not installed: commands say so
            importlib.import_module(name)
    output.LOG_SECONDS = QUIET
    gc.collect()
    gc.freeze()
    with socket.socket(fileno=number) as control:
        control.sendall(b"ready\n")
        return _answer(control)


def _answer(control: socket.socket) -> dict[str, Any]:
    while True:
        try:
            content, ancillary, _, _ = control.recvmsg(LARGEST_REQUEST, socket.CMSG_SPACE(STREAMS * 4))
        except ConnectionError:
            os._exit(0)
        if not content:
            os._exit(0)
        streams = array.array("i")
        for _, _, data in ancillary:
            streams.frombytes(data)
        request: dict[str, Any] = json.loads(content)
        start = time.monotonic()
        child = os.fork()
        if child == 0:
            control.close()
            _become(request, list(streams))
            return request
        for stream in streams:
            os.close(stream)
        control.sendall(b"%d\n" % child)
        _, status, used = os.wait4(child, 0)
        ended = [os.waitstatus_to_exitcode(status), time.monotonic() - start, used.ru_maxrss]
        control.sendall(json.dumps(ended).encode() + b"\n")


def _become(request: dict[str, Any], streams: list[int]) -> None:
    """Turn this child into the process of a command."""
    os.setsid()
    for wanted, stream in enumerate(streams):
        os.dup2(stream, wanted)
        os.close(stream)
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    tempfile.tempdir = None  # asked before the fork, where a library that is loaded then asks
    _limit(request["memory"], request["seconds"])
    sys.argv = ["maskwell", *request["words"]]
    # The streams know from their opening whether they can be rewound and whether they are terminals.
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        old = getattr(sys, name)
        new = open(number, mode, encoding=old.encoding, errors=old.errors, closefd=False)  # noqa: SIM115
        if name == "stderr":
            new.reconfigure(line_buffering=True)
        setattr(sys, name, new)
        setattr(sys, f"__{name}__", new)


def _limit(memory: int, seconds: int) -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (LARGEST_FILE, LARGEST_FILE))
    pages = Path("/proc/self/statm")
    if pages.exists():
        now = int(pages.read_text().split()[0]) * resource.getpagesize()
        most = now + memory + FOR_THREADS * (os.cpu_count() or 1)
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
    signal.alarm(seconds)  # where whoever asked has gone and kills nothing any more


def _has_threads() -> bool:
    """Whether there are other threads, also ones that Python does not know; yes where nothing tells."""
    tasks = Path("/proc/self/task")
    return not tasks.is_dir() or len(list(tasks.iterdir())) > 1


def run(request: dict[str, Any]) -> None:
    """Run the command line, and leave."""
    module, _, name = request["entry"].partition(":")
    command = getattr(importlib.import_module(module), name)
    try:
        command()
    except SystemExit as end:
        if (_has_threads() and not request["quick"]) or not isinstance(end.code, int | None):
            raise
        status = end.code or 0
    threading._shutdown()
    atexit._run_exitfuncs()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except (OSError, ValueError):
        status = 120
    os._exit(status)


def block_extras() -> None:
    """From now on no library can be imported that an extra of the package brings."""
    from maskwell.core.extras import EXTRAS

    class Blocker:
        def find_spec(self, name: str, *_: Any) -> None:
            if name.partition(".")[0] in EXTRAS:
                raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    sys.meta_path.insert(0, Blocker())  # type: ignore[arg-type]


if __name__ == "__main__":
    if "plain" in sys.argv[2:]:
        block_extras()
    run(serve(int(sys.argv[1])))
