"""What a design promises, as text for a terminal."""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

from maskwell.core.exact import Parity, told_apart
from maskwell.core.printed import Printed
from maskwell.designs.base import EXACT_LIMIT, Design
from maskwell.engines.assignments import Assignment
from maskwell.privacy.audit import PRIORS, REPETITIONS
from maskwell.privacy.certificate import parity_from_text
from maskwell.privacy.criteria import posterior_range
from maskwell.privacy.slack import stands_for
from maskwell.reports.tables import (
    WIDTH,
    broken,
    count,
    facts,
    label,
    notes,
    number,
    parity_text,
    rounded,
    shorten,
    table,
)
from maskwell.reports.text import (
    MATRIX_LABEL_WIDTH,
    SHOWN_LABELS,
    labels_of,
    made_as,
    matrix_table,
    parity_of,
    report_names,
    reports_of,
    typed_categories,
    what_it_does,
)
from maskwell.reports.text_convert import INFORMATIVE, TELL_NOTHING
from maskwell.reports.words import factor_up

ROOM = WIDTH - len("Next: ")


def audit_text(found: Mapping[str, Any], design: Design, path: str, demand: str = "") -> list[str]:
    """What a design promises; ``demand`` is how the demand was typed."""
    lines = broken(_answer(found, design, path) if "meets" in found else _promise(design, path))
    lines += facts(_audit_facts(found, design))
    lines += matrix_table(design)
    lines += _posteriors(design)
    lines += _after_reports(found, design)
    lines += notes(found["warnings"], word="warning")
    lines += notes(found.get("demand", {}).get("notes", []))
    return [*lines, f"Next: {_following(found, design, path, demand)}"]


def _promise(design: Design, path: str) -> str:
    if isinstance(design.parity_exact(), float):
        return f"{path} has no bound on parity: some report rules out some truth."
    most = factor_up(stands_for(design))
    return f"{path}: a report changes the odds of any statement about the truth at most {most}-fold."


def _answer(found: Mapping[str, Any], design: Design, path: str) -> str:
    demand = found["demand"]
    answer = f"{path} {'meets' if found['meets'] else 'does not meet'} the demand {demand['stated']}"
    if "phi" in demand:
        near = " within 1e-9 (given as decimals)" if found["slack_used"] else ""
        return f"{answer}: phi is {number(found['average_security'])}{near}. It bounds no parity."
    limit = "the bound, which must not be reached," if demand["strict"] else "the bound"
    bound = parity_from_text(demand["gamma_exact"])
    if found["slack_used"]:
        both = design.decimals and demand["decimals"]
        whose = "both were" if both else f"the {'design' if design.decimals else 'demand'} was"
        shown = parity_text(bound)
        return f"{answer}: its parity is {shown} within 1e-9, {limit} {shown} ({whose} given as decimals)."
    parity, most = told_apart(design.parity_exact() if demand["strict"] else stands_for(design), bound)
    return f"{answer}: its parity is {parity}, {limit} {most}."


# ---- what to do next


def _following(found: Mapping[str, Any], design: Design, path: str, demand: str) -> str:
    """A design that meets the demand; or one that protects, or tells, or tells more; or to use this one."""
    parity, columns = design.parity_exact(), len(Assignment((), design).leaves)
    if found.get("meets") is False:
        return _better(found["demand"], design, demand, path, columns)
    if isinstance(parity, float) or parity < INFORMATIVE:
        return _planned(
            "a bound on parity" if isinstance(parity, float) else "reports that tell something", design, columns
        )
    if found["admissible"] is False and design.has_entries_up_to(EXACT_LIMIT):
        return f"a design that tells more at no cost in privacy: maskwell improve {shlex.quote(path)}"
    if found["identifiable"] is False:
        return _planned("reports that shares can be estimated from", design, columns)
    assigned = f"{','.join(['COLUMN'] * columns)}={path}"
    return f"maskwell randomize DATA.csv --design {shlex.quote(assigned)} -o REPORTS.csv"


def _planned(what: str, design: Design, columns: int) -> str:
    """The command that plans a design over the same categories."""
    if columns > 1:
        return f"give every part {what}: maskwell plan --help"
    command = f"maskwell plan {typed_categories(design.inputs)} --epsilon 1"
    said = f"a design with {what}: {command}"
    return said if len(said) <= ROOM else f"a design with {what}: maskwell plan --help"


def _better(asked: Mapping[str, Any], design: Design, demand: str, path: str, columns: int) -> str:
    """The command for a design over the same categories that meets the demand."""
    if columns > 1:
        return "make each part more private, since their parities multiply: maskwell design k-ary --help"
    gamma = rounded(_sufficient(asked), 15, up=False)
    if gamma == "1":
        return TELL_NOTHING
    option = demand or f"--gamma {gamma}"
    output = "design-2.json" if Path(path).name == "design.json" else "design.json"
    command = f"maskwell design k-ary {typed_categories(design.inputs)} {option} -o {output}"
    return command if len(command) <= ROOM else f"maskwell design k-ary --categories @LABELS.txt {option} -o {output}"


