"""Rules of the house that no other tool checks."""

import ast
import importlib
import json
import os
import pkgutil
import re
import subprocess
import sys
import tomllib
from functools import cache
from pathlib import Path

import pytest
from tests.support.public_names import faces
from tests.support.trembling import SEED

import maskwell

HEAVY = ["click", "jinja2", "matplotlib", "pandas", "polars", "pyarrow", "pyreadstat", "scipy"]
FEWEST_TESTS = 5_800
CITATION = re.compile(r"\[([A-Z][A-Za-z]*\d{2,}[A-Za-z]?)(?:,[^\]]*)?\]")
PRINTING_ROOMS = ("cli", "estimation", "microdata", "planning", "reports")
ROUNDED = ("Printed", "round_up", "round_down")
NOT_COMPUTED = {  # constants, steps of a grid, exact decimals
    ("microdata/folder/receipt_contents.py", "towards(round(value / step, 9)) * step"),
    ("microdata/matrices/infeasibility.py", "upwards(limit)"),
    ("microdata/matrices/infeasibility.py", "value"),
    ("microdata/matrices/infeasibility.py", "1 / STEPS"),
    ("microdata/matrices/closed_forms.py", "1 / amounts.scale"),
    ("microdata/risk/special_unique_scores.py", "high"),
    ("microdata/risk/special_unique_scores.py", "low"),
    ("reports/device/legend_sheets.py", "size"),
    ("reports/device/legend_sheets.py", "float(round(10 * degrees)) / 10"),
    ("reports/plain_words.py", "shown"),
}
FORBIDDEN = {
    "a path of some machine": re.compile(r"(?:^|[^A-Za-z0-9_.])/(?:work|farm|root|home|Users)/"),
    "the address of a downloaded package": re.compile(r"https?://[^\s\"]+\.(?:whl|tgz|tar\.gz|deb)\b"),
    "the address of a registry": re.compile(
        r"-(?:-extra)?-index-url|registry *= *\"https?:|\"resolved\": *\"http|file:/{2,}"
    ),
}


def tracked(root: Path) -> list[Path]:
    """Every file of the repository, or of the unpacked source where there is no repository."""
    if (root / ".git").exists():
        listed = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=root,
            check=True,
            capture_output=True,
            text=True,
        )
        paths = [root / name for name in listed.stdout.split("\0") if name]
    else:
        paths = [p for p in root.rglob("*") if not any(part.startswith(".venv") for part in p.parts)]
    return [p for p in paths if p.is_file()]


def texts(root: Path) -> list[tuple[Path, str]]:
    read = []
    for path in tracked(root):
        try:
            read.append((path, path.read_text(encoding="utf-8")))
        except UnicodeDecodeError:
            continue
    return read


@cache
def parsed(source: str) -> ast.Module:
    """A module, which several rules look at."""
    return ast.parse(source)


DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
BLOCKS = (ast.stmt, ast.excepthandler, ast.match_case)
"""What holds statements. Expressions, most of what a module says, hold no docstrings."""


def docstrings(path: Path) -> list[str]:
    """The docstrings of a module."""
    texts, left = [], list[ast.AST]([parsed(path.read_text(encoding="utf-8"))])
    while left:
        node = left.pop()
        if isinstance(node, DOCUMENTED):
            texts.append(ast.get_docstring(node, clean=False) or "")
        left += [inner for inner in ast.iter_child_nodes(node) if isinstance(inner, BLOCKS)]
    return texts


def name_of(function: ast.expr) -> str:
    """The last name of what is called; nothing where it has none."""
    return getattr(function, "attr", getattr(function, "id", ""))


def bibliography(root: Path) -> set[str]:
    return set(re.findall(r"^@\w+\{(\w+),", (root / "docs/references.bib").read_text(encoding="utf-8"), re.MULTILINE))


MOST_NAMES, MOST_PUBLIC = 40, 124
"""At the door, and at all faces together."""


