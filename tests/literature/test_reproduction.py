"""What two sources print is what maskwell computes, or an erratum explains why not; and the page says so."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

import pytest
from docs.reproduction import chai_nayak, nayak_zhai
from docs.reproduction.entries import Number, Statement
from docs.reproduction.errata import errata
from docs.reproduction.figures import figures
from docs.reproduction.page import PATH, page
from docs.reproduction.tables import VarianceCell, table_1, table_2


def variance(k: int, gamma: Fraction, q: int) -> Fraction:
    """[NayakZhai2019, eq. (3.3)] as it is printed, in fractions."""
    f = k**2 * (q * gamma**2 + k - q) / (q * gamma + k - q) ** 2
    return (k - 1) ** 2 / (f - k) + Fraction(1, k) - 1


def least_variance(k: int, gamma: Fraction) -> Fraction:
    return min(variance(k, gamma, q) for q in range(1, k))


def numbers() -> list[Number]:
    return [*nayak_zhai.numbers(), *chai_nayak.numbers()]


def failing(statements: Iterable[Statement]) -> list[Statement]:
    return [statement for statement in statements if not statement.holds]


# ---- the tables


def test_every_cell_of_table_1_agrees_but_two_that_were_cut_off() -> None:
    cells = table_1()
    assert len(cells) == 99
    other = {(cell.gamma, cell.k): cell.number.verdict for cell in cells if cell.number.verdict != "agrees"}
    assert other == {("5", 10): "cut off", ("30", 20): "cut off"}
    assert {cell.number.erratum for cell in cells if cell.number.verdict == "cut off"} == {"E18"}


def test_our_added_variances_are_the_least_over_all_sizes_in_fractions() -> None:
    for cell in table_1():
        least = least_variance(cell.k, Fraction(cell.gamma))
        assert variance(cell.k, Fraction(cell.gamma), cell.size) == least
        assert cell.number.ours == pytest.approx(float(least), rel=1e-12)


def test_the_two_cells_are_proved_to_be_cut_off() -> None:
    assert least_variance(10, Fraction(5)) == Fraction(1197, 128)  # 9.3515625
    assert Fraction("1.76215") < least_variance(20, Fraction(30)) < Fraction("1.7622")


def changed_in_the_last_digit(cell: VarianceCell, by: int) -> Number:
    whole, _, decimals = cell.number.printed.partition(".")
    digits = str(int(whole + decimals) + by).rjust(len(decimals) + 1, "0")
    text = f"{digits[: -len(decimals)]}.{digits[-len(decimals) :]}" if decimals else digits
    return Number("", "", text, cell.number.ours)


@pytest.mark.parametrize("by", [-1, 1])
def test_a_wrong_last_digit_would_be_noticed(by: int) -> None:
    good = [cell for cell in table_1() if not cell.number.erratum]
    assert [cell for cell in good if changed_in_the_last_digit(cell, by).verdict == "agrees"] == []


def test_every_cell_of_table_2_agrees() -> None:
    cells = table_2()
    assert len(cells) == 42
    assert [cell for cell in cells if not cell.agrees] == []
    assert sum(cell.match is None for cell in cells) == 12
    assert {cell.match is None for cell in cells if cell.diversity >= cell.k} == {True}
    assert [(c.k, c.diversity) for c in cells if c.match and len(c.match.sizes) > 1] == [(10, 5)]


def test_our_matching_parities_are_the_smallest_in_fractions() -> None:
    for cell in table_2():
        if cell.match is None:
            continue
        wanted = Fraction((cell.k - 1) * (cell.diversity - 1), cell.k - cell.diversity)
        gamma = Fraction(cell.match.gamma)
        assert least_variance(cell.k, gamma * Fraction(999_999_999, 10**9)) > wanted
        assert least_variance(cell.k, gamma * Fraction(1_000_000_001, 10**9)) < wanted


# ---- the text


def test_every_number_in_the_text_agrees() -> None:
    found = numbers()
    assert len(found) == 33
    assert [number for number in found if number.verdict != "agrees"] == []


def test_every_statement_holds() -> None:
    said = [*nayak_zhai.statements(), *chai_nayak.statements()]
    assert len(said) == 45
    assert failing(said) == []


def test_what_the_text_says_of_the_figures_holds() -> None:
    drawn = figures()
    assert [figure.number for figure in drawn] == [1, 2, 3, 4]
    assert failing(statement for figure in drawn for statement in figure.statements) == []


def test_every_erratum_is_checked() -> None:
    found = errata()
    assert [erratum.key for erratum in found] == [f"E{n}" for n in range(1, 25)]
    assert [erratum.key for erratum in found if not erratum.holds] == []


# ---- the tools, and the page


@pytest.mark.parametrize(
    ("printed", "ours", "verdict"),
    [
        ("9.3516", 9.3515625, "agrees"),
        ("9.3515", 9.3515625, "cut off"),
        ("9.3514", 9.3515625, "differs"),
        ("220", 220.4, "agrees"),
        ("220", 220.6, "cut off"),
        ("1.0", 1, "agrees"),
        ("1.00", Fraction(101, 100), "differs"),
    ],
)
def test_a_number_is_judged_by_its_printed_digits(printed: str, ours: float, verdict: str) -> None:
    assert Number("", "", printed, ours).verdict == verdict


def test_a_difference_is_good_only_with_its_erratum() -> None:
    assert not Number("", "", "9.3515", 9.3515625).good
    assert Number("", "", "9.3515", 9.3515625, erratum="E18").good
    assert not Number("", "", "9.3514", 9.3515625, erratum="E18").good


def test_what_is_shown_rounds_to_what_is_printed() -> None:
    """No reader is led astray by a number that was rounded twice."""
    for number in [*numbers(), *(cell.number for cell in table_1())]:
        again = Number("", "", number.printed, Fraction(number.shown))
        assert again.verdict == number.verdict, number


def test_the_page_is_up_to_date() -> None:
    assert PATH.read_text(encoding="utf-8") == page(), (
        "docs/theory/reproduction.md is old: run python -m docs.reproduction"
    )
