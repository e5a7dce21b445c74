"""The lines of the privacy-utility picture are those of the designs."""

import math

import numpy as np
import pytest

from maskwell import Categories, Demand, choose
from maskwell.designs import LocalDiversity, Unary, Uniform
from maskwell.errors import ParameterError
from maskwell.planning import minimax_size
from maskwell.planning.candidates import frontier
from maskwell.planning.set_sizes import added_variance

GAMMAS = ["1.2", "2", "6", "30"]


def lines(found):
    return {line.name: line for line in found.lines}


@pytest.mark.parametrize("k", [2, 3, 10, 200])
def test_every_point_is_a_design(k):
    found = frontier(k, GAMMAS, n=1000)
    categories = Categories.numbered(k)
    for i, gamma in enumerate(GAMMAS):
        diagonal, bits = Uniform.from_gamma(gamma, categories), Unary.oue_from_gamma(gamma, categories)
        named = lines(found)
        assert named["k-ary"].added_variance[i] == pytest.approx(diagonal.added_variance())
        assert named["k-ary"].guess_probability[i] == pytest.approx(diagonal.guess_probability())
        assert named["oue, centred"].added_variance[i] == pytest.approx(bits.added_variance_of("centred"))
        assert found.size[i] == minimax_size(k, gamma)
        assert named["subset"].added_variance[i] == pytest.approx(added_variance(k, gamma, found.size[i]))
        options = {option.name: option for option in choose(k, gamma, n=1000).ranked}
        assert named["rappor, best-linear"].rms_error[i] == pytest.approx(options["rappor, best-linear"].rms_error)


def test_the_minimax_line_is_the_lowest_everywhere():
    found = frontier(20, GAMMAS)
    best = found.lines[0]
    for line in found.lines:
        assert (line.added_variance >= best.added_variance - 1e-12).all()
        assert line.admissible == (line.dominated_by is None)
        assert line.rms_error is None


def test_epsilons_and_order():
    found = frontier(5, epsilons=[2, 1, "0.5"])
    assert found.epsilon == pytest.approx([0.5, 1, 2])
    assert (np.diff(found.gamma) > 0).all()
    same = frontier(5, [Demand.from_epsilon(1)])
    assert same.lines[0].added_variance[0] == pytest.approx(found.lines[0].added_variance[1])


def test_l_diversity_stands_beside():
    beside = frontier(10, [2], n=100).diversity
    assert beside.l.tolist() == list(range(2, 10))
    for l, variance, guess in zip(beside.l, beside.added_variance, beside.guess_probability, strict=True):  # noqa: E741
        design = LocalDiversity.of(int(l), Categories.numbered(10))
        assert (variance, guess) == (design.added_variance(), design.guess_probability())
    assert beside.rms_error[0] == pytest.approx(math.sqrt((beside.added_variance[0] + 0.9) / 1000))
    assert frontier(2, [2]).diversity is None
    assert frontier(3, [2]).diversity.l.tolist() == [2]
    assert len(frontier(5000, [2]).diversity.l) <= 200


@pytest.mark.parametrize(
    "call",
    [
        lambda: frontier(5),
        lambda: frontier(5, [2], epsilons=[1]),
        lambda: frontier(5, []),
        lambda: frontier(5, [1]),
        lambda: frontier(1, [2]),
        lambda: frontier(5, [2], n=0),
    ],
)
def test_refusals(call):
    with pytest.raises(ParameterError):
        call()