def imports_for_editors(root: Path, face: str) -> dict[str, str]:
    """Names that type checkers and editors see at a face, with their homes."""
    path = root / "src" / Path(*face.split(".")) / "__init__.py"
    branches = [n for n in ast.parse(path.read_text(encoding="utf-8")).body if isinstance(n, ast.If | ast.ImportFrom)]
    nodes = [n for branch in branches for n in (branch.body if isinstance(branch, ast.If) else [branch])]
    return {
        alias.asname or alias.name: str(node.module)
        for node in nodes
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("maskwell")
        for alias in node.names
        if alias.asname == alias.name or face == "maskwell.plots"
    }


@pytest.mark.parametrize("face", faces())
def test_a_face_offers_what_editors_see(face: str, root: Path) -> None:
    """What type checkers see, what ``__all__`` lists and what is found at run time are the same."""
    module = importlib.import_module(face)
    seen = imports_for_editors(root, face)
    assert sorted(seen) == sorted(module.__all__)
    for name, home in seen.items():
        value = getattr(importlib.import_module(home), name, None) or importlib.import_module(f"{home}.{name}")
        assert getattr(module, name) is value


@pytest.mark.parametrize("face", faces())
def test_no_public_name_is_the_name_of_its_file(face: str, root: Path) -> None:
    """Importing the file sets its module at the face, where lazy_loader before 0.6 no longer puts the public name."""
    seen = imports_for_editors(root, face)
    assert [name for name, home in seen.items() if f"{home}.".startswith(f"{face}.{name}.")] == [], "rename the file"


def test_few_names_stand_at_the_door() -> None:
    assert len(dir(maskwell)) <= MOST_NAMES
    assert dir(maskwell) == sorted(maskwell.__all__)
    assert sum(map(len, faces().values())) <= MOST_PUBLIC, "close a name that the door answers"


def test_a_name_of_the_door_stands_there_alone() -> None:
    offered = [name for names in faces().values() for name in names]
    assert sorted(name for name in maskwell.__all__ if offered.count(name) > 1) == []


def test_every_public_name_is_on_a_page_of_names(root: Path) -> None:
    pages = [root / "docs/reference/python.md", *sorted((root / "docs/reference/python").glob("*.md"))]
    text = "\n".join(page.read_text(encoding="utf-8") for page in pages)
    shown = set(re.findall(r"^\.\. auto(?:class|function|exception):: maskwell\.([\w.]+)$", text, re.MULTILINE))
    names = {f"{face}.{name}".removeprefix("maskwell.") for face, offered in faces().items() for name in offered}
    rooms = {face.removeprefix("maskwell.") for face in faces()}
    at_the_door = {name for name in names if name.rpartition(".")[2] in maskwell.__all__ and "." in name}
    assert sorted(names - rooms - at_the_door - shown) == []


def test_names_that_moved_lead_somewhere(root: Path) -> None:
    page = (root / "docs/reference/names-moved.md").read_text(encoding="utf-8")
    moved = re.findall(r"^maskwell\.([\w.]+) -> maskwell\.([\w.]+)$", page, re.MULTILINE)
    assert len({old for old, _ in moved}) == len(moved) > 100
    for _, new in moved:
        assert pkgutil.resolve_name(f"maskwell.{new}") is not None


def test_no_room_is_imported_by_a_string(root: Path) -> None:
    """Every edge between rooms is one that the import contracts see."""
    sources = {path: path.read_text(encoding="utf-8") for path in (root / "src/maskwell").rglob("*.py")}
    calls = [
        f"{path.name}: {ast.unparse(node)}"
        for path, source in sources.items()
        if "import_module" in source or "__import__" in source
        for node in ast.walk(parsed(source))
        if isinstance(node, ast.Call) and name_of(node.func) in ("import_module", "__import__")
    ]
    assert sorted(call for call in calls if "maskwell" in call.partition(": ")[2]) == []
    assert len(calls) <= 2, "only parts of Arrow and of pyreadstat, by name, in engines"


