"""Results of ``estimate``: the shares of columns with domains, tables and quantities, and how they are shown."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from maskwell.core.arguments import Real, check_kind
from maskwell.core.display import Inside, Result, data_frame
from maskwell.core.exact import check_probability
from maskwell.core.phrases import Printed
from maskwell.designs.design import Design
from maskwell.errors import LabelError, ParameterError
from maskwell.estimation.asked_quantities import PARAMETERS, Asked, QuantityTerms, asked_of, parameters_of
from maskwell.estimation.joint.joint_table import Table
from maskwell.estimation.named_quantities import Quantity, combined, quantities_of
from maskwell.estimation.sampling.survey_estimate import SurveyEstimate
from maskwell.estimation.share_estimate import Estimate
from maskwell.estimation.summed_shares import of_sums
from maskwell.reports.pages.paper_tables import document
from maskwell.reports.plain_words import counted, label
from maskwell.reports.report import Report
from maskwell.reports.text.crosstab_report import crosstab_content, crosstab_report, crosstab_table
from maskwell.reports.text.design_report import devices_told
from maskwell.reports.text.estimate_report import estimate_report, estimate_table, has_effects, quantity_table
from maskwell.verbs.questions import Question

if TYPE_CHECKING:
    from maskwell.reports.pages import paper_tables
    from maskwell.reports.pictures.canvas import Picture


MOST_NAMED, LABEL = 20, 9  # quantities that Python prints, and letters of a label at least, as those of shares have


@dataclass(frozen=True, eq=False, repr=False)
class Shares(Result):
    """Estimated true shares: what :func:`maskwell.estimate` and :meth:`maskwell.Survey.shares` return.

    Sums of categories, contrasts, ratios and other intervals are asked of it: each gives the same shares with one
    quantity more, which ``shares["name"]`` holds.

    Attributes
    ----------
    estimate
        An :class:`Estimate`, most of which is at hand here too; under a sampling plan a ``SurveyEstimate`` with totals.
    rows, dropped
        Rows that were read, and those left out because a value was missing.
    answer
        Where the truths of a design are pairs: the variable that the question was about, and its shares.
    table
        Of several columns, with margins, odds ratios and tests.
    procedure
        That all designs are of, where they have one.
    again
        Asks the survey once more, with other quantities; None where there is none to ask.
    """

    estimate: Estimate
    variables: tuple[str, ...]
    rows: int
    dropped: int
    question: Question
    answer: tuple[str, Estimate] | None = None
    table: Table | None = None
    quantities: tuple[Quantity, ...] = ()
    procedure: str | None = None
    designs: tuple[tuple[str, Design], ...] = ()
    again: Callable[[tuple[Asked, ...]], Shares] | None = None

    level = Inside[float]("question.level", "Confidence level of the intervals.")
    interval = Inside[str | None]("question.interval", "Method of the intervals; None for the default.")
    by = Inside[tuple[str, ...]]("question.by", "The columns of the domains.")
    categories = Inside[Sequence[Hashable]]("estimate.categories", "Labels of the shares.")
    pi_hat = Inside[Real]("estimate.pi_hat", "Estimated shares, in the order of the categories.")
    standard_error = Inside[Real]("estimate.standard_error", "Of the shares.")
    covariance = Inside[Real | None]("estimate.covariance", "Of the shares; None where there are too many categories.")
    n = Inside[int]("estimate.n", "Number of reports.")
    method = Inside[str]("estimate.method", "How the shares were estimated.")
    flags = Inside[tuple[str, ...]]("estimate.flags", "What a reader should know, in words.")

    def confidence_interval(self, level: float | None = None, method: str | None = None) -> Real:
        """Ends of the intervals, shape (k, 2)."""
        chosen = self.interval if method is None else method
        return self.estimate.confidence_interval(self.level if level is None else level, chosen)

    def combine(self, *categories: Any, name: str | None = None) -> Shares:
        """The shares with a sum of categories: ``shares.combine("once", "often", name="any")["any"]``.

        Several at once: ``shares.combine({"any": ["once", "often"]})``, or as typed, ``"any=once+often"``.

        >>> import maskwell as mw
        >>> design = mw.design("k-ary", categories=["never", "once", "often"], epsilon=2)
        >>> shares = mw.estimate({"never": 60, "once": 30, "often": 20}, design)
        >>> round(shares.combine("once", "often", name="any")["any"].value, 3)
        0.355
        """
        check_kind(str | None, name=name)
        first = categories[0] if len(categories) == 1 else None  # several with their names, or all that belong to one
        if isinstance(first, Mapping | list | tuple) or (isinstance(first, str) and "=" in first):
            return self._more("combine", first)
        return self._more("combine", {name or " + ".join(map(str, categories)): list(categories)})

    def contrast(self, *of: Any, name: str | None = None) -> Shares:
        """The shares with a difference of two categories, combinations or domains: ``contrast("often", "never")``.

        With factors: ``contrast({"often": 1, "once": -0.5}, name="gap")``. Several at once:
        ``contrast({"gap": {"often": 1, "never": -1}})``, or as typed, ``"gap=often-never"``.
        """
        check_kind(str | None, name=name)
        if len(of) == 2:
            return self._more("contrast", {name or f"{of[0]} - {of[1]}": of})
        content = _one(of, "contrast")
        if isinstance(content, Mapping) and content and all(isinstance(one, int | float) for one in content.values()):
            factors = " + ".join(f"{factor:g} {category}" for category, factor in content.items())
            return self._more("contrast", {name or factors: content})
        return self._more("contrast", content)

    def ratio(self, *of: Any, name: str | None = None) -> Shares:
        """The shares with one sum of categories over another: ``ratio("often", ["once", "often"], name="repeat")``.

        Several at once: ``ratio({"repeat": ("often", ["once", "often"])})``, or ``"repeat=often/once+often"``.
        """
        check_kind(str | None, name=name)
        if len(of) == 2:
            return self._more("ratio", {name or " / ".join(map(_words, of)): of})
        return self._more("ratio", _one(of, "ratio"))

    def intervals(self, method: str | None = None, level: Any = None) -> Shares:
        """The same shares with intervals by another method, or at another level: ``intervals("score", 0.9)``."""
        confidence = self.level if level is None else float(check_probability(level, "level", open_=True))
        check_kind(str | None, method=method)
        chosen = self.interval if method is None else method
        self.estimate.intervals(confidence, chosen)
        asked = replace(self.question, level=confidence, interval=chosen)
        return with_quantities(replace(self, question=asked), asked.asked)

    def _more(self, what: str, content: Any) -> Shares:
        """The result with further quantities; sums of domains are asked of the survey."""
        asked = (*self.question.asked, *asked_of(what, content))
        if self.by and what != "ratio" and self.again is not None:
            return self.again(asked)
        return with_quantities(self, asked)

    def __getitem__(self, name: str) -> Quantity:
        """The quantity of that name, of everyone: ``shares["any"].value``."""
        for one in self.quantities:
            if one.name == name and one.domain is None:
                return one
        known = ", ".join(dict.fromkeys(one.name for one in self.quantities)) or "none was asked for"
        raise LabelError("no-quantity-is-called", name=name, known=known)

    @property
    def domains(self) -> Mapping[Hashable, SurveyEstimate]:
        """An estimate for each domain, by its label."""
        return self.estimate.domains if isinstance(self.estimate, SurveyEstimate) else {}

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values, as ``maskwell estimate --json`` gives it."""
        content, answer = self.estimate.to_dict(self.level, self.interval), {}
        if self.answer is not None:
            name, margin = self.answer
            answer = {"wanted": {"variable": name, **margin.to_dict(self.level, of_sums(self.interval))}}
        joint = {} if self.table is None else crosstab_content(self.table, self.level, self.question.given)
        rows: dict[str, Any] = {"rows": self.rows, "dropped": self.dropped}
        rows |= {"quantities": [one.to_dict() for one in self.quantities]} if self.quantities else {}
        rows |= {} if self.question.where is None else {"where": self.question.where.text}
        return {"variables": list(self.variables), **content, **answer, **joint, **rows}

    def to_frame(self) -> Any:
        """A pandas table: a line for each category, for each domain where there are any."""
        if not self.domains:
            lines = [*self._lines(self.estimate), *((one.name, *_numbers(one)) for one in self.quantities)]
            return self._frame(["category"], lines)
        lines = [
            (*self._domain_columns(label), *line) for label, one in self.domains.items() for line in self._lines(one)
        ]
        lines += [(*self._quantity_columns(one), *_numbers(one)) for one in self.quantities]
        return self._frame([*self.by, "category"], lines)

    def _frame(self, names: Sequence[str], lines: Sequence[tuple[Any, ...]]) -> Any:
        header = [*names, "estimate", "standard_error", "low", "high", "deff"]
        columns = dict(zip(header, map(list, zip(*lines, strict=True)), strict=True))
        if not has_effects(self.estimate):
            del columns["deff"]
        return data_frame(columns)

    def _lines(self, one: Estimate) -> list[tuple[Any, ...]]:
        """Category, estimate, standard error, ends and design effect, line by line."""
        ends = one.confidence_interval(self.level, self.interval).T
        return list(zip(one.categories, one.pi_hat, one.standard_error, *ends, one.design_effects, strict=True))

    def _domain_columns(self, label: Any) -> tuple[Any, ...]:
        return label if isinstance(label, tuple) and len(self.by) > 1 else (label,)

    def _quantity_columns(self, one: Quantity) -> tuple[Any, ...]:
        """Domain and category of a quantity; of a difference between groups, its name and what is compared."""
        if one.kind == "groups":
            return (one.name,) * len(self.by) + (one.category,)
        return (*(("all",) * len(self.by) if one.domain is None else self._domain_columns(one.domain)), one.name)

    def plot(self, **options: Any) -> Picture:
        """The estimates with their intervals, those of the domains below each other.

        ``options`` as in :func:`maskwell.plot`.
        """
        from maskwell.reports.pictures.canvas import styled
        from maskwell.reports.pictures.estimate_picture import plot_learned

        shares, _, interval = self._shares
        how = {"level": self.level, "interval": interval, "by": ",".join(self.by) or "group", "sums": self._sums()}
        return styled(plot_learned, shares, **{**how, **options})

    @property
    def _shares(self) -> tuple[Estimate, tuple[str, ...], str | None]:
        """The shares that answer the question, the names of their variables, and the method of their intervals."""
        if self.answer is None:
            return self.estimate, self.variables, self.interval
        return self.answer[1], (self.answer[0],), of_sums(self.interval)

    def _sums(self) -> Estimate | None:
        """The shares of combined categories, of everyone and of each domain."""
        shares = self._shares[0]
        combinations = QuantityTerms.of(
            [one for one in self.question.asked if one.what == "combine"], shares.categories
        )
        return combined(shares, combinations.combinations) if combinations.combinations else None

    def to_tables(  # type: ignore[override]  # its level is that of the result
        self, *, exact: bool = False, categories: Sequence[Any] | None = None
    ) -> list[paper_tables.Table]:
        """Tables to paste into a paper: the shares with combined categories, then contrasts and ratios.

        ``exact`` for programs: a line for each cell, all digits. ``categories`` chooses the categories and combinations
        of the first table; then it is the only one.
        """
        two = self.table is not None and len(self.table.names) == 2 and not self.by and self.interval is None
        if self.table is not None and two and categories is None and not exact:
            shares = crosstab_table(self.table, self.level, self.question.given, devices=devices_told(self.designs))
            others = self.quantities
        else:
            shares = self._table_of_shares(exact=exact, categories=categories)
            others = tuple(one for one in self.quantities if one.kind != "combination") if categories is None else ()
        return [shares, *([quantity_table(others, self.level, ",".join(self.by), shares.notes)] if others else [])]

    def _table_of_shares(self, *, exact: bool, categories: Sequence[Any] | None = None) -> paper_tables.Table:
        shares, names, interval = self._shares
        by, devices = ",".join(self.by) or None, devices_told(self.designs)
        how: dict[str, Any] = {"interval": interval, "by": by, "exact": exact, "devices": devices}
        made_of = {one.name: one.of for one in self.quantities if one.kind == "combination"}
        return estimate_table(shares, names, self.level, sums=self._sums(), made_of=made_of, chosen=categories, **how)

    def lines(self, style: str) -> list[str]:
        """The tables for a paper, in ``latex``, ``md`` or ``html``, or, one for programs, in ``csv``."""
        if style == "csv":
            if self.quantities:
                return str(self.to_frame().to_csv(index=False, lineterminator="\n")).splitlines()
            return self._table_of_shares(exact=True).lines(style)
        return document(self.to_tables(), style)

    def to_report(self, designs: Mapping[str, str] | None = None) -> Report:
        """What it says to people; ``designs`` names the design file of each column, for the hint at the end."""
        by = ",".join(self.by) or None
        grid = None if self.table is None else crosstab_report(self.table, self.level, self.question.given)
        how: dict[str, Any] = {"interval": self.interval, "by": by, "wanted": self.answer, "grid": grid}
        about = (self.estimate, self.variables, self.level, designs or {})
        report = estimate_report(*about, quantities=self.quantities, **how)
        if self.question.where is not None:
            report = report.with_line(
                f"Rows where {self.question.where.text}: {counted(self.estimate.n, 'report', 'reports')}."
            )
        if self.dropped:
            were = "was" if self.dropped == 1 else "were"
            what = "no report" if by is None else f"no report or no value of {by}"
            report = report.with_line(f"note: {self.dropped:,} of {self.rows:,} rows had {what} and {were} left out")
        return report

    def __repr__(self) -> str:
        named = [(_title(one), one) for one in self.quantities[:MOST_NAMED]]
        wide = max([LABEL, *(len(title) for title, _ in named)])
        lines = [f"  {title:<{wide}}  {_with_interval(one)}" for title, one in named]
        more = len(self.quantities) - len(named)
        shares = self.estimate.shown(self.level, self.interval)
        return "\n".join([shares, *lines, *([f"  ... and {more:,} more quantities"] if more else [])])


