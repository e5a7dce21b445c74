"""Run the command line in this process, and check that an error looks like every error."""

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from click.testing import CliRunner

from maskwell.cli.main import cli

WIDTH = 100
ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Ran:
    """What a command left behind."""

    status: int
    out: str
    err: str

    def json(self) -> dict[str, Any]:
        """The one object on standard output."""
        content: dict[str, Any] = json.loads(self.out, parse_constant=_refuse)
        return content


def _refuse(word: str) -> None:
    raise AssertionError(f"{word} is not JSON")


def run(*args: object, stdin: bytes | None = None, status: int | None = 0) -> Ran:
    """Run ``maskwell args`` and expect an exit status; with ``None`` any."""
    try:
        runner = CliRunner(mix_stderr=False)  # type: ignore[call-arg]
    except TypeError:  # click 8.2 always keeps the two apart
        runner = CliRunner()
    done = runner.invoke(cli, [str(arg) for arg in args], input=stdin)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert status is None or done.exit_code == status, done.stderr or done.stdout
    return Ran(done.exit_code, done.stdout, done.stderr)


def design_file(path: str | Path, *options: object) -> None:
    """Write what ``maskwell design options`` gives; the command runs once for the same options and the same files."""
    words = tuple(map(str, options))
    Path(path).write_bytes(_design_made(words, tuple(map(_content, words))))


def _content(word: str) -> bytes:
    """What is in the file that a word names, if it names one."""
    try:
        return Path(word.removeprefix("@")).read_bytes()
    except (OSError, ValueError):
        return b""


@cache
def _design_made(options: tuple[str, ...], _: tuple[bytes, ...]) -> bytes:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "design.json"
        run("design", *options, "-o", path)
        return path.read_bytes()


def refused(
    *args: object, stdin: bytes | None = None, saying: str = "", kind: str | None = None, values: str = ""
) -> str:
    """Run it plainly and with --json: exit 2, one error line, one hint line, and the same in JSON; nothing written.

    ``values`` of the data must be told with --show-values, on a line of their own, and not otherwise.
    """
    before = snapshot()
    plainly = run(*args, stdin=stdin, status=2)
    assert plainly.out == ""
    error, hint = plainly.err.splitlines()
    assert error.startswith("error: ")
    assert hint.startswith("hint: ")
    assert len(hint) > len("hint: ")
    assert max(len(error), len(hint)) <= WIDTH, plainly.err
    if "-" not in args:
        told = run(*args, "--json", stdin=stdin, status=2)
        content = told.json()["error"]
        assert set(content) == {"code", "message", "hint"}
        assert told.err.splitlines() == [f"error: {content['message']}", f"hint: {content['hint']}"]
        assert kind is None or content["code"] == kind
    assert saying in plainly.err, plainly.err
    if values:
        assert values not in plainly.err, plainly.err
        asked = run(*args, "--show-values", stdin=stdin, status=2)
        assert asked.err.splitlines()[:2] == [error, hint]
        assert asked.err.splitlines()[2].startswith("values: ") and values in asked.err.splitlines()[2], asked.err
        if "-" not in args:
            content = run(*args, "--show-values", "--json", stdin=stdin, status=2).json()["error"]
            assert values in content["values"]
    assert snapshot() == before, "something was written"
    return plainly.err


def snapshot() -> dict[str, bytes]:
    """Every file in the working folder, which is one of the test's own: others write into the project's meanwhile."""
    assert Path.cwd() != ROOT, "run the test in a folder of its own: monkeypatch.chdir(tmp_path)"
    return {str(path): path.read_bytes() for path in Path().rglob("*") if path.is_file()}