def _sufficient(asked: Mapping[str, Any]) -> Parity:
    """The parity with which the demand is met: for security on average ``2 gamma / (gamma + 1) <= phi`` is enough."""
    if "phi" not in asked:
        return parity_from_text(asked["gamma_exact"])
    phi = Fraction(asked["phi"])
    return phi / (2 - phi)


# ---- what is shown


def _audit_facts(found: Mapping[str, Any], design: Design) -> list[tuple[str, str]]:
    shown = [
        ("made as", made_as(design)),
        ("categories", f"{count(found['k'])}: {labels_of(design.inputs)}"),
        ("reports", reports_of(design)),
        *what_it_does(design),
        ("parity", parity_of(design)),
        ("epsilon", number(found["epsilon"], 10)),
        ("best guess is right", _guess(found)),
        *_solvable(found),
        ("admissible", _admissible(found)),
        ("added variance", _variance(found)),
    ]
    if "added_variance_by_estimator" in found:
        variances = found["added_variance_by_estimator"].items()
        shown.append(("by estimator", ", ".join(f"{name} {number(value)}" for name, value in variances)))
    shown.append(("average security", _on_average(found)))
    parity = stands_for(design)
    if not isinstance(parity, float):
        worn = ", ".join(f"{t} reports {parity_text(parity**t, 4)}" for t in REPETITIONS)
        shown.append(("asked again, parity", worn))
    if "hazard" in found:
        shown.append(("sensitive categories", _hazard(found["hazard"])))
    if "row_parities" in found and len(found["row_parities"]) <= SHOWN_LABELS:
        shown.append(("parity of each report", ", ".join(number(p) for p in found["row_parities"])))
    if "parity_within" in found:
        shown.append(("parity within a cell", str(found["parity_within"])))
    return shown


def _solvable(found: Mapping[str, Any]) -> list[tuple[str, str]]:
    if found["identifiable"] is None:
        return [("identifiable", "not worked out")]
    answer = "yes" if found["identifiable"] else f"no: rank {found['rank']} for {found['k']} categories"
    return [("identifiable", answer), ("condition", number(found["condition"]))]


def _guess(found: Mapping[str, Any]) -> str:
    right, blind = found["guess_probability"], number(found["guess_without_report"])
    return f"{'not worked out' if right is None else f'{number(right)} of the time'} ({blind} without the report)"


def _on_average(found: Mapping[str, Any]) -> str:
    if found["average_security"] is None:
        return "not worked out: too many columns to compare, two by two"
    return f"{number(found['average_security'])} (for comparison only, not recommended)"


def _variance(found: Mapping[str, Any]) -> str:
    value = found["added_variance"]
    if found["identifiable"] is None:
        return "not worked out"
    return "none: shares cannot be estimated" if value is None else f"{number(value)} divided by n, at equal shares"


def _admissible(found: Mapping[str, Any]) -> str:
    if found["admissible"] is None:
        return f"not worked out: {found['inadmissible_because']}"
    if found["admissible"]:
        return "yes" if found["admissible_exactly"] else "yes, within 1e-8"
    return f"no, another design of this parity tells more: {found['inadmissible_because']}"


def _hazard(found: Mapping[str, Any]) -> str:
    ratio = number(found["ratio"])
    return (
        f"{number(found['prior'])} before, at most {number(found['greatest'])} after a report (one-sided ratio {ratio})"
    )


def _posteriors(design: Design) -> list[str]:
    """What a suspicion can become: the least rounded down, the most rounded up."""
    parity = stands_for(design)
    if isinstance(parity, float):
        return []
    ranges = [(prior, *posterior_range(parity, Fraction(prior))) for prior in PRIORS]
    rows = [[prior, rounded(low, 6, up=False), rounded(high, 6, up=True)] for prior, low, high in ranges]
    return ["", *table(["a suspicion of", "can fall to", "can rise to"], rows)]


def _after_reports(found: Mapping[str, Any], design: Design) -> list[str]:
    """What the given prior becomes after each report, for small designs."""
    if "posterior" not in found or design.k > SHOWN_LABELS or design.m > SHOWN_LABELS:
        return []
    header = ["after the report", *(shorten(label(one), 12) for one in design.inputs.labels)]
    names = ["(before)", *(shorten(one, MATRIX_LABEL_WIDTH) for one in report_names(design))]
    beliefs = [found["prior"], *found["posterior"]]
    rows = [
        [name, *("–" if math.isnan(p) else f"{Printed(p):.4f}" for p in row)]
        for name, row in zip(names, beliefs, strict=True)
    ]
    return ["", *table(header, rows)]
