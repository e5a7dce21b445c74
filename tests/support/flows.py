"""How many files of the package a command crosses, and how often it goes from one package to another.

Everything but the service is imported before, so that what runs at an import does not count. Run as
``python -m tests.support.flows release people.csv --plan plan.toml -o released`` in the folder of the files: how often
calls in order lead from one package to another, but for the lowest, and the names of the files with calls, one a line.
Several commands are divided by ``--and``, an empty line between them.
"""

import contextlib
import importlib
import io
import os
import pkgutil
import sys
import threading
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from types import CodeType, FrameType

import maskwell

AND = "--and"
LOWEST = ("core", "designs", "errors.py", "notes.py")


def import_all() -> None:
    """Import every module of the package but those of the service, which no other command enters."""
    for module in pkgutil.walk_packages(maskwell.__path__, "maskwell."):
        if not module.name.endswith("__main__") and not module.name.startswith("maskwell.collection"):
            importlib.import_module(module.name)


def crossed(arguments: Sequence[str]) -> tuple[int, set[str]]:
    """Switches between packages, and the Python files with calls, in one command; RuntimeError where it fails."""
    from maskwell.cli.main import main

    root = str(Path(maskwell.__file__).parent) + os.sep
    called: set[CodeType] = set()
    here, switches, first = "", 0, threading.get_ident()

    def watch(frame: FrameType, *_: object) -> None:  # of calls in Python alone: it gives back no function for lines
        nonlocal here, switches
        called.add(frame.f_code)
        name = frame.f_code.co_filename
        if name.startswith(root) and frame.f_code.co_name != "<module>" and threading.get_ident() == first:
            package = name.removeprefix(root).partition(os.sep)[0]
            if package not in LOWEST:
                switches += here not in ("", package)
                here = package

    sys.argv = ["maskwell", *arguments]
    code: object = 0
    with contextlib.redirect_stdout(io.StringIO()) as said:
        threading.settrace(watch)
        sys.settrace(watch)
        try:
            main()
        except SystemExit as end:
            code = end.code
        finally:
            sys.settrace(None)
            threading.settrace(None)  # type: ignore[arg-type]
    if code:
        raise RuntimeError(f"maskwell {' '.join(arguments)} ends with {code}: {said.getvalue()}")
    files = {one.co_filename for one in called if one.co_name != "<module>"}
    own = (name.removeprefix(root) for name in files if name.startswith(root))
    return switches, {name.replace(os.sep, "/") for name in own if name.endswith(".py")}  # not the templates of pages


if __name__ == "__main__":
    import_all()
    commands = [[*words] for is_and, words in groupby(sys.argv[1:], lambda word: word == AND) if not is_and]
    found = [crossed(command) for command in commands]
    sys.stdout.write("\n\n".join("\n".join([str(switches), *sorted(files)]) for switches, files in found))
