"""What the receipts of a release say: all that a valid analysis needs (public), all that was done (internal).

The public one never contains what reveals the true counts: no matrix computed from the file, no parameter of one, and
no fingerprint, because matrices could be tried until one fits. Source: [Adeshiyan2011, section 4.6].
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from importlib.resources import files
from secrets import token_hex
from typing import TYPE_CHECKING, Any

import numpy as np

from maskwell.core import labels as rules
from maskwell.core.arguments import Array
from maskwell.core.categories import Categories
from maskwell.core.documents import json_form, version_text
from maskwell.core.exact import to_decimal
from maskwell.core.phrases import in_json, in_words, magnitude, round_down
from maskwell.core.verdicts import below
from maskwell.designs.coded import CodedDesign
from maskwell.designs.sparse import Sparse
from maskwell.errors import LabelError
from maskwell.microdata.folder.matrix_disclosure import check_matrix
from maskwell.microdata.folder.receipt import VERSION, Group, drawn_until_kept
from maskwell.microdata.plans.protection import INCLUDED, UNIT, WITHHELD
from maskwell.microdata.records.recoding import Recode
from maskwell.microdata.risk.repeated_releases import path_parities
from maskwell.microdata.stages.stage import Stage, State, acting, kept_columns, share_step
from maskwell.microdata.true_file import described_tables
from maskwell.microdata.utility.table_errors import TableErrors, stepped_up
from maskwell.microdata.utility.utility_measures import inflation_of
from maskwell.notes import Note

if TYPE_CHECKING:
    from maskwell.microdata.release_values import AnyRelease, ReleasedColumn


PublicGroup = Mapping[str, Any]


def advice_of(groups: Sequence[PublicGroup], weights: str | None) -> list[str]:
    """Sentences for users of the file."""
    sentences: list[str] = []
    for group, kept in zip(groups, kept_of(groups), strict=True):
        names, within = [*group["variables"], *group["linked"]], in_words(group["within"])
        start = f"{in_words(names)} {'were' if len(names) > 1 else 'was'} randomized"
        start += f"{' jointly' if len(group['variables']) > 1 else ''}{f' within {within}' if within else ''}"
        sentences.append(f"{start}: {_what(group, kept, weights)}")
    if groups:
        sentences.append(Note("receipt-tables-that-join-are-biased"))
    if weights is not None and groups:
        sentences.append(Note("receipt-other-tables-are-weighted", weights=weights))
    return [*sentences, *_errors(groups), Note("receipt-functions-are-approximate")]


def _errors(groups: Sequence[PublicGroup]) -> Iterator[str]:
    """What to do with usual standard errors where a matrix is withheld."""
    hidden = [
        group["invariance"]
        for group, kept in zip(groups, kept_of(groups), strict=True)
        if kept and group["matrix"] == "withheld" and group["method"] != "swap" and group.get("each") != UNIT
    ]
    if "counts" in hidden:
        yield Note("receipt-errors-of-counts")
    if "weights" in hidden:
        yield Note("receipt-errors-of-weights")
    if by_unit := [name for group in groups if group.get("each") == UNIT for name in group["variables"]]:
        yield Note("receipt-errors-of-units", names=in_words(by_unit))


def kept_of(groups: Sequence[PublicGroup]) -> list[list[str]]:
    """For each group of a receipt the columns of the largest of its tables that all groups together keep."""
    made = [
        Group(
            variables=tuple(group["variables"]),
            within=tuple(group["within"]),
            linked=tuple(group["linked"]),
            method=group["method"],
            invariance=group["invariance"],
        )
        for group in groups
    ]
    return [kept_columns(made, group) for group in made]


def _what(group: PublicGroup, kept: Sequence[str], weights: str | None) -> str:
    columns, is_included = in_words(kept), group["matrix"] == "included"
    if kept and group["method"] == "swap":
        return Note("receipt-values-were-swapped", columns=columns)
    if kept and group["invariance"] == "counts":
        how = "estimated with the matrix in the receipt" if is_included else "biased"
        more = "" if weights is None else " " + Note("receipt-counts-not-weights", weights=weights, how=how)
        return Note("receipt-counts-are-unbiased", columns=columns, more=more)
    if kept:
        return Note("receipt-weights-are-unbiased", columns=columns, weights=weights)
    columns = in_words(group["variables"])
    if is_included:
        more = "" if weights is None else f", with the weights ({weights}) for shares of the population"
        return Note("receipt-counts-to-be-solved", columns=columns, more=more)
    return Note("receipt-counts-with-a-bound", columns=columns)


SPEC = "pram-vectors/1"
DIGITS = 2
LEAST_SUPPRESSED = 20  # no smaller number of suppressed values is published, and zero neither


def public_receipt(release: AnyRelease) -> dict[str, Any]:
    """What users may know: what was randomized and how, in rounded numbers, with matrices that were fixed before."""
    groups = [_public_group(release, stage) for stage in release.stages]
    told = {"tables": [*tables_told(release)]} if share_step(release.rows) is not None else {}
    advice = advice_of(groups, release.plan.weights)
    advice += [Note("receipt-errors-of-tables")] if told.get("tables") else []
    if below(release.kept_share, 1):
        advice.append(drawn_until_kept(release.kept_share))
    advice += [Note("receipt-tables-left-out")] if any("left_out" in one for one in told.get("tables", ())) else []
    return {**_head(release, "public"), "groups": groups, **told, "advice": advice}


def tables_told(release: AnyRelease) -> Iterator[dict[str, Any]]:
    """Of each table that is not kept how far a share is off on average, at most, and how much it varies, in steps."""
    counted = [*release.tables.values(), *release.file.described.values()]
    known, errors = {*release.published}, TableErrors(release.stages)
    for columns in described_tables(release.plan, release.file.others):
        if {*acting(release.stages, columns)} <= known:
            continue  # users solve for it with the matrices
        measured = errors.measured(columns, counted)
        if measured is None:
            yield {"columns": [*columns], "left_out": True}
        elif measured:
            yield {
                "columns": [*columns],
                **{kind: one.among_kept(release.kept_share).stated() for kind, one in measured.items()},
            }


def internal_receipt(release: AnyRelease) -> dict[str, Any]:
    """Everything: the plan, every matrix, the counts they came from, risk and utility. Never to be published."""
    return _internal(release, stage_to_dict)


def _internal(release: AnyRelease, stage_form: Callable[[Stage], dict[str, Any]]) -> dict[str, Any]:
    return {
        **_head(release, "internal"),
        "source": release.file.source_name,
        "plan": release.plan.to_dict(),
        "randomness": {
            "source": "seed" if not release.private else "operating system" if release.keyed is None else "key",
            "commitment": release.keyed,
            "draws": draws_told(release),
            "attempts": release.attempts,
        },
        "missing_values": dict(release.file.missing),
        "changed": dict(release.changed),
        "groups": [_internal_group(release, stage, stage_form(stage)) for stage in release.stages],
        "risk": release.risk_dict(),
        **({} if release.linked is None else {"linked_releases": release.linked.to_dict()}),
        "side_channels": [one.to_dict() for one in release.side_channels],
        "utility": release.utility.to_dict(),
        **({"kept_tables": [one.to_dict() for one in release.kept]} if release.kept else {}),
    }


def draws_told(release: AnyRelease) -> list[dict[str, Any]]:
    """With a key, how each group was drawn and what two releases of it reveal: exact parities, None where unknown."""
    if release.keyed is None:
        return []
    stage_parities = [
        (stage, path_parities(stage, kept=release.keeps(stage))) for stage in release.stages if not stage.exchanges
    ]
    return [
        {
            "variables": list(stage.variables),
            "draws": release.how_drawn(stage),
            "parity_of_two_releases": None if parities is None else parities.to_dict(),
        }
        for stage, parities in stage_parities
    ]


def internal_text(release: AnyRelease) -> Iterator[str]:
    """The text of the internal receipt, piece by piece: its matrices may have millions of entries."""
    marks = _Marks()
    whole = dumps(_internal(release, lambda stage: _stage_content(stage, marks.list, marks.design)))
    for mark, pieces in marks.texts.items():
        before, _, whole = whole.partition(json.dumps(mark))
        yield before
        yield from map(in_json, pieces)
    yield whole


class _Marks:
    """Marks that replace long parts in a document, in their order, and the texts of these in pieces."""

    def __init__(self) -> None:
        self.texts: dict[str, Iterable[str]] = {}

    def list(self, values: Sequence[Any], form: Callable[[Any], Any]) -> str:
        return self._mark(_list_text(values, form))

    def design(self, design: CodedDesign) -> Any:
        design = numbered(design)
        return self._mark(design.text_in_pieces()) if isinstance(design, Sparse) else design.to_dict()

    def _mark(self, pieces: Iterable[str]) -> str:
        mark = f"long part {token_hex(16)}"
        self.texts[mark] = pieces
        return mark


STRETCH = 1 << 14


def _list_text(values: Sequence[Any], form: Callable[[Any], Any]) -> Iterator[str]:
    yield "["
    for first in range(0, len(values), STRETCH):
        part = json.dumps(form(values[first : first + STRETCH]), ensure_ascii=False, allow_nan=False)
        yield ", " * (first > 0) + part[1:-1]
    yield "]"


def dumps(receipt: Mapping[str, Any]) -> str:
    """The text of a receipt."""
    public = receipt["audience"] == "public"  # internal ones may hold millions of numbers, one on each line otherwise
    text = json.dumps(json_form(receipt), indent=1 if public else None, ensure_ascii=False, allow_nan=False)
    return in_json(text) + "\n"


def _head(release: AnyRelease, audience: str) -> dict[str, Any]:
    plan = release.plan  # labels that it lists, as no record may have some, or puts in another order than their natural
    orders = {name: [*labels] for name, labels in plan.codebook.items() if name not in plan.drop}
    for column in release.columns:
        labels = [rules.texts(label)[-1] for label in public_labels(release, column)]
        told = plan.told_order(column.name, labels)
        if [*told] != rules.sorted_levels(told):
            orders[column.name] = [*told]
    return {
        "maskwell": "receipt",
        "version": VERSION,
        "audience": audience,
        "program": f"maskwell {version_text()}",
        "dataset": release.plan.title or release.plan.dataset,
        "demonstration": release.plan.demonstration or not release.private,
        "rows": release.rows,
        "order": "shuffled" if release.shuffled else "kept",
        "weights": release.plan.weights,
        **({"kept_share": round_down(release.kept_share, 4)} if below(release.kept_share, 1) else {}),
        **({"recoded": recoded} if (recoded := recoded_in_words(release)) else {}),
        **({"categories": orders} if orders else {}),
    }


def public_labels(release: AnyRelease, column: ReleasedColumn) -> list[Hashable]:
    """The labels that users may know: declared, in a published matrix, or of a released record. No other is given."""
    labels = [label for label in column.labels or () if label is not None]
    tables = [table for columns, table in (release.released_tables or {}).items() if column.name in columns]
    stages = [stage for stage in release.stages if column.name in stage.columns and release.plan.publishes(stage)]
    if not tables:
        return labels
    place = tables[0].place(column.name)
    seen = {tables[0].levels[place][code] for code in np.unique(tables[0].codes[:, place]).tolist()}
    seen |= {state[stage.columns.index(column.name)] for stage in stages for state in stage.outputs}
    declared = {*release.plan.codebook.get(column.name, ())}
    return [label for label in labels if label in seen or declared & {*rules.texts(label)}]


def recoded_in_words(release: AnyRelease) -> dict[str, str]:
    """What was done to recoded columns that are published; what they held before is not given."""
    words = {column: [_how(recode)] for column, recode in release.plan.recodes.items()}
    for column, n in release.file.changes.suppressed.items():
        words.setdefault(column, []).append(_suppressed(n, release.rows))
    return {column: "; ".join(said) for column, said in words.items() if said}


def _suppressed(count: int, rows: int) -> str:
    """At most how many values a key has lost: from exact counts, intruders who know the method could infer whose."""
    most = min(rows, math.floor(stepped_up(max(count, LEAST_SUPPRESSED) / rows) * rows + 0.5))
    return f"at most {most:,} values were suppressed, and are missing"


def _how(recode: Recode) -> str:
    if recode.gives_text:
        return "numbers were grouped into classes" if recode.cuts else "categories were grouped"
    done = [
        *([] if recode.step is None else [f"rounded to multiples of {to_decimal(recode.step)}"]),
        *(f"{text} means {meaning}" for text, meaning in recode.ends.items()),
    ]
    return "; ".join(done)


def _public_group(release: AnyRelease, stage: Stage) -> dict[str, Any]:
    group, pool = _about(release, stage), release.plan.protection_of(stage).pool
    group["within"] = [name for name in group["within"] if name != pool]  # users see no pools; counts stay all the same
    if not release.plan.publishes(stage):
        within = len(np.unique(stage.cells))  # parts of a withheld matrix tell how many combinations stay as they are
        return {**group, "blocks": within, "matrix": WITHHELD}
    check_matrix(release.plan, stage)
    design = {**numbered(stage.design).to_dict(), "provenance": {}}  # how it came about might tell of the file
    matrix = {"states": labels_json(stage.states), "outputs": labels_json(stage.outputs), "design": design}
    return {**group, "matrix": INCLUDED, **matrix}


def _about(release: AnyRelease, stage: Stage) -> dict[str, Any]:
    inflation = {name: inflation_of(stage, name) for name in stage.variables}
    known = {name: factors.worst for name, factors in inflation.items() if factors is not None}
    parts = stage.design.components() if isinstance(stage.design, Sparse) else stage.cells
    return {
        "method": "swap" if stage.exchanges else "pram",
        "variables": list(stage.variables),
        "within": list(stage.within),
        "linked": list(stage.linked),
        "blocks": len(np.unique(parts)),  # that no record ever leaves
        "invariance": stage.invariance,
        "orientation": "columns",
        "vif": {name: rounded_up(factor) for name, factor in known.items()},
        "n_eff": {name: rounded_down(release.rows / rounded_up(factor)) for name, factor in known.items()},
        "changed_expected": rounded_share(stage.expected_changed(), release.rows),
        "missing": "unchanged" if release.plan.missing == "unchanged" else "category",
        "spec": SPEC,
        **({} if stage.unit is None else {"each": UNIT}),
    }


def _internal_group(release: AnyRelease, stage: Stage, content: dict[str, Any]) -> dict[str, Any]:
    fingerprint = None
    with suppress(LabelError):  # a missing value has no JSON form
        fingerprint = stage.design.fingerprint
    return {
        **_about(release, stage),
        "matrix": INCLUDED if release.plan.publishes(stage) else WITHHELD,
        "changed_exactly": stage.expected_changed(),
        "clearance": release.plan.protection_of(stage).clearance,
        "fingerprint": fingerprint,
        "stage": content,
    }


def rounded_down(value: float) -> float:
    """Two significant digits, never more than the value."""
    return _rounded(value, math.floor)


def rounded_share(share: float, rows: int) -> float | None:
    """A share in coarse steps, so that ``sequential`` hides its largest category; None for very few records."""
    step = share_step(rows)
    return None if step is None else round(round(share / step) * step, DIGITS)


def rounded_up(value: float) -> float:
    """Two significant digits, so that no more precision is shown than there is."""
    return _rounded(value, math.ceil)


def _rounded(value: float, towards: Any) -> float:
    if value <= 0 or not math.isfinite(value):
        return value
    step = 10.0 ** (magnitude(value) + 1 - DIGITS)
    return float(f"{towards(round(value / step, 9)) * step:.{DIGITS}g}")


def stage_to_dict(stage: Stage) -> dict[str, Any]:
    """All of a stage, with the counts of the original file: never to be published."""
    return _stage_content(stage, lambda values, form: form(values), lambda design: numbered(design).to_dict())


def _stage_content(
    stage: Stage, listed: Callable[[Any, Callable[[Any], Any]], Any], matrix: Callable[[CodedDesign], Any]
) -> dict[str, Any]:

    def numbers(values: Array | None, kind: type) -> Any:
        return None if values is None else listed(np.asarray(values, dtype=kind), np.ndarray.tolist)

    linked = {
        name: [[[label_json(part) for part in key], label_json(label)] for key, label in table.items()]
        for name, table in stage.linked.items()
    }
    return {
        "variables": list(stage.variables),
        "within": list(stage.within),
        "linked": linked,
        "states": listed(stage.states, labels_json),
        "outputs": listed(stage.outputs, labels_json),
        "design": matrix(stage.design),
        "counts": numbers(stage.counts, np.int64),
        "weights": numbers(stage.weights, np.float64),
        "squares": numbers(stage.squares, np.float64),
        "cells": numbers(stage.cells, np.int64),
        "method": stage.method,
        "invariance": stage.invariance,
        "derived": stage.derived,
        "notes": list(stage.notes),
        **({} if stage.steps is None else {"steps": [matrix(step) for step in stage.steps]}),
        **({} if stage.unit is None else {"unit": stage.unit, "sizes": numbers(stage.sizes, np.int64)}),
        **({} if stage.kept_as is None else {"kept_as": listed(stage.kept_as, list)}),
    }


def numbered(design: CodedDesign) -> CodedDesign:
    """Without labels, which are stored beside it as states: they may be missing values, and there may be a million."""
    if not isinstance(design, Sparse):
        return design
    return design.with_labels(Categories.numbered(design.k), Categories.numbered(design.m))


def labels_json(states: Sequence[State]) -> list[list[Any]]:
    """Labels of states; a missing value is ``null``."""
    return [[label if type(label) is str else label_json(label) for label in state] for state in states]


def label_json(label: Hashable) -> Any:
    """One label, ``None`` for a missing value."""
    return None if label is None else rules.to_json(rules.plain(label))


def schema() -> dict[str, Any]:
    """The JSON Schema of receipts."""
    text = files("maskwell.microdata.folder").joinpath("receipt.schema.json").read_text(encoding="utf-8")
    content: dict[str, Any] = json.loads(text)
    return content
