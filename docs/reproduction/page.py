"""The page docs/theory/reproduction.md, from what is computed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from docs.reproduction import chai_nayak, nayak_zhai
from docs.reproduction.entries import CHAI, ZHAI, ZHANG, Erratum, Number, Statement
from docs.reproduction.errata import errata
from docs.reproduction.figures import Figure, figures
from docs.reproduction.printed import TABLE_1, TABLE_1_K, TABLE_2, TABLE_2_K
from docs.reproduction.tables import MatchCell, VarianceCell, table_1, table_2

PATH = Path(__file__).parents[1] / "theory/reproduction.md"
YES, NO, CUT = "✓", "✗", "†"
HARD = "\N{NO-BREAK SPACE}"

OPENING = """\
# Reproduction of the sources

This page lets reviewers compare maskwell with the two papers behind its theory. It recomputes both tables of
[NayakZhai2019] cell by cell, every number in its text, the statements and figures of [ChaiNayak2018], and the errata
of both. *Printed* is the value in the source; *ours* comes from maskwell's public names, with one or two more digits.
The sign {yes} means that our value, rounded to the printed digits, equals the printed number, or that a statement holds
as printed.

`python -m docs.reproduction` writes the page; the tests recompute every row and compare. One cell by hand:

```pycon
>>> import maskwell as mw
>>> q = mw.planning.minimax_size(10, 5)  # ten categories, parity 5
>>> design = mw.designs.Subset.from_gamma(5, mw.Categories.numbered(10), size=q)
>>> q, round(design.added_variance(), 7)
(2, 9.3515625)

```

{summary}
"""

TABLE_1_TEXT = """\
## Nayak and Zhai 2019: Table 1

The table shows V_R, the variance that the best subset design adds times the number of reports, for parity γ and k
categories [NayakZhai2019, eq. (3.3)]. The source does not print the best size q. The sign {cut} marks two cells whose
last digit is truncated instead of rounded (E18).
"""

TABLE_2_TEXT = """\
## Nayak and Zhai 2019: Table 2

The table shows the parity γ and, in brackets, the size q of the subset design that is as accurate as naming l of k
answers, one of them true [NayakZhai2019, section 4.3]. *NA* means that l of k answers is not a valid design; maskwell
refuses it. At k = 10, l = 5 two sizes tie (E20).
"""

MATRICES = """\
## Nayak and Zhai 2019: text

P₁ has the rows (.5, 0), (0, .5), (.5, .5); P₂ the rows (.7, .2), (.3, .8). V_S is the part of
sampling in the sum of all variances, times n.
"""

FIGURES_TEXT = """\
## Chai and Nayak 2018: figures

maskwell drew these figures. The source states no numbers for its figures, in captions or text. We chose the demands
and parities so that the statements about each figure can be checked.
"""

ERRATA_TEXT = """\
## Errata

