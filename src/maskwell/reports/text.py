"""Results as text for a terminal: the first line answers, a table follows, the last line says what to do next.

At most 100 columns wide, numbers aligned on the decimal point, no colour.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from maskwell.core.categories import Categories
from maskwell.core.exact import to_text
from maskwell.designs.base import Design
from maskwell.estimation.result import Estimate
from maskwell.reports.words import factor_up

WIDTH = 100
LABEL_WIDTH = 40
SHOWN_ROWS = 40
SHOWN_LABELS = 8


def number(value: float | None, digits: int = 6) -> str:
    """A number to so many significant digits.

    >>> number(2.718281828), number(float("inf")), number(3.0), number(None)
    ('2.71828', 'infinite', '3', 'none')
    """
    if value is None:
        return "none"
    return "infinite" if math.isinf(value) else f"{value:.{digits}g}"


def count(value: int) -> str:
    """A count with its digits grouped, or as a power of ten when it is very large.

    >>> count(12345), count(2**100)
    ('12,345', '1.27e+30')
    """
    if value < 10**12:
        return f"{value:,}"
    exponent = math.floor(math.log10(value))
    return f"{value / 10**exponent:.2f}e+{exponent}" if exponent < 300 else f"about 10 to the power {exponent:,}"


def shorten(text: str, width: int = LABEL_WIDTH) -> str:
    """A text cut in the middle to fit.

    >>> shorten("abcdefghij", 7)
    'abc…hij'
    """
    if len(text) <= width:
        return text
    tail = (width - 1) // 2
    return f"{text[: width - 1 - tail]}…{text[len(text) - tail :]}"


def label(value: object) -> str:
    """A category as people read it; a cell of a table as its parts."""
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)


def facts(pairs: Iterable[tuple[str, str]]) -> list[str]:
    """Names and values, one pair to a line, long values broken.

    >>> facts([("parity", "3"), ("k", "2")])
    ['  parity  3', '  k       2']
    """
    listed = list(pairs)
    width = max((len(name) for name, _ in listed), default=0)
    lines = []
    for name, value in listed:
        broken = textwrap.wrap(value, WIDTH - width - 4) or [""]
        lines += [f"  {name:<{width}}  {broken[0]}", *(" " * (width + 4) + more for more in broken[1:])]
    return lines


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Lines of a table: the first column to the left, the others aligned on the decimal point.

    >>> table(["answer", "share"], [["yes", "0.25"], ["no", "10.5"]])
    ['  answer  share', '  yes      0.25', '  no      10.5']
    """
    columns = [[shorten(row[0]) for row in rows], *([*column] for column in list(zip(*rows, strict=True))[1:])]
    cells = [columns[0], *map(_on_the_point, columns[1:])]
    widths = [max(len(title), *map(len, column)) for title, column in zip(header, cells, strict=True)]
    lines = [[header[0].ljust(widths[0]), *(t.rjust(w) for t, w in zip(header[1:], widths[1:], strict=True))]]
    lines += [
        [row[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(row[1:], widths[1:], strict=True))]
        for row in zip(*cells, strict=True)
    ]
    return ["  " + "  ".join(line).rstrip() for line in lines]


def _on_the_point(cells: Sequence[str]) -> list[str]:
    tails = [len(cell) - cell.index(".") if "." in cell else 0 for cell in cells]
    return [cell + " " * (max(tails) - tail) for cell, tail in zip(cells, tails, strict=True)]


def notes(texts: Iterable[str], *, word: str = "note") -> list[str]:
    """Remarks that a reader must not overlook, broken to fit.

    >>> notes(["few reports"])
    ['note: few reports']
    """
    return [line for text in texts for line in textwrap.wrap(f"{word}: {text}", WIDTH, subsequent_indent="  ")]


def labels_of(categories: Categories) -> str:
    """The labels, or the first of them."""
    shown = ", ".join(label(one) for one in categories.labels[:SHOWN_LABELS])
    return shown + (f", ... ({len(categories):,} in all)" if len(categories) > SHOWN_LABELS else "")


