"""What must not depend on the last bits of a computation: verdicts at a tie, choices among equals, designs of solvers.

    python -m tests.support.decided

prints them as JSON; ``tests/unit/test_trembling.py`` compares processes that compute differently.
"""

import json
import sys
from fractions import Fraction
from itertools import product
from typing import Any

from maskwell import ReleasePlan
from maskwell.core.cells import CellTable
from maskwell.designs import Dense
from maskwell.errors import MaskwellError
from maskwell.estimation import Sample, estimate_by_moments, goodness_of_fit
from maskwell.microdata.assessment import assess_tables
from maskwell.microdata.matrices import Bounds, lower_until, optimal_matrix
from maskwell.microdata.true_file import tables_of
from maskwell.planning import extremal_design
from maskwell.planning.sample_size import plan_sample
from maskwell.reports.pages.release_page import release_page

KEPT = [Fraction(p, 20) for p in range(11, 20)]


def releases() -> list[str]:
    """Whether a matrix reveals the counts of its file, where it does to within exactly one record."""
    return [_is_released(n, kept) for n, kept in ((1, "1/10"), (2, "1/3"), (3, "3/7"))]


def _is_released(n: int, kept: str) -> str:
    table = CellTable.of(["job", "pay"], {("a", "low"): n, ("a", "high"): n, ("b", "low"): 60, ("b", "high"): 60})
    high = [[kept, "0"], [str(1 - Fraction(kept)), "1"]]
    given = {"variables": ["job"], "within": ["pay"], "method": "fixed", "orientation": "columns"}
    matrix = {"categories": ["a", "b"], "matrix": {"low": [["1", "0"], ["0", "1"]], "high": high}}
    plan = ReleasePlan.of([given | matrix], keys=["job"])
    try:
        release_page(assess_tables({one: table.project(one) for one in tables_of(plan)}, plan, "people.csv"))
    except MaskwellError as error:
        return type(error).__name__
    return "released"


def tests() -> list[str]:
    """Which test applies where five reports of each kind are expected."""
    designs = [Dense.of([[p, 1 - p], [(1 - p) / 2, p / 2], [(1 - p) / 2, p / 2]]) for p in KEPT]
    return [str(goodness_of_fit(Sample.of([10, 5, 5], one).counts, one).reference) for one in designs]


def intervals() -> list[Any]:
    """Which shares have a logit interval where one is estimated at exactly zero."""
    found = []
    for p in KEPT:
        design = Dense.of([[p, 1 - p], [1 - p, p]])
        estimate = estimate_by_moments(Sample.of([int(20 * (1 - p)), int(20 * p)], design).counts, design)
        found.append([str(round(one, 6)) for one in estimate.confidence_interval(0.95, "logit").ravel().tolist()])
    return found


def categories() -> list[Any]:
    """For which of two equal categories a survey is planned."""
    designs = [Dense.of([[p, 1 - p], [1 - p, p]]) for p in KEPT]
    return [plan_sample(one, margin="0.05").category for one in designs]


HARSH = [7, 7, 7, 7, 1, 1, 300, 52_000]
LONG = [int(3_000 / (i + 1)) + i % 7 for i in range(33)]
PROGRAMS: list[tuple[list[int], dict[str, Any], dict[str, Any]]] = [
    ([12, 8, 3, 3], {"posterior_own": "0.6"}, {}),
    ([5] * 9, {"posterior": "1/3"}, {"cost": "ordinal"}),
    ([30, 20, 10, 5, 5], {"guess": "0.6", "changed_at_least": "0.45"}, {}),
    (HARSH, {"parity": 12}, {}),
    ([40, 7, 7, 12, 1, 1, 30], {"factor": 9, "parity": 30, "least_kept": "1/20"}, {}),
    ([4, 9, 1, 6, 6, 2, 8], {"posterior_own": "0.4"}, {"band": 3, "cost": "ordinal"}),
    (LONG, {"guess": "0.4"}, {}),
    *(
        (v, asked, {})
        for v in ([30, 20, 10, 25], [40, 12, 12, 7, 3])
        for asked in ({"posterior": "0.6"}, {"odds": "1.2"})
    ),
]


def matrices() -> list[str]:
    """Matrices of linear programs, whose fingerprints go into kept draws."""
    best = [optimal_matrix(v, Bounds.of(**asked), **options) for v, asked, options in PROGRAMS]
    return [found.design.fingerprint for found in (*best, lower_until([1, 2, 4, 10, 30], "0.4"))]


def designs() -> list[str]:
    """The most useful designs for shares, with and without equal ones, at one prior or on average over all orders."""
    shares = (["1/6"] * 6, ["1/2", *["1/8"] * 4], ["0.4", "0.3", "0.2", "0.1"])
    measures = ("mutual-information", "chi-square", "total-variation", "guess")
    asked = product(shares, ("1.05", 2, 30), measures, (False, True))
    return [extremal_design(pi, gamma, utility=by, average=mean).design.fingerprint for pi, gamma, by, mean in asked]


ALL = (releases, tests, intervals, categories, matrices, designs)

if __name__ == "__main__":
    json.dump({one.__name__: one() for one in ALL}, sys.stdout)
