"""The wheel with its plain dependencies and nothing else: the main job is done, and a missing extra is named."""

import ast
import email
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from importlib import metadata
from pathlib import Path

import pytest

from maskwell.core.extras import EXTRAS

RUN = "import sys; sys.path[:0] = sys.argv[1:3]; del sys.argv[1:3]; from maskwell.__main__ import main; main()"
LINES = {
    "design warner --p 0.7 -o warner.json": None,
    "audit warner.json": None,
    "randomize data.csv --design y=warner.json -o reports.csv": None,
    "estimate reports.csv --design y=warner.json --by g": None,
    "risk data.csv --keys g": None,
    "release data.csv --init": None,
    "--help": None,
    "serve": "serve",
    "survey list": "serve",
    "audit warner.json --plot new.svg": "report",
    "device warner.json -o new.html": "report",
    "demo": "report",
    "regress data.csv --design y=warner.json --formula y~g": None,
    "estimate data.sav --design y=warner.json": "labelled",
}


@pytest.fixture(scope="module")
def wheel(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built without the network from a copy of the sources."""
    folder = tmp_path_factory.mktemp("built")
    source = folder / "source"
    shutil.copytree(root / "src", source / "src", ignore=shutil.ignore_patterns("*.egg-info", "__pycache__", "*.so"))
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE", "MANIFEST.in"):
        if (root / name).exists():
            shutil.copy(root / name, source)
    build = "from setuptools import build_meta; build_meta.build_wheel(sys.argv[1])"
    environment = os.environ | {"CC": "/bin/false"}  # the kernels are built elsewhere, and are not needed
    command = [sys.executable, "-c", f"import sys; {build}", str(folder)]
    done = subprocess.run(command, cwd=source, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return next(folder.glob("*.whl"))


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """Two folders to import from: the wheel, and links to what it asks for without extras."""
    package, others = tmp_path_factory.mktemp("package"), tmp_path_factory.mktemp("others")
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(package)
    about = email.message_from_bytes(next(package.glob("*.dist-info/METADATA")).read_bytes())
    for name in closure(about.get_all("Requires-Dist", [])):
        for path in {
            file.parts[0] for file in metadata.files(name) or () if file.parts[0] not in ("..", "__pycache__")
        }:
            target = others / path
            if not target.exists():
                target.symlink_to(Path(str(metadata.distribution(name).locate_file(path))))
    return str(package), str(others)


def closure(asked: list[str]) -> set[str]:
    """Names of distributions that these requirements bring, without those of extras."""
    found: set[str] = set()
    waiting = list(asked)
    while waiting:
        text, _, marker = waiting.pop().partition(";")
        name = re.split(r"[\s<>=!~\[(]", text.strip(), maxsplit=1)[0]
        if "extra" in marker or name in found:
            continue
        try:
            further = metadata.requires(name) or []
        except metadata.PackageNotFoundError:  # for another platform or version of Python
            assert marker, f"{name} is not installed"
            continue
        found.add(name)
        waiting += further
    return found


def test_every_command_works_or_names_the_extra(installed: tuple[str, str], tmp_path: Path) -> None:
    rows = "".join(f"{'yes' if i % 3 else 'no'},{'ab'[i % 2]}\n" for i in range(60))
    (tmp_path / "data.csv").write_text("y,g\n" + rows, encoding="utf-8")
    (tmp_path / "data.sav").write_bytes(b"$FL2")
    for line, extra in LINES.items():
        command = [sys.executable, "-I", "-S", "-c", RUN, *installed, *line.split()]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == (0 if extra is None else 2), (line, done.stderr)
        if extra is not None:
            error, hint = done.stderr.splitlines()
            assert error.startswith("error: ") and "which is not installed" in error, (line, done.stderr)
            assert hint == f"hint: pip install 'maskwell[{extra}]'", line
            assert done.stdout == "", line


def imported(root: Path) -> set[str]:
    """Top-level names that the package imports, wherever."""
    names = set()
    for path in (root / "src/maskwell").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                names |= {one.name.partition(".")[0] for one in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                names.add(node.module.partition(".")[0])
    return names


def test_the_table_of_extras_is_that_of_the_package(root: Path) -> None:
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    of = metadata.packages_distributions()
    plain = {normal(line) for line in project["dependencies"]}
    further = project["optional-dependencies"]
    by_extra = {name: {normal(one) for one in closure(further[name])} for name in {*EXTRAS.values()} - {"spark"}}
    by_extra["spark"] = {"py4j", *map(normal, further["spark"])}  # not installed everywhere, and py4j comes with it
    by_extra["serve"].add("httptools")  # of uvicorn[standard], whose own extras are not followed
    for library in imported(root) - set(sys.stdlib_module_names) - {"maskwell", "__future__"}:
        brought = {normal(one) for one in of.get(library, [library])}
        assert (library in EXTRAS) != bool(brought & plain), library
    for library, extra in EXTRAS.items():
        brought = {normal(one) for one in of.get(library, [library])}
        assert brought & by_extra[extra], (library, extra)


def normal(requirement: str) -> str:
    return re.split(r"[><=~!\s;\[]", requirement, maxsplit=1)[0].replace("_", "-").lower()
