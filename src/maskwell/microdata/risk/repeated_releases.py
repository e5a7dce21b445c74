"""Several releases of one record: what they tell together.

Each randomized anew, the releases z_1, ..., z_m tell

    Pr(X = j | z_1, ..., z_m)  in the ratio of  pi_j p_{z_1 j} ... p_{z_m j}

so every release tells more. One draw for each record, variable, design and truth, used again in every release, is the
remedy while truths do not change. Where they may, a record has a *path* of truths (a, a'), and two releases with the
matrices P, P' report (z, z') with the chance

    fresh draws                        p_za p'_z'a'
    kept draws, same truth and design  p_za where z = z', else 0;  any other path as for fresh draws
    kept draws randomized once more    sum_y c_zy c'_z'y p_ya for the same truth and design;  else (C P)_za (C' P')_z'a'

The parity of two paths is the largest ratio of these chances over all pairs of reports. With kept draws it is infinite
between (a, a) and (a, b): a report that changed proves that the truth did.

Source: [Adeshiyan2011, Definition 4.2] for the joint release; derived.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain, product
from typing import Any

import numpy as np

from maskwell.core.arguments import Flag, Real, as_list, as_whole, check_kind, pairs_of
from maskwell.core.exact import Parity, to_text
from maskwell.designs.coded import CodedDesign
from maskwell.designs.dense import design_of
from maskwell.designs.sparse import Sparse
from maskwell.errors import MatrixError, ParameterError, TooLargeError
from maskwell.microdata.risk.attribute_disclosure import check_prior
from maskwell.microdata.stages.stage import Stage

LIMIT = 10**7
"""Released combinations times categories that are looked at."""
EXACT_LIMIT = 2 * 10**5
"""Products of fractions that are worked out for the parity of paths."""
DIGITS = 12
"""Posteriors that agree in so many digits are taken for one."""

Law = list[list[Fraction]]
Path = tuple[int, int]
Extremes = tuple[Fraction, Fraction]


@dataclass(frozen=True)
class PathParities:
    """The largest parities of two paths of truths, over two releases, by what the paths have in common."""

    unchanged: Parity  # of (a, a) and (b, b): what both releases tell of a truth that stays the same
    change: Parity  # of (a, a) and (b, c): what they tell about whether the truth changed
    changed: Parity  # of (a, b) and (c, d): what they tell of two truths that differ

    def to_dict(self) -> dict[str, str]:
        """Fractions as text, ``"inf"`` where a path rules another one out."""
        return {name: to_text(getattr(self, name)) for name in ("unchanged", "change", "changed")}


@dataclass(frozen=True, eq=False)
class TwoReleases:
    """The exact chances of two reports of one record, for every path of its truth.

    Attributes
    ----------
    first, later
        The matrix of each release, reports by truths.
    same
        For each truth that stays the same the chances of all pairs of reports; None where all draws are independent.

    >>> twice = TwoReleases.of([["3/4", "1/4"], ["1/4", "3/4"]], kept=True)
    >>> twice.parity((0, 0), (1, 1)), twice.parity((0, 1), (1, 0))   # one report, and two independent ones
    (Fraction(3, 1), Fraction(9, 1))
    >>> twice.parity((0, 0), (0, 1))   # a report that changed proves that the truth did
    inf
    >>> TwoReleases.of([["3/4", "1/4"], ["1/4", "3/4"]], kept=False).summary()   # fresh draws hide it, and wear out
    PathParities(unchanged=Fraction(9, 1), change=Fraction(3, 1), changed=Fraction(9, 1))
    >>> TwoReleases.of([["3/4", "1/4"], ["1/4", "3/4"]], kept=True, again=[["3/4", "1/4"], ["1/4", "3/4"]]).summary()
    PathParities(unchanged=Fraction(7, 3), change=Fraction(25, 12), changed=Fraction(25, 9))
    """

    first: Law
    later: Law
    same: Sequence[Law] | None = None

    @classmethod
    def of(
        cls, design: Any, later: Any = None, *, kept: bool, again: Any = None, later_again: Any = None
    ) -> TwoReleases:
        """From designs or their matrices.

        Parameters
        ----------
        design, later
            Of the two releases; without ``later`` the same design is used again.
        kept
            Whether draws are kept by key. Under two designs that differ they are independent all the same.
        again, later_again
            The second, fresh randomization of the reports of each release, if any; the later one is as the first one.
        """
        check_kind(Flag, kept=kept)
        P = design_of(design)
        Q = P if later is None else design_of(later)
        C = None if again is None else design_of(again)
        D = C if later_again is None else design_of(later_again)
        _check_fit(P, Q, C, D)
        before, after = _exact(P), _exact(Q)
        step, later_step = (None if one is None else _exact(one) for one in (C, D))
        return cls(
            first=before if step is None else _times(step, before),
            later=after if later_step is None else _times(later_step, after),
            same=[_through(own, step, later_step) for own in zip(*before, strict=True)] if kept and P == Q else None,
        )

    @property
    def k(self) -> int:
        """How many truths there are."""
        return len(self.first[0])

    def law(self, path: Path) -> Law:
        """The chances of all pairs of reports for one path."""
        a, b = (as_whole(place, "path", high=self.k - 1) for place in pairs_of([path], "path")[0])
        if a == b and self.same is not None:
            return self.same[a]
        return [[row[a] * other[b] for other in self.later] for row in self.first]

    def parity(self, path: Path, other: Path) -> Parity:
        """The largest ratio of the chances of two reports under two paths, whichever is larger."""
        pairs = zip(*(chain.from_iterable(self.law(one)) for one in (path, other)), strict=True)
        return max((_ratio(max(pair), min(pair)) for pair in pairs if any(pair)), default=Fraction(1))

    def summary(self) -> PathParities:
        """The largest parity of all paths of each kind."""
        largest: dict[str, Parity] = dict.fromkeys(("unchanged", "change", "changed"), Fraction(1))
        for stays, differs in self._extremes():
            cells = {"unchanged": (stays, stays), "change": (stays, differs), "changed": (differs, differs)}
            for name, (one, other) in cells.items():
                if other is not None and one is not None:
                    largest[name] = max(largest[name], _ratio(one[1], other[0]), _ratio(other[1], one[0]))
        return PathParities(**largest)

    def _extremes(self) -> Iterator[tuple[Extremes, Extremes | None]]:
        """For each pair of reports the least and the largest chance over paths that stay and over those that change."""
        for z, row in enumerate(self.first):
            for other_z, other in enumerate(self.later):
                stays = [row[a] * other[a] if self.same is None else self.same[a][z][other_z] for a in range(self.k)]
                yield (min(stays), max(stays)), _of_different(row, other)


def _of_different(row: Sequence[Fraction], other: Sequence[Fraction]) -> Extremes | None:
    """The least and the largest product of two entries in different places; None where there is one place."""
    order, its = (sorted(range(len(own)), key=own.__getitem__) for own in (row, other))

    def products(places: Sequence[int], others: Sequence[int]) -> list[Fraction]:
        return [row[a] * other[b] for a, b in product(places, others) if a != b]

    if len(row) < 2:
        return None
    return min(products(order[:2], its[:2])), max(products(order[-2:], its[-2:]))


def path_parities(stage: Stage, *, kept: bool) -> PathParities | None:
    """What two releases with the design of one stage tell; None where it cannot be said.

    That is where no state can be released as another, or where the states are too many for exact fractions. Paths are
    compared among states that can be released as each other: any others are told apart by each release.
    ``kept`` says whether the draws of the stage, or of its first step, are kept by key.
    """
    steps = stage.steps if kept and stage.steps is not None else (stage.design, None)
    blocks = _blocks(stage)
    if not blocks or sum(len(states) ** (3 if steps[1] is None else 4) for states in blocks) > EXACT_LIMIT:
        return None
    parities = []
    for states in blocks:
        reports = None if steps[1] is None else states  # a second step takes all that the first can give
        parts = [None if step is None else _part(step, states, reports) for step in steps]
        parities.append(TwoReleases.of(parts[0], kept=kept, again=parts[1]).summary())
    names = ("unchanged", "change", "changed")
    return PathParities(*(max([getattr(one, name) for one in parities], default=Fraction(1)) for name in names))


def _blocks(stage: Stage) -> list[list[int]]:
    """States that can be released as each other, where they are more than one."""
    design = stage.design
    groups = design.components() if isinstance(design, Sparse) else np.zeros(design.k, dtype=np.int64)
    order = np.argsort(groups, kind="stable")
    blocks = np.split(order, np.cumsum(np.bincount(groups))[:-1])
    return [states.tolist() for states in blocks if len(states) > 1]


def _part(design: CodedDesign, states: Sequence[int], reports: Sequence[int] | None) -> Law:
    """The columns of some states, with the reports that are asked for or that can come from them."""
    if isinstance(design, Sparse):
        columns = [design.columns_exact(j) for j in states]
        rows = sorted({i for column in columns for i in column}) if reports is None else reports
        return [[column.get(i, Fraction(0)) for column in columns] for i in rows]
    return _exact(design)


def _exact(design: CodedDesign) -> Law:
    return [[*row] for row in design.exact_matrix()]


def _through(chances: Sequence[Fraction], C: Law | None, D: Law | None) -> Law:
    """``C diag(p) D'``: one kept report, randomized anew for each release; both None where it is not."""
    none, size = Fraction(0), len(chances)
    if C is None and D is None:
        return [[p if i == j else none for j in range(size)] for i, p in enumerate(chances)]
    unit = [[Fraction(int(i == j)) for j in range(size)] for i in range(size)]
    left = [[c * p for c, p in zip(row, chances, strict=True)] for row in (unit if C is None else C)]
    return _products(left, unit if D is None else D)