MOST_LINES, MOST_FIELDS = 500, 12
CROWDED = {"Sampling"}
"""Dataclasses with more than 12 fields: take one off as soon as it has fewer, and put none on."""


def sources_of(root: Path) -> dict[str, str]:
    """Every file of the package, by its path there."""
    house = root / "src/maskwell"
    return {path.relative_to(house).as_posix(): path.read_text(encoding="utf-8") for path in house.rglob("*.py")}


def test_files_are_read_in_one_sitting(root: Path) -> None:
    long = {name for name, text in sources_of(root).items() if text.count("\n") > MOST_LINES}
    assert sorted(long) == [], f"above {MOST_LINES} lines: divide it by what it is made of"


def fields_of(source: str) -> dict[str, int]:
    """How many fields each dataclass of a module has of its own."""
    classes = [node for node in ast.walk(parsed(source)) if isinstance(node, ast.ClassDef)]
    return {
        one.name: sum(isinstance(n, ast.AnnAssign) and "ClassVar" not in ast.unparse(n.annotation) for n in one.body)
        for one in classes
        if any("dataclass" in ast.unparse(decorator) for decorator in one.decorator_list)
    }


def test_values_are_small(root: Path) -> None:
    """A value with many fields is several values, one for each phase."""
    sources = [text for text in sources_of(root).values() if "dataclass" in text]
    crowded = {name for text in sources for name, fields in fields_of(text).items() if fields > MOST_FIELDS}
    assert sorted(crowded - CROWDED) == [], f"more than {MOST_FIELDS} fields"
    assert sorted(CROWDED - crowded) == [], "no longer crowded: take it off the list"


def test_fields_are_counted() -> None:
    source = (
        "@dataclass(frozen=True)\nclass A:\n    a: int\n    b: ClassVar[int] = 1\n    c: str = ''\nclass B:\n    a: int"
    )
    assert fields_of(source) == {"A": 2}


def modules_of(root: Path) -> dict[tuple[str, ...], Path]:
    """Every module of the package by the parts of its name, without the name of the package."""
    house = root / "src/maskwell"
    files = {path.relative_to(house).with_suffix("").parts: path for path in sorted(house.rglob("*.py"))}
    return {parts[:-1] if parts[-1] == "__init__" else parts: path for parts, path in files.items()}


ONE_IDEA = {"design", "device", "risk", "sample_size"}
"""The verb, and the folder or the file that does its work."""


def test_a_module_name_stands_once(root: Path) -> None:
    house = root / "src/maskwell"
    files = [path for path in house.rglob("*.py") if path.parent != house]
    names = [path.parent.name if path.name == "__init__.py" else path.stem for path in files]
    assert {name for name in names if names.count(name) > 1} <= ONE_IDEA


def test_the_version_is_that_of_the_package(root: Path) -> None:
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert maskwell.__version__ == project["version"]


def test_every_cited_source_is_in_the_bibliography(root: Path) -> None:
    known = bibliography(root)
    cited = {
        (key, path.relative_to(root).as_posix())
        for path in (root / "src").rglob("*.py")
        for text in docstrings(path)
        for key in CITATION.findall(text)
    }
    assert len(cited) > 0
    assert sorted((key, where) for key, where in cited if key not in known) == []


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("Source: [Warner1965].", ["Warner1965"]),
        (
            "[ChaiNayak2018, eq. (1.1)] and [FIPS197], [NIST80038A, section 6.5]",
            ["ChaiNayak2018", "FIPS197", "NIST80038A"],
        ),
        ("P[i, j], [0, 1], [P1]", []),
    ],
)
def test_a_citation_is_recognised(text: str, keys: list[str]) -> None:
    assert CITATION.findall(text) == keys


