"""Whatever cannot be estimated is refused in a sentence that names it."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.support.estimates import JAR, KUK, WARNER, estimate_of, likeliest
from tests.support.together import together

import maskwell as mw
from maskwell import Categories, Counts, errors
from maskwell import design as make_design
from maskwell.designs import Dense, Subset, Uniform
from maskwell.designs.basket_bits import item_bits
from maskwell.estimation import (
    LeftInverse,
    ReplicateRule,
    Sample,
    cross_tabulate_counts,
    estimate_by_moments,
    estimate_samples,
    goodness_of_fit,
)
from maskwell.estimation.direct_estimate import Released, estimate_unknown
from maskwell.estimation.itemset_mining import mine_itemsets
from maskwell.estimation.itemset_supports import ReportedBaskets
from maskwell.estimation.maximisation.maximum import maximise
from maskwell.estimation.sampling.sample_stages import Scheme
from maskwell.estimation.share_intervals import METHODS
from maskwell.procedures.category_encodings import bits

Call = Callable[[], Any]

SHARP = Dense.of([["0.9", "0.1"], ["0.1", "0.9"]])
NAMED = SHARP.with_labels(Categories.of(["a", "b"]))
FLAT = Dense.of([["1/2", "1/2"], ["1/2", "1/2"]])
HOLES = Dense.of([["1/2", "1/8"], [0, 0], ["1/2", "7/8"]], outputs=Categories.numbered(3))
SETS = Subset.from_gamma(3, Categories.numbered(4), size=2)
MANY = Uniform.from_epsilon(2, Categories.numbered(2001))
THREE = Uniform.from_gamma(6, Categories.of(["a", "b", "c"]))
YES_NO = make_design("warner", p="4/5")
SIMMONS = make_design("simmons", p="3/4")
RARE = [np.array([1, 2]), np.array([1, 2, 3]), np.array([1, -2, 3])]


def counts_of(values: Any, design: Any) -> Counts:
    return Counts(np.array(values), int(np.sum(values)), design.fingerprint)


def intervals(*arguments: Any, counts: Any = (120, 180), design: Any = WARNER, **options: Any) -> Any:
    return estimate_of([*counts], design).intervals(*arguments, **options)


def table(shape: tuple[int, ...] = (3, 3)) -> Any:
    designs = {name: THREE if k == 3 else YES_NO for name, k in zip("abcd", shape, strict=False)}
    return cross_tabulate_counts(np.random.default_rng(2).integers(20, 90, size=shape), designs)


def baskets(held: Any, items: int) -> ReportedBaskets:
    packed = np.packbits(np.asarray(held, dtype=np.uint8), axis=1, bitorder="little")
    return ReportedBaskets.of(packed, item_bits(bits([f"i{a}" for a in range(items)], p="0.9")))


REFUSED: dict[type[errors.MaskwellError], list[tuple[Call, str]]] = {
    errors.WrongTypeError: [
        (lambda: estimate_by_moments([30, 50, 20], JAR), "must be a Counts"),
        (lambda: Sample([3, 4], WARNER), "must be a Counts"),
        (lambda: Sample(Counts(np.array([1, 2]), 3, ""), "x"), "must be a Design"),
        (lambda: cross_tabulate_counts([1, 2], {(1,): YES_NO}), "not the name"),
    ],
    errors.ReportError: [
        (lambda: estimate_of([1, 0, 0], JAR), "at least two reports"),
        (lambda: estimate_by_moments(Counts(np.array([1, 1, 1]), 3, "sha256:other"), JAR), "another design"),
        (lambda: estimate_of([1, 1, 1], HOLES), "impossible"),
        (lambda: Sample(counts_of([1, 2], SHARP), WARNER), "another design"),
        (lambda: Sample.of([1, 2, 3], WARNER), "3 counts"),
        (lambda: Sample(Counts(np.array([1, 2]), 5, WARNER.fingerprint), WARNER), "sum to 3 but n = 5"),
        (lambda: Sample.of([1, 2, 3, 4], SETS), "counts by category do not determine the number of reported sets"),
        (lambda: estimate_of([1, 1, 2], JAR, inverse=LeftInverse.best(KUK)), "another design"),
        (lambda: estimate_samples([Sample.of([3, 4], WARNER), Sample.of([1, 0], SHARP)]), "sample 2 has 1 reports"),
        (
            lambda: goodness_of_fit(Counts(np.array([3] * 4), 6, SETS.fingerprint), SETS),
            "goodness of fit is not available from tallies of sets, which count categories, not whole sets",
        ),
        (lambda: maximise([HOLES], [np.array([3, 1, 5])]), "impossible"),
        (lambda: maximise([JAR], [np.zeros(3)]), "at least one report is needed for an estimate"),
        (lambda: maximise([JAR], [RARE[0]]), "2 counts"),
        (lambda: maximise([JAR], [RARE[2]]), "0 or more"),
        (lambda: mw.estimate(Counts(RARE[1], 6, KUK.fingerprint), JAR, method="ml"), "another design"),
        (lambda: cross_tabulate_counts(np.ones((2, 2), int), {"a": YES_NO, "b": THREE}), r"shape \(2, 2\)"),
        (lambda: cross_tabulate_counts(np.full((2, 2), 0.5), {"a": YES_NO, "b": YES_NO}), "whole numbers"),
        (lambda: cross_tabulate_counts([[1, 2], [3]], {"a": YES_NO, "b": YES_NO}), "different lengths"),
        (
            lambda: baskets(np.ones((3, 5)), 4),
            r"bits have shape \(3, 1\) and type uint8, which do not fit baskets of 4 items",
        ),
    ],
    errors.NotIdentifiableError: [
        (lambda: estimate_of([1, 1], FLAT), "cannot be estimated"),
        (
            lambda: LeftInverse.of_scores(KUK, [1, 1, 1, 1]),
            "these scores have the same mean in both categories, so they are uninformative",
        ),
        (lambda: LeftInverse.of_scores(FLAT, [0, 1]), "cannot be estimated"),
        (lambda: estimate_samples([Sample.of([3, 4], SIMMONS), Sample.of([5, 4], SIMMONS)]), "rank 2 for 4"),
        (lambda: likeliest([3, 4], FLAT), "cannot be estimated"),
    ],
    errors.ParameterError: [
        *((lambda level=level: intervals(level), "level") for level in (0, 1, 95, np.nan)),
        *((lambda m=m: intervals(0.95, m, seed=3), "is not an option of") for m in ("score", "exact")),
        *((lambda m=m: intervals(1 - 1e-13, m), "too close to 1") for m in METHODS if m != "bootstrap"),
        (lambda: estimate_of([1] * 4, KUK).contrast([1, 2, 3]), "coefficients"),
        (lambda: estimate_of([1, 1, 2], JAR).contrast([1, 2, np.nan]), "coefficients"),
        (lambda: estimate_of([1, 1, 2], JAR).contrast([[1, 2, 3]]), "coefficients"),
        (lambda: LeftInverse.minimax(KUK, criterion="mean"), "criterion must be one of"),
        (lambda: LeftInverse.best(SETS), "reports sets"),
        (lambda: LeftInverse.of_scores(JAR, range(3)), "two categories"),
        (lambda: LeftInverse.of_scores(SETS, range(4)), "two categories"),
        (lambda: LeftInverse.of_scores(KUK, [1, 2]), "4 reports"),
        (lambda: estimate_samples([]), "at least one sample must be given"),
        (lambda: estimate_samples([Sample.of([3, 4], WARNER)], method="best"), "method must be one of moments, ml"),
        (lambda: estimate_samples([Sample.of([3, 4], WARNER), Sample.of([1, 5], NAMED)]), "different categories"),
        (
            lambda: goodness_of_fit(counts_of([5, 60, 35], JAR), JAR, seed=1, replicates=0),
            "replicates must be 1 or more, not 0",
        ),
        (lambda: goodness_of_fit(counts_of([5, 60, 35], JAR), JAR, seed=-1), "seed must be .*, not -1"),
        (lambda: maximise([JAR, JAR], [RARE[1]]), "one list of counts"),
        (lambda: maximise([JAR, KUK], [RARE[1], np.array([1, 2, 3, 4])]), "cannot estimate the same shares"),
        (lambda: maximise([JAR], [RARE[1]], fixed=(0, 2.0)), "cannot fix category 0"),
        (lambda: intervals(0.95, "agresti"), "'agresti' is not an available interval method"),
        (
            lambda: intervals(0.95, "exact", counts=[30, 50, 20, 9], design=KUK),
            "does not follow from one binomial count",
        ),
        (
            lambda: estimate_by_moments(SETS.tally(SETS.sample(np.arange(40) % 4)), SETS).intervals(0.95, "profile"),
            "set reports",
        ),
        (lambda: intervals(0.95, "bootstrap"), "needs a seed"),
        (lambda: intervals(0.95, "bootstrap", seed=-1), "seed must be .*, not -1"),
        (lambda: intervals(0.95, "bootstrap", seed=1, replicates=10), "replicates = 10"),
        (lambda: intervals(0.95, "bootstrap", seed=1, source="rows"), "source must be one of .*, not 'rows'"),
        (lambda: intervals(0.95, "bootstrap", seed=1, ends="basic"), "ends must be one of .*, not 'basic'"),
        (lambda: intervals(0.95, "bootstrap", seed=1, B=2000), "B is not an option"),
        (lambda: cross_tabulate_counts([1, 2], [YES_NO]), "must be a dictionary with a design"),
        (lambda: cross_tabulate_counts([1, 2], {"a": YES_NO}, method="magic"), "must be one of moments, ml"),
        (lambda: table().margin("d"), "no variable 'd'"),
        (lambda: table().collapse_to("a", "a"), "named twice"),
        (lambda: table().collapse_to(), "at least one variable must be named"),
        (lambda: table().cell(a="a"), "each of a, b"),
        (lambda: table().conditional(given=("a", "b")), "given a, b"),
        (lambda: table().conditional(given="a").confidence_interval(method="bayes"), "method"),
        (lambda: table().conditional(given="a").confidence_interval(1.5), "level"),
        (lambda: table().difference({"a": "a"}, given="a", between=("a", "b")), "given 'a'"),
        (lambda: table().odds_ratio(), "a has 3 categories"),
        (lambda: table().odds_ratio(rows=("a", "a"), columns=("a", "b")), "compares two"),
        (lambda: table((2, 2, 2)).odds_ratio(), "needs two variables, not 3"),
        (lambda: table().independence(method="fisher"), "method must be one of .*, not 'fisher'"),
        (lambda: table().independence("a"), "two variables or more"),
        (lambda: table().independence(method="bootstrap", seed=-1), "seed must be .*, not -1"),
        (lambda: table().independence(method="bootstrap"), "needs a seed"),
        (lambda: table().independence(method="bootstrap", seed=1, replicates=10), "too few"),
        (
            lambda: mine_itemsets(baskets(np.zeros((4, 5000)), 5000), min_support=0.5, max_items=6),
            "max_items = 6 gives too many sets",
        ),
        (lambda: estimate_unknown(Released.of([3, 1])).intervals(method="profile"), "wald"),
        (lambda: estimate_of([3, 4], WARNER).intervals(method="wilson"), "no effective number"),
        (lambda: Scheme("guess"), "sampling method must be"),
        (lambda: Scheme("replicates"), "rule for replicates"),
        (lambda: ReplicateRule("fay"), "rho"),
        (lambda: ReplicateRule("brr", rho=0.5), "rho"),
        (lambda: ReplicateRule("fay", rho=1.0), "rho"),
        (lambda: ReplicateRule("other"), "scale"),
        (lambda: ReplicateRule("jkn"), "stratum"),
        (lambda: ReplicateRule("brr", scale=-1.0), "0 or more"),
        (lambda: ReplicateRule("brr", rscales=(1.0, float("nan"))), "0 or more"),
        (lambda: ReplicateRule("jkn", strata=(0, 0)).factors(4), "strata for 4 replicates"),
        (lambda: ReplicateRule("jkn", strata=(0, 0, 0, 1)).factors(4), "one replicate"),
        (lambda: ReplicateRule("brr", rscales=(1.0,)).factors(4), "rscales for 4 replicates"),
    ],
    errors.LabelError: [
        (lambda: estimate_of([120, 180], YES_NO).mean(), "'yes'"),
        (lambda: cross_tabulate_counts(np.ones((2, 2), int), {("a", "b"): THREE}), "all their combinations"),
        (lambda: baskets(np.eye(4), 4).support(["i1", "i1"]), "named twice"),
        (lambda: baskets(np.eye(4), 4).confidence(["i1"], ["i1"]), "named twice"),
    ],
    errors.TooLargeError: [
        (lambda: estimate_of([1] * 2001, MANY).mean(), "covariances"),
        (
            lambda: intervals(
                0.95, "profile", counts=[1] * 501, design=Uniform.from_gamma(9, Categories.numbered(501))
            ),
            "501 categories",
        ),
        (lambda: baskets(np.ones((3, 20)), 20).support([f"i{a}" for a in range(13)]), "a set of 13 items"),
    ],
    errors.MaskwellError: [
        (lambda: table().difference({"b": "a"}, given="a", between=("a", "maybe")), "'maybe'"),
        (lambda: estimate_unknown(Released.of([1, 0])), "at least two"),
    ],
    errors.UnknownCategoryError: [(lambda: baskets(np.eye(4), 4).support(["soap"]), "'soap' is not one of the items")],
    errors.InputError: [
        (lambda: baskets(np.eye(4)[:1], 4), "standard errors need at least two baskets, not 1"),
        (lambda: baskets(np.zeros((200, 2)), 2).confidence(["i0"], ["i1"]), "within 2 standard errors of 0"),
    ],
}


@together(("error", "call", "said"), [(error, *row) for error, rows in REFUSED.items() for row in rows])
def test_it_is_refused(error: type[errors.MaskwellError], call: Call, said: str) -> None:
    with pytest.raises(error, match=said) as raised:
        call()
    assert "\n" not in raised.value.message


def test_errors_hold_what_helps() -> None:
    flat = Dense.of([["1/2", "1/3", "1/4"], ["1/2", "2/3", "3/4"]])
    with pytest.raises(errors.NotIdentifiableError) as caught:
        estimate_samples([Sample.of([3, 4], flat), Sample.of([5, 5], flat)])
    np.testing.assert_allclose(flat.matrix() @ caught.value.objects["null_direction"], 0, atol=1e-12)
    with pytest.raises(errors.ParameterError, match="max_items") as raised:
        mine_itemsets(baskets(np.zeros((4, 5000)), 5000), min_support=0.5, max_items=6)
    assert raised.value.hint == "use sets of at most 5 items"
    with pytest.raises(errors.ParameterError) as referred:
        intervals(0.95, "exact", counts=[30, 50, 20, 9], design=KUK)
    assert "matched" in referred.value.hint
