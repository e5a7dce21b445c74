"""Estimates in words and as tables for a paper: from reports, and from a released file."""

from __future__ import annotations

import math
import shlex
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from maskwell.core.phrases import HINT, Printed, listed, p_text, shorten
from maskwell.core.verdicts import largest
from maskwell.errors import LabelError
from maskwell.estimation.named_quantities import Quantity
from maskwell.estimation.sampling.survey_estimate import SurveyEstimate
from maskwell.estimation.share_estimate import Estimate, Intervals
from maskwell.estimation.summed_shares import of_sums
from maskwell.notes import Note
from maskwell.reports.pages.paper_tables import Table
from maskwell.reports.plain_words import count, counted, decimals, digits_for, label, more_of
from maskwell.reports.report import GAP, WIDTH, Block, Grid, Notes, Paragraph, Report, line
from maskwell.reports.text.design_report import asked_by, devices_told, with_level

if TYPE_CHECKING:
    from maskwell.microdata.analysis.release_estimates import Analysis

SHOWN_ROWS = 40
NAMED = 5  # domains that a remark names
UNKNOWN = -1e9  # below every share
PARTS = ["estimate", "std. error", "from", "to"]
FOR_A_PAPER = "a table for a paper: the same with --format md, latex or csv"


def estimate_report(
    estimate: Estimate,
    variables: Sequence[str],
    level: float,
    designs: Mapping[str, str],
    *,
    interval: str | None = None,
    by: str | None = None,
    wanted: tuple[str, Estimate] | None = None,
    grid: Report | None = None,
    quantities: Sequence[Quantity] = (),
) -> Report:
    """Estimated shares with their errors; ``wanted`` is a margin that answers, ``grid`` a table for two."""
    intervals = estimate.intervals(level, interval)
    headline = Paragraph(_answer(estimate, intervals, variables, level))
    body: list[Block] = []
    if wanted is not None:
        headline, body = _margin(*wanted, level, of_sums(interval))
    body += _listed(estimate, intervals, _all(estimate, variables, wanted)) if grid is None else grid.body
    body += _beside(estimate)
    body += _parts_of_variance(estimate) if designs else []
    if isinstance(estimate, SurveyEstimate):
        answering = estimate if wanted is None else wanted[1]
        body += [*_totals(answering), Paragraph(f"Sampling plan: {estimate.plan_text}.")]
        method = interval if wanted is None else of_sums(interval)
        body += _domain_blocks(answering, level, method, by or "domain")
    body += _quantity_blocks(quantities, by or "domain")
    said = [f"{one.name}: {flag}" for one in quantities for flag in one.flags if flag not in intervals.flags]
    body.append(Notes([*dict.fromkeys((*estimate.flags, *intervals.flags, *said))]))
    body.append(Notes(_flags_of_domains(estimate, level, interval, by or "domain")))
    paths = [*dict.fromkeys(designs.values())]
    tuples = isinstance(estimate.categories[0], tuple) and len(estimate.categories[0]) >= len(variables)
    # one variable, or columns that hold the answers of one report, whose parity is that of all of them together
    alone = len(designs) == 1 or len(variables) == 1 or wanted is not None or not tuples
    together = [line("The reports of one person reveal more together: their parities multiply.")]
    body += [] if alone or not paths else together
    return Report(headline, body, next_step=_what_is_revealed(paths, alone=alone))


def _quantity_blocks(quantities: Sequence[Quantity], by: str) -> list[Block]:
    """A table of the quantities, those of domains with their names."""
    if not quantities:
        return []
    header, rows = _quantity_rows(quantities, by)
    names = header.index(PARTS[0])
    return [
        GAP,
        Grid(
            header,
            rows[:SHOWN_ROWS],
            title="Requested quantities:",
            more=more_of(len(rows), SHOWN_ROWS),
            names=names,
        ),
    ]


