"""Receipt: what was done to the columns of a released file, read from its public or its internal receipt."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any, cast

from maskwell.core.arguments import check_path
from maskwell.core.phrases import fault_of, shorten
from maskwell.designs.coded import CodedDesign
from maskwell.designs.wire import design_from_dict
from maskwell.errors import DataFileError, MaskwellError, ParameterError
from maskwell.release.analysis.kept import kept_columns
from maskwell.release.folder.stage_json import State, labelled, labels_from, stage_from_dict
from maskwell.release.risk.intruders import ANY_LOOK, INTRUDERS
from maskwell.release.stages.stage import Stage

VERSION = 1
INTERNAL, PUBLIC = "internal", "public"


@dataclass(frozen=True, eq=False, kw_only=True)
class Group:
    """Columns that were randomized together.

    Attributes
    ----------
    variables, within, linked
        Columns that were randomized, within whose cells, and columns that follow.
    method
        "pram", or "swap" where values were exchanged so that counts stay exactly.
    invariance
        What stays the same on average: "counts", "weights", "external" or "none".
    design, states, outputs
        The matrix with the labels of its truths and reports, where the receipt has it.
    inflation
        For each variable the largest factor by which the variance of a share grows.
    missing
        What became of missing values: "unchanged", or "category" where they were randomized like any other.
    stage
        Everything about it, in an internal receipt.
    """

    variables: tuple[str, ...]
    within: tuple[str, ...]
    linked: tuple[str, ...]
    method: str
    invariance: str
    inflation: Mapping[str, float] = field(default_factory=dict)
    missing: str = "unchanged"
    design: CodedDesign | None = None
    states: Sequence[State] = ()
    outputs: Sequence[State] = ()
    stage: Stage | None = None

    @property
    def moved(self) -> tuple[str, ...]:
        """Columns whose values may have changed."""
        return (*self.variables, *self.linked)

    @property
    def cells(self) -> tuple[str, ...]:
        """Columns that tell the states."""
        return (*self.within, *self.variables)

    @property
    def kept(self) -> bool:
        """Whether counts, or weighted counts, stay the same on average."""
        return self.invariance in ("counts", "weights")


def _kept(groups: Sequence[Group], own: Group) -> str:
    return own.invariance if kept_columns(groups, own) else "nothing"


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Receipt:
    """A receipt as it was read.

    Attributes
    ----------
    audience
        "public" or "internal".
    groups
        In the order in which they were carried out.
    rows, weights
        Records of the file, and its column of survey weights.
    demonstration
        Whether the draws can be repeated.
    commitment
        Names the key that draws were kept with, in an internal receipt of such a release.
    plan
        The tables of the plan, in an internal receipt.
    intruder
        Whom the limit of the plan is for; told by internal receipts.
    """

    audience: str
    groups: tuple[Group, ...]
    rows: int
    weights: str | None
    demonstration: bool
    commitment: str | None = None
    plan: Mapping[str, Any] = field(default_factory=dict)
    intruder: str = ANY_LOOK

    def __repr__(self) -> str:
        groups = [f"{', '.join(own.variables)} ({_kept(self.groups, own)} kept)" for own in self.groups]
        return f"Receipt ({self.audience}) of {self.rows:,} records: {'; '.join(groups) or 'nothing randomized'}"

    @property
    def missing(self) -> str:
        """How missing values count unless somebody asks otherwise: "category" where they were randomized, or "error".

        >>> Receipt(audience="public", groups=(), rows=3, weights=None, demonstration=False).missing
        'error'
        """
        return "category" if any(group.missing == "category" for group in self.groups) else "error"


def load_receipt(path: str | Path) -> Receipt:
    """Read a receipt; DataFileError where it is none."""
    check_path(path=path)
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        hint = "give the file in it: public/receipt.json" if Path(path).is_dir() else "check the path"
        raise DataFileError(f"{path}: {error.strerror or error}", hint=hint, path=str(path)) from error
    except ValueError as error:
        raise DataFileError(f"{path} is no JSON ({fault_of(error)})", hint=_HINT, path=str(path)) from error
    return receipt_from_dict(content, str(path))


_HINT = "give the receipt.json of a release folder"


def receipt_from_dict(content: Any, name: str = "the receipt") -> Receipt:
    """A receipt from its content; ``name`` is what errors call it."""
    if not isinstance(content, Mapping) or content.get("maskwell") != "receipt":
        raise DataFileError(f"{name} is no receipt of a release", hint=_HINT)
    if content.get("version") != VERSION:
        raise DataFileError(
            f"{name} has version {content.get('version')!r}; this program reads version {VERSION}",
            hint="read it with the version of maskwell that made it",
        )
    try:
        return Receipt(
            audience=content["audience"],
            groups=tuple(_group(group) for group in content["groups"]),
            rows=int(content["rows"]),
            weights=content["weights"],
            demonstration=bool(content["demonstration"]),
            commitment=content.get("randomness", {}).get("commitment"),
            plan=content.get("plan", {}),
            intruder=_intruder(content.get("plan") or {}),
        )
    except (KeyError, IndexError, AttributeError, TypeError, ValueError) as error:
        reason = error.message if isinstance(error, MaskwellError) else f"{type(error).__name__}: {error}"
        raise DataFileError(f"{name} cannot be read ({shorten(reason, 50)})", hint="get the original") from error


def _intruder(plan: Mapping[str, Any]) -> str:
    found = str(plan.get("release", {}).get("intruder", ANY_LOOK))
    if found not in INTRUDERS:
        raise ValueError(f"there is no intruder {found!r}")
    return found


def stages_of(receipt: Receipt) -> list[Stage]:
    """The stages of an internal receipt, as they were carried out."""
    stages = [group.stage for group in receipt.groups if group.stage is not None]
    if len(stages) < len(receipt.groups):
        raise ParameterError(
            "a public receipt does not tell the matrices and counts of a release",
            hint="give the internal receipt: internal/receipt.json of the release folder",
        )
    return stages


def schema() -> dict[str, Any]:
    """The JSON Schema of receipts."""
    text = files("maskwell.release.folder").joinpath("receipt.schema.json").read_text(encoding="utf-8")
    content: dict[str, Any] = json.loads(text)
    return content


def _group(content: Mapping[str, Any]) -> Group:
    stage = stage_from_dict(content["stage"]) if "stage" in content else None
    return Group(
        variables=tuple(content["variables"]),
        within=tuple(content["within"]),
        linked=tuple(content["linked"]),
        method=content["method"],
        invariance=content["invariance"],
        inflation=dict(content["vif"]),
        missing=content["missing"],
        stage=stage,
        **_matrix(content, stage),
    )


def _matrix(content: Mapping[str, Any], stage: Stage | None) -> dict[str, Any]:
    if stage is not None:
        return {"design": stage.design, "states": stage.states, "outputs": stage.outputs}
    if "design" not in content:
        return {}
    states, outputs = labels_from(content["states"]), labels_from(content["outputs"])
    design = cast(CodedDesign, design_from_dict(content["design"]))
    return {"design": labelled(design, states, outputs), "states": states, "outputs": outputs}
