"""Respondents divided among strata or samples, as text for a terminal."""

from __future__ import annotations

from maskwell.core.phrases import Printed
from maskwell.planning.stratum_allocation import Allocation
from maskwell.reports.tables import broken, counted, facts, notes, number, shorten, table


def allocation_text(found: Allocation) -> list[str]:
    """How to divide them, and what that gains."""
    parts = "stratum" if found.kind == "strata" else "sample"
    many = {"stratum": "strata", "sample": "samples"}[parts]
    answer = (
        f"Divide {counted(found.n, 'respondent', 'respondents')} among {counted(len(found.names), parts, many)} as "
        f"below: the estimate is within {number(found.margin, 3)} ({Printed(100 * found.level):g} %)."
    )
    rows = [
        [shorten(name, 40), f"{n:,}", f"{Printed(share):.4f}", *_row(found, i)]
        for i, (name, n, share) in enumerate(zip(found.names, found.counts, found.fractions, strict=True))
    ]
    lines = [*broken(answer), *table([parts, "n", "best share", *_columns(found)], rows), *facts(_facts(found))]
    unused = [name for name, n in zip(found.names, found.counts, strict=True) if not n]
    lines += notes([f"{shorten(name, 40)} is not needed: the others tell more" for name in unused])
    return [*lines, f"Next: {_following(found)}"]


def _following(found: Allocation) -> str:
    if found.kind == "strata":
        return "ask them, then maskwell estimate FILE --strata COLUMN and a --design for each deck"
    return "ask them, then maskwell estimate FILE --design 'y[group=1]=D1' --design 'y[group=2]=D2'"


def _columns(found: Allocation) -> list[str]:
    return ["of all", "variance, times n"] if found.kind == "strata" else []


def _row(found: Allocation, i: int) -> list[str]:
    if found.kind != "strata":
        return []
    part = found.details["unit_variances"][i]
    return [f"{Printed(part['share']):.4f}", f"{Printed(part['total']):.4f}"]


def _facts(found: Allocation) -> list[tuple[str, str]]:
    shown = [("variance", number(found.variance, 4))]
    if found.plain_variance is not None:
        plain = "divided by size" if found.kind == "strata" else "divided equally"
        more = found.plain_variance / found.variance - 1
        beside = f"{number(100 * abs(more), 3)} % {'more' if more >= 0 else 'less'}"
        shown.append((plain, f"{number(found.plain_variance, 4)}, {beside}"))
    if found.cost != found.n:
        shown.append(("cost", f"{Printed(found.cost):,.10g}"))
    return shown