def _quantity_rows(quantities: Sequence[Quantity], by: str) -> tuple[list[str], list[list[str]]]:
    """Header and rows: name, what it is made of, the domain where there are any, and the numbers."""
    grouped = any(one.domain is not None for one in quantities)
    tested = any(not math.isnan(one.p_value) for one in quantities)
    drawn = any(not math.isnan(one.deff) for one in quantities)
    header = ["quantity", "of", *([by] if grouped else []), *PARTS, *(["p"] if tested else [])]
    return [*header, *(["deff"] if drawn else [])], [
        [
            label(one.name) if one.category is None else f"{one.name}: {label(one.category)}",
            one.of,
            *([_group(one)] if grouped else []),
            *_digits(one),
            *(["-" if math.isnan(one.p_value) else p_text(one.p_value)] if tested else []),
            *(["-" if math.isnan(one.deff) else f"{Printed(one.deff):.2f}"] if drawn else []),
        ]
        for one in quantities
    ]


def _group(one: Quantity) -> str:
    return "-" if one.kind == "groups" else "all" if one.domain is None else label(one.domain)


def _digits(one: Quantity) -> list[str]:
    digits = digits_for([one.standard_error])
    return [decimals(x, digits) for x in (one.value, one.standard_error, one.low, one.high)]


def quantity_table(quantities: Sequence[Quantity], level: float, by: str, notes: Sequence[str] = ()) -> Table:
    """The quantities as a table for a paper; ``notes`` are those of the table of the shares."""
    header, rows = _quantity_rows(quantities, by or "domain")
    names = header.index("estimate")
    about = "Standard errors cover sampling and randomization."
    return Table(with_level(header, level), rows, caption="Quantities", notes=[about, *notes], names=names)


def _all(estimate: Estimate, variables: Sequence[str], wanted: tuple[str, Estimate] | None) -> str:
    """What stands above the list of all categories: combinations, or the shares of each variable on its own."""
    if wanted is None:
        return ", ".join(variables)
    single = any(isinstance(category, tuple) and category[0] == wanted[0] for category in estimate.categories)
    return "all answers" if single else "all combinations"


def _listed(estimate: Estimate, intervals: Intervals, what: str, most: int | None = SHOWN_ROWS) -> list[Block]:
    effects = has_effects(estimate)
    more = "" if most is None else more_of(len(estimate.pi_hat), SHOWN_ROWS)
    return [
        Grid(
            [what, *PARTS, *(["deff"] if effects else [])],
            [*_rows(estimate, intervals, most, effects=effects)],
            more=more,
        )
    ]


def has_effects(estimate: Estimate) -> bool:
    """Whether design effects are known."""
    return not bool(np.isnan(estimate.design_effects).all())


def _answer(
    estimate: Estimate, intervals: Intervals, variables: Sequence[str], level: float, *, of: str = "report"
) -> str:
    digits, best = digits_for(estimate.standard_error), _answered(estimate)
    joined = (" x " if isinstance(estimate.categories[best], tuple) else ", ").join(variables)
    which = "" if len(estimate.pi_hat) == 2 else ", the largest share"
    what = shorten(label(estimate.categories[best]))
    return (
        f"{joined} = {what}: {decimals(estimate.pi_hat[best], digits)}{which}"
        f" ({_interval(intervals, best, digits, level)}; {counted(estimate.n, of, f'{of}s')})."
    )


def _interval(intervals: Intervals, place: int, digits: int, level: float) -> str:
    low, high = intervals.to_array()[place]
    if math.isnan(low) or math.isnan(high):
        return "no interval"
    return f"{Printed(100 * level):g} % {intervals.name} interval {decimals(low, digits)} to {decimals(high, digits)}"


def _margin(name: str, margin: Estimate, level: float, interval: str | None) -> tuple[Paragraph, list[Block]]:
    intervals = margin.intervals(level, interval)
    said = [*_listed(margin, intervals, name, most=None), Notes(margin.flags)]
    return line(_answer(margin, intervals, [name], level)), said