def reports_of(design: Design) -> str:
    """What a report looks like and how many there are."""
    outputs = design.outputs
    if isinstance(outputs, Categories):
        same = outputs == design.inputs
        return f"{count(design.m)}, " + ("the same labels" if same else labels_of(outputs))
    size = "any number of" if outputs.size is None else str(outputs.size)
    return f"{count(design.m)} sets of {size} categories, written as {design.k} characters 0 or 1"


def parity_of(design: Design) -> str:
    """Parity as a decimal and, where short, as a fraction."""
    exact = to_text(design.parity_exact())
    decimal = number(design.parity(), 10)
    return decimal if exact in (decimal, "inf") or len(exact) > 50 else f"{decimal} (exactly {exact})"


def design_text(design: Design, path: str | None) -> list[str]:
    """What was made, and what to do with it."""
    family = str(design.provenance.get("family", design.kind))
    protection = "no bound on parity" if math.isinf(design.parity()) else f"parity {number(design.parity())}"
    first = f"A {family} design over {count(design.k)} categories with {protection}"
    lines = [f"{first}{'' if path is None else f', written to {path}'}."]
    lines += facts(
        [
            ("categories", labels_of(design.inputs)),
            ("reports", reports_of(design)),
            ("parity", parity_of(design)),
            ("epsilon", number(design.epsilon(), 10)),
            ("identifiable", "yes" if design.identifiable else "no"),
            ("fingerprint", design.fingerprint),
        ]
    )
    warning = design.provenance.get("warning")
    lines += notes([str(warning)] if warning else [])
    following = f"maskwell audit {path}" if path else "keep it with -o design.json, then: maskwell audit design.json"
    return [*lines, f"Next: {following}"]


def audit_text(found: Mapping[str, Any], design: Design, path: str) -> list[str]:
    """What a design promises."""
    parity, most = number(found["parity"]), factor_up(design.parity_exact())
    if "meets" in found:
        answer = "meets" if found["meets"] else "does not meet"
        first = f"{path} {answer} the demand {found['demand']['stated']}: its parity is {parity},"
        lines = [f"{first} the bound {number(found['demand']['gamma'])}."]
    elif math.isinf(found["parity"]):
        lines = [f"{path} has no bound on parity: some report rules out some truth."]
    else:
        lines = [f"{path}: a report changes the odds of any statement about the truth at most {most}-fold."]
    lines += facts(_audit_facts(found, design))
    lines += _posteriors(found)
    lines += notes(found["warnings"], word="warning")
    following = f"maskwell randomize DATA.csv --design COLUMN={path} -o REPORTS.csv"
    if found.get("meets") is False:
        following = "make a design that meets it: maskwell design k-ary --help"
    return [*lines, f"Next: {following}"]


def _audit_facts(found: Mapping[str, Any], design: Design) -> list[tuple[str, str]]:
    guess, blind = number(found["guess_probability"]), number(found["guess_without_report"])
    shown = [
        ("kind", f"{found['kind']}, {count(found['k'])} categories: {labels_of(design.inputs)}"),
        ("reports", reports_of(design)),
        ("parity", parity_of(design)),
        ("epsilon", number(found["epsilon"], 10)),
        ("best guess is right", f"{guess} of the time ({blind} without the report)"),
        ("identifiable", "yes" if found["identifiable"] else f"no: rank {found['rank']} for {found['k']} categories"),
        ("condition", number(found["condition"])),
        ("admissible", "yes" if found["admissible"] else "no: another design of this parity may tell more"),
        ("added variance", f"{number(found['added_variance'])} (times 1/n, at equal shares)"),
    ]
    if "row_parities" in found and len(found["row_parities"]) <= SHOWN_LABELS:
        shown.append(("parity of each report", ", ".join(number(p) for p in found["row_parities"])))
    if "parity_within" in found:
        shown.append(("parity within a cell", str(found["parity_within"])))
    return shown


def _posteriors(found: Mapping[str, Any]) -> list[str]:
    if math.isinf(found["parity"]):
        return []
    rows = [[number(low), number(high)] for low, high in found["rho"]]
    return table(["a suspicion of", "can rise to at most"], rows)


