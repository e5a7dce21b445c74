"""What two sources print is what maskwell computes, or an erratum explains why not; and the page says so."""

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


def changed_in_the_last_digit(cell: VarianceCell, by: int) -> Number:
    whole, _, decimals = cell.number.printed.partition(".")
    digits = str(int(whole + decimals) + by).rjust(len(decimals) + 1, "0")
    text = f"{digits[: -len(decimals)]}.{digits[-len(decimals) :]}" if decimals else digits
    return Number("", "", text, cell.number.ours)


def test_tables_agree_in_fractions_but_for_two_cells_that_were_cut_off() -> None:
    cells = table_1()
    assert len(cells) == 99
    other = {(cell.gamma, cell.k): cell.number.verdict for cell in cells if cell.number.verdict != "agrees"}
    assert other == {("5", 10): "cut off", ("30", 20): "cut off"}
    assert {cell.number.erratum for cell in cells if cell.number.verdict == "cut off"} == {"E18"}
    for cell in table_1():
        least = least_variance(cell.k, Fraction(cell.gamma))
        assert variance(cell.k, Fraction(cell.gamma), cell.size) == least
        assert cell.number.ours == pytest.approx(float(least), rel=1e-12)
    assert least_variance(10, Fraction(5)) == Fraction(1197, 128)  # 9.3515625
    assert Fraction("1.76215") < least_variance(20, Fraction(30)) < Fraction("1.7622")
    cells = table_2()
    assert len(cells) == 42 and [cell for cell in cells if not cell.agrees] == []
    assert sum(cell.match is None for cell in cells) == 12
    assert {cell.match is None for cell in cells if cell.diversity >= cell.k} == {True}
    assert [(c.k, c.diversity) for c in cells if c.match and len(c.match.sizes) > 1] == [(10, 5)]
    for cell in table_2():
        if cell.match is None:
            continue
        wanted = Fraction((cell.k - 1) * (cell.diversity - 1), cell.k - cell.diversity)
        gamma = Fraction(cell.match.gamma)
        assert least_variance(cell.k, gamma * Fraction(999_999_999, 10**9)) > wanted
        assert least_variance(cell.k, gamma * Fraction(1_000_000_001, 10**9)) < wanted


def test_every_number_and_statement_of_text_and_figures_agrees() -> None:
    found = numbers()
    assert len(found) == 33 and [number for number in found if number.verdict != "agrees"] == []
    said = [*nayak_zhai.statements(), *chai_nayak.statements()]
    assert len(said) == 45 and failing(said) == []
    drawn = figures()
    assert [figure.number for figure in drawn] == [1, 2, 3, 4]
    assert failing(statement for figure in drawn for statement in figure.statements) == []
    found = errata()
    assert [erratum.key for erratum in found] == [f"E{n}" for n in range(1, 25)]
    assert [erratum.key for erratum in found if not erratum.holds] == []


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


def test_a_wrong_last_digit_would_be_noticed_and_errata_are_needed() -> None:
    for by in [-1, 1]:
        good = [cell for cell in table_1() if not cell.number.erratum]
        assert [cell for cell in good if changed_in_the_last_digit(cell, by).verdict == "agrees"] == []
    assert not Number("", "", "9.3515", 9.3515625).good
    assert Number("", "", "9.3515", 9.3515625, erratum="E18").good
    assert not Number("", "", "9.3514", 9.3515625, erratum="E18").good


def test_what_is_shown_rounds_to_what_is_printed_and_the_page_is_up_to_date() -> None:
    """No reader is led astray by a number that was rounded twice."""
    for number in [*numbers(), *(cell.number for cell in table_1())]:
        again = Number("", "", number.printed, Fraction(number.shown))
        assert again.verdict == number.verdict, number
    assert PATH.read_text(encoding="utf-8") == page(), (
        "docs/theory/reproduction.md is old: run python -m docs.reproduction"
    )