def _times(C: Law, P: Law) -> Law:
    return _products(C, [*zip(*P, strict=True)])


def _products(rows: Sequence[Sequence[Fraction]], others: Sequence[Sequence[Fraction]]) -> Law:
    """The sum of products of every row with every other, in whole numbers: fractions would be reduced at each step."""
    left, right = ([_whole(row) for row in one] for one in (rows, others))
    return [[Fraction(sum(map(operator.mul, row, other)), n * m) for other, m in right] for row, n in left]


def _whole(row: Sequence[Fraction]) -> tuple[list[int], int]:
    """Numerators over the common denominator, and that."""
    common = math.lcm(*(one.denominator for one in row))
    return [one.numerator * (common // one.denominator) for one in row], common


def _ratio(high: Fraction, low: Fraction) -> Parity:
    if not high:
        return Fraction(1)
    return high / low if low else math.inf


def _check_fit(P: CodedDesign, Q: CodedDesign, C: CodedDesign | None, D: CodedDesign | None) -> None:
    if P.k != Q.k:
        raise MatrixError("releases-of-different-true-categories")
    if (C is not None and C.k != P.m) or (D is not None and D.k != Q.m):
        raise MatrixError("a-second-randomization-does-not-fit")
    work = P.k * max(P.m, Q.m) ** (2 if C is None and D is None else 3)
    if work > EXACT_LIMIT:
        raise TooLargeError("two-releases-of-categories-have-chances", k=P.k, work=work)


def repeated_guess(designs: Sequence[Any], pi: Any) -> Real:
    """Chance that the best guess is right after the first release, the first two, ..., shape (releases,).

    Parameters
    ----------
    designs
        The design of each release, or its matrix; randomized independently, for the same true categories.
    pi
        Shares or counts of the true categories, shape (k,).

    >>> P = [["5/6", "1/8", "1/3"], ["1/12", "3/4", "1/3"], ["1/12", "1/8", "1/3"]]
    >>> repeated_guess([P] * 5, [12, 8, 3])[[0, 1, 2, 4]].round(3).tolist()   # five releases tell nearly all
    [0.739, 0.783, 0.839, 0.891]
    """
    designs = as_list(designs, "designs")
    if not designs:
        raise ParameterError("no-release")
    releases = [design_of(P) for P in designs]
    if len({design.k for design in releases}) > 1:
        raise MatrixError("releases-of-different-true-categories")
    joint = check_prior(pi, releases[0].k)[None, :]
    chances = []
    for design in releases:
        if joint.shape[0] * design.m * design.k > LIMIT:
            raise TooLargeError("combinations-before-a-release-of-values", joint_count=len(joint), m=design.m)
        joint = _merged((joint[:, None, :] * design.matrix()).reshape(-1, design.k))
        chances.append(float(joint.max(axis=1).sum()))
    return np.array(chances)


def _merged(joint: Real) -> Real:
    """Combinations with the same posterior added up: their best guess is the same."""
    joint = joint[joint.sum(axis=1) > 0]
    after = (joint / joint.sum(axis=1, keepdims=True)).round(DIGITS)
    groups: tuple[Any, Any] = np.unique(after, axis=0, return_inverse=True)
    total = np.zeros(groups[0].shape)
    np.add.at(total, groups[1].ravel(), joint)
    return total