The tables show the printed text, the correction, and a computed check. A *slip* is an error in the text, a *gap* is
missing from an argument, and a *note* is not an error. A *copy* error occurs in the available digital copies and may
be absent from the printed paper. No conclusion that maskwell uses depends on the uncorrected text.
"""


def page() -> str:
    """The whole page."""
    parts = [_opening(), *_zhai(), *_chai(), *_errata()]
    return "\n".join(part.strip("\n") + "\n" for part in parts)


def _opening() -> str:
    cells, matches = table_1(), table_2()
    agree = sum(cell.number.verdict == "agrees" for cell in cells)
    numbers = [*nayak_zhai.numbers(), *chai_nayak.numbers()]
    said = [*nayak_zhai.statements(), *chai_nayak.statements(), *(s for f in figures() for s in f.statements)]
    rows = [
        ["Table 1, cells", len(cells), f"{agree} agree, {len(cells) - agree} were truncated"],
        ["Table 2, cells", len(matches), f"{sum(cell.agrees for cell in matches)} agree"],
        ["numbers in the text", len(numbers), f"{sum(n.verdict == 'agrees' for n in numbers)} agree"],
        ["statements at an example", len(said), f"{sum(s.holds for s in said)} hold"],
        ["errata", len(errata()), f"{sum(e.holds for e in errata())} checked"],
    ]
    return OPENING.format(yes=YES, summary=_table(["part", "number", "result"], rows, "lrl"))


def _zhai() -> list[str]:
    return [
        TABLE_1_TEXT.format(cut=CUT),
        *(_variance_block(table_1(), ks) for ks in _threes(TABLE_1_K, 3)),
        "![Added variance against the number of categories, and against parity](../images/variance.svg)\n\n"
        "The same values as curves: V_R against k for five parities, and against γ for five numbers of categories.",
        TABLE_2_TEXT,
        *(_match_block(table_2(), ks) for ks in _threes(TABLE_2_K, 4)),
        MATRICES,
        "### Numbers",
        _numbers(nayak_zhai.numbers()),
        "### Statements",
        _statements(nayak_zhai.statements()),
    ]


def _chai() -> list[str]:
    return [
        "## Chai and Nayak 2018: text",
        "The paper contains proofs and few numbers, so its statements are checked at examples.",
        _numbers(chai_nayak.numbers()),
        _statements(chai_nayak.statements()),
        FIGURES_TEXT,
        *(_figure(figure) for figure in figures()),
    ]


def _errata() -> list[str]:
    found = errata()
    blocks = [ERRATA_TEXT]
    for source in (CHAI, ZHAI, ZHANG):
        blocks += [f"### In [{source}]", _erratum_table([e for e in found if e.source == source])]
    return blocks


# ---- tables


def _table(head: Sequence[str], rows: Iterable[Sequence[object]], align: str) -> str:
    marks = {"l": "---", "r": "---:", "c": ":---:"}
    lines = [head, [marks[a] for a in align], *rows]
    return "\n".join(f"| {' | '.join(_plain(cell) for cell in line)} |" for line in lines)


def _plain(cell: object) -> str:
    """A cell whose stars are stars, and whose equations and signs stay with what they belong to."""
    text = str(cell).replace("*", "\\*").replace(" = ", f"{HARD}={HARD}")
    for sign in (YES, NO, CUT):
        text = text.replace(f" {sign}", f"{HARD}{sign}")
    return text


def _threes(items: Sequence[int], n: int) -> list[Sequence[int]]:
    return [items[i : i + n] for i in range(0, len(items), n)]


def _variance_block(cells: Sequence[VarianceCell], ks: Sequence[int]) -> str:
    by_place = {(cell.gamma, cell.k): cell for cell in cells}
    head = ["γ", *(name for k in ks for name in (f"k = {k}", "ours", "q"))]
    rows = [[gamma, *(part for k in ks for part in _variance_parts(by_place[gamma, k]))] for gamma in TABLE_1]
    return _table(head, rows, "r" + "rrr" * len(ks))


def _variance_parts(cell: VarianceCell) -> tuple[str, str, int]:
    number = cell.number
    sign = YES if number.verdict == "agrees" else CUT if number.good else NO
    return number.printed, f"{number.shown} {sign}", cell.size


def _match_block(cells: Sequence[MatchCell], ks: Sequence[int]) -> str:
    by_place = {(cell.diversity, cell.k): cell for cell in cells}
    head = ["l", *(name for k in ks for name in (f"k = {k}", "ours"))]
    rows = [[size, *(part for k in ks for part in _match_parts(by_place[size, k]))] for size in TABLE_2]
    return _table(head, rows, "r" + "rr" * len(ks))


def _match_parts(cell: MatchCell) -> tuple[str, str]:
    sign = YES if cell.agrees else NO
    if cell.gamma is None or cell.match is None:
        return cell.printed, f"NA {sign}"
    sizes = ",".join(map(str, cell.match.sizes))
    return cell.printed, f"{cell.gamma.shown}({sizes}) {sign}"


def _numbers(numbers: Sequence[Number]) -> str:
    rows = [[n.where, _noted(n), n.printed, f"{n.shown} {YES if n.verdict == 'agrees' else NO}"] for n in numbers]
    return _table(["where", "quantity", "printed", "ours"], rows, "llrr")


def _noted(number: Number) -> str:
    return f"{number.what} ({number.note})" if number.note else number.what


def _statements(statements: Sequence[Statement]) -> str:
    rows = [[s.where, s.what, s.example, f"{s.found} {YES if s.holds else NO}"] for s in statements]
    return _table(["where", "statement", "example", "ours"], rows, "llll")


def _figure(figure: Figure) -> str:
    title = f"### Figure {figure.number}: {figure.caption}"
    drawing = f"![{figure.caption}](../images/{figure.picture}.svg)"
    return f"{title}\n\n{drawing}\n\n{_statements(figure.statements)}"


def _erratum_table(found: Sequence[Erratum]) -> str:
    rows = [[f"{e.key}, {e.kind}", e.where, e.printed, e.right, f"{e.check} {YES if e.holds else NO}"] for e in found]
    return _table(["", "where", "printed", "correct", "check"], rows, "lllll")
