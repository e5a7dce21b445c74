"""Every sentence of the catalogue is said somewhere, every code that is raised has one, and its fields are given."""

import ast
import pickle
import string
import tomllib
from functools import cache
from pathlib import Path

import pytest

from maskwell import errors
from maskwell.errors import ParameterError
from maskwell.notes import TYPED, Note, sentence

ERRORS = {"Note", *(name for name, kind in vars(errors).items() if isinstance(kind, type))}
LANGUAGES = {"option", "either"}
TYPED_ROOMS = {"cli.toml", "collection.toml"}
"""Files whose sentences are only ever read by somebody who typed a command."""


@cache
def catalogue(root: Path) -> dict[str, dict[str, str]]:
    """All entries, with the file that has each."""
    entries: dict[str, dict[str, str]] = {}
    for path in sorted((root / "src/maskwell/messages").glob("*.toml")):
        for code, entry in tomllib.loads(path.read_text(encoding="utf-8")).items():
            assert code not in entries, f"{path.name}: {code} stands in {entries[code]['file']} too"
            entries[code] = {"file": path.name, **entry}
    return entries


@cache
def said(root: Path) -> list[tuple[str, str, ast.Call]]:
    """Codes that the package gives to an error or to a note, with the place."""
    found = []
    for path in sorted((root / "src/maskwell").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
                code, called = node.args[0].value, ast.unparse(node.func).rpartition(".")[2]
                if isinstance(code, str) and " " not in code and called in ERRORS:
                    found.append((f"{path.name}:{node.lineno}", code, node))
    return found


def fields_of(text: str) -> set[str]:
    """Names in braces, in formats too."""
    found = set()
    for _, name, form, _ in string.Formatter().parse(text):
        if name and name not in LANGUAGES:
            found |= {name} | fields_of(form or "")
    return found


def test_every_code_has_a_sentence_and_every_sentence_a_code(root: Path) -> None:
    entries, used = catalogue(root), said(root)
    assert [(place, code) for place, code, _ in used if code not in entries] == []
    indirect = "".join(path.read_text(encoding="utf-8") for path in (root / "src/maskwell").rglob("*.py"))
    assert [code for code in entries if f'"{code}"' not in indirect and entries[code]["file"] != "example.toml"] == []


def test_values_are_given_for_every_field(root: Path) -> None:
    entries, missing = catalogue(root), []
    for place, code, call in said(root):
        given = {word.arg for word in call.keywords}
        entry = entries[code]
        needed = fields_of(entry["text"]) | (set() if "hint" in given else fields_of(entry.get("hint", "")))
        if None not in given and not needed <= given:
            missing.append((place, code, sorted(needed - given)))
    assert missing == []


WIDTH, NUMBERED, VALUE = 100, "[[protect]] number 1", "xxxxxx"
"""Characters of a line of an error, what names a table of a plan in it, and what stands for each value."""


def test_errors_of_a_table_of_a_plan_are_lines_of_a_terminal(root: Path) -> None:
    """As they are shown, with short values: the table is named by the sentence, or before it."""
    long = []
    for place, code, call in said(root):
        entry, of_a_table = catalogue(root)[code], place.startswith("protection.py")
        if not ast.unparse(call.func).endswith("PlanError") or not (of_a_table or "{where}" in entry["text"]):
            continue
        before = "error: " if "{where}" in entry["text"] else f"error: {NUMBERED}: "
        for line in (before + entry["text"], "hint: " + entry.get("hint", "")):
            parts = string.Formatter().parse(line)
            values = {None: "", "where": NUMBERED}
            shown = "".join(literal + values.get(name, VALUE) for literal, name, *_ in parts)
            long += [(len(shown), code, shown)] if len(shown) > WIDTH else []
    assert long == []


def test_no_sentence_for_python_names_an_option_of_the_command_line(root: Path) -> None:
    wrong = []
    for code, entry in catalogue(root).items():
        if entry["file"] in TYPED_ROOMS:
            continue
        for part in ("text", "hint"):
            plain = "".join(literal for literal, *_ in string.Formatter().parse(entry.get(part, "")))
            if " --" in f" {plain}":
                wrong.append((entry["file"], code, plain))
    assert wrong == []


def test_a_sentence_speaks_the_language_of_its_reader() -> None:
    assert str(Note("example-share-is-small", share=0.25)) == "a share of 25.0% is small"
    error = ParameterError("example-share-is-small", share=0.25)
    assert error.hint == "ask more people: n=1000"
    token = TYPED.set(True)
    try:
        assert ParameterError("example-share-is-small", share=0.25).hint == "ask more people: --n 1000"
        assert error.hint == "ask more people: n=1000", "an error keeps the language in which it was raised"
    finally:
        TYPED.reset(token)


@pytest.mark.parametrize("text", ["no such code", "no-such-code", "50 {of"])
def test_what_is_no_code_says_itself(text: str) -> None:
    assert sentence(text, {}, typed=True) == text
    assert str(ParameterError(text)) == text


def test_an_error_without_its_values_is_still_said() -> None:
    assert ParameterError("example-share-is-small").message == "a share of (share) is small"


def test_an_error_survives_the_way_between_processes() -> None:
    error = ParameterError("example-share-is-small", share=0.5)
    assert str(pickle.loads(pickle.dumps(error))) == str(error)
