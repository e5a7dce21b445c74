"""Every command shown in the README and the documentation is run, and its output compared.

In a block marked ``console`` a line that starts with ``$`` is a command; the lines below it are its output, where
``...`` stands for anything. The blocks of a page run in order in an empty folder, which holds only the files that the
page asks the reader to save (see ``tests/support/pages.py``). A command that
should not succeed says so in a comment: ``# exit status 1``. ``CODE`` stands for the code of the survey that was added
last; ``maskwell serve`` listens on a free port, and is ended when its first lines have come.
"""

import doctest
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.fuzzing import run_command
from tests.support.pages import write_files
from tests.support.running_service import free_port

from maskwell.cli.help_page import DOCUMENTATION

LONGEST = 300
ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```console\n(.*?)^```", re.MULTILINE | re.DOTALL)
DRAFT = re.compile(r"^draft ([0-9a-f]{10}):", re.MULTILINE)
PORT = "8750"
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def steps(page):
    """Commands of a page with the output shown below them."""
    found = []
    for block in BLOCK.findall(page.read_text(encoding="utf-8")):
        for line in block.splitlines():
            if line.startswith("$ "):
                found.append([line[2:], []])
            elif found[-1][0].endswith("\\"):
                found[-1][0] += "\n" + line
            else:
                found[-1][1].append(line)
    return found


QUOTED = re.compile(r"""'[^']*'|"[^"$`\\]*\"""")
SHELL = re.compile(r"[|<>;&$`*?~()]")
INSIDE = re.compile(r"cd (\S+) && ")
INTO = re.compile(r" > (\S+)$")
PROGRAM_ENTRY = "tests.support.programs:main"


def serve(command, folder, lines):
    """The first lines of a service, which then is ended; they tell the usual port."""
    port = str(free_port())
    words, environment = [sys.executable, "-m", *shlex.split(command)], {**os.environ, "MASKWELL_PORT": port}
    with subprocess.Popen(words, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True) as service:
        said = "".join(service.stdout.readline() for _ in range(lines))
        is_running = service.poll() is None
        service.terminate()
    return 0 if is_running else service.returncode, said.replace(port, PORT)


def run(command, folder):
    """Run a command as a shell would; maskwell and Python in a process that has imported everything before."""
    plain = re.sub(r"\\\n", " ", command).partition("  #")[0].strip()
    if inside := INSIDE.match(plain):
        plain, folder = plain[inside.end() :], folder / inside.group(1)
    into = INTO.search(plain)
    plain = plain[: into.start()] if into else plain
    simple = not SHELL.search(QUOTED.sub("", plain)) and "\n" not in plain
    tool, *words = shlex.split(plain) if simple else [""]
    if tool in ("maskwell", "python"):
        entry = {} if tool == "maskwell" else {"entry": PROGRAM_ENTRY}
        ended = run_command(words, folder, seconds=LONGEST, **entry)
        if into:
            (folder / into.group(1)).write_bytes(ended.out)
        return ended.status, ((b"" if into else ended.out) + ended.err).decode()
    tools = str(Path(sys.executable).parent)
    quiet = {"PATH": tools + os.pathsep + os.environ["PATH"], "NO_COLOR": "1", "COLUMNS": "100"}
    shell = subprocess.run(
        command, shell=True, cwd=folder, env={**os.environ, **quiet}, capture_output=True, text=True, check=False
    )
    return shell.returncode, shell.stdout + shell.stderr


@pytest.mark.parametrize("page", [p for p in PAGES if steps(p)], ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_do_what_the_page_shows(page, tmp_path, monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "100")
    write_files(page, tmp_path)
    survey = "CODE"
    for command, shown in steps(page):
        said = re.search(r"# exit status (\d)", command)
        if command.startswith("maskwell serve"):
            code, output = serve(command, tmp_path, len(shown))
        else:
            code, output = run(command.replace("CODE", survey), tmp_path)
        survey = draft.group(1) if (draft := DRAFT.search(output)) else survey
        output = output.replace(survey, "CODE")
        assert code == (int(said.group(1)) if said else 0), f"{command}\n{output}"
        expected = "\n".join(shown).strip() + "\n"
        matches = doctest.OutputChecker().check_output(expected, output.strip() + "\n", FLAGS)
        assert matches or not any(shown), f"$ {command}\nshown:\n{expected}\ngot:\n{output}"


def test_the_readme_shows_commands_and_a_wrong_output_would_be_noticed():
    assert len(steps(ROOT / "README.md")) >= 3
    assert not doctest.OutputChecker().check_output("parity 3\n", "parity 2\n", FLAGS)


def test_the_readme_fits_a_screen_names_its_field_and_links_to_pages():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    terms = ("randomized response", "post-randomization", "PRAM", "local differential privacy", "disclosure control")
    assert [term for term in terms if term not in text] == [] and len(text.split()) <= 450
    targets = re.findall(r"\]\((\S+?)\)", text)
    pages = [target.removeprefix(f"{DOCUMENTATION}/") for target in targets]
    assert all(target.startswith(f"{DOCUMENTATION}/") for target in targets)
    files = [page.replace(".html", ".md").replace("_images", "images") for page in pages]
    assert [name for name in files if not (ROOT / "docs" / name).exists()] == []