def _rows(
    estimate: Estimate, intervals: Intervals, most: int | None = None, *, exact: bool = False, effects: bool = False
) -> Iterator[list[str]]:
    """One line for each category: label, estimate, error and interval, and the design effect if asked for."""
    digits, every = digits_for(estimate.standard_error), estimate.design_effects
    lines = zip(estimate.categories, estimate.pi_hat, estimate.standard_error, intervals.to_array(), strict=True)
    for place, (category, share, error, (low, high)) in enumerate(lines):
        if place == most:
            return
        values = (share, error, low, high)
        effect = [_all_digits(every[place]) if exact else decimals(every[place], 2)] if effects else []
        yield [label(category), *(_all_digits(x) if exact else decimals(x, digits) for x in values), *effect]


def _all_digits(value: float) -> str:
    """For a program; what is not known is empty."""
    return "" if math.isnan(value) else repr(float(value))


def _beside(estimate: Estimate) -> list[Block]:
    """The raw moment estimate, where one that was held to [0, 1] differs from it."""
    if estimate.moments is None or len(estimate.moments) > 8 or abs(estimate.moments - estimate.pi_hat).max() < 1e-9:
        return []
    moments = ", ".join(
        f"{label(c)} {Printed(m):.4f}" for c, m in zip(estimate.categories, estimate.moments, strict=True)
    )
    return [Notes([f"the unbiased moment estimates are {moments}; use those for totals, differences and pooling"])]


def _parts_of_variance(estimate: Estimate) -> list[Block]:
    total = float(estimate.variance.sum())
    sampling, part = (float(values.sum()) for values in estimate.variance_parts)
    if not total > 0 or math.isnan(part) or math.isnan(sampling):
        return []  # where the parts cannot be separated a note says so
    percent = f"{Printed(100 * min(1.0, max(0.0, part / total))):.0f} %"
    return [line(f"Randomization makes up {percent} of the variance, sampling the rest.")]


def _totals(estimate: Estimate) -> list[Block]:
    """Estimated numbers of people, where weights or a population give them."""
    if not isinstance(estimate, SurveyEstimate):
        return []
    if abs(estimate.population - estimate.n) < 1e-9 * estimate.n or len(estimate.pi_hat) > SHOWN_ROWS:
        return []
    rows = [
        [label(c), f"{Printed(t):,.1f}", "-" if math.isnan(s) else f"{Printed(s):,.1f}"]
        for c, t, s in zip(estimate.categories, estimate.total, estimate.total_standard_error, strict=True)
    ]
    title = f"In numbers, of {Printed(estimate.population):,.0f}:"
    return [Grid(["", "total", "std. error"], rows, title=title)]


def _domain_blocks(estimate: Estimate, level: float, interval: str | None, by: str) -> list[Block]:
    """A table of the domains: one line for each, or one for each of its categories."""
    if not isinstance(estimate, SurveyEstimate) or not estimate.domains:
        return []
    first = [label(estimate.categories[0])] if len(estimate.pi_hat) == 2 else None
    shown = _Shown(level, interval, False, has_effects(estimate), first)
    header, rows = shown.header([by]), shown.rows_of_domains(estimate, None, columns=1)
    title = f"By {' and '.join(by.split(','))}{f', share of {first[0]}' if first else ''}:"
    names = header.index("reports")
    grid = Grid(header, rows[:SHOWN_ROWS], title=title, more=more_of(len(rows), SHOWN_ROWS), names=names)
    others = "; ".join(_other_intervals(estimate, level, interval))
    usual = estimate.intervals(level, interval).name
    return [GAP, grid, *([line(f"Intervals of domains: {usual}; {others}.")] if others else [])]


def _flags_of_domains(estimate: Estimate, level: float, interval: str | None, by: str) -> list[str]:
    """What is to be said of single domains, each remark once; what all estimates share was said of the whole."""
    if not isinstance(estimate, SurveyEstimate):
        return []
    domains_with: dict[str, list[Hashable]] = {}
    everywhere = 0
    for name, one in estimate.domains.items():
        estimated = not all(map(math.isnan, one.pi_hat))
        everywhere += estimated
        for flag in dict.fromkeys((*one.flags, *(one.intervals(level, interval).flags if estimated else ()))):
            domains_with.setdefault(flag, []).append(name)
    return [
        f"{_which(names, by, everywhere)}: {flag}"
        for flag, names in domains_with.items()
        if len(names) < everywhere or flag not in estimate.flags
    ]