def convert_text(found: Mapping[str, Any], option: str) -> list[str]:
    """One demand in every language; ``option`` is how it is typed."""
    says = "is as accurate as subset selection of parity" if "l" in found else "is the demand that parity is at most"
    lines = [f"{found['stated']} {says} {number(found['gamma'], 10)}."]
    pairs = [
        (name, number(found[key], 10)) for name, key in (("gamma, beta, Bayes factor", "gamma"), ("epsilon", "epsilon"))
    ]
    if "q" in found:
        sizes = " or ".join(map(str, found["q_all"]))
        pairs.append((f"best subset size, k = {found['k']}", sizes))
    if "l_real" in found:
        least = found["l_floor"] if found["l_floor"] >= 2 else f"{found['l_floor']} (no l-diversity is that accurate)"
        pairs.append((f"as accurate as l, k = {found['k']}", f"{number(found['l_real'])}, rounded down {least}"))
    rows = [[number(low), number(high)] for low, high in found["rho"]]
    lines += [*facts(pairs), *table(["a suspicion of", "can rise to at most"], rows)]
    return [
        *lines,
        f"Next: maskwell design k-ary --k {found.get('k', 4)} {option} -o design.json",
    ]


def randomized_text(found: Mapping[str, Any], designs: Mapping[str, str]) -> list[str]:
    """What was randomized."""
    columns = found["columns"]
    dropped = f", {found['dropped']:,} left out" if found["dropped"] else ""
    where = "standard output" if found["output"] == "-" else found["output"]
    lines = [f"{found['rows']:,} rows randomized{dropped}, written to {where}."]
    lost = {name: "randomized" if c["missing"] is None else str(c["missing"]) for name, c in columns.items()}
    rows = [[name, number(c["parity"]), str(c["k"]), lost[name], c["encoding"]] for name, c in columns.items()]
    lines += table(["column", "parity", "categories", "missing", "reports"], rows)
    given = " ".join(f"--design {name}={path}" for name, path in designs.items())
    return [*lines, f"Next: maskwell estimate {found['output']} {given}"]


def estimate_text(estimate: Estimate, variables: Sequence[str], level: float, designs: Mapping[str, str]) -> list[str]:
    """Estimated shares with their errors."""
    intervals, errors = estimate.confidence_interval(level), estimate.standard_error
    digits = _digits(errors)
    shown = [f"{x:.{digits}f}" for x in estimate.pi_hat[:SHOWN_ROWS]]
    best = 0 if len(estimate.pi_hat) == 2 else int(estimate.pi_hat.argmax())
    low, high = (f"{x:.{digits}f}" for x in intervals[best])
    percent = f"{100 * level:g} %"
    what = shorten(label(estimate.categories[best]))
    which = "" if len(estimate.pi_hat) == 2 else ", the largest share"
    lines = [
        f"{' x '.join(variables)} = {what}: {estimate.pi_hat[best]:.{digits}f}{which}"
        f" ({percent} interval {low} to {high}; {estimate.n:,} reports)."
    ]
    rows = [
        [label(category), share, f"{error:.{digits}f}", f"{a:.{digits}f}", f"{b:.{digits}f}"]
        for category, share, error, (a, b) in zip(estimate.categories, shown, errors, intervals, strict=False)
    ]
    lines += table([", ".join(variables), "estimate", "std. error", "from", "to"], rows)
    if len(estimate.pi_hat) > SHOWN_ROWS:
        lines.append(f"  ... and {len(estimate.pi_hat) - SHOWN_ROWS:,} more: --json gives all")
    total = float(estimate.variance.sum())
    if total > 0:
        share = max(0.0, float(estimate.randomization_variance.sum()) / total)
        lines.append(f"Randomization makes up {min(1.0, share):.0%} of the variance, sampling the rest.")
    lines += notes(estimate.flags)
    return [*lines, f"Next: what a report reveals: maskwell audit {next(iter(designs.values()))}"]


def _digits(errors: Any) -> int:
    """Decimals that show two digits of the smallest error."""
    positive = [float(e) for e in errors if e > 0]
    return 4 if not positive else min(9, max(3, 1 - math.floor(math.log10(min(positive)))))