def test_the_readable_list_of_sources_is_the_bibliography(root: Path) -> None:
    page = (root / "docs/references.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^\*\*(\w+)\*\*$", page, re.MULTILINE)) == bibliography(root)


@pytest.mark.parametrize("page", ["docs/reference/layout.md", "CONTRIBUTING.md"])
def test_every_path_on_the_map_exists(root: Path, page: str) -> None:
    words = re.findall(r"`([^`\s]+)`", (root / page).read_text(encoding="utf-8"))
    paths = {name for name in words if re.fullmatch(r"[\w.]+(/[\w.-]*)+", name)}
    assert len(paths) > 15
    assert (
        sorted(name for name in paths if not any((root / part / name).exists() for part in ("", "src/maskwell"))) == []
    )


@pytest.mark.parametrize("use", ["import maskwell", "from maskwell import *"])
def test_importing_maskwell_loads_no_heavy_library(use: str) -> None:
    probe = f"import sys; {use}; print([name for name in {HEAVY} if name in sys.modules])"
    answer = subprocess.run([sys.executable, "-c", probe], check=True, capture_output=True, text=True)
    assert answer.stdout.strip() == "[]"


def test_commands_on_small_files_load_only_the_libraries_that_they_need(tmp_path: Path) -> None:
    """pyarrow loads pandas wherever values of Python or NumPy become an array, which costs more than a small file.

    Half say yes, so that the share of randomized reports leaves the range of the design, where intervals need SciPy, in
    less than one of 10^8 runs.
    """
    if SEED in os.environ:
        pytest.skip("functions that tremble are not those that plain formulas know")
    warner = maskwell.design("warner", p="9/10")
    warner.save(tmp_path / "cards.json")
    rows = [f"{'yes' if i % 4 < 2 else 'no'},{20 + i % 7},{'fm'[i % 2]},{1 + i % 2}" for i in range(60)]
    (tmp_path / "rows.csv").write_text("\n".join(["y,age,sex,w", *rows, "yes,,f,1", ""]), encoding="utf-8")
    read = ["rows.csv", "--design", "y=cards.json"]
    commands = [
        ["estimate", *read],
        ["estimate", *read, "--weights", "w", "--by", "sex"],
        ["regress", *read, "--formula", "y ~ log(age) * sex", "--missing", "drop", "--interval", "wald"],
    ]
    watched = [*HEAVY, "cryptography", "maskwell.microdata", "maskwell.reports.pictures.canvas"]
    commands += [["randomize", *read, "-o", name] for name in ("reports.csv", "reports.parquet")]
    commands.append(["estimate", "reports.parquet", *read[1:]])
    probe = (
        "import sys\nfrom maskwell.cli.main import cli\n"
        f"for words in {commands}:\n"
        "    try: cli(words)\n"
        "    except SystemExit as end: assert not end.code\n"
        f"    print('loaded', words[0], *[name for name in {watched} if name in sys.modules])"
    )
    answer = subprocess.run([sys.executable, "-c", probe], check=True, capture_output=True, text=True, cwd=tmp_path)
    assert [line.removeprefix("loaded ") for line in answer.stdout.splitlines() if line.startswith("loaded ")] == [
        "estimate click pyarrow",
        "estimate click pyarrow",
        "regress click pyarrow",
        "randomize click pyarrow cryptography",
        "randomize click pyarrow cryptography",
        "estimate click pyarrow cryptography",
    ]


def test_no_machine_path_and_no_registry_in_the_tree(root: Path) -> None:
    found = [
        f"{path.relative_to(root)}: {what}: {match.group()!r}"
        for path, text in texts(root)
        if path.suffix != ".svg" and path != Path(__file__)
        for what, pattern in FORBIDDEN.items()
        for match in pattern.finditer(text)
    ]
    assert found == []


