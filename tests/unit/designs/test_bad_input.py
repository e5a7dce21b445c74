"""Bad input: one error of the right class that names the value and says what to do."""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from tests.support.examples import ABC, JAR, KARY, WARNER, YES_NO, numbered

from maskwell import Categories
from maskwell.designs import Blocks, Composed, Dense, Kronecker, LocalDiversity, Mixture, Subset, Unary, Uniform
from maskwell.errors import (
    InputError,
    LabelError,
    MaskwellError,
    MatrixError,
    NotIdentifiableError,
    OrientationError,
    ParameterError,
    ReportError,
    TooLargeError,
    WrongTypeError,
)

Call = Callable[[], Any]


def check(call: Call, kind: type[MaskwellError], *named: str) -> MaskwellError:
    with pytest.raises(kind) as raised:
        call()
    error = raised.value
    assert isinstance(error, MaskwellError)
    assert error.hint
    assert "\n" not in error.message
    for part in named:
        assert part in error.message, error.message
    return error


MATRICES: dict[str, tuple[Any, type[MaskwellError], list[str]]] = {
    "nan": ([[math.nan, 0.5], [0.5, 0.5]], MatrixError, ["[0, 0]", "nan"]),
    "text": ([["a", 0.5], [0.5, 0.5]], MatrixError, ["[0, 0]", "'a'"]),
    "ragged": ([[0.5, 0.5], [0.5]], MatrixError, ["[1, 2]"]),
    "empty": ([], MatrixError, ["at least one row"]),
    "one-dimensional": ([0.5, 0.5], MatrixError, []),
    "three-dimensional": (np.full((2, 2, 2), 0.5), MaskwellError, []),
    "negative": ([[-1e-12, 0.5], [1 + 1e-12, 0.5]], MatrixError, ["[0, 0]", "-1e-12", "negative"]),
    "column sum": ([[0.5, 0.5], [0.5, 0.6]], MatrixError, ["column 1", "1.1"]),
    "column sum just off": ([["0.5", "0.5"], ["0.5", "0.500000002"]], MatrixError, ["column 1", "1.000000002"]),
    "rows given": ([[0.7, 0.3], [0.2, 0.8]], OrientationError, ["rows sum to 1"]),
    "none": (None, WrongTypeError, ["None"]),
    "a number": (3, WrongTypeError, ["int"]),
    "a text": ("0.5 0.5", WrongTypeError, ["text"]),
    "truth values": ([[True, False], [False, True]], WrongTypeError, ["True"]),
    "complex": ([[1j, 0], [0, 1]], WrongTypeError, ["1j"]),
    "missing": ([[None, 0], [0, 1]], WrongTypeError, ["None"]),
    "huge text": ([["1e400"], ["0"]], MatrixError, ["column 0"]),
    "huge negative text": ([["-1e400"], ["0"]], MatrixError, ["[0, 0]"]),
}


@pytest.mark.parametrize("name", list(MATRICES))
def test_what_is_no_transition_matrix_is_refused(name: str) -> None:
    matrix, kind, named = MATRICES[name]
    error = check(lambda: Dense.of(matrix), kind, *named)
    assert isinstance(error, ValueError | TypeError)
    if isinstance(matrix, list):
        check(lambda: Dense.of(np.array(matrix, dtype=object) if name != "ragged" else matrix), MaskwellError)


def test_rows_are_told_how_to_turn_and_nothing_is_changed_silently() -> None:
    """Columns that sum to one only nearly are settled in the largest entry, and that is noted."""
    error = check(lambda: Dense.of([[0.7, 0.3], [0.2, 0.8]]), OrientationError)
    assert "transpose" in error.hint
    assert "from_rows" in error.hint
    assert Dense.from_rows([[0.7, 0.3], [0.2, 0.8]]).exact_matrix() == [
        [Fraction(7, 10), Fraction(2, 10)],
        [Fraction(3, 10), Fraction(8, 10)],
    ]
    check(lambda: Dense.from_rows([[0.7, 0.2], [0.3, 0.8]]), OrientationError, "row 0", "0.9")
    design = Dense.of([[0.3, 0.1234567890123], [0.7, 0.8765432109872]])
    assert design.provenance["settled"] == pytest.approx(5e-13, rel=0.01)
    assert "settled" not in Dense.of([["0.3"], ["0.7"]]).provenance
    assert [sum(c) for c in zip(*design.exact_matrix(), strict=True)] == [1, 1]
    assert design.exact_matrix()[0] == [Fraction(0.3), Fraction(0.1234567890123)]


TWO_OF_THREE, XYZ = Subset.from_gamma(3, ABC, size=2), Categories.of(["x", "y", "z"])
NO_SETS = [["100", "11"], ["1000"], ["11 "], ["110", "111"], ["110", "xyz"], [110.0]]


