"""Design files: JSON that Python, the browser and a database read alike.

A file holds the structure (``kind``), the labels, the exact integers as decimal text (so that no reader rounds them),
how the design came about, and a fingerprint over everything but the last. A reader recomputes the fingerprint.
A new structure is one file in this folder and one line in ``KINDS``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from maskwell.core.arguments import Flag, check_kind, check_path
from maskwell.core.categories import Categories
from maskwell.core.escaping import in_json
from maskwell.core.phrases import fault_of, shorten
from maskwell.designs.base import Design
from maskwell.designs.blocks import Blocks
from maskwell.designs.composed import Composed
from maskwell.designs.dense import Dense
from maskwell.designs.fingerprint import fingerprint_of
from maskwell.designs.kronecker import Kronecker
from maskwell.designs.ldiverse import LocalDiversity
from maskwell.designs.mixture import Mixture
from maskwell.designs.patterns import Patterns
from maskwell.designs.sparse import Sparse
from maskwell.designs.subset import Subset
from maskwell.designs.unary import Unary
from maskwell.designs.uniform import Uniform
from maskwell.errors import DesignFileError, MaskwellError

VERSION = 1
Content = Mapping[str, Any]


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


def design_from_dict(content: Any) -> Design:
    """A design from the content of a design file, after checking its fingerprint."""
    if not isinstance(content, Mapping) or content.get("maskwell") != "design":
        raise DesignFileError("this is not a maskwell design file", hint="make one with: maskwell design --help")
    if content.get("version") != VERSION:
        raise DesignFileError(
            f"design file of version {content.get('version')!r}; this program reads version {VERSION}",
            hint="make the file again with this version of maskwell",
        )
    if not isinstance(content.get("kind"), str) or content["kind"] not in KINDS:
        raise DesignFileError(f"unknown kind of design {content.get('kind')!r}", hint=f"known: {', '.join(KINDS)}")
    covered = {key: value for key, value in content.items() if key not in ("provenance", "fingerprint")}
    try:
        design = _read(content).with_provenance(**content.get("provenance", {}))
        genuine = content.get("fingerprint") == design.fingerprint == fingerprint_of(covered)
    except (KeyError, IndexError, AttributeError, TypeError, ValueError, ArithmeticError, RecursionError) as error:
        reason = error.message if isinstance(error, MaskwellError) else f"{type(error).__name__}: {error}"
        raise DesignFileError(
            f"this design file cannot be read ({shorten(reason, 56)})", hint="make the file again"
        ) from error
    if not genuine:
        raise DesignFileError(
            "the fingerprint does not match the content: the file was changed after it was made",
            hint="make the file again, or get the original",
            given=content.get("fingerprint"),
            computed=design.fingerprint,
        )
    return design


def dumps(design: Design) -> str:
    """The text of a design file."""
    return in_json(json.dumps(design.to_dict(), indent=1, ensure_ascii=False)) + "\n"


def save_design(design: Design, path: str | Path, *, overwrite: bool = False) -> None:
    """Write a design file; an existing file is replaced only if asked."""
    check_path(path=path)
    check_kind(Design, design=design)
    check_kind(Flag, overwrite=overwrite)
    try:
        with Path(path).open("w" if overwrite else "x", encoding="utf-8") as file:
            file.write(dumps(design))
    except FileExistsError as error:
        raise DesignFileError(f"{path} exists", hint="give another name, or overwrite=True") from error
    except OSError as error:
        raise DesignFileError(f"cannot write {path}: {error.strerror}", hint="check the folder") from error


def _no_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Two readers could take two different ones of repeated keys for the truth."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key is repeated")
    return found


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def load_design(path: str | Path) -> Design:
    """Read a design file."""
    check_path(path=path)
    try:
        content = json.loads(
            Path(path).read_text(encoding="utf-8"), object_pairs_hook=_no_repeats, parse_constant=_no_constant
        )
    except OSError as error:
        raise DesignFileError(
            f"cannot read {path}: {error.strerror}", hint="check the path of the design file"
        ) from error
    except (ValueError, RecursionError) as error:
        raise DesignFileError(
            f"{path} is not JSON: {fault_of(error)}", hint="make one with: maskwell design --help"
        ) from error
    return design_from_dict(content)


def schema() -> dict[str, Any]:
    """The JSON Schema of design files."""
    from importlib.resources import files

    text = files("maskwell.designs").joinpath("design.schema.json").read_text(encoding="utf-8")
    content: dict[str, Any] = json.loads(text)
    return content
