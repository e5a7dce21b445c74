"""``python FILE`` and ``python -c PROGRAM`` for :func:`tests.support.fuzzing.run_command`, which has imported much."""

import runpy
import sys
from pathlib import Path


def main() -> None:
    """Run the program that the words name, as the main one, in the working folder."""
    first, *others = sys.argv[1:]
    if first == "-c":
        sys.argv = ["-c", *others[1:]]
        exec(compile(others[0], "<string>", "exec"), {"__name__": "__main__"})
    else:
        sys.argv = [first, *others]
        sys.path[0] = str(Path(first).parent.absolute())
        runpy.run_path(first, run_name="__main__")
    sys.exit(0)
