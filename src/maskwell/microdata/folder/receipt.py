"""Receipt: what was done to the columns of a released file, read from its public or its internal receipt."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from maskwell.core import labels as rules
from maskwell.core.arguments import Array, Real, check_path
from maskwell.core.documents import from_json, read_document
from maskwell.core.phrases import Printed, fault_of, round_up, shorten
from maskwell.designs.coded import CodedDesign
from maskwell.designs.sparse import Sparse
from maskwell.designs.wire import design_from_dict
from maskwell.errors import DataFileError, MaskwellError, ParameterError
from maskwell.microdata.risk.intruders import ANY_LOOK, INTRUDERS
from maskwell.microdata.stages.stage import RandomizedColumns, Stage, State, kept_columns, share_step, state_categories
from maskwell.notes import Note

T = TypeVar("T")


VERSION = 1
INTERNAL, PUBLIC = "internal", "public"


@dataclass(frozen=True, eq=False, kw_only=True)
class Group(RandomizedColumns):
    """Columns that were randomized together, as a receipt records them: a public one has no counts, maybe no matrix."""

    linked: tuple[str, ...]
    # The matrix with the labels of its truths and reports, where the receipt has it
    design: CodedDesign | None = None
    states: Sequence[State] = ()
    outputs: Sequence[State] = ()
    # For each variable the largest factor by which the variance of a share grows
    inflation: Mapping[str, float] = field(default_factory=dict)
    # At most the share of the records whose values are expected to change; 1 where nothing is told
    most_changed: float = 1.0
    # What became of missing values: "unchanged", or "category" where they were randomized like any other
    missing: str = "unchanged"
    each: str = "record"  # "record", or "unit" where all records of a unit, such as a household, had one draw
    stage: Stage | None = None  # Everything about it, in an internal receipt


@dataclass(frozen=True)
class ShareErrors:
    """Upper bounds of the errors of every share of a table that is not kept."""

    bias: float  # At most how far it is off on average
    error: float  # At most the standard error that randomization adds


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
        The intruder model of the limit, from internal receipts.
    categories
        Labels, as texts in their order, of columns that have a codebook in the plan or are not in their natural order.
    tables
        Upper bounds of the errors of tables that are not kept, by their columns and by "counts" or "weights".
    kept_share
        At least the share of drawn files that keep the limit of the plan, where others were not released.
    """

    audience: str
    groups: tuple[Group, ...]
    rows: int
    weights: str | None
    demonstration: bool
    commitment: str | None = None
    plan: Mapping[str, Any] = field(default_factory=dict)
    intruder: str = ANY_LOOK.name
    categories: Mapping[str, Sequence[str]] = field(default_factory=dict)
    tables: Mapping[tuple[frozenset[str], str], ShareErrors] = field(default_factory=dict)
    kept_share: float = 1.0

    def __repr__(self) -> str:
        kept = [one.invariance if kept_columns(self.groups, one) else "nothing" for one in self.groups]
        groups = [f"{', '.join(one.variables)} ({what} preserved)" for one, what in zip(self.groups, kept, strict=True)]
        return f"Receipt ({self.audience}) of {self.rows:,} records: {'; '.join(groups) or 'nothing randomized'}"

    @property
    def missing(self) -> str:
        """How missing values count by default: "category" where they were randomized, else "error"."""
        return "category" if any(group.missing == "category" for group in self.groups) else "error"


def load_receipt(path: str | Path) -> Receipt:
    """Read a receipt; DataFileError where it is none."""
    check_path(path=path)
    hint = "give the file in it: public/receipt.json" if is_folder(path) else "check the path"
    text = read_document(path, error=DataFileError, hint=hint)
    try:
        content = from_json(text)
    except ValueError as error:
        raise DataFileError(
            "path-shown-is-no-json-fault", path_shown=path, fault=fault_of(error), path=str(path)
        ) from error
    return receipt_from_dict(content, str(path))


def is_folder(path: str | PathLike[str]) -> bool:
    """Whether there is a folder of this name."""
    try:
        return Path(path).is_dir()
    except (OSError, ValueError):  # a name that no file can have; whoever opens it says so
        return False