@pytest.mark.parametrize("text", ["see /" + "home/me", "--" + "index-url x", "https://a.b/c-1.0" + ".whl"])
def test_forbidden_texts_are_recognised(text: str) -> None:
    assert any(pattern.search(text) for pattern in FORBIDDEN.values())


def test_the_lock_holds_every_dependency_with_hashes(root: Path) -> None:
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = [bound for name, bounds in project["optional-dependencies"].items() if name != "all" for bound in bounds]
    tools = (root / "requirements/dev.in").read_text(encoding="utf-8").splitlines()
    wanted = {
        name
        for line in [*project["dependencies"], *extras, *tools]
        if (name := re.split(r"[><=~!\s#;\[]", line.strip(), maxsplit=1)[0].replace("_", "-"))
    }
    lock = "".join((root / "requirements" / name).read_text(encoding="utf-8") for name in ("dev.txt", "spark.txt"))
    pinned = dict(re.findall(r"^([a-z0-9-]+)==\S+ (?:\\\n    )?(--hash=sha256:)", lock, re.MULTILINE))
    assert sorted(wanted - pinned.keys()) == []
    assert len(pinned) == len(re.findall(r"^\S+==", lock, re.MULTILINE)), "a pin without hashes"


def test_the_suite_has_not_shrunk(request: pytest.FixtureRequest) -> None:
    config = request.config
    everything = config.args_source is pytest.Config.ArgsSource.TESTPATHS or config.args == ["tests"]  # make test
    if not everything or config.option.keyword or config.option.markexpr or config.option.deselect:
        pytest.skip("counts only when the whole suite is run")
    assert request.session.testscollected >= FEWEST_TESTS


def bare_numbers(source: str) -> list[str]:
    """Numbers that an f-string rounds on its own; not those of errors, which name what was given."""
    tree = parsed(source)
    in_errors = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.Raise) or (isinstance(node, ast.Call) and name_of(node.func).endswith("Error"))
        for inner in ast.walk(node)
    }
    formatted = [n for n in ast.walk(tree) if isinstance(n, ast.FormattedValue) and id(n) not in in_errors]
    return [
        ast.unparse(node.value)
        for node in formatted
        if isinstance(node.format_spec, ast.JoinedStr)
        and ast.unparse(node.format_spec) not in ("f'f'", "f',f'")  # of exact decimals, which show all their digits
        and str(getattr(node.format_spec.values[-1], "value", ""))[-1:] in (*"eEfFgG%",)
        and not (isinstance(node.value, ast.Call) and ast.unparse(node.value.func) in ROUNDED)
    ]


def test_numbers_are_printed_alike_on_every_processor(root: Path) -> None:
    """Computed numbers are rounded by ``core/phrases.py``, so that their last bits do not show."""
    found = {
        (path.relative_to(root / "src/maskwell").as_posix(), number)
        for room in PRINTING_ROOMS
        for path in (root / "src/maskwell" / room).rglob("*.py")
        for number in bare_numbers(path.read_text(encoding="utf-8"))
    }
    bare = sorted(f"{path}: {number}" for path, number in found - NOT_COMPUTED)
    assert not bare, f"use Printed, round_up or round_down of core/phrases.py: {bare}"
    assert sorted(NOT_COMPUTED - found) == []


@pytest.mark.parametrize(
    ("source", "bare"),
    [
        ('f"{x:.3f} and {y.z:,.{n}g} {100 * share:.0%}"', ["x", "y.z", "100 * share"]),
        ('f"{Printed(x):.3f} {round_up(x, 3):g} {name:>8} {count:,} {x}"', []),
        ('raise ParameterError(f"{given:g} is not a share")', []),
        ('", ".join(f"{a:.1e}" for a in b)', ["a"]),
    ],
)
def test_a_number_that_is_rounded_elsewhere_is_recognised(source: str, bare: list[str]) -> None:
    assert bare_numbers(source) == bare


SWITCHES = {"estimate": 64, "release": 320}
"""How often a command goes from one package to another; lower them with the house, and do not raise them."""


