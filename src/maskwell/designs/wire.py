"""Design files: JSON with exact integers as text and a fingerprint; a structure is a file and a line in ``KINDS``."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

from maskwell.core.arguments import check_kind, check_path
from maskwell.core.categories import Categories
from maskwell.core.documents import (
    LARGEST,
    STANDARD_INPUT,
    TooManyValuesError,
    bounded,
    fingerprint_of,
    from_json,
    json_schema,
    many_objects,
    read_document,
)
from maskwell.core.phrases import fault_of, in_json, shorten
from maskwell.designs.blocks import Blocks
from maskwell.designs.composed import Composed
from maskwell.designs.dense import Dense
from maskwell.designs.design import Design
from maskwell.designs.kronecker import Kronecker
from maskwell.designs.mixture import Mixture
from maskwell.designs.patterns import Patterns
from maskwell.designs.sparse import Sparse
from maskwell.designs.subset import LocalDiversity, Subset
from maskwell.designs.unary import Unary
from maskwell.designs.uniform import Uniform
from maskwell.errors import DesignFileError, MaskwellError

VERSION = 1
Content = Mapping[str, Any]

MOST_LEVELS = 40  # designs within designs, as a product holds its factors and a composition its steps
MOST_VALUES = 10**7  # numbers, labels and lists of a design file, so that reading it and auditing it takes seconds
MOST_PARTS = 10**5  # designs within a design, at all levels together
MOST_LABELS = 3 * 10**6  # labels of all designs in a file; each takes several times as long as a number

MOST_FIXED = 10**6  # chances of all mixtures in a file; each takes several times as long as a number

LARGEST_OF_LONG = 12 << 20  # characters of a file with integers of more than 300 digits, which take time

_LONG = re.compile(r'"[0-9]{301}')
_TEXT_NOTES = {"demand", "family", "given", "method", "same_as", "samples", "wanted", "warning"}
_LIST_NOTES = {"items", "notes", "variables"}


def _labelled(kind: Any) -> Callable[[Content], Design]:
    return lambda content: kind.from_exact_form(content["exact"], Categories.from_json(content["inputs"]))


def _with_reports(kind: Any) -> Callable[[Content], Design]:
    def read(content: Content) -> Design:
        inputs, outputs = Categories.from_json(content["inputs"]), Categories.from_json(content["outputs"])
        design: Design = kind.from_exact_form(content["exact"], inputs, outputs)
        return design

    return read


def _blocks(content: Content) -> Design:
    cells = Categories.from_json(content["inputs"]["cells"])
    return Blocks.of(dict(zip(cells.labels, map(_read, content["exact"]["parts"]), strict=True)))


KINDS: dict[str, Callable[[Content], Design]] = {
    Dense.kind: _with_reports(Dense),
    Sparse.kind: _with_reports(Sparse),
    Patterns.kind: _with_reports(Patterns),
    Uniform.kind: _labelled(Uniform),
    Mixture.kind: _labelled(Mixture),
    Subset.kind: _labelled(Subset),
    LocalDiversity.kind: _labelled(LocalDiversity),
    Unary.kind: _labelled(Unary),
    Kronecker.kind: lambda content: Kronecker.of(map(_read, content["exact"]["factors"])),
    Blocks.kind: _blocks,
    Composed.kind: lambda content: Composed.of(_read(content["exact"]["first"]), _read(content["exact"]["then"])),
}


def _read(content: Content) -> Design:
    return KINDS[content["kind"]](content)


def _check_size(content: Any) -> None:
    """Raise for endless designs within designs, and for so many labels or chances that an audit takes minutes."""
    level, parts, fixed, labels = [content], 0, 0, 0
    for _ in range(MOST_LEVELS):
        exacts, within = [], list[Any]()
        for one in (one for one in level if isinstance(one, Mapping)):
            labels += sum(len(side) for name in ("inputs", "outputs") if isinstance(side := one.get(name), list))
            exacts += [exact] if isinstance(exact := one.get("exact"), Mapping) else []
        for exact in exacts:
            fixed += len(chances) if isinstance(chances := exact.get("fixed"), list) else 0
            lists = (some for name in ("factors", "parts") if isinstance(some := exact.get(name), list))
            within += chain.from_iterable(lists)
            within += [exact[name] for name in ("first", "then") if name in exact]
        level, parts = within, parts + len(within)
        if parts > MOST_PARTS:
            raise ValueError(f"more than {MOST_PARTS:,} designs within it")
        if fixed > MOST_FIXED:
            raise ValueError(f"mixtures of more than {MOST_FIXED:,} categories")
        if labels > MOST_LABELS:
            raise ValueError(f"more than {MOST_LABELS:,} labels")
        if not level:
            return
    raise ValueError(f"designs within designs, more than {MOST_LEVELS} levels of them")


def _notes(content: Content) -> dict[str, Any]:
    """What a file says of how its design came about; nothing vouches for it, so that its form is checked."""
    notes = dict(content.get("provenance", {}))
    for name, note in notes.items():
        listed = isinstance(note, list) and all(isinstance(one, str) for one in note)
        if (name in _TEXT_NOTES and not isinstance(note, str)) or (name in _LIST_NOTES and not listed):
            raise ValueError(f"provenance: {name} is not {'a text' if name in _TEXT_NOTES else 'a list of texts'}")
    parameters = notes.get("parameters", {})
    if not isinstance(parameters, Mapping) or not all(
        isinstance(value, str | int | float) for value in parameters.values()
    ):
        raise ValueError("provenance: parameters are not names with a text or number each")
    return notes


def _floats_as_text(value: Any) -> Any:
    """Float labels as text, which early versions wrote as numbers."""
    if isinstance(value, Mapping):
        return {key: _floats_as_text(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_floats_as_text(one) for one in value]
    return {"float": repr(value)} if isinstance(value, float) else value


def design_from_dict(content: Any) -> Design:
    """A design from the content of a design file, after checking its fingerprint."""
    if not isinstance(content, Mapping) or content.get("maskwell") != "design":
        raise DesignFileError("this-is-not-a-maskwell-design")
    if content.get("version") != VERSION:
        raise DesignFileError(
            "design-file-of-version-this-program", version=content.get("version"), version_shown=VERSION
        )
    if not isinstance(content.get("kind"), str) or content["kind"] not in KINDS:
        raise DesignFileError("unknown-kind-of-design", kind=content.get("kind"), kinds=", ".join(KINDS))
    covered = {key: value for key, value in content.items() if key not in ("provenance", "fingerprint")}
    try:
        _check_size(content)
        with many_objects():
            design = _read(content).with_provenance(**_notes(content))
            computed = fingerprint_of(covered)
            genuine = content.get("fingerprint") == computed and (
                design.fingerprint == computed or design.fingerprint == fingerprint_of(_floats_as_text(covered))
            )
    except (KeyError, IndexError, AttributeError, TypeError, ValueError, ArithmeticError, RecursionError) as error:
        reason = error.message if isinstance(error, MaskwellError) else f"{type(error).__name__}: {error}"
        raise DesignFileError("this-design-file-cannot-be-read", reason=shorten(reason, 56)) from error
    if not genuine:
        raise DesignFileError(
            "the-fingerprint-does-not-match", given=content.get("fingerprint"), computed=design.fingerprint
        )
    return design


def dumps(design: Design) -> str:
    """The text of a design file; DesignFileError for a design whose file could not be read again."""
    content = design.to_dict()
    text = in_json(json.dumps(content, indent=1, ensure_ascii=False)) + "\n"
    try:
        if len(text.encode()) > LARGEST:
            raise ValueError(f"it has more than {LARGEST >> 20} MB")
        _check_text(text)
        bounded(content, most=MOST_VALUES)
        _check_size(content)
    except ValueError as error:
        raise DesignFileError("no-file-of-this-design-could", error=str(error)) from error
    return text


def _check_text(text: str) -> None:
    if len(text) > LARGEST_OF_LONG and _LONG.search(text):
        raise TooManyValuesError(f"it has more than {LARGEST_OF_LONG >> 20} MB, with integers of over 300 digits")


def save_design(design: Design, path: str | Path, *, overwrite: bool = False) -> None:
    """Write a design file; an existing file is replaced only if asked."""
    from maskwell.core.atomic import save_text

    check_path(path=path)
    check_kind(Design, design=design)
    save_text(path, dumps(design), overwrite=overwrite, error=DesignFileError)


def load_design(path: str | Path) -> Design:
    """Read a design file."""
    check_path(path=path)
    text = read_document(path, error=DesignFileError, hint="check the path of the design file")
    try:
        _check_text(text)
        content = from_json(text, most=MOST_VALUES)
    except TooManyValuesError as error:
        raise DesignFileError("cannot-read-group", path=path, error=str(error)) from error
    except ValueError as error:
        raise DesignFileError("path-is-not-json-fault", path=path, fault=fault_of(error)) from error
    return design_from_dict(content)


def read_design(design: Design | str | os.PathLike[str], name: str = "design") -> Design:
    """The design, read from its file where a path is given; the path is in the error."""
    if not isinstance(design, str | os.PathLike):
        check_kind(Design, **{name: design})
        return design
    try:
        return load_design(os.fspath(design))
    except DesignFileError as error:
        if design == STANDARD_INPUT or str(design) in error.message:
            raise
        raise DesignFileError(f"{design}: {error.message}", hint=error.hint, path=design) from error


def schema() -> dict[str, Any]:
    """The JSON Schema of design files."""
    return json_schema("maskwell.designs", "design.schema.json")