@pytest.mark.parametrize(
    ("call", "kind", "named"),
    [
        (lambda: Uniform.of(0, ABC), ParameterError, ["truth = 0"]),
        (lambda: Uniform.of(math.nan, ABC), ParameterError, ["truth must be a finite number, not nan"]),
        (lambda: Uniform.from_gamma(3, numbered(1)), ParameterError, ["k must be at least 2, not 1"]),
        (lambda: Subset.from_gamma(3, numbered(1), size=1), ParameterError, ["k must be at least 2, not 1"]),
        (lambda: Unary.oue_from_gamma(3, numbered(1)), ParameterError, ["k must be at least 2, not 1"]),
        (lambda: Mixture.of("1/2", ["1/2"], numbered(1)), ParameterError, ["k must be at least 2, not 1"]),
        (lambda: LocalDiversity.of(1, ABC), ParameterError, ["l = 1"]),
        (lambda: LocalDiversity.of(3, ABC), ParameterError, ["l = 3"]),
        (lambda: LocalDiversity.of(2.5, ABC), ParameterError, ["2.5"]),
        (lambda: Subset.from_gamma(3, ABC, size=3), ParameterError, ["size = 3"]),
        (lambda: Subset.from_gamma(3, ABC, size=0), ParameterError, ["size = 0"]),
        (lambda: Subset.from_gamma(3, ABC, size=1.5), ParameterError, ["1.5"]),
        (lambda: Subset.of("1/2", 2, ABC), ParameterError, ["include = 1/2"]),
        (lambda: Unary.of("1/4", "1/4", ABC), ParameterError, ["flip = 1/4", "keep = 1/4"]),
        (lambda: Unary.of("1/2", 0, ABC), ParameterError, ["flip must be strictly between 0 and 1, not 0"]),
        (lambda: Mixture.of("1/2", ["1/4", "1/4"], ABC), ParameterError, ["2", "3"]),
        (lambda: Mixture.of("1/2", ["1/4", "1/4", "1/4"], ABC), ParameterError, ["1.25"]),
        (
            lambda: Mixture.of("1/2", ["1/4", "1/2", "-1/4"], ABC),
            ParameterError,
            ["fixed[2] must be between 0 and 1, not -1/4"],
        ),
        (lambda: Kronecker.of([]), ParameterError, ["at least one"]),
        (lambda: Kronecker.of([WARNER, Unary.oue_from_gamma(3, ABC)]), ParameterError, ["unary"]),
        (
            lambda: Kronecker.of([Uniform.from_gamma(3, numbered(2**32 - 1))] * 2).sample([0]),
            TooLargeError,
            ["2 designs"],
        ),
        (lambda: Kronecker.of([WARNER] * 1100).sample([0]), TooLargeError, ["1100"]),
        (lambda: len(Kronecker.of([WARNER] * 1100).inputs), TooLargeError, ["more cells than one code"]),
        (lambda: Kronecker.of([WARNER] * 1100).uniform_prior(), TooLargeError, ["categories are too many to list"]),
        (lambda: Blocks.of({}), ParameterError, ["at least one"]),
        (lambda: Blocks.of({"a": Subset.from_gamma(3, ABC, size=1)}), ParameterError, ["subset"]),
        (lambda: Composed.of(WARNER, KARY), ParameterError, ["2", "3"]),
        (lambda: Composed.of(WARNER, Unary.oue_from_gamma(3, ABC)), ParameterError, ["unary"]),
        (lambda: Dense.of([[1, 1]], ABC), LabelError, ["3"]),
        (lambda: Dense.of([[1, 1]], YES_NO, ABC), LabelError, ["3"]),
        (lambda: Categories.of(["a", "b", "a"]), LabelError, ["'a'"]),
        (lambda: Dense.of(np.broadcast_to(0.0, (3000, 3000))), TooLargeError, ["3,000"]),
        (lambda: KARY.sampler(threads=0), ParameterError, ["threads must be 1 or more, not 0"]),
        (lambda: KARY.apply("abc"), MaskwellError, []),  # type: ignore[arg-type]
        (lambda: KARY.apply([["0.1"], [0.2, 0.3]]), MaskwellError, []),  # type: ignore[arg-type, list-item]
        *((lambda bad=bad: TWO_OF_THREE.tally(bad), ReportError, []) for bad in NO_SETS),
        *((lambda one=one: one.with_labels(ABC, XYZ), InputError, []) for one in (KARY, JAR, TWO_OF_THREE)),
    ],
)
def test_bad_parameters_are_refused_and_named(call: Call, kind: type[MaskwellError], named: list[str]) -> None:
    check(call, kind, *named)


def test_estimating_with_a_rank_deficient_design_is_refused_but_privacy_is_known() -> None:
    design = Dense.of([["1/3", "1/3"], ["2/3", "2/3"]])
    error = check(lambda: design.solve(np.array([0.5, 0.5])), NotIdentifiableError, "rank 1")
    assert "null_direction" in error.objects
    assert design.parity_exact() == 1
    assert design.guess_probability() == 0.5
    check(lambda: Mixture.of(0, ["1/2", "1/2"], YES_NO).solve(np.array([0.5, 0.5])), NotIdentifiableError, "rank 1")
    check(lambda: Kronecker.of([WARNER, design]).solve(np.full(4, 0.25)), NotIdentifiableError)
    check(lambda: Blocks.of({1: WARNER, 2: design}).solve(np.full(4, 0.25)), NotIdentifiableError)


@pytest.mark.parametrize(("truth", "k"), [("1e-13", 2), ("3e-15", 2), ("5e-12", 100), ("3e-14", 100)])
def test_rank_condition_and_solve_agree_near_singularity(truth: str, k: int) -> None:
    """Either the design counts as identifiable and can be solved, or it does not and says so: never half of each."""
    design = Dense.of(Uniform.of(truth, numbered(k)).exact_matrix())
    if design.identifiable:
        assert design.condition() < math.inf
        design.solve(np.full(k, 1 / k))
    else:
        assert design.condition() == math.inf
        error = check(lambda: design.solve(np.full(k, 1 / k)), NotIdentifiableError)
        assert f"rank {k} for {k}" not in error.message
