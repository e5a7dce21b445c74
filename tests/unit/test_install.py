"""Setting up shows how far it is, on a terminal and in a log, and what pip said when it fails."""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from types import ModuleType

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

LINES = [
    "Collecting click==8.3.0 (from -r dev.txt (line 1))",
    "  Downloading click-8.3.0-py3-none-any.whl (107 kB)",
    "Requirement already satisfied: pip==26.0 in ./lib",
    "Collecting numpy==2.4.6 (from -r dev.txt (line 9))",
    "  Using cached numpy-2.4.6-cp311-cp311-manylinux_2_27_x86_64.whl (16.8 MB)",
    "Installing collected packages: click, numpy",
    "Successfully installed click-8.3.0 numpy-2.4.6",
]


@pytest.fixture
def installer(root: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("install", root / "requirements/install.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def steps(installer: ModuleType) -> list[str]:
    done, found = 0, []
    for line in LINES:
        step = installer.step_of(line, done, 2)
        if step is not None:
            done = step[0]
            found.append(step[1])
    return found


def test_each_package_is_named_with_its_size(installer: ModuleType) -> None:
    assert steps(installer) == [
        "package 1 of 2: click",
        "package 1 of 2: click, downloading 107 kB",
        "package 2 of 2: numpy",
        "unpacking 2 packages, about 5 seconds",
    ]


def test_every_package_of_the_lock_is_counted(installer: ModuleType, root: Path) -> None:
    lock = (root / "requirements/dev.txt").read_text(encoding="utf-8")
    assert installer.count_of(lock) == sum(
        "==" in line for line in lock.splitlines() if not line.startswith((" ", "#"))
    )


def test_what_make_run_installs_is_a_part_of_the_lock_and_lacks_nothing(root: Path) -> None:
    made = subprocess.run(
        [sys.executable, root / "requirements/run.py"], capture_output=True, text=True, check=True
    ).stdout
    assert made == (root / "requirements/run.txt").read_text(encoding="utf-8"), "run: make lock"
    whole = (root / "requirements/dev.txt").read_text(encoding="utf-8")
    pinned = re.findall(r"^([a-z0-9-]+==\S+)", made, re.MULTILINE)
    assert set(pinned) < set(re.findall(r"^([a-z0-9-]+==\S+)", whole, re.MULTILINE))
    assert len(pinned) < 45, "make run is to be ready within half a minute"
    names = {line.partition("==")[0] for line in pinned}
    for name in names - {"setuptools"}:
        for needed in map(Requirement, metadata.requires(name) or []):
            if needed.marker is None or needed.marker.evaluate({"extra": ""}):
                assert canonicalize_name(needed.name) in names, (name, needed)


def test_the_page_of_licences_is_what_the_packages_of_the_lock_state(root: Path) -> None:
    if f"numpy=={metadata.version('numpy')} " not in (root / "requirements/dev.txt").read_text(encoding="utf-8"):
        pytest.skip("other versions than those of the lock are installed")
    made = subprocess.run(
        [sys.executable, root / "requirements/licences.py"], capture_output=True, text=True, check=True
    ).stdout
    page = (root / "docs/reference/licences.md").read_text(encoding="utf-8")
    # Another Python than that of the lock may need fewer packages.
    same = made == page if sys.version_info[:2] == (3, 11) else set(made.splitlines()) <= set(page.splitlines())
    assert same, "run: .venv/bin/python requirements/licences.py > docs/reference/licences.md"
    rows = dict(re.findall(r"^\| ([a-z0-9-]+) \| (.+?) \|", page, re.MULTILINE))
    assert {name for name, stated in rows.items() if "GPL" in stated} == {"psycopg", "psycopg-binary"}
    lock = (root / "requirements/run.txt").read_text(encoding="utf-8")
    assert set(re.findall(r"^([a-z0-9-]+)==", lock, re.MULTILINE)) - {"setuptools"} <= rows.keys()


@pytest.mark.parametrize("status", [0, 1])
def test_a_log_stays_short_and_ends_with_the_fault(
    installer: ModuleType,
    status: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    lock = tmp_path / "lock.txt"
    lock.write_text("click==8.3.0\nnumpy==2.4.6\n", encoding="utf-8")
    program = f"import sys; print({chr(10).join(LINES)!r}); sys.exit({status})"
    monkeypatch.setattr(installer, "PIP", ("-c", program))
    assert installer.install(lock) == status
    out, err = capfd.readouterr()
    assert out.splitlines() == ["  package 1 of 2: click", "  unpacking 2 packages, about 5 seconds"]
    assert ("Successfully installed" in err) == bool(status)


def test_no_answer_of_the_registry_is_one_line(installer: ModuleType) -> None:
    retries = "WARNING: Retrying (Retry(total=0)) after connection broken by 'NewConnectionError'\n"
    said = retries * 5 + "ERROR: Could not find a version\nERROR: No matching distribution found for click==8.3.0\n"
    assert installer.fault_of(said).count("\n") == 1 and "network" in installer.fault_of(said)
    for other in (retries + "ERROR: [Errno 28] No space left on device\n", "ERROR: No matching distribution found\n"):
        assert installer.fault_of(other) == other


@pytest.mark.skipif(shutil.which("make") is None, reason="no make")
def test_where_pyspark_cannot_be_installed_its_tests_are_left_out(root: Path, tmp_path: Path) -> None:
    (tmp_path / "java").write_text("#!/bin/sh\n", encoding="utf-8")
    (tmp_path / "java").chmod(0o755)
    env = os.environ | {"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}", "MAKEFLAGS": ""}
    command = ["make", "--no-print-directory", "--old-file=setup", "spark", f"VENV={tmp_path}", "PIP=false"]
    done = subprocess.run(command, cwd=root, env=env, check=True, capture_output=True, text=True)
    assert done.stdout.splitlines()[1:] == [
        "no PySpark: tests of Spark are left out (run make spark with a network connection)"
    ]
    assert done.stderr == "" and not (tmp_path / "spark.txt").exists()


@pytest.mark.skipif(shutil.which("make") is None, reason="no make")
def test_make_test_completes_what_make_run_installed_and_a_changed_lock_starts_anew(root: Path, tmp_path: Path) -> None:
    venv, few, all_ = tmp_path / "venv", tmp_path / "run.txt", tmp_path / "dev.txt"
    words = [f"VENV={venv}", f"RUN_LOCK={few}", f"LOCK={all_}", f"NEW=rm -rf {venv}; mkdir {venv}; echo new"]
    words += ["INSTALL=echo install", "EDITABLE=echo editable"]

    def made(stamp: str) -> list[str]:
        done = subprocess.run(
            ["make", "--no-print-directory", *words, f"{venv}/{stamp}.stamp"],
            cwd=root, env=os.environ | {"MAKEFLAGS": ""}, check=True, capture_output=True, text=True,
        )  # fmt: skip
        return [
            line.replace(f"{tmp_path}/", "")
            for line in done.stdout.splitlines()
            if not line.startswith(("set up", "make"))
        ]

    def change(lock: Path) -> None:
        """Everything else was there a day before."""
        for path in [few, all_, *venv.glob("*.stamp")]:
            os.utime(path, (path.stat().st_atime, path.stat().st_mtime - 86400))
        lock.touch()

    for lock in (few, all_):
        lock.write_text("click==8.3.0\n", encoding="utf-8")
    assert made("running") == ["new", "install run.txt", "editable"]
    assert made("running") == []
    assert made("installed") == ["install dev.txt", "editable"]
    assert made("installed") == made("running") == []
    change(few)
    assert "new" not in made("running")
    change(all_)
    assert made("installed") == ["new", "install dev.txt", "editable"]
    shutil.rmtree(venv)
    assert made("installed") == ["new", "install dev.txt", "editable"]
    assert made("running") == []
