"""Run every check in settings that differ from the usual one, each in a clone of its own.

    python -m tests.support.settings                     # make test in all of SETTINGS
    python -m tests.support.settings nohup make check    # another command in one of them

A clone is set up as by its users, so this needs the package registry; what is not
committed is not tested. As root, the last setting runs as a user with no rights; as another user, as that user.
"""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
NOBODY = 65534


@dataclass(frozen=True)
class Setting:
    """Where and how the checks run; a variable without a value is removed from the environment."""

    environment: Mapping[str, str | None]
    umask: int
    folder: str = "maskwell"
    words: tuple[str, ...] = ()
    ignored: tuple[signal.Signals, ...] = ()
    user: int | None = None


SETTINGS = {
    "nohup": Setting(
        {"HOME": None, "LANG": None, "LC_ALL": "C", "TZ": "Pacific/Chatham", "PYTHONHASHSEED": "0"},
        umask=0o077,
        ignored=(signal.SIGHUP, signal.SIGINT),
    ),
    "order": Setting(
        {"PYTHONHASHSEED": "4242", "LC_ALL": None, "TZ": "America/St_Johns"},
        umask=0o000,
        folder="a path with spaces",
        words=("ORDER=28", "PROCESSES=2"),
    ),
    "user": Setting(
        {"HOME": "/nonexistent", "LANG": "tr_TR.UTF-8", "LC_ALL": None, "TZ": "Asia/Kathmandu"},
        umask=0o022,
        user=NOBODY,
    ),
}


def run(setting: Setting, words: list[str]) -> int:
    """Clone, and run ``make test`` or another command; the status."""
    above = Path(tempfile.mkdtemp(prefix="maskwell-settings-"))
    try:
        above.chmod(0o755)
        folder = above / setting.folder
        subprocess.run(["git", "clone", "--quiet", str(ROOT), str(folder)], check=True)
        if (ROOT.parent / "shared").is_dir():
            (above / "shared").symlink_to(ROOT.parent / "shared")
        return _started(setting, folder, words or ["make", "test", *setting.words])
    finally:
        shutil.rmtree(above, ignore_errors=True)


def _started(setting: Setting, folder: Path, words: list[str]) -> int:
    wanted = os.environ | dict.fromkeys(("MAKEFLAGS", "MAKELEVEL", "MFLAGS"), None) | setting.environment
    environment = {name: value for name, value in wanted.items() if value is not None}
    rights: dict[str, Any] = {}
    if setting.user is not None and os.geteuid() == 0:
        rights = {"user": setting.user, "group": setting.user, "extra_groups": []}
        for path in (folder, *folder.rglob("*")):
            os.chown(path, setting.user, setting.user, follow_symlinks=False)
    before = [(name, signal.signal(name, signal.SIG_IGN)) for name in setting.ignored]  # passed on to what is started
    with subprocess.Popen(words, cwd=folder, env=environment, umask=setting.umask, **rights) as process:
        for name, handler in before:
            signal.signal(name, handler)
        return process.wait()


if __name__ == "__main__":
    failed = [name for name in sys.argv[1:2] or SETTINGS if run(SETTINGS[name], sys.argv[2:])]
    sys.exit(f"failed in these settings: {', '.join(failed)}" if failed else 0)