def _which(names: Sequence[Hashable], by: str, everywhere: int) -> str:
    """Domains by name, the first of many."""
    if len(names) == everywhere > 1:
        return f"every {by}"
    more = f" and {len(names) - NAMED:,} more" if len(names) > NAMED else ""
    return f"{by} = {', '.join(shorten(label(name)) for name in names[:NAMED])}{more}"


def estimate_table(
    estimate: Estimate,
    variables: Sequence[str],
    level: float,
    *,
    interval: str | None = None,
    by: str | None = None,
    exact: bool = False,
    devices: Sequence[str] = (),
    sums: Estimate | None = None,
    made_of: Mapping[str, str] | None = None,
    chosen: Sequence[Any] | None = None,
) -> Table:
    """The estimates as a table for a paper; ``sums`` are shares of combined categories, which ``made_of`` explains."""
    shown = _Shown(level, interval, exact, has_effects(estimate), None if chosen is None else [*map(label, chosen)])
    known = [label(one) for part in (estimate, sums) if part is not None for one in part.categories]
    unknown = [name for name in shown.chosen or () if name not in known]
    if unknown or shown.chosen == []:
        raise LabelError(
            f"{shorten(repr(unknown[0]), 40)} is not a category" if unknown else "a table needs a category",
            hint=f"known: {listed(known, len(known), HINT - len('known: '))}",
        )
    what = " by ".join(variables)
    if len(estimate.pi_hat) == 2 and isinstance(estimate, SurveyEstimate) and estimate.domains:
        what += f" = {label(estimate.categories[0])}"
    caption = f"Estimated shares: {what}"
    if isinstance(estimate, SurveyEstimate) and estimate.domains:
        if shown.chosen is None and sums is None and len(estimate.pi_hat) == 2:
            shown = replace(shown, chosen=[label(estimate.categories[0])])
        columns = (by or "domain").split(",")
        header, rows = shown.header(columns), shown.rows_of_domains(estimate, sums, columns=len(columns))
        rows += shown.rows_of_domain(["all"] * len(columns), estimate, sums)
        names = header.index("reports")
        if shown.chosen and shown.alone:
            caption = f"Estimated shares: {' by '.join(variables)} = {shown.chosen[0]}"
    else:
        header, names = [", ".join(variables), *PARTS, *(["deff"] if shown.effects else [])], 1
        rows = shown.rows(estimate, sums)
    about = _about(estimate, level, interval)
    said = [f"{name}: {of}." for name, of in (made_of or {}).items() if shown.chosen is None or name in shown.chosen]
    notes = [about, *said, *asked_by(devices or devices_of(estimate))]
    return Table(with_level(header, level), rows, caption=caption, notes=notes, names=names)


@dataclass(frozen=True)
class _Shown:
    """What a table shows of the estimates: the intervals, all digits or few, design effects, and which lines."""

    level: float
    interval: str | None
    exact: bool
    effects: bool
    chosen: Sequence[str] | None

    @property
    def alone(self) -> bool:
        return self.chosen is not None and len(self.chosen) == 1

    def header(self, by: Sequence[str]) -> list[str]:
        category, effects = [] if self.alone else ["category"], ["deff"] if self.effects else []
        return [*by, *category, "reports", *PARTS, *effects]

    def rows(self, estimate: Estimate, sums: Estimate | None) -> list[list[str]]:
        how = {"exact": self.exact, "effects": self.effects}
        rows = [*_rows(estimate, estimate.intervals(self.level, self.interval), **how)]
        if sums is not None:
            rows += [*_rows(sums, sums.intervals(self.level, of_sums(self.interval)), **how)]
        by_label = {row[0]: row for row in rows}
        return rows if self.chosen is None else [by_label[name] for name in self.chosen]

    def rows_of_domains(self, estimate: SurveyEstimate, sums: Estimate | None, *, columns: int) -> list[list[str]]:
        """The parts of the label of a domain take so many columns."""
        inner = sums.domains if isinstance(sums, SurveyEstimate) else {}
        rows = []
        for name, one in estimate.domains.items():
            parts = name if isinstance(name, tuple) and columns > 1 else (name,)
            names = [str(part) if self.exact else label(part) for part in parts]
            rows += self.rows_of_domain(names, one, inner.get(name))
        return rows

    def rows_of_domain(self, names: Sequence[str], estimate: Estimate, sums: Estimate | None) -> list[list[str]]:
        n = str(estimate.n) if self.exact else count(estimate.n)
        return [
            [*names, *([] if self.alone else [category]), n, *numbers]
            for category, *numbers in self.rows(estimate, sums)
        ]