def receipt_from_dict(content: Any, name: str = "the receipt") -> Receipt:
    """A receipt from its content; ``name`` is what errors call it."""
    if not isinstance(content, Mapping) or content.get("maskwell") != "receipt":
        raise DataFileError("is-no-receipt-of-a-release", name=name)
    if content.get("version") != VERSION:
        raise DataFileError(
            "has-version-this-program-reads-version", name=name, version=content.get("version"), version_shown=VERSION
        )
    try:
        drawn = content.get("randomness", {})
        if (
            intruder := str(content.get("plan", {}).get("release", {}).get("intruder", ANY_LOOK.name))
        ) not in INTRUDERS:
            raise ValueError(f"{intruder!r} is not an intruder")
        return Receipt(
            audience=of_kind(str, content, "audience"),
            groups=tuple(_group(one, _count(content["rows"])) for one in of_kind(list, content, "groups")),
            rows=_count(content["rows"]),
            weights=None if content["weights"] is None else of_kind(str, content, "weights"),
            demonstration=of_kind(bool, content, "demonstration"),
            commitment=None if drawn.get("commitment") is None else of_kind(str, drawn, "commitment"),
            plan=_plan(content),
            intruder=intruder,
            categories=_categories(content),
            tables=dict(_tables(content)),
            kept_share=_kept_share(content),
        )
    except (KeyError, IndexError, AttributeError, TypeError, ValueError, ArithmeticError, RecursionError) as error:
        reason = error.message if isinstance(error, MaskwellError) else f"{type(error).__name__}: {error}"
        raise DataFileError("cannot-be-read", name=name, reason=shorten(reason, 50)) from error


def drawn_until_kept(share: float) -> str:
    """What a reader must know where at least this share of drawn files keeps the limit, and others are not released."""
    return Note("receipt-drawn-until-it-kept-the-limit", times=Printed(round_up(1 / math.sqrt(share), 1)))


def _kept_share(content: Mapping[str, Any]) -> float:
    share = content.get("kept_share", 1.0)
    if isinstance(share, bool) or not isinstance(share, int | float) or not 0 < share <= 1:
        raise TypeError("kept_share is not a share")
    return float(share)


def _count(rows: Any) -> int:
    if isinstance(rows, bool) or not isinstance(rows, int) or not 0 <= rows < 1 << 63:
        raise TypeError("rows is not a number of records")
    return rows


def _plan(content: Mapping[str, Any]) -> dict[str, Any]:
    plan = table_of(content, "plan") if "plan" in content else {}
    for one in of_kind(list, {"protect": [], **plan}, "protect"):
        of_kind(dict, {"protect": one}, "protect")
    return plan


