"""The tables ``[recode.COLUMN]``: columns recoded before anything is counted; and labels of SPSS and Stata files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from maskwell.core.exact import to_decimal
from maskwell.core.phrases import shorten
from maskwell.engines.labelled_columns import ColumnLabels, value_text
from maskwell.errors import PlanError
from maskwell.microdata.plans import plan_entries as read
from maskwell.microdata.plans.edit_rules import AnyRule, Moves, Rule
from maskwell.microdata.plans.protection import INCLUDED
from maskwell.microdata.records.end_coding import with_ends
from maskwell.microdata.records.recoding import YES, Indicator, Recode, Recoding

if TYPE_CHECKING:
    from maskwell.engines.rows import Rows
    from maskwell.microdata.plans.release_plan import ReleasePlan

_ENTRIES = ("group", "other", "cuts", "top", "bottom", "top_share", "bottom_share", "replace", "round")


REPLACED_BY = ("limit", "mean")


def read_recodes(given: Any) -> dict[str, Recode]:
    """All recodes of a plan, by column."""
    return {column: _recode(one, f"[recode.{column}]") for column, one in read.table(given, "[recode]").items()}


def _recode(given: Any, where: str) -> Recode:
    if isinstance(given, Recode):
        return given
    table = read.Entries(given, where)
    recode = Recode(
        group=table.take("group", _groups, {}),
        other=table.take("other", read.text),
        cuts=table.take("cuts", _cuts, ()),
        bottom=table.take("bottom", read.number),
        top=table.take("top", read.number),
        bottom_share=table.take("bottom_share", read.share),
        top_share=table.take("top_share", read.share),
        mean=table.take("replace", read.choice(*REPLACED_BY), REPLACED_BY[0]) == "mean",
        step=table.take("round", read.number),
    )
    if recode.step is not None and recode.step <= 0:
        raise PlanError("is-not-above-0", name=f"{where}: round", step=to_decimal(recode.step))
    table.finish(_ENTRIES)
    labels = bool(recode.group) or recode.other is not None
    ends = ((recode.bottom, recode.bottom_share), (recode.top, recode.top_share))
    coded = any(one is not None for end in ends for one in end)
    numbers = coded or recode.step is not None or recode.mean
    kinds = [kind for kind, there in (("group", labels), ("cuts", recode.cuts), ("top", numbers)) if there]
    if not kinds:
        raise PlanError("says-nothing", where=where)
    if len(kinds) > 1:
        raise PlanError("where-has-kind-and-kind-shown", where=where, kind=kinds[0], kind_shown=kinds[1])
    if recode.other is not None and not recode.group:
        raise PlanError("has-other-without-group", where=where)
    for end, (limit, share) in zip(("bottom", "top"), ends, strict=True):
        if limit is not None and share is not None:
            raise PlanError("recode-has-limit-and-share", where=where, end=end)
    if recode.mean and not coded:
        raise PlanError("recode-mean-without-end", where=where)
    if recode.top is not None and recode.bottom is not None and recode.top <= recode.bottom:
        top, bottom = to_decimal(recode.top), to_decimal(recode.bottom)
        raise PlanError("top-is-not-above-bottom", where=where, top=top, bottom=bottom)
    return recode


def _groups(value: Any, name: str) -> dict[str, tuple[str, ...]]:
    groups = {new: read.labels(labels, f"{name} of {new!r}") for new, labels in read.table(value, name).items()}
    first: dict[str, str] = {}
    for new, labels in groups.items():
        if not labels or not new:
            raise PlanError("has-a-group-without-labels", name=name)
        for label in labels:
            if not label:
                raise PlanError("of-names-the-missing-value-which", name=name, new=shorten(repr(new), 20))
            if label in first:
                raise PlanError("is-in-two-groups", name=name, label_shown=shorten(repr(label), 20), label=label)
            first[label] = new
    return groups


def _cuts(value: Any, name: str) -> tuple[Fraction, ...]:
    cuts = tuple(read.number(one, name) for one in (value if isinstance(value, list | tuple) else [value]))
    if not cuts or any(low >= high for low, high in pairwise(cuts)):
        raise PlanError("are-not-numbers-in-rising-order", name=name)
    return cuts


def recode_contents(recode: Recode) -> dict[str, Any]:
    """As the table of a plan."""
    out: dict[str, Any] = {"group": {new: list(old) for new, old in recode.group.items()}} if recode.group else {}
    out |= {} if recode.other is None else {"other": recode.other}
    out |= {"cuts": [to_decimal(cut) for cut in recode.cuts]} if recode.cuts else {}
    numbers = {"bottom": recode.bottom, "top": recode.top, "bottom_share": recode.bottom_share}
    numbers |= {"top_share": recode.top_share, "round": recode.step}
    numbers |= {"bottom_mean": recode.bottom_mean, "top_mean": recode.top_mean}  # of a plan that knows the records
    out |= {"replace": "mean"} if recode.mean else {}
    return out | {key: to_decimal(number) for key, number in numbers.items() if number is not None}


def check_recodes(plan: ReleasePlan) -> None:
    """Raise for recodes of columns that nobody sees, and labels of the plan that a recode takes away."""
    for column, recode in plan.recodes.items():
        if column in plan.drop or column == plan.id:
            raise PlanError("recode-the-column-is-not-published", column=shorten(column, 30))
        if column == plan.weights and recode.gives_text:
            raise PlanError("recode-weights-must-stay-numbers", column=shorten(column, 30))


def with_records(plan: ReleasePlan, records: Rows) -> ReleasePlan:
    """The plan with limits and means of recodes in numbers, where they follow from the records."""
    if not any(recode.needs_records for recode in plan.recodes.values()):
        return plan
    weights = plan.weights if plan.weights not in plan.recodes else None
    if weights is None and plan.weights is not None and any(one.mean for one in plan.recodes.values()):
        raise PlanError("recode-mean-with-recoded-weights", column=shorten(plan.weights, 30))
    return replace(plan, recodes=with_ends(records, plan.recodes, weights), as_typed=plan.as_typed or plan)


def in_codes(plan: ReleasePlan, about: Mapping[str, ColumnLabels]) -> ReleasePlan:
    """The plan with labels of an SPSS or Stata file, where one denotes exactly one code, put as these codes."""
    codes = {column: _codes(labels) for column, labels in about.items() if labels.values}
    if not codes:
        return plan
    return replace(
        plan,
        as_typed=plan.as_typed or plan,
        protections=tuple(
            replace(
                one,
                exclude={column: _spoken(labels, codes.get(column, {})) for column, labels in one.exclude.items()},
                caps={codes.get(one.variables[0], {}).get(label, label): cap for label, cap in one.caps.items()},
            )
            for one in plan.protections
        ),
        rules=tuple(_rule_in_codes(rule, codes) for rule in plan.rules),
        codebook={column: _spoken(labels, codes.get(column, {})) for column, labels in plan.codebook.items()},
    )


def _codes(about: ColumnLabels) -> dict[str, str]:
    """The code of each label that denotes one code only and is not itself a code."""
    texts = [value_text(value) for value in about.values]
    labels = [*about.values.values()]
    return {
        label: text
        for text, label in zip(texts, labels, strict=True)
        if labels.count(label) == 1 and label not in texts
    }


def _spoken(labels: Sequence[str], codes: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(codes.get(label, label) for label in labels)


def _rule_in_codes(rule: AnyRule, codes: Mapping[str, Mapping[str, str]]) -> AnyRule:
    if isinstance(rule, Rule):
        return Rule({column: _spoken(labels, codes.get(column, {})) for column, labels in rule.forbid.items()})
    known = codes.get(rule.variable, {})
    if isinstance(rule, Moves):
        return replace(rule, pairs=tuple((known.get(a, a), known.get(b, b)) for a, b in rule.pairs))
    return replace(rule, order=_spoken(rule.order, known))


def narrowed(plan: ReleasePlan, columns: Sequence[str]) -> tuple[ReleasePlan, dict[str, Indicator]]:
    """The plan with yes-or-no columns where a rule joins one that nothing else needs: fewer must change."""
    indicators: dict[str, Indicator] = {}
    rules = [_narrowed(plan, rule, i, columns, indicators) for i, rule in enumerate(plan.rules, 1)]
    if not indicators:
        return plan, {}
    return replace(plan, rules=tuple(rules), as_typed=plan.as_typed or plan), indicators


def _narrowed(
    plan: ReleasePlan, rule: AnyRule, number: int, columns: Sequence[str], indicators: dict[str, Indicator]
) -> AnyRule:
    if not isinstance(rule, Rule):
        return rule
    moving = [one for one in plan.protections if {*one.moved} & {*rule.columns}]
    if not moving or any(one.publish == INCLUDED for one in moving):
        return rule
    forbid: dict[str, tuple[str, ...]] = {}
    for column, labels in rule.forbid.items():
        name = f"{column} in rule {number}"
        if column in plan.randomized or any(column in one.within for one in moving) or name in columns:
            forbid[column] = labels
        else:
            indicators[name], forbid[name] = Indicator(column, labels), (YES,)
    return Rule(forbid)


def check_labels_met(plan: ReleasePlan, recoding: Recoding) -> None:
    """Raise for a label of a rule that its column does not have, as in the file so in the codebook."""
    for name, indicator in recoding.further.items():
        known = [*sorted(recoding.met(name)), *plan.codebook.get(indicator.column, ())]
        for label in indicator.labels:
            if label not in known:
                raise read.unknown_label(label, known, f"{name.rpartition(' in ')[-1]}: {indicator.column!r}")
