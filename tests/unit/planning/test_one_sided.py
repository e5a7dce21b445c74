"""Improvement when one category is sensitive."""

import json
import math
import random
from fractions import Fraction

import numpy as np
import pytest
from tests.support.examples import ABC, YES_NO, numbered

from maskwell.designs import Dense
from maskwell.designs.proofs import product
from maskwell.errors import MaskwellError
from maskwell.estimation.maximum_likelihood import fisher_information
from maskwell.planning import best_one_sided, improve_one_sided
from maskwell.planning.one_sided import OneSided
from maskwell.privacy import hazard
from maskwell.procedures.counted_draws import chow
from maskwell.procedures.statement_cards import mangat


def check(improvement: OneSided) -> None:
    """P = C P_*, C a transition matrix, and the sensitive category hidden as well as before."""
    C = improvement.garbling()
    assert all(c >= 0 for row in C for c in row)
    assert [sum(column) for column in zip(*C, strict=True)] == [1] * improvement.design.m
    assert product(C, improvement.design.exact_matrix()) == improvement.original.exact_matrix()
    k, sensitive = improvement.design.k, [improvement.design.inputs.labels[improvement.sensitive]]
    assert hazard(improvement.design, sensitive).ratio == improvement.ratio
    both = improvement.original, improvement.design
    for shares in (np.full(k, 1 / k), np.arange(1, k + 1) / math.comb(k + 1, 2)):
        before, after = (np.nan_to_num(hazard(design, sensitive, shares).by_report) for design in both)
        assert after.max() == pytest.approx(before.max())
        gain = fisher_information(improvement.design, shares) - fisher_information(improvement.original, shares)
        assert np.linalg.eigvalsh(gain).min() >= -1e-9 * np.abs(gain).max()


def random_two(rng: random.Random) -> Dense:
    m = rng.randint(2, 6)
    columns = [[rng.randint(0, 9) for _ in range(m)] for _ in range(2)]
    columns = [[1, *column] for column in columns]  # never a column of zeros
    return Dense.from_integers(columns, YES_NO, numbered(m + 1))


def test_two_categories_can_always_be_improved() -> None:
    rng, improved = random.Random(1), 0
    for _ in range(120):
        design = random_two(rng)
        if hazard(design, [design.inputs.labels[0]]).ratio == 1:
            continue
        for sensitive in (0, 1):
            improvement = improve_one_sided(design, sensitive=design.inputs.labels[sensitive])
            assert improvement.applies
            check(improvement)
            again = improve_one_sided(improvement.design, sensitive=design.inputs.labels[sensitive])
            assert (again.improved, again.design) == (False, improvement.design), "the best cannot be improved"
            improved += improvement.improved
    assert improved > 160


def test_no_answer_contradicts_the_condition() -> None:
    """On designs that nobody chose: it applies exactly when some garbling from the best form exists."""
    rng, applied = random.Random(3), 0
    for _ in range(200):
        k = rng.randint(3, 4)
        columns = [[rng.randint(0, 6) + (i == j) * 4 for i in range(k)] for j in range(k)]
        design = Dense.from_integers(columns, numbered(k))
        improvement = improve_one_sided(design)
        rows = design.exact_matrix()
        fits = [
            r
            for r, row in enumerate(rows)
            if row[0]
            and all(p < row[0] for p in row[1:])
            and all(other[0] == 0 or row[j] / row[0] <= other[j] / other[0] for other in rows for j in range(1, k))
        ]
        assert improvement.applies == bool(fits)
        if improvement.applies:
            applied += 1
            assert improvement.report == fits[0]
            check(improvement)
        else:
            assert improvement.design is design
            assert improvement.reason
            assert improvement.warnings() == []
    assert applied > 8


def test_the_sensitive_category_and_the_order_of_rows_may_be_any() -> None:
    design = Dense.of([["0.1", "0.7", "0.3"], ["0.8", "0.2", "0.1"], ["0.1", "0.1", "0.6"]], ABC)
    improvement = improve_one_sided(design)
    assert improvement.report == 1
    assert improvement.design.exact_matrix()[0] == [1, Fraction(1, 4), Fraction(1, 8)]
    assert improvement.to_dict()["most_incriminating_report"] == "b"
    design = Dense.of([["0.6", "0.1", "0.1"], ["0.3", "0.7", "0.1"], ["0.1", "0.2", "0.8"]], ABC)
    improvement = improve_one_sided(design, sensitive=design.inputs.labels[2])
    assert improvement.design.exact_matrix() == [
        [Fraction(7, 8), 0, 0],
        [0, Fraction(3, 4), 0],
        [Fraction(1, 8), Fraction(1, 4), 1],
    ]
    check(improvement)
    assert improvement.warnings()[0].startswith("only c is protected: every other report gives its category away")


def test_warnings_and_texts_also_of_direct_questioning() -> None:
    improvement = improve_one_sided(chow(6, 4, 2))
    assert improvement.warnings() == [
        "the report no becomes a certain acquittal, and yes the only ambiguous answer",
        "only yes is protected: every other report gives its category away, and parity is infinite",
    ]
    told = improvement.to_dict()
    assert told["parity"]["after"] == math.inf
    assert told["applies"] is True
    assert json.loads(json.dumps(told))["improved"] is True
    assert repr(improvement).startswith("OneSided(Dense(k=2, m=3, parity=2.5) -> Dense(k=2, m=2, parity=inf), ratio=5")
    assert "nothing to gain" in repr(improve_one_sided(mangat("0.7")))
    improvement = improve_one_sided(Dense.of([["1/2", 0], ["1/2", 1]], YES_NO))
    assert improvement.ratio == math.inf
    assert improvement.design.exact_matrix() == [[1, 0], [0, 1]]
    assert "direct questioning" in improvement.warnings()[0]
    silent = improve_one_sided(Dense.of([["1/3"] * 3, ["2/3"] * 3], ABC, YES_NO))
    assert silent.reason == "no report is likelier for a than for b"


def test_the_best_design_at_a_level_is_rounded_towards_privacy() -> None:
    design = best_one_sided(9, YES_NO)  # a belief of 0.1 becomes 0.5 at most
    assert design.exact_matrix() == [[1, Fraction(1, 9)], [0, Fraction(8, 9)]]
    assert hazard(design, ["yes"], np.array([0.1, 0.9])).greatest == pytest.approx(0.5)
    other = best_one_sided(9, YES_NO, sensitive="no")
    assert other.exact_matrix() == [[Fraction(8, 9), 0], [Fraction(1, 9), 1]]
    assert improve_one_sided(design).improved is False
    assert hazard(best_one_sided(2.1, YES_NO), ["yes"]).ratio <= Fraction(21, 10)


@pytest.mark.parametrize(
    ("call", "saying"),
    [
        (lambda: best_one_sided(1, YES_NO), "ratio must be above 1, not 1"),
        (
            lambda: best_one_sided(3, ABC),
            "the best design for one sensitive category is known for two categories only, not for",
        ),
        (lambda: best_one_sided(3, YES_NO, sensitive=2), "sensitive = 2"),
        *((lambda j=j: improve_one_sided(chow(5, 3, 2), sensitive=j), "") for j in (-1, 2, 7)),
        (lambda: improve_one_sided(Dense.of([["1/3", "1/3"], ["2/3", "2/3"]])), "no information"),
    ],
)
def test_bad_categories_and_levels(call: object, saying: str) -> None:
    with pytest.raises(MaskwellError, match=saying or None) as raised:
        call()  # type: ignore[operator]
    assert raised.value.hint