def _categories(content: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    orders = table_of(content, "categories") if "categories" in content else {}
    return {name: names_of(orders, name) for name in orders}


def _tables(content: Mapping[str, Any]) -> Iterator[tuple[tuple[frozenset[str], str], ShareErrors]]:
    for one in of_kind(list, {"tables": [], **content}, "tables"):
        columns = frozenset(names_of(one, "columns"))
        for kind in ("counts", "weights"):
            if kind in one:
                told = [table_of(one, kind)[name] for name in ("bias", "error")]
                if not all(isinstance(x, int | float) and not isinstance(x, bool) and 0 < x <= 1 for x in told):
                    raise TypeError("the errors of a table are not shares")
                yield (columns, kind), ShareErrors(*told)


def stages_of(receipt: Receipt) -> list[Stage]:
    """The stages of an internal receipt, as they were carried out."""
    stages = [group.stage for group in receipt.groups if group.stage is not None]
    if len(stages) < len(receipt.groups):
        raise ParameterError("a-public-receipt-does-not-tell")
    return stages


def _changed(content: Mapping[str, Any], stage: Stage | None, rows: int) -> float:
    """At most the share of the records that change: half a step more than the rounded one."""
    if stage is not None:
        return stage.expected_changed()
    told, step = content.get("changed_expected"), share_step(rows)
    if told is None or step is None:
        return 1.0
    if not isinstance(told, int | float) or isinstance(told, bool) or not 0 <= told <= 1:
        raise TypeError("changed_expected is not a share")
    return min(1.0, told + step / 2)


def _group(content: Mapping[str, Any], rows: int) -> Group:
    stage = stage_from_dict(content["stage"]) if "stage" in content else None
    told = tuple(names_of(content, name) for name in ("variables", "within", "linked"))
    if stage is not None and told != (stage.variables, stage.within, (*stage.linked,)):
        raise ValueError("the columns of a group and of its stage differ")
    factors = table_of(content, "vif")
    if not all(isinstance(x, int | float) and not isinstance(x, bool) for x in factors.values()):
        raise TypeError("vif has an item that is not a number")
    return Group(
        variables=told[0],
        within=told[1],
        linked=told[2],
        method=of_kind(str, content, "method"),
        invariance=of_kind(str, content, "invariance"),
        inflation=factors,
        most_changed=_changed(content, stage, rows),
        missing=of_kind(str, content, "missing"),
        each=of_kind(str, content, "each") if "each" in content else "record",
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


def stage_from_dict(content: Mapping[str, Any]) -> Stage:
    """The stage that :func:`stage_to_dict` wrote."""
    variables, within = names_of(content, "variables"), names_of(content, "within")
    states, outputs = (labels_from(content[name], len(within + variables)) for name in ("states", "outputs"))
    design, k = matrix_from(content["design"]), len(states)
    if (design.k, design.m) != (k, len(outputs)):
        raise ValueError("states and matrix of a stage do not fit together")
    return Stage(
        variables=variables,
        within=within,
        linked={name: _table(pairs, len(variables)) for name, pairs in table_of(content, "linked").items()},
        states=states,
        outputs=outputs,
        design=labelled(design, states, outputs),
        counts=_whole(content["counts"], k, 1 << 53),
        weights=_array(content["weights"], k),
        squares=_array(content["squares"], k),
        cells=_whole(content["cells"], k, k),
        method=of_kind(str, content, "method"),
        invariance=of_kind(str, content, "invariance"),
        derived=of_kind(bool, content, "derived"),
        notes=names_of(content, "notes"),
        steps=_steps(content, states, outputs),
        unit=of_kind(str, content, "unit") if "unit" in content else None,
        sizes=_whole(content["sizes"], k, 1 << 53) if "unit" in content else None,
        kept_as=_kept_as(content["kept_as"], k) if "kept_as" in content else None,
    )


def _kept_as(values: Any, k: int) -> tuple[str | None, ...]:
    if not isinstance(values, list) or len(values) != k or {*map(type, values)} - {str, type(None)}:
        raise ValueError("what draws of a stage are kept as is not a text for each state")
    return tuple(values)


def _steps(
    content: Mapping[str, Any], states: Sequence[State], outputs: Sequence[State]
) -> tuple[CodedDesign, CodedDesign] | None:
    if "steps" not in content:
        return None
    first, second = map(matrix_from, of_kind(list, content, "steps"))
    if (first.k, first.m, second.k, second.m) != (len(states), *[len(outputs)] * 3):
        raise ValueError("the two matrices of a stage do not fit together")
    return labelled(first, states, outputs), labelled(second, outputs, outputs)


def of_kind(kind: type[T], content: Mapping[str, Any], name: str) -> T:
    """A field that must be of one kind."""
    value = content[name]
    if not isinstance(value, kind):
        raise TypeError(f"{name} is a {type(value).__name__}")
    return value


def table_of(content: Mapping[str, Any], name: str) -> dict[str, Any]:
    """A field that must be an object."""
    table: dict[str, Any] = of_kind(dict, content, name)
    return table


def names_of(content: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """A field that lists texts."""
    return tuple(of_kind(str, {name: one}, name) for one in of_kind(list, content, name))


def matrix_from(content: Any) -> CodedDesign:
    """A design whose matrix a receipt holds; TypeError for one whose reports are sets."""
    design = design_from_dict(content)
    if not isinstance(design, CodedDesign):
        raise TypeError(f"a {design.kind} design is not a matrix of a release")
    return design


def labelled(design: CodedDesign, states: Sequence[State], outputs: Sequence[State]) -> CodedDesign:
    """Undo :func:`numbered`."""
    return labelled_as(design, states, outputs) if isinstance(design, Sparse) else design


def labelled_as(design: CodedDesign, states: Sequence[State], outputs: Sequence[State]) -> CodedDesign:
    """A design whose categories are the labels of states; a label alone where there is one column."""
    inputs, reports = state_categories(states), state_categories(outputs)
    if design.inputs == inputs and design.outputs == reports:
        return design
    return design.with_labels(inputs, reports)


def labels_from(content: Any, width: int) -> list[State]:
    """Undo :func:`labels_json`, for states of so many columns."""
    if not isinstance(content, list) or any(type(state) is not list or len(state) != width for state in content):
        raise ValueError("states do not have one label for each column")
    return [tuple(None if form is None else rules.from_json(form) for form in state) for state in content]


def _table(pairs: Any, width: int) -> dict[State, Hashable]:
    keys, labels = labels_from([key for key, _ in pairs], width), labels_from([[label] for _, label in pairs], 1)
    return {key: label for key, (label,) in zip(keys, labels, strict=True)}


def _array(values: Any, k: int) -> Real | None:
    if values is None:
        return None
    if not isinstance(values, list) or len(values) != k or {*map(type, values)} - {int, float}:
        raise ValueError("weights of a stage are not a number for each state")
    return np.array(values, dtype=np.float64)


def _whole(values: Any, k: int, end: int) -> Array:
    if not isinstance(values, list) or len(values) != k or {*map(type, values)} - {int}:
        raise ValueError("counts and cells of a stage are not a whole number for each state")
    if values and not 0 <= min(values) <= max(values) < end:
        raise ValueError("counts or cells of a stage are out of range")
    return np.array(values, dtype=np.int64)
