"""Receipt: what was done to the columns of a released file, read from its public or its internal receipt."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any

from maskwell.core.arguments import check_path
from maskwell.core.documents import from_json, read_document
from maskwell.core.phrases import fault_of, shorten
from maskwell.designs.coded import CodedDesign
from maskwell.errors import DataFileError, MaskwellError, ParameterError
from maskwell.release.analysis.kept_tables import kept_columns
from maskwell.release.folder.stage_json import (
    State,
    labelled,
    labels_from,
    matrix_from,
    names_of,
    of_kind,
    stage_from_dict,
    table_of,
)
from maskwell.release.risk.risk_report import ANY_LOOK, INTRUDERS
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
    hint = "give the file in it: public/receipt.json" if _is_folder(path) else "check the path"
    text = read_document(path, error=DataFileError, hint=hint)
    try:
        content = from_json(text)
    except ValueError as error:
        raise DataFileError(f"{path} is no JSON ({fault_of(error)})", hint=_HINT, path=str(path)) from error
    return receipt_from_dict(content, str(path))


def _is_folder(path: str | Path) -> bool:
    try:
        return Path(path).is_dir()
    except (OSError, ValueError):  # a name that no file can have; whoever opens it says so
        return False


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
            audience=of_kind(str, content, "audience"),
            groups=tuple(map(_group, of_kind(list, content, "groups"))),
            rows=_count(content["rows"]),
            weights=None if content["weights"] is None else of_kind(str, content, "weights"),
            demonstration=of_kind(bool, content, "demonstration"),
            commitment=_commitment(content.get("randomness", {})),
            plan=_plan(content),
            intruder=_intruder(content.get("plan", {})),
        )
    except (KeyError, IndexError, AttributeError, TypeError, ValueError, ArithmeticError, RecursionError) as error:
        reason = error.message if isinstance(error, MaskwellError) else f"{type(error).__name__}: {error}"
        raise DataFileError(f"{name} cannot be read ({shorten(reason, 50)})", hint="get the original") from error


def _count(rows: Any) -> int:
    if isinstance(rows, bool) or not isinstance(rows, int) or not 0 <= rows < 1 << 63:
        raise TypeError("rows is no number of records")
    return rows


def _commitment(randomness: Mapping[str, Any]) -> str | None:
    return None if randomness.get("commitment") is None else of_kind(str, randomness, "commitment")


def _inflation(factors: Mapping[str, Any]) -> dict[str, float]:
    if not all(isinstance(x, int | float) and not isinstance(x, bool) for x in factors.values()):
        raise TypeError("vif has something that is no number")
    return dict(factors)


def _plan(content: Mapping[str, Any]) -> dict[str, Any]:
    """The tables of the plan, in the form that a plan has."""
    plan = table_of(content, "plan") if "plan" in content else {}
    for one in of_kind(list, {"protect": [], **plan}, "protect"):
        of_kind(dict, {"protect": one}, "protect")
    return plan


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
    told = tuple(names_of(content, name) for name in ("variables", "within", "linked"))
    if stage is not None and told != (stage.variables, stage.within, (*stage.linked,)):
        raise ValueError("the columns of a group and of its stage differ")
    return Group(
        variables=told[0],
        within=told[1],
        linked=told[2],
        method=of_kind(str, content, "method"),
        invariance=of_kind(str, content, "invariance"),
        inflation=_inflation(table_of(content, "vif")),
        missing=of_kind(str, content, "missing"),
        stage=stage,
        **_matrix(content, stage, len(told[0]) + len(told[1])),
    )


def _matrix(content: Mapping[str, Any], stage: Stage | None, width: int) -> dict[str, Any]:
    if stage is not None:
        return {"design": stage.design, "states": stage.states, "outputs": stage.outputs}
    if "design" not in content:
        return {}
    states, outputs = labels_from(content["states"], width), labels_from(content["outputs"], width)
    design = matrix_from(content["design"])
    if (design.k, design.m) != (len(states), len(outputs)):
        raise ValueError("the matrix has not one column for each state")
    return {"design": labelled(design, states, outputs), "states": states, "outputs": outputs}
