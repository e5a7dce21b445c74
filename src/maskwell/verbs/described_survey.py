"""Survey: rows, the designs of their columns and how the rows were drawn, described once; then questions."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from maskwell.core.arguments import check_kind, check_option
from maskwell.core.report_data import Counts
from maskwell.designs.design import Design
from maskwell.engines.rows import Rows
from maskwell.errors import ParameterError
from maskwell.estimation.joint.joint_table import Table
from maskwell.estimation.sampling.sampling_description import Sampling
from maskwell.verbs.estimate import answer
from maskwell.verbs.inputs import Designs, Names
from maskwell.verbs.questions import Question
from maskwell.verbs.share_results import Shares

if TYPE_CHECKING:
    from maskwell.engines.row_sources import Progress
    from maskwell.estimation.regression.regression_result import Regression
    from maskwell.microdata.folder.receipt import Receipt
    from maskwell.verbs.mine import MinedBaskets


@dataclass(frozen=True, eq=False, repr=False)
class Survey:
    """A survey: its rows, the designs of its randomized columns, and how the rows were drawn.

    Describe it once, then ask: ``shares``, ``table``, ``regress``, ``counts``, ``itemsets``.

    Parameters
    ----------
    data, designs
        As in :func:`maskwell.estimate`; columns that are not named were asked directly.
    sampling
        A :class:`maskwell.Sampling`: weights, inclusion, draw_probabilities, strata, clusters, population, denominator,
        replicates, replicate_method, fay, mse, poisson, joint_inclusion, method, lonely; all optional.
    missing
        As in :func:`maskwell.estimate`, ``"error"`` by default; for a released file, as its receipt says.
    missing_codes
        Codes of missing values: ``["NA", 99]`` in every column, or by column, ``{"age": [98, 99]}``.
    frequencies
        A column with the number of reports that each row represents.
    receipt
        The receipt of a released file, in place of designs: :meth:`from_release`.

    Two regions, each with its own deck of cards; schools were drawn within regions:

    >>> import maskwell as mw
    >>> decks = {"north": mw.design("warner", p="0.8"), "south": mw.design("warner", p="0.7")}
    >>> pupils = {
    ...     "cheats": ["yes", "no", "no"] * 40,
    ...     "region": ["north"] * 60 + ["south"] * 60,
    ...     "school": [i // 6 for i in range(120)],
    ...     "age": [15, 16, 17, 18] * 30,
    ...     "weight": [20.0] * 60 + [30.0] * 60,
    ... }
    >>> survey = mw.Survey(
    ...     pupils,
    ...     {"cheats": [mw.When({"region": name}, deck) for name, deck in decks.items()]},
    ...     mw.Sampling(weights="weight", strata="region", clusters="school"),
    ... )
    >>> shares = survey.shares("cheats", by="region")
    >>> round(shares.contrast("north", "south", name="gap").quantities[0].value, 3)
    0.139
    >>> survey.shares("cheats").intervals(level=0.9).confidence_interval().round(2).tolist()
    [[0.0, 0.32], [0.68, 1.0]]
    >>> survey.table("cheats", "region").n
    120
    >>> survey.regress("cheats ~ age").n
    120
    >>> picture = shares.plot()   # a notebook shows it; picture.save("shares.svg") writes it
    >>> picture.text
    'Estimates from 120 reports with 95 % intervals: all 13.9 (0.0 to 36.0) percent; north 22.2 ...
    """

    data: Any
    designs: Designs | Design | None = None
    sampling: Sampling = field(default_factory=Sampling)
    _: KW_ONLY
    missing: str | None = None
    missing_codes: Any = None
    frequencies: str | None = None
    receipt: Receipt | None = None

    def __post_init__(self) -> None:
        if self.sampling is None:
            object.__setattr__(self, "sampling", Sampling())  # type: ignore[unreachable]
        check_kind(Sampling, sampling=self.sampling)
        check_kind(str | None, frequencies=self.frequencies)
        check_option("missing", "error" if self.missing is None else self.missing, ("error", "drop", "category"))
        if self.receipt is None:
            return
        from maskwell.microdata.folder.receipt import Receipt

        check_kind(Receipt, receipt=self.receipt)
        if self.designs or self.missing_codes is not None or self.frequencies:
            raise ParameterError("a-receipt-cannot-be-combined")

    @classmethod
    def from_release(
        cls, data: Any, receipt: Any = None, sampling: Sampling | None = None, *, missing: str | None = None
    ) -> Survey:
        """A released file, with the designs that its receipt holds.

        Parameters
        ----------
        data
            The folder of a release, which holds the file and its receipt; or the file, or a table of it.
        receipt
            With a file or a table: its :class:`~maskwell.microdata.folder.Receipt`, or the path of it.
        sampling, missing
            As in :class:`Survey`.
        """
        from maskwell.verbs.release_estimate import receipt_of

        if receipt is None:
            data, receipt = _in_folder(data)
        told = receipt_of(receipt)
        return cls(data, None, Sampling() if sampling is None else sampling, missing=missing, receipt=told)

    @classmethod
    def from_counts(cls, counts: Counts | Mapping[Any, Any], design: Design | str | os.PathLike[str]) -> Survey:
        """Counts of reports: ``Counts``, or a dictionary of numbers by report.

        >>> import maskwell as mw
        >>> survey = mw.Survey.from_counts({"yes": 120, "no": 180}, mw.design("warner", p="0.7"))
        >>> survey.shares().pi_hat.round(3).tolist()
        [0.25, 0.75]
        """
        return cls(counts, {"answer": design})

    @cached_property
    def rows(self) -> Rows:
        """Where the rows are, without codes of missing values."""
        return Rows.of(self.data, self.missing_codes)

    def shares(
        self,
        *columns: str,
        by: Names = None,
        where: str | Mapping[str, Any] | None = None,
        method: str = "moments",
        level: Any = 0.95,
        interval: str | None = None,
        seed: int | None = None,
        given: str | None = None,
        target: str = "population",
        progress: Progress | None = None,
    ) -> Shares:
        """Estimate the true shares of a column, or of all combinations of several.

        Parameters
        ----------
        columns
            One column, or the columns of one table; all that are described where none is named. Of a released file,
            every randomized column on its own.
        by, where, method, level, interval, progress
            As in :func:`maskwell.estimate`.
        seed
            With ``interval="bootstrap"``: a whole number, which makes its draws repeatable.
        given
            For a table: the variable within whose categories shares are shown; the first by default.
        target
            Of a released file: shares of the ``"population"``, or of the original ``"file"``.
        """
        how: dict[str, Any] = {"method": method, "given": given, "target": target, "progress": progress}
        asked = Question.of(columns, by=by, where=where, level=level, interval=interval, seed=seed, **how)
        return answer(self, asked)

    def table(
        self,
        *columns: str,
        where: str | Mapping[str, Any] | None = None,
        method: str = "moments",
        progress: Progress | None = None,
    ) -> Table:
        """The table of two columns or more: margins, conditional shares, odds ratios, tests of independence."""
        result = self.shares(*columns, where=where, method=method, progress=progress)
        if result.table is None and self.receipt is not None and len(result.variables) > 1:
            return self._withheld_table(result)
        if result.table is None:
            few = len(result.variables) < 2
            raise ParameterError("a-table-of-one-variable" if few else "a-table-needs-designs-that-tell")
        return result.table

    def _withheld_table(self, result: Any) -> Table:
        """The table of a released file whose matrices are withheld."""
        from maskwell.microdata.analysis.withheld_tables import withheld_table

        receipt, how = self.receipt, ("weights", "inclusion", "strata", "clusters", "population", "replicates")
        if receipt is None or any(getattr(self.sampling, name) not in (None, ()) for name in how):
            raise ParameterError("no-table-of-a-released-file")
        return withheld_table(result.tables, receipt)

    def regress(
        self,
        formula: str,
        *,
        model: str | None = None,
        reference: Any = None,
        combine: Any = None,
        latent: str | None = None,
        variance: str | None = None,
        interval: str | None = None,
    ) -> Regression:
        """Regression on the true answers; the arguments are those of :func:`maskwell.regress`.

        ``variance`` is what standard errors rest on: ``"observed"``, ``"expected"`` or ``"sandwich"``, by default what
        the sampling calls for. Of a released file: where the release keeps the table of all columns of the formula,
        released values are taken as true ones and variances doubled, which to first order is the most that
        randomization adds; where the matrix of a column is known, it is that column's design. Else intervals and
        p-values allow for the largest bias that the receipt leaves possible, ``bias``; it is refused where that is
        above the standard errors of all slopes.
        """
        from maskwell.verbs.regress import Model, fit

        asked = Model(model, reference, combine, latent, variance, interval)
        return fit(self, formula, asked, every=False)

    def counts(self, *columns: str, progress: Progress | None = None) -> dict[str, Counts]:
        """Counts of the reports of each column, as :func:`maskwell.tally` gives them; all columns by default."""
        from maskwell.verbs.tally import tally

        chosen = self.designs
        if columns and isinstance(chosen, Mapping):
            chosen = {name: design for name, design in chosen.items() if name in columns}
        how: dict[str, Any] = {"missing_codes": self.missing_codes, "counts": self.frequencies, "progress": progress}
        return tally(self.data, chosen, missing=self.missing or "error", **how)  # type: ignore[arg-type]

    def itemsets(
        self, *, min_support: Any = 0.05, min_confidence: Any = 0.5, max_items: int = 4, slack: Any = 2
    ) -> MinedBaskets:
        """Frequent itemsets and rules of randomized baskets; the arguments are those of :func:`maskwell.mine`."""
        from maskwell.verbs.mine import mine

        how: dict[str, Any] = {"min_support": min_support, "min_confidence": min_confidence, "slack": slack}
        return mine(self.rows, self.designs, self.sampling, max_items=max_items, missing=self.missing or "error", **how)  # type: ignore[arg-type]

    def __repr__(self) -> str:
        columns = map(str, self.designs) if isinstance(self.designs, Mapping) else ["reports"]
        described = [] if self.designs is None else [f"designs of {', '.join(columns)}"]
        described += ["a receipt"] if self.receipt is not None else []
        described += [repr(self.sampling)] if self.sampling else []
        what = "counts" if isinstance(self.data, Counts) else str(Rows.of(self.data))
        return f"Survey of {what}: {', '.join(described) or 'no designs'}"


def _in_folder(folder: Any) -> tuple[str, str]:
    """The released file and the receipt in the folder of a release, or in its public part."""
    from maskwell.microdata.folder.receipt import PUBLIC
    from maskwell.microdata.folder.release_folder import RECEIPT

    check_kind(str | os.PathLike, data=folder)
    for place in (Path(folder) / PUBLIC, Path(folder)):
        files = sorted(place.glob("data.*"))
        if (place / RECEIPT).is_file() and len(files) == 1:
            return str(files[0]), str(place / RECEIPT)
    raise ParameterError("is-not-the-folder", fspath=os.fspath(folder))
