"""A design in words: what it does to an answer, what it promises, its matrix; and what was randomized with it."""

from __future__ import annotations

import csv
import io
import math
import shlex
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from maskwell.core.categories import Categories
from maskwell.core.exact import parity_text, rounded, to_text
from maskwell.core.percentages import percent_exact
from maskwell.core.phrases import Printed, shorten
from maskwell.core.report_data import Reports
from maskwell.designs.basket_bits import find_item_bits
from maskwell.designs.design import Design
from maskwell.designs.set_reports import SetDesign
from maskwell.designs.uniform import Uniform
from maskwell.privacy.criteria import SLACK_IN_WORDS, stands_for
from maskwell.reports.plain_words import concrete, count, counted, label, number, promise, with_article
from maskwell.reports.report import GAP, WIDTH, Block, Facts, Grid, Notes, Report, line

SHOWN_ROWS = 40
SHOWN_LABELS = 8
MATRIX_LABEL_WIDTH = 24
LONG_NUMBER = 300  # decimal digits


def labels_of(categories: Categories) -> str:
    """The labels, or the first of them."""
    first = ", ".join(label(one) for one in categories.labels[:SHOWN_LABELS])
    return first + (", ..." if categories.labels[SHOWN_LABELS : SHOWN_LABELS + 1] else "")


def count_of_reports(design: Design) -> str:
    """How many reports there are; where that is a long number, from its logarithm."""
    power = design.report_bits() * math.log10(2)
    return count(design.m) if power < LONG_NUMBER else f"about 10 to the power {math.floor(power):,}"


def reports_of(design: Design) -> str:
    """What a report looks like and how many there are."""
    outputs = design.outputs
    if isinstance(outputs, Categories):
        same = outputs == design.inputs
        return count_of_reports(design) + (", the same labels" if same else f": {labels_of(outputs)}")
    size = "any number of categories" if outputs.size is None else counted(outputs.size, "category", "categories")
    return f"{count_of_reports(design)} sets of {size}, written as {design.k} characters 0 or 1"


def parity_of(design: Design) -> str:
    """Parity as a decimal and, where short, as a fraction; what decimals represent, where that is a short number."""
    parity = stands_for(design)
    if parity != design.parity_exact():
        return f"{parity_text(parity)} ({SLACK_IN_WORDS})"
    exact, decimal = to_text(parity), parity_text(parity, 10)
    return decimal if exact in (decimal, "inf") or len(exact) > 50 else f"{decimal} (exactly {exact})"


def made_as(design: Design) -> str:
    """The family and its parameters, as kept with the design."""
    parameters = design.provenance.get("parameters")
    named = parameters.items() if isinstance(parameters, Mapping) else ()
    parts = [f"{name} = {shorten(str(value), 60)}" for name, value in named if not isinstance(value, bool)]
    same = design.provenance.get("same_as")
    known = f" (the same as {same})" if same else ""
    known += f" (for {design.provenance['demand']})" if "demand" in design.provenance else ""
    return ", ".join([str(design.provenance.get("family", design.kind)), *parts]) + known


def devices_told(columns: Iterable[tuple[str, Design]]) -> tuple[str, ...]:
    """How each column was randomized, in short, each design once."""
    made: dict[str, list[str]] = {}
    for name, design in columns:
        made.setdefault(made_as(design), []).append(name)
    return tuple(f"{', '.join(dict.fromkeys(names))}: {how}".removeprefix(": ") for how, names in made.items())


def with_level(header: Sequence[str], level: float) -> list[str]:
    """The header for a paper: the ends of intervals with their level."""
    named = {side: f"{Printed(100 * level):g} % {end}" for side, end in (("from", "low"), ("to", "high"))}
    return [named.get(one, one) for one in header]


MOST_DEVICES = 4


def asked_by(devices: Sequence[str]) -> list[str]:
    """The note of a table that explains how its reports were made."""
    more = [f"and {len(devices) - MOST_DEVICES:,} more"] if len(devices) > MOST_DEVICES else []
    return [f"Randomized by {'; '.join([*devices[:MOST_DEVICES], *more])}."] if devices else []


def chances(design: Uniform) -> str:
    """What a k-ary design does, in one sentence without its subject."""
    other = (1 - design.truth) / design.k
    shown = [percent_exact(chance) for chance in (design.truth + other, other)]
    return f"reports the truth with {shown[0]} %, each other answer with {shown[1]} %"


def what_it_does(design: Design) -> list[tuple[str, str]]:
    """What happens to an answer, as a fact to show; nothing for designs whose matrix says it better."""
    if isinstance(design, Uniform):
        return [("what it does", chances(design))]
    if not isinstance(design, SetDesign):
        return []
    true, other = percent_exact(design.include), percent_exact(design.other)
    size = design.outputs.size
    named = f"names {size:,} of {design.k:,} categories" if size else f"marks each of {design.k:,} categories or not"
    return [("what it does", f"{named}, the true one with {true} %, each other one with {other} %")]


def matrix_blocks(design: Design) -> list[Block]:
    """The matrix of a small design, a line for each report and a column for each truth; nothing for a larger one."""
    if design.k > SHOWN_LABELS or design.m > SHOWN_LABELS:
        return []
    first = [shorten(one, MATRIX_LABEL_WIDTH) for one in report_names(design)]
    width = (WIDTH - 2 - max(MATRIX_LABEL_WIDTH, len("report \\ truth"))) // design.k - 2
    header = ["report \\ truth", *(_heading(label(one), width) for one in design.inputs.labels)]
    rows = [[name, *map(_probability, row)] for name, row in zip(first, design.matrix().tolist(), strict=True)]
    return [GAP, Grid(header, rows)]


