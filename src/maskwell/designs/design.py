"""Design: the transition matrix P with ``P[i, j] = Pr(report i | truth j)``, kept in structured form by subclasses.

The *statistic* is how often each report occurs (coded reports) or how many reports hold each category (set reports).
``apply`` turns true proportions into the expected statistic, ``solve`` turns an observed one back.
"""

from __future__ import annotations

import math
import operator
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from maskwell.core.arguments import Array, Real, Words, as_floats, check_kind
from maskwell.core.categories import Categories
from maskwell.core.documents import fingerprint_of
from maskwell.core.draws import WordReader
from maskwell.core.exact import Parity, is_decimal, log_of, parity_text, to_float
from maskwell.core.randomness import SECURE, RandomSource, check_source
from maskwell.core.report_data import Counts, Encoding, Reports, SetReports
from maskwell.designs.column_arrays import Transitions
from maskwell.designs.matrix_reading import DECIMALS
from maskwell.designs.sampler import Sampler
from maskwell.errors import InputError, MatrixError, NotIdentifiableError, ParameterError, TooLargeError, WrongTypeError

MATRIX_LIMIT = 10**7
SHORT_BITS = 64  # of a number whose digits cost nothing
EXACT_LIMIT = 10**6
LISTED_LIMIT = 10**9  # categories whose shares are listed, one by one
RANK_LIMIT = 4 * 10**9  # multiplications behind a rank worked out in passing, as for an audit: about 1,500 by 1,500


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Design(ABC):
    """What every randomized response knows about itself.

    Attributes
    ----------
    provenance
        How the design came about: the family, what was asked for, what rounding cost. Not part of the fingerprint.
    """

    provenance: Mapping[str, Any] = field(default_factory=dict)

    kind: ClassVar[str]
    encoding: ClassVar[Encoding]

    # ---- categories and reports

    @property
    @abstractmethod
    def inputs(self) -> Categories:
        """The categories of the true value."""

    @property
    @abstractmethod
    def outputs(self) -> Categories | SetReports:
        """The possible reports."""

    @property
    def k(self) -> int:
        """Number of true categories."""
        return len(self.inputs)

    @property
    @abstractmethod
    def m(self) -> int:
        """Number of possible reports."""

    @property
    def leaves(self) -> tuple[Design, ...]:
        """The design alone; of a product its factors, products within it taken apart."""
        return (self,)

    @property
    def wanted_place(self) -> int | None:
        """Which part of each truth is of interest, where truths are tuples of answers and the device notes it."""
        variables, wanted = self.provenance.get("variables"), self.provenance.get("wanted")
        if isinstance(variables, list | tuple) and wanted in variables:
            return variables.index(wanted)
        return None

    def report_bits(self) -> float:
        """``log2 m``: bits that a report needs at least, if every report had the same length."""
        return math.log2(self.m)

    def has_reports_up_to(self, limit: int) -> bool:
        """Whether m is at most ``limit``; sets by the million are not counted for that."""
        return limit > 0 and self.report_bits() <= math.log2(limit) + 1 and self.m <= limit

    def has_entries_up_to(self, limit: int) -> bool:
        """Whether P has at most ``limit`` entries."""
        return self.has_reports_up_to(limit // self.k)

    def reports_in_words(self) -> str:
        """The number of reports for people: digits when short, else a power, from its logarithm."""
        bits = self.report_bits()
        return big(self.m) if bits < SHORT_BITS else _power(bits * math.log10(2))

    @property
    def reports_are_sets(self) -> bool:
        """Whether a report is a set of categories (a bit mask) instead of one code."""
        return self.encoding == "bits"

    # ---- privacy

    @abstractmethod
    def parity_exact(self) -> Parity:
        """The largest ratio of two entries in a row of P, or ``math.inf``. Source: [ChaiNayak2018, Def. 1.3]."""

    def parity(self) -> float:
        """Parity as the nearest float."""
        return to_float(self.parity_exact())

    def epsilon(self) -> float:
        """The natural logarithm of parity: the level of local differential privacy."""
        return log_of(self.parity_exact())

    @abstractmethod
    def guess_probability(self, prior: Real | None = None) -> float:
        """Chance that the best guess of the truth from one report is right; uniform prior by default."""

    @abstractmethod
    def total_variation(self) -> float:
        """The largest sum of absolute differences between two columns of P (``l1``, from 0 to 2)."""

    def total_variation_exact(self) -> Fraction:
        """The same as a fraction; from the matrix, which must be small."""
        if not self.has_entries_up_to(EXACT_LIMIT // self.k):
            raise TooLargeError("the-columns-of-truths-are-too-many", k=self.k)
        columns = list(zip(*self.exact_matrix(), strict=True))
        pairs = ((one, two) for i, one in enumerate(columns) for two in columns[:i])
        return max((sum(map(abs, map(operator.sub, *pair)), Fraction(0)) for pair in pairs), default=Fraction(0))

    @abstractmethod
    def is_admissible(self) -> bool:
        """Whether no design of the same parity is more informative; exact, but within 1e-8 for one given as decimals.

        Source: [ChaiNayak2018, Theorems 4.2 and 4.3].
        """

    def details(self) -> dict[str, Any]:
        """Facts that only this structure has, for an audit."""
        return {}

    def warnings(self) -> list[str]:
        """What a reader of an audit must not overlook."""
        warnings = []
        if self.parity_exact() == math.inf:
            warnings.append("no bound on parity: some report rules out some truth, so a report can reveal the answer")
        if self.has_quick_rank() and not self.identifiable:
            alone = self.provenance.get("samples")
            lost = "the true proportions cannot be estimated from the reports"
            warnings.append(f"not identifiable alone: {alone}" if alone else f"not identifiable: {lost}")
        return warnings

    # ---- exactness

    @property
    def decimals(self) -> bool:
        """Whether it was given as decimals or floats: only then comparisons have slack (``criteria.py``)."""
        return self.provenance.get("given") == DECIMALS

    @property
    def rounded(self) -> bool:
        """Whether its probabilities represent others: given as decimals, or rounded for a bound such as e**epsilon."""
        return self.decimals or bool(self.provenance.get("parity_loss"))

    def noting_decimals(self, *given: Any) -> Self:
        """The same design, with a note if a number or design that it was made from was given as decimals."""
        inexact = any(one.decimals if isinstance(one, Design) else is_decimal(one) for one in given)
        return self.with_provenance(given=DECIMALS) if inexact else self

    # ---- the matrix

    def matrix(self) -> Real:
        """P written out, shape (m, k); refused when it would be huge."""
        self._check_size(MATRIX_LIMIT)
        return self._matrix()

    def exact_matrix(self) -> list[list[Fraction]]:
        """P in fractions, as rows; refused when it would be huge."""
        self._check_size(EXACT_LIMIT)
        return self._exact_matrix()

    def transitions(self, *, limit: int = MATRIX_LIMIT) -> Transitions:
        """Report, truth and probability of each non-zero, by truth; refuses to write a matrix above ``limit`` out."""
        self._check_size(limit)
        truths, reports = np.nonzero((P := self._matrix()).T)
        return Transitions(reports, truths, P[reports, truths])

    def transitions_exact(self) -> list[dict[int, Fraction]]:
        """For each truth the reports that can come from it, with their chances as fractions."""
        return [{i: p for i, p in enumerate(column) if p} for column in zip(*self.exact_matrix(), strict=True)]

    def _matrix(self) -> Real:
        return np.array([[float(p) for p in row] for row in self._exact_matrix()]).reshape(self.m, self.k)

    @abstractmethod
    def _exact_matrix(self) -> list[list[Fraction]]: ...

    def _check_size(self, limit: int) -> None:
        if not self.has_entries_up_to(limit):
            raise TooLargeError(
                "the-matrix-of-this-design",
                kind=self.kind,
                reports_in_words=self.reports_in_words(),
                k=big(self.k),
                limit=big(limit),
                design=self,
            )

    # ---- estimation

    @abstractmethod
    def apply(self, pi: Real) -> Real:
        """Expected statistic, as a share of the reports, under true proportions ``pi``."""

    @abstractmethod
    def solve(self, share: Real) -> Real:
        """The unbiased linear estimate of the true proportions from a statistic given as shares."""

    @abstractmethod
    def second_moment(self, share: Real) -> Real:
        """E[U U'], shape (k, k), where U = solve(statistic of one report), for a statistic given as shares."""

    @abstractmethod
    def second_moment_diagonal(self, share: Real) -> Real:
        """The diagonal of :meth:`second_moment`, shape (k,), without the rest."""

    @abstractmethod
    def second_moment_of_truth(self) -> Real:
        """``E[U_j^2 | truth j]`` for each category j, shape (k,): how the recovery of a share spreads if it is one."""

    @abstractmethod
    def count_chances(self) -> tuple[Real, Real] | None:
        """Chances, (k,) each, that a report counts for a share of 1, of 0; None if a share has several counts."""

    def covariance(self, pi: Real) -> Real:
        """``n Cov(pi_hat)`` at true proportions ``pi``, shape (k, k). Source: [NayakZhangAdeshiyan2016, eq. (1.3)]."""
        pi = self.check_distribution(pi)
        return self.second_moment(self.apply(pi)) - np.outer(pi, pi)

    def share_variance(self, pi: Real) -> Real:
        """``n Var(pi_hat_i)`` at true proportions ``pi``, shape (k,): the diagonal of :meth:`covariance`."""
        pi = self.check_distribution(pi)
        return self.second_moment_diagonal(self.apply(pi)) - pi**2

    def added_variance(self, pi: Real | None = None) -> float:
        """Variance that randomization adds: ``n tr Cov(pi_hat) - sum pi (1 - pi)``, at uniform ``pi`` by default."""
        pi = self.uniform_prior() if pi is None else self.check_distribution(pi)
        return float(self.second_moment_diagonal(self.apply(pi)).sum() - 1)

    def least_added_variance(self, pi: Real | None = None) -> float:
        """The same of the best linear estimator, where :meth:`solve` is not that one."""
        return self.added_variance(pi)

    @abstractmethod
    def rank(self) -> int:
        """The rank of P."""

    @abstractmethod
    def condition(self) -> float:
        """Largest over smallest singular value of P; infinite when the columns are dependent."""

    def rank_work(self) -> int:
        """About how many multiplications the rank takes; none where a formula gives it."""
        return 0

    def has_quick_rank(self) -> bool:
        """Whether the rank, and with it whether shares can be estimated, takes seconds at most."""
        return self.rank_work() <= RANK_LIMIT

    @property
    def identifiable(self) -> bool:
        """Whether the true proportions can be estimated."""
        return self.rank() == self.k

    def check_identifiable(self) -> None:
        """Raise unless the true proportions can be estimated."""
        if not self.identifiable:
            raise NotIdentifiableError(
                "this-design-has-rank-for-categories", kind=self.kind, rank=self.rank(), k=self.k
            )

    def uniform_prior(self) -> Real:
        """All categories equally likely; refused where they are more than any list holds."""
        if self.k > LISTED_LIMIT:
            raise TooLargeError("the-shares-of-categories-are-too", k=big(self.k))
        return np.full(self.k, 1 / self.k)

    def check_distribution(self, pi: Real, name: str = "pi") -> Real:
        """``pi`` as an array of k probabilities that sum to one, or an error."""
        try:
            values = as_floats(pi, name)
        except (WrongTypeError, InputError):
            values = np.empty(0)
        fits = values.shape == (self.k,) and np.isfinite(values).all()
        if not fits or (values < 0).any() or (values > 2).any() or abs(values.sum() - 1) > 1e-9:
            raise MatrixError(
                "is-not-a-distribution-over-categories",
                shown_name=name,
                shown_given=_listed(values),
                shown_k=self.k,
                **{name: pi},
            )
        return values

    # ---- sampling

    @property
    @abstractmethod
    def words_per_row(self) -> int:
        """How many 32-bit random words are set aside for each row."""

    @abstractmethod
    def draw(self, truth: int, words: WordReader) -> Any:
        """One report, by the definition: the code of the report, or the set of category codes it names."""

    @property
    def further_words(self) -> float | None:
        """How many words beyond its own a row is expected to need at most; None where :meth:`draw_rows` reads none."""
        return None

    @abstractmethod
    def draw_rows(self, codes: Array, words: Words, out: Array) -> Array:
        """Reports of many rows at once, written into ``out``; returns the rows that these words do not settle."""

    @abstractmethod
    def empty_reports(self, n: int) -> Array:
        """Room for n reports."""

    @abstractmethod
    def encode_report(self, report: Any) -> Any:
        """One drawn report in the form of a row of :meth:`empty_reports`."""

    def sampler(self, random: RandomSource | None = None, *, threads: int | None = None) -> Sampler:
        """A sampler that goes on row after row, for data that come in batches."""
        source = SECURE if random is None else random
        check_source(source)
        return Sampler(self, source, threads)

    def sample(self, codes: Array, *, random: RandomSource | None = None, threads: int | None = None) -> Reports:
        """Randomize true codes 0..k-1 into reports; the same ones from the same source with any number of threads."""
        return self.sampler(random, threads=threads).sample(codes)

    def randomize(
        self, values: Any, *, random: RandomSource | None = None, missing: str = "error", sets: str = "packed"
    ) -> Any:
        """Randomize a column of true labels; the reports come in the kind of container that was given.

        Set reports come packed: category j is bit ``j % 8``, least significant first, of byte ``j // 8``. With
        ``sets="texts"`` they come as texts of k characters, "1" where the category was named, first category first.
        """
        encoded = self.inputs.encode(values, missing=missing)
        drawn = self.sample(encoded.codes, random=random)
        return self.labels_of(drawn, like=values, kept=encoded.kept, sets=sets)

    @abstractmethod
    def labels_of(self, reports: Reports, *, like: Any = None, kept: Array | None = None, sets: str = "packed") -> Any:
        """Reports as labels, or sets in one of two forms, in the kind of container of ``like``."""

    @abstractmethod
    def report_space(self) -> Array:
        """All possible reports in the row order of the matrix, in the form of :meth:`empty_reports`."""

    def written_reports(self) -> Categories:
        """The labels of the reports as they are recorded: their labels, or characters 0 and 1 for sets."""
        if isinstance(self.outputs, Categories):
            return self.outputs
        return Categories.of(Reports(self.fingerprint, self.k, "bits", self.report_space()).texts())

    # ---- counting

    @abstractmethod
    def tally(self, reports: Any) -> Counts:
        """Count reports into the statistic. Takes :class:`Reports`, or a column of report labels or 0/1 texts."""

    # ---- identity

    @abstractmethod
    def exact_form(self) -> Mapping[str, Any]:
        """The exact integers that define the design, in JSON form."""

    @abstractmethod
    def with_labels(self, inputs: Categories, outputs: Categories | None = None) -> Self:
        """The same probabilities under other labels."""

    def with_provenance(self, **provenance: Any) -> Self:
        """The same design with a note of how it came about."""
        return replace(self, provenance={**self.provenance, **provenance})

    def labels_json(self) -> Mapping[str, Any]:
        """The labels in JSON form."""
        outputs = self.outputs
        reports = {"sets": {"size": outputs.size}} if isinstance(outputs, SetReports) else outputs.to_json()
        return {"inputs": self.inputs.to_json(), "outputs": reports}

    def identity(self) -> dict[str, Any]:
        """What the fingerprint covers: structure, labels and exact integers."""
        return {"maskwell": "design", "version": 1, "kind": self.kind, **self.labels_json(), "exact": self.exact_form()}

    @cached_property
    def fingerprint(self) -> str:
        """Names the design: equal exactly when structure, labels and exact integers are."""
        return fingerprint_of(self.identity())

    def to_dict(self) -> dict[str, Any]:
        """The content of a design file."""
        return {**self.identity(), "provenance": dict(self.provenance), "fingerprint": self.fingerprint}

    def save(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write the design file; one that exists is replaced only if asked."""
        from maskwell.designs.wire import save_design

        save_design(self, path, overwrite=overwrite)

    def __getstate__(self) -> dict[str, Any]:
        return {part.name: getattr(self, part.name) for part in fields(self)}  # what was worked out is worked out anew

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Design) and self.fingerprint == other.fingerprint

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def __repr__(self) -> str:
        try:
            parity = "inf" if self.parity_exact() == math.inf else parity_text(self.parity_exact())
        except TooLargeError:
            parity = "not computed"
        return f"{type(self).__name__}(k={self.k}, m={self.reports_in_words()}, parity={parity})"


def _listed(values: Real, most: int = 4) -> str:
    """Numbers as they could be typed, the first of them where they are many."""
    if values.ndim != 1 or not values.size:
        return f"an array of shape {values.shape}" if values.size else "no list of numbers"
    numbers = ", ".join(f"{x:.6g}" for x in values[:most])
    return f"[{numbers}{f', ... ({values.size:,} in all)' if values.size > most else ''}]"


def big(number: int) -> str:
    """A count for people: digits when short, a power otherwise."""
    return f"{number:,}" if number < 10**12 else _power(math.log10(number))


def _power(log10: float) -> str:
    exponent, rest = divmod(log10, 1)
    return f"{10**rest:.2f}e+{int(exponent)}"


def too_few(k: int) -> ParameterError:
    """The error for fewer than two categories."""
    return ParameterError("k-at-least-two-categories", k=k)


def check_two(categories: Categories) -> None:
    """Raise unless there are at least two categories, and no more than one random word can choose among."""
    check_kind(Categories, categories=categories)
    if len(categories) >= 2**32:
        raise TooLargeError("k-categories-at-most-are-possible", categories_count=len(categories), value_sub=2**32 - 1)
    if len(categories) < 2:
        raise too_few(len(categories))
