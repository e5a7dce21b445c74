"""Itemsets and rules in words."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from maskwell.core.exact import rounded
from maskwell.core.phrases import Printed, shorten
from maskwell.core.verdicts import below
from maskwell.designs.basket_bits import ItemBits
from maskwell.estimation.itemset_mining import Mined
from maskwell.estimation.itemset_supports import Itemset, Rule
from maskwell.notes import Note
from maskwell.reports.plain_words import counted, digits_for, more_of
from maskwell.reports.report import GAP, Block, Facts, Grid, Notes, Report

SHOWN = 20
NAME = 50
EACH = 24
UNSURE = "perhaps below the threshold"


def mining_report(mined: Mined, bits: ItemBits, n: int, min_support: float, margin: float, design: str) -> Report:
    """The itemsets, the rules, what was searched, and what a report of a basket reveals."""
    count = counted(len(mined.itemsets), "itemset is", "itemsets are")
    first = f"{count} in at least {Printed(100 * min_support):g} % of baskets, as estimated from {n:,} reports"
    body: list[Block] = []
    if mined.itemsets:
        body.append(_itemsets(mined.itemsets, min_support, margin))
    if mined.rules:
        body += [GAP, _rules(mined.rules)]
    return Report(
        f"{first}; {bits.parities_in_words()}.",
        [*body, Facts(_facts(mined, bits, margin)), Notes([*_notes(mined, bits), *mined.flags])],
        next_step=f"what a report reveals: maskwell audit {shlex.quote(design)}",
    )


def itemset_name(items: Sequence[str], width: int = NAME) -> str:
    """The items of a set, for people."""
    return shorten(" + ".join(shorten(item, EACH) for item in items), width)


def _itemsets(itemsets: Sequence[Itemset], threshold: float, margin: float) -> Grid:
    largest = sorted(itemsets, key=lambda one: -one.support)[:SHOWN]
    decimals = digits_for(one.standard_error for one in largest)
    rows = [
        [itemset_name(one.items), *(f"{Printed(x):.{decimals}f}" for x in (one.support, one.standard_error))]
        for one in largest
    ]
    unsure = [below(one.support - margin * one.standard_error, threshold) for one in largest]
    marks = [UNSURE if one else "" for one in unsure]
    return Grid(["itemset", "support", "std. error"], rows, marks=marks, more=more_of(len(itemsets), SHOWN))


def _rules(rules: Sequence[Rule]) -> Grid:
    decimals = digits_for(one.standard_error for one in rules[:SHOWN])
    rows = [
        [
            shorten(f"{itemset_name(one.given)} => {itemset_name(one.then)}", NAME),
            *(f"{Printed(x):.{decimals}f}" for x in (one.confidence, one.standard_error, one.support)),
        ]
        for one in rules[:SHOWN]
    ]
    return Grid(["rule", "confidence", "std. error", "support"], rows, more=more_of(len(rules), SHOWN))


def _facts(mined: Mined, bits: ItemBits, margin: float) -> list[tuple[str, str]]:
    near = f"{Printed(margin):g} standard errors"
    sizes = (f"{count:,} of {size}" for size, count in enumerate(mined.searched, start=1))
    return [
        ("parity, whole basket", rounded(bits.basket_parity, 6, up=True)),
        ("parity, one item", rounded(bits.item_parity, 6, up=True)),
        ("sets counted, by size", ", ".join(sizes)),
        ("near the threshold", f"{mined.near:,} sets are estimated below it, by less than {near}"),
    ]


def _notes(mined: Mined, bits: ItemBits) -> list[str]:
    notes: list[str] = []
    if len(bits) > 1:
        notes.append(Note("parity-of-one-item"))
    if mined.undefined:
        rules = counted(mined.undefined, "rule is", "rules are")
        notes.append(f"{rules} left out: the support that they divide by is within 2 standard errors of 0")
    return notes