def _about(estimate: Estimate, level: float, interval: str | None) -> str:
    how = {"moments": "moment estimates", "ml": "maximum likelihood"}.get(estimate.method, estimate.method)
    said = _other_intervals(estimate, level, interval)
    names = f"{estimate.intervals(level, interval).name} intervals" + (f" ({'; '.join(said)})" if said else "")
    return f"n = {estimate.n:,} randomized responses; {how}, {names}; {sampled(estimate)}."


def _other_intervals(estimate: Estimate, level: float, interval: str | None) -> list[str]:
    """The domains whose intervals are made in another way than those of the whole, such as ``score for south``."""
    usual = estimate.intervals(level, interval).name
    others: dict[str, list[Hashable]] = {}
    for domain, one in estimate.domains.items() if isinstance(estimate, SurveyEstimate) else ():
        if not np.isnan(one.pi_hat).all() and (name := one.intervals(level, interval).name) != usual:
            others.setdefault(name, []).append(domain)
    return [f"{name} for {listed(map(label, domains), len(domains), 60)}" for name, domains in others.items()]


def sampled(estimate: Estimate) -> str:
    """The plan of the sample, in words."""
    return estimate.plan_text if isinstance(estimate, SurveyEstimate) else "simple random sample"


def devices_of(estimate: Estimate) -> tuple[str, ...]:
    """How the reports of an estimate were made, as far as it keeps their designs."""
    return devices_told(("", sample.design) for sample in estimate.samples)


def _what_is_revealed(paths: Sequence[str], *, alone: bool) -> str:
    if not paths:
        return FOR_A_PAPER
    audits = "; ".join(f"maskwell audit {shlex.quote(path)}" for path in paths)
    what = "what a report reveals" if alone else "what each report reveals"
    if len(f"Next: {what}: {audits}") <= WIDTH:
        return f"{what}: {audits}"
    return f"{what}: maskwell audit D, for each {'D' if alone else f'of the {len(paths)} design files'}"


Domains = Mapping[tuple[Hashable, ...], Estimate]


def analysis_report(
    analysis: Analysis, level: float, interval: str | None, *, by: str | None = None, domains: Domains | None = None
) -> Report:
    """The shares of one table with their errors, and how they were found."""
    estimate, what = analysis.estimate, ", ".join(analysis.route.columns)
    answer = _answer(estimate, estimate.intervals(level, interval), analysis.route.columns, level, of="record")
    said = [answer, *_remarks(analysis), _how(analysis), *_parts_of_error(estimate)]
    body: list[Block] = [_shares([what], [((), estimate)], level, interval)]
    if domains:
        names = (by or "domain").split(",")
        title = f"By {' and '.join(names)}:"
        body += [GAP, _shares([*names, what], [*domains.items()], level, interval, title=title)]
    if analysis.dropped:
        body.append(Notes([f"{analysis.dropped:,} of {analysis.rows:,} records had no value and were left out"]))
    flags = dict.fromkeys((*estimate.flags, *estimate.intervals(level, interval).flags))
    body.append(Notes([flag for flag in flags if flag not in analysis.remarks]))
    return Report([Paragraph(text) for text in said], body)


def _parts_of_error(estimate: Estimate) -> list[str]:
    """The parts of the error of the share that the answer names, where one of them is a bound of its bias."""
    if estimate.bias is None:
        return []
    from maskwell.microdata.folder.receipt_contents import rounded_up

    place = _answered(estimate)
    parts = estimate.variance_parts
    sampling, randomization = (f"{Printed(math.sqrt(max(float(part[place]), 0.0))):.2g}" for part in parts)
    bias = f"; its bias is at most {Printed(rounded_up(float(estimate.bias[place]))):g}, which the interval allows for"
    bias = bias if estimate.bias[place] else ""
    return [f"Its standard error is {sampling} from sampling and at most {randomization} from randomization{bias}."]