def test_the_path_of_a_command_is_short(tmp_path: Path, root: Path) -> None:
    """Data walk forward: whoever follows one command, of a sample or of a release, is not sent back and forth."""
    pytest.importorskip("pyarrow")
    pytest.importorskip("jinja2")
    people = [f"{'yes' if i % 3 else 'no'},{i % 4 + 1},{'ab'[i % 2]},{i // 4},{'ns'[i % 5 % 2]}" for i in range(40)]
    (tmp_path / "people.csv").write_text("\n".join(["answer,w,s,c,region", *people]) + "\n")
    design = maskwell.design("warner", p="7/10")
    (tmp_path / "design.json").write_text(json.dumps(design.to_dict()))
    protect = {"variables": ["answer", "region"], "method": "inverse-frequency", "xi": 0.5}
    plan = maskwell.ReleasePlan.from_dict(
        {
            "release": {"keys": ["answer", "region"], "weights": "w", "match": 0.5, "drop": ["s", "c"]},
            "protect": [protect],
        }
    )
    (tmp_path / "plan.toml").write_text(plan.to_toml())
    estimate = "estimate people.csv --design answer=design.json --weights w --strata s --clusters c"
    command = f"{estimate} --and release people.csv --plan plan.toml -o released".split()
    python = os.pathsep.join([str(root), str(root / "src"), *sys.path])
    answer = subprocess.run(
        [sys.executable, "-m", "tests.support.flows", *command],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": python},
        check=True,
        capture_output=True,
        text=True,
    )
    switches = dict(zip(SWITCHES, (int(part.split()[0]) for part in answer.stdout.split("\n\n")), strict=True))
    assert all(switches[name] <= most for name, most in SWITCHES.items()), f"{switches}: {answer.stdout}"


LIBRARY = ["core", "designs", "privacy", "procedures", "estimation", "engines", "planning", "microdata", "verbs"]
WRITTEN_FOR_COMMANDS = {
    "microdata/folder/readme.py",
    "microdata/plans/plan_drafts.py",
    "verbs/demo_story.py",
}
"""What writes commands into files and stories."""


def typed_options(source: str) -> list[str]:
    """Options of the command line in texts that a program in Python may be shown."""
    tree = parsed(source)
    apart = {
        id(inner)
        for node in ast.walk(tree)
        if (isinstance(node, ast.keyword) and node.arg in ("example", "summary", "same_as"))
        or (isinstance(node, ast.Call) and name_of(node.func) == "in_language")
        or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))
        for inner in ast.walk(node)
    }
    texts = [n.value for n in ast.walk(tree) if isinstance(n, ast.Constant) and id(n) not in apart]
    return [
        text
        for text in texts
        if isinstance(text, str) and re.search(r"(?<![\w-])--[a-z]", text) and "maskwell " not in text
    ]


def test_hints_name_options_where_they_are_typed_and_keywords_elsewhere(root: Path) -> None:
    """``option`` and ``in_language`` of core/phrases.py say the same in both languages."""
    found = {
        f"{path.relative_to(root / 'src/maskwell').as_posix()}: {text}"
        for room in LIBRARY
        for path in (root / "src/maskwell" / room).rglob("*.py")
        if path.relative_to(root / "src/maskwell").as_posix() not in WRITTEN_FOR_COMMANDS
        for text in typed_options(path.read_text(encoding="utf-8"))
    }
    assert sorted(found) == []


@pytest.mark.parametrize(
    ("source", "typed"),
    [
        ('f"leave out: --missing drop {x}"', ["leave out: --missing drop "]),
        ("f\"leave out: {option('missing', 'drop')}\"", []),
        ('hint = "make one: maskwell design --help"', []),
        ('"""A docstring with --json."""', []),
    ],
)
def test_an_option_in_a_text_is_recognised(source: str, typed: list[str]) -> None:
    assert typed_options(source) == typed
