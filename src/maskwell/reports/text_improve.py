"""What was gained by improving a design, as text for a terminal."""

from __future__ import annotations

import math
import shlex
import textwrap

from maskwell.core.categories import Categories
from maskwell.core.phrases import Printed
from maskwell.core.report_data import Reports
from maskwell.designs.design import Design
from maskwell.planning.improvement import Improvement
from maskwell.planning.one_sided import OneSided, label_of
from maskwell.planning.replacement import Replacement
from maskwell.privacy.criteria import stands_for
from maskwell.reports.tables import WIDTH, facts, label, notes, number, parity_text, shorten, table
from maskwell.reports.text import SHOWN_LABELS, count_of_reports, matrix_table, parity_of, reports_of
from maskwell.reports.words import factor_up

BACK = (
    "A report of the new design, drawn once more with the chances below it, becomes a report of the old one: nothing "
    "that the old design told is lost."
)


def improved_text(found: Improvement, path: str, output: str | None) -> list[str]:
    """What was gained, and how the old reports come back; ``output`` is where the design was written."""
    parity = parity_text(stands_for(found.design))
    if not found.improved:
        first = f"{path} cannot be improved: no design of parity {parity} tells all that it does and more."
        remarks = [*_remarks(found), *_written(found, output)]
        return [*_wrapped(first), *facts(_facts(found)), *remarks, _next(found, path, output)]
    if found.gamma == math.inf:
        first = f"The truth itself tells all that {path} does: without a bound on parity nothing else is admissible."
        return [*_wrapped(first), *facts(_facts(found)), *_next_lines(found, path, output)]
    before, after = found.added_variances()
    same = found.original.parity_exact() == found.design.parity_exact()
    kept = f"at the same parity {parity}" if same else f"at parity {parity}, which was allowed"
    gained = f"{_variances(before, after)} {kept}" if after is not None else f"more is told {kept}"
    free = " at no cost" if same else ""
    return [
        *_wrapped(f"{path} can be improved{free}: {gained}."),
        *facts(_facts(found)),
        *_next_lines(found, path, output),
    ]


def one_sided_text(found: OneSided, path: str, output: str | None) -> list[str]:
    """The same where one category is sensitive."""
    name = label(label_of(found.original, found.sensitive))
    if not found.applies:
        first = f"No better design that protects {name} alone is known for {path}: {found.reason}."
        bounded = not isinstance(found.original.parity_exact(), float)
        following = f"maskwell {'improve' if bounded else 'audit'} {shlex.quote(path)}"
        return [*_wrapped(first), *facts(_facts(found)), f"Next: {following}"]
    hidden = f"a report speaks for {name} at most {factor_up(found.ratio)}-fold"
    if not found.improved:
        first = f"{path} is the best design that protects {name} alone: {hidden}."
        return [
            *_wrapped(first),
            *facts(_facts(found)),
            *notes(found.warnings(), word="warning"),
            *_written(found, output),
            _next(found, path, output),
        ]
    gained = _variances(*found.added_variances())
    first = f"{path} can be improved where only {name} is sensitive: {gained}; {hidden}, as before."
    warned = notes(found.warnings(), word="warning")
    return [*_wrapped(first), *facts(_facts(found)), *_next_lines(found, path, output, warned)]


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, break_long_words=False, break_on_hyphens=False)


def _variances(before: float | None, after: float | None) -> str:
    if before is None:
        return f"shares can be estimated now, with added variance {number(after)},"
    return f"added variance {number(before)} becomes {number(after)}"


def _facts(found: Replacement) -> list[tuple[str, str]]:
    old, new = found.original, found.design
    if new is old:
        return [("reports", reports_of(old)), ("parity", parity_of(old))]
    before, after = found.added_variances()
    return [
        ("reports before", reports_of(old)),
        ("reports after", reports_of(new)),
        ("parity before", parity_of(old)),
        ("parity after", parity_of(new)),
        ("added variance before", _variance(old, before)),
        ("added variance after", _variance(new, after)),
    ]


def _variance(design: Design, value: float | None) -> str:
    if value is None:
        return f"none: rank {design.rank()} for {design.k} categories, shares cannot be estimated"
    return f"{number(value)} divided by n, at equal shares, best linear estimate"


def _remarks(found: Improvement) -> list[str]:
    if found.design.identifiable:
        return []
    return notes(
        ["shares cannot be estimated from its reports all the same; another design of this parity may do better"]
    )


def _next_lines(found: Replacement, path: str, output: str | None, warned: list[str] | None = None) -> list[str]:
    """The new matrix, the garbling, the warnings and what to do next."""
    told = [*matrix_table(found.design), *_garbling(found), *(warned or [])]
    return [*told, *_written(found, output), _next(found, path, output)]


def _written(found: Replacement, output: str | None) -> list[str]:
    """Where the design went, and that it is the old one if it is."""
    if output is None:
        return []
    same = found.design is found.original
    return [f"{'The same design, unchanged, is' if same else 'The new design is'} written to {output}."]


def _garbling(found: Replacement) -> list[str]:
    old, new = found.original, found.design
    if not (old.has_reports_up_to(SHOWN_LABELS) and new.has_reports_up_to(SHOWN_LABELS)):
        sizes = f"{count_of_reports(old)} by {count_of_reports(new)}"
        held = f"a garbling of {sizes} entries gives the old reports back: see --json"
        return notes([f"nothing that the old design told is lost; {held}"])
    width = (WIDTH - 26) // new.m - 2
    header = ["old \\ new report", *(shorten(name, width) for name in _reports(new))]
    rows = [
        [shorten(name, 24), *(_chance(c) for c in row)]
        for name, row in zip(_reports(old), found.garbling_matrix().tolist(), strict=True)
    ]
    return ["", *_wrapped(BACK), *table(header, rows)]


def _chance(value: float) -> str:
    return f"{Printed(value):.0f}" if value in (0.0, 1.0) else f"{Printed(value):.4f}"


def _reports(design: Design) -> list[str]:
    if isinstance(design.outputs, Categories):
        return [label(one) for one in design.outputs.labels]
    return list(Reports(design.fingerprint, design.k, "bits", design.report_space()).texts())


def _next(found: Replacement, path: str, output: str | None) -> str:
    if output is not None:
        return f"Next: maskwell audit {shlex.quote(output)}"
    if found.design is found.original:
        return f"Next: maskwell audit {shlex.quote(path)}"
    return "Next: keep it with -o better.json, then: maskwell audit better.json"