def _answered(estimate: Estimate) -> int:
    """The place of the share that an answer names: the largest that is known, or the first of two."""
    return 0 if len(estimate.pi_hat) == 2 else largest(np.nan_to_num(estimate.pi_hat, nan=UNKNOWN))


def _remarks(analysis: Analysis) -> list[str]:
    return [f"{remark[0].upper()}{remark[1:]}." for remark in analysis.remarks]


def after_analysis(file: str, receipt: str, options: Mapping[str, str | None], columns: Sequence[str] = ()) -> str:
    """What to do next: a table of two columns, or one for a paper, with the options that were used."""
    start = ["maskwell", "estimate", file, "--receipt", receipt]
    used = {**options, **({"--columns": ",".join(columns[:2])} if columns else {"--format": "md"})}
    words = [*start, *(word for name, value in used.items() if value is not None for word in (name, value))]
    command = shlex.join(words)
    return command if len(f"Next: {command}") <= WIDTH else FOR_A_PAPER


def analysis_table(analysis: Analysis, level: float, interval: str | None, *, exact: bool) -> Table:
    """The table to paste into a paper; ``exact`` for programs: all digits."""
    made = estimate_table(analysis.estimate, list(analysis.route.columns), level, interval=interval, exact=exact)
    name = analysis.estimate.intervals(level, interval).name
    about = f"n = {analysis.estimate.n:,} released records; {_how(analysis).lower().rstrip('.')}; {name} intervals."
    notes, bias = [*_remarks(analysis), about], analysis.estimate.bias
    if bias is not None and bias.any():
        most = f"{Printed(float(bias.max())):.2g}"
        notes.append(f"The intervals allow for a bias of at most {most}; the errors leave it out.")
    return replace(made, notes=notes)


def _how(analysis: Analysis) -> str:
    from maskwell.microdata.analysis.table_routes import BOUNDED, EXACT, KEPT, OPEN, SOLVED

    route = analysis.route
    how = {
        OPEN: "Counted directly: the release did not change these columns.",
        EXACT: "Counted directly: values were swapped, which preserves these counts exactly.",
        KEPT: "Counted directly: the randomization preserves these counts on average.",
        SOLVED: "Estimated with the matrices of the receipt: direct counts would be biased.",
        BOUNDED: "Counted directly, which may be biased: the randomization does not preserve this table.",
    }
    if route.to_solve is not None:
        names = [name for group in route.to_solve.groups for name in group.variables]
        return Note("estimated-with-the-known-matrix", known=listed(names, len(names), 60))
    return Note("summed-as-they-stand") if route.kind == KEPT and route.weighted else how[route.kind]


def _shares(
    header: Sequence[str],
    estimates: Sequence[tuple[tuple[Hashable, ...], Estimate]],
    level: float,
    interval: str | None,
    *,
    title: str = "",
) -> Grid:
    rows, biased = [], any(estimate.bias is not None and estimate.bias.any() for _, estimate in estimates)
    for domain, estimate in estimates:
        digits, ends = digits_for(estimate.standard_error), estimate.intervals(level, interval).to_array()
        bias = [np.zeros(len(estimate.pi_hat)) if estimate.bias is None else estimate.bias] if biased else []
        numbers = zip(estimate.categories, estimate.pi_hat, estimate.standard_error, *bias, *ends.T, strict=True)
        for category, *values in numbers:
            cells = [decimals(float(x), digits) for x in values]
            rows.append([*(label(part) for part in domain), label(category), *cells])
    named = [*header, *([*PARTS[:2], "bias up to", *PARTS[2:]] if biased else PARTS)]
    return Grid(named, rows[:SHOWN_ROWS], title=title, more=more_of(len(rows), SHOWN_ROWS), names=len(header))
