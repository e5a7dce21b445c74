"""``maskwell convert``: what is allowed is rounded down, what can happen is rounded up; l alone bounds nothing."""

from __future__ import annotations

import re
from fractions import Fraction
from pathlib import Path

import pytest
from tests.support.command_line import run

from maskwell.privacy.criteria import posterior_range

STEPS = "p,lower,upper\n0,0,0.4\n0.2,0,0.8\n0.5,0,1\n"


def shown(*options: str) -> list[str]:
    lines = run("convert", *options).out.splitlines()
    assert max(map(len, lines)) <= 100
    return lines


def numbers(lines: list[str], start: str) -> list[Fraction]:
    return [Fraction(line.split()[-1]) for line in lines if re.match(rf"  {re.escape(start)}  ", line)]


@pytest.mark.parametrize(
    ("options", "gamma"),
    [
        (["--curves", "curves.csv"], Fraction(8, 3)),
        (["--gamma", "8/3"], Fraction(8, 3)),
        (["--gamma", "5/3"], Fraction(5, 3)),
        (["--rho", "0.1", "0.3"], Fraction(27, 7)),
        (["--beta", "3"], Fraction(3)),
        (["--gamma", "1000000/999999"], Fraction(1000000, 999999)),
    ],
    ids=str,
)
def test_bounds_are_rounded_to_the_safe_side(options: list[str], gamma: Fraction) -> None:
    Path("curves.csv").write_text(STEPS, encoding="utf-8")
    lines = shown(*options)
    allowed = Fraction(lines[0].split()[-1].rstrip("."))
    assert gamma * (1 - Fraction(1, 10**9)) < allowed <= gamma
    assert numbers(lines, "gamma, beta, Bayes factor") == [allowed]
    for prior in ("0.01", "0.1", "0.5"):
        (most,) = numbers(lines, prior)
        exactly = posterior_range(gamma, Fraction(prior))[1]
        assert exactly <= most < exactly * (1 + Fraction(1, 10**5))


def test_exact_numbers_stay_as_they_are() -> None:
    lines = shown("--rho", "0.1", "0.5")
    assert lines[0] == "rho1 = 0.1 to rho2 = 0.5 means that parity is at most 9."
    assert numbers(lines, "0.1") == [Fraction(1, 2)]
    for epsilon in ("0.1", "0.3", "1", "2.5", "1e-9", "700"):
        assert numbers(shown("--epsilon", epsilon), "epsilon") == [Fraction(epsilon)]


def test_a_closed_demand_stays_below() -> None:
    lines = shown("--rho", "0.1", "0.5", "--closed")
    assert lines[0].endswith("means that parity is below 9.")
    assert "  gamma, beta, Bayes factor  below 9" in lines
    assert "  a suspicion of  stays below" in lines
    assert not any("at most" in line for line in lines)


def test_local_diversity_is_not_said_to_bound_anything() -> None:
    lines = shown("--l", "5", "--k", "10")
    assert lines[0] == "l = 5 of 10 categories is as accurate as subset selection of parity 6."
    assert any("l-diversity itself" in line and "no bound on parity" in line for line in lines)
    assert "  a suspicion of  with subset selection can rise to at most" in lines
    assert run("convert", "--l", "5", "--k", "10", "--json").json()["l_parity"] == "inf"


def test_a_demand_for_nothing_is_said_in_words() -> None:
    Path("all.csv").write_text("p,lower,upper\n0,0,1\n", encoding="utf-8")
    lines = shown("--curves", "all.csv")
    assert lines[0] == "curves of all.csv allows any parity: nothing is asked, and every design meets it."
    assert "infinite" not in "\n".join(lines)


def test_a_bound_beyond_every_float_is_a_bound() -> None:
    lines = shown("--gamma", "1e400")
    assert lines[0] == "gamma = 1e400 means that parity is at most 1e+400."
    assert "infinite" not in "\n".join(lines)