def _heading(name: str, width: int) -> str:
    """A label that fits: first without its blanks, so that (1, 1, 0) and (1, 0, 0) do not look alike."""
    return name if len(name) <= width else shorten(name.replace(", ", ","), width)


def report_names(design: Design) -> list[str]:
    """The reports in the order of the rows of the matrix; sets as characters 0 and 1."""
    if isinstance(design.outputs, Categories):
        return [label(one) for one in design.outputs.labels]
    return list(Reports(design.fingerprint, design.k, "bits", design.report_space()).texts())


def _probability(value: float) -> str:
    """Four decimals; nothing is rounded to 0 or 1 that is neither."""
    decimals = f"{Printed(value):.4f}"
    if value in (0.0, 1.0):
        return f"{Printed(value):.0f}"
    return f"{Printed(value):.1e}" if float(decimals) == 0 else decimals


def design_report(design: Design, path: str | None, note: str = "") -> Report:
    """What was made, and what to do with it; ``note`` is said at the end."""
    family = str(design.provenance.get("family", design.kind))
    parity = stands_for(design)
    protection = "no bound on parity" if isinstance(parity, float) else f"parity {parity_text(parity)}"
    first = f"{with_article(family)} design over {count(design.k)} categories with {protection}"
    items = find_item_bits(design)
    if items is not None:
        first = f"{with_article(family)} design with {items.parities_in_words()}"
    facts = [
        ("made as", made_as(design)),
        *what_is_reported(design),
        *what_it_does(design),
        ("parity", parity_of(design)),
        ("epsilon", number(design.epsilon(), 10)),
        ("identifiable", "yes" if design.identifiable else "no"),
        ("fingerprint", design.fingerprint),
    ]
    matrix = [] if isinstance(design, Uniform) else matrix_blocks(design)
    remarks = (design.provenance.get("samples"), design.provenance.get("warning"), note)
    return Report(
        line(f"{first}{'' if path is None else f', written to {path}'}."),
        [Facts(facts), *matrix, promise_note(design), Notes([str(remark) for remark in remarks if remark])],
        next_step=f"maskwell audit {shlex.quote(path)}"
        if path
        else "save it with -o design.json, then: maskwell audit design.json",
    )


def what_is_reported(design: Design, before: str = "") -> list[tuple[str, str]]:
    """Categories and reports, with what stands ``before`` the categories; for baskets the items, which are fewer."""
    items = find_item_bits(design)
    if items is not None:
        named = [label(name) for name in items.names]
        first = ", ".join(named[:SHOWN_LABELS]) + (", ..." if len(named) > SHOWN_LABELS else "")
        kept = {percent_exact(chance) for chance in (*items.present, *items.absent)}
        chances = f"with {kept.pop()} %" if len(kept) == 1 else "with its own probability"
        return [
            ("items", f"{len(items):,}{f': {first}' if named else ''}"),
            ("what it does", f"keeps the bit of each item {chances}, otherwise flips it"),
            ("parity, one item", rounded(items.item_parity, 10, up=True)),
        ]
    return [("categories", f"{before}{labels_of(design.inputs)}"), ("reports", reports_of(design))]


def promise_note(design: Design) -> Notes:
    """What was promised, in words for a respondent."""
    parity = stands_for(design)
    said = [promise(parity)] if isinstance(parity, float) else [promise(parity), concrete(parity, Fraction(1, 10))]
    return Notes([" ".join(said)], word="in words", keeps_units=True)


def typed_categories(categories: Categories) -> str:
    """The categories as a command takes them."""
    labels = categories.labels
    if isinstance(labels, range):
        return f"--k {len(labels)}"
    text = io.StringIO()
    csv.writer(text, lineterminator="").writerow([str(one) for one in labels])
    return f"--categories {shlex.quote(text.getvalue())}"


def randomized_report(done: Mapping[str, Any], designs: Mapping[str, str]) -> Report:
    """What was randomized."""
    columns = done["columns"]
    dropped = f", {done['dropped']:,} left out" if done["dropped"] else ""
    where = "standard output" if done["output"] == "-" else done["output"]
    lost = {name: "randomized" if c["missing"] is None else str(c["missing"]) for name, c in columns.items()}
    rows = [[name, number(c["parity"]), str(c["k"]), lost[name], c["encoding"]] for name, c in columns.items()]
    together = f"  together: parity {number(done['parity_joint'])}" if "parity_joint" in done else ""
    table = Grid(["column", "parity", "categories", "missing", "reports"], rows, more=together)
    options = " ".join(f"--design {shlex.quote(f'{name}={path}')}" for name, path in designs.items())
    baskets = [(name, c["item_parity"]) for name, c in columns.items() if "item_parity" in c]
    each = [
        f"column {name}: the parity is that of a whole basket; {number(item)} for one item" for name, item in baskets
    ]
    return Report(
        line(f"{counted(done['rows'], 'row', 'rows')} randomized{dropped}, written to {where}."),
        [table, Notes([*each, *done["lost"]])],
        next_step=f"maskwell {'mine' if baskets else 'estimate'} {shlex.quote(done['output'])} {options}",
    )
