"""What a design promises, as text for a terminal."""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping
from pathlib import Path
from textwrap import wrap
from typing import Any

from maskwell.designs.base import Design
from maskwell.designs.uniform import Uniform
from maskwell.reports.tables import WIDTH, count, facts, label, notes, number, shorten, table
from maskwell.reports.text import (
    MATRIX_LABEL_WIDTH,
    SHOWN_LABELS,
    chances,
    labels_of,
    made_as,
    matrix_table,
    parity_of,
    report_names,
    reports_of,
    typed_labels,
)
from maskwell.reports.words import factor_up


def audit_text(found: Mapping[str, Any], design: Design, path: str, demand: str = "") -> list[str]:
    """What a design promises; ``demand`` is how the demand was typed."""
    most = factor_up(design.parity_exact())
    if "meets" in found:
        lines = wrap(
            _answer(found, path), WIDTH, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
        )
    elif math.isinf(found["parity"]):
        lines = [f"{path} has no bound on parity: some report rules out some truth."]
    else:
        lines = [f"{path}: a report changes the odds of any statement about the truth at most {most}-fold."]
    lines += facts(_audit_facts(found, design))
    lines += matrix_table(design)
    lines += _posteriors(found)
    lines += _after_reports(found, design)
    lines += notes(found["warnings"], word="warning")
    lines += notes(found.get("demand", {}).get("notes", []))
    following = f"maskwell randomize DATA.csv --design {shlex.quote(f'COLUMN={path}')} -o REPORTS.csv"
    if found.get("meets") is False:
        following = _better(design, demand, path)
    elif found["admissible"] is False and not math.isinf(found["parity"]):
        following = f"a design that tells more at no cost in privacy: maskwell improve {shlex.quote(path)}"
    return [*lines, f"Next: {following}"]


def _answer(found: Mapping[str, Any], path: str) -> str:
    demand = found["demand"]
    answer = f"{path} {'meets' if found['meets'] else 'does not meet'} the demand {demand['stated']}"
    if "phi" in demand:
        return f"{answer}: phi is {number(found['average_security'])}. It bounds no parity."
    limit = "the bound, which must not be reached," if demand["closed"] and demand["attained"] else "the bound"
    parity, bound = _apart(found["parity"], demand["gamma"])
    return f"{answer}: its parity is {parity}, {limit} {bound}."


def _apart(parity: float, bound: float) -> tuple[str, str]:
    """Two numbers with as many digits as tell them apart.

    >>> _apart(3.0, 2.718281828), _apart(8.999999998, 9.0)
    (('3', '2.71828'), ('8.999999998', '9'))
    """
    shown = [(number(parity, digits), number(bound, digits)) for digits in (6, 10, 12, 15)]
    return next((pair for pair in shown if pair[0] != pair[1]), shown[0])


def _better(design: Design, demand: str, path: str) -> str:
    """The command for a design over the same categories that meets the demand."""
    labels = design.inputs.labels
    if not demand or any(isinstance(one, tuple) for one in labels[:1]):
        return "make a design that meets it: maskwell design k-ary --help"
    output = "design-2.json" if Path(path).name == "design.json" else "design.json"
    if isinstance(labels, range):
        return f"maskwell design k-ary --k {len(labels)} {demand} -o {output}"
    if len(labels) <= SHOWN_LABELS:
        command = f"maskwell design k-ary --categories {typed_labels(labels)} {demand} -o {output}"
        if len(command) <= WIDTH - len("Next: "):
            return command
    return f"maskwell design k-ary --categories @LABELS.txt {demand} -o {output}"


def _audit_facts(found: Mapping[str, Any], design: Design) -> list[tuple[str, str]]:
    guess, blind = number(found["guess_probability"]), number(found["guess_without_report"])
    shown = [
        ("made as", made_as(design)),
        ("categories", f"{count(found['k'])}: {labels_of(design.inputs)}"),
        ("reports", reports_of(design)),
        *([("what it does", chances(design))] if isinstance(design, Uniform) else []),
        ("parity", parity_of(design)),
        ("epsilon", number(found["epsilon"], 10)),
        ("best guess is right", f"{guess} of the time ({blind} without the report)"),
        ("identifiable", "yes" if found["identifiable"] else f"no: rank {found['rank']} for {found['k']} categories"),
        ("condition", number(found["condition"])),
        ("admissible", _admissible(found)),
        ("added variance", f"{number(found['added_variance'])} (times 1/n, at equal shares)"),
    ]
    if "added_variance_by_estimator" in found:
        variances = found["added_variance_by_estimator"].items()
        shown.append(("by estimator", ", ".join(f"{name} {number(value)}" for name, value in variances)))
    if found["average_security"] is not None:
        shown.append(
            ("average security", f"{number(found['average_security'])} (for comparison only, not recommended)")
        )
    if not math.isinf(found["parity"]):
        worn = ", ".join(f"{w['reports']} reports {number(w['parity'], 4)}" for w in found["wear_out"])
        shown.append(("asked again, parity", worn))
    if "hazard" in found:
        shown.append(("sensitive categories", _hazard(found["hazard"])))
    if "row_parities" in found and len(found["row_parities"]) <= SHOWN_LABELS:
        shown.append(("parity of each report", ", ".join(number(p) for p in found["row_parities"])))
    if "parity_within" in found:
        shown.append(("parity within a cell", str(found["parity_within"])))
    return shown


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


def _posteriors(found: Mapping[str, Any]) -> list[str]:
    if math.isinf(found["parity"]):
        return []
    rows = [[number(b["prior"]), number(b["lowest"]), number(b["highest"])] for b in found["posteriors"]]
    return ["", *table(["a suspicion of", "can fall to", "can rise to"], rows)]


def _after_reports(found: Mapping[str, Any], design: Design) -> list[str]:
    """What the given prior becomes after each report, for small designs."""
    if "posterior" not in found or design.k > SHOWN_LABELS or design.m > SHOWN_LABELS:
        return []
    header = ["after the report", *(shorten(label(one), 12) for one in design.inputs.labels)]
    names = ["(before)", *(shorten(one, MATRIX_LABEL_WIDTH) for one in report_names(design))]
    beliefs = [found["prior"], *found["posterior"]]
    rows = [
        [name, *("–" if math.isnan(p) else f"{p:.4f}" for p in row)] for name, row in zip(names, beliefs, strict=True)
    ]
    return ["", *table(header, rows)]