def _one(of: tuple[Any, ...], what: str) -> Any:
    """The one argument that holds quantities."""
    if len(of) != 1:
        raise ParameterError("needs-two-categories-not", what=what, of_count=len(of))
    return of[0]


def _words(categories: Any) -> str:
    return categories if isinstance(categories, str) else " + ".join(map(str, categories))


def with_quantities(result: Shares, asked: tuple[Asked, ...]) -> Shares:
    """The result with the quantities that were asked for; those that a procedure is there for come first."""
    base = result.estimate if result.answer is None else result.answer[1]
    if result.procedure in PARAMETERS:
        asked = *parameters_of(result.procedure, base.categories, [one.name for one in asked]), *asked
    if not asked:
        return result
    between = result.estimate.between if isinstance(result.estimate, SurveyEstimate) else ()
    quantities = quantities_of(base, between, asked, result.level, result.interval)
    return replace(result, quantities=quantities, question=replace(result.question, asked=asked))


def _title(one: Quantity) -> str:
    """The name of a quantity, and what it is of: a group, or a category of several groups."""
    of = one.domain if one.category is None else one.category
    return one.name if of is None else f"{one.name}, {label(of)}"


def _with_interval(one: Quantity) -> str:
    """A quantity in one line; the reason where it has no interval."""
    value = "—" if math.isnan(one.value) else f"{Printed(one.value):.4f}"
    if math.isnan(one.low):
        return f"{value}  {one.flags[-1]}" if one.flags else value
    return f"{value}  [{Printed(one.low):.4f}, {Printed(one.high):.4f}]"


def _numbers(one: Quantity) -> tuple[float, ...]:
    return one.value, one.standard_error, one.low, one.high, one.deff
