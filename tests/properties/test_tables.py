"""Tables of several variables: what must hold whatever the counts and the designs."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import maskwell as mw


@st.composite
def tables(draw):
    """Two or three variables with two or three categories each, some of them asked directly."""
    sizes = draw(st.lists(st.integers(2, 3), min_size=2, max_size=3))
    gammas = [draw(st.sampled_from([None, 2, 3, 10])) for _ in sizes]
    designs = {
        f"x{i}": None if gamma is None else mw.designs.Uniform.from_gamma(gamma, mw.Categories.numbered(size))
        for i, (size, gamma) in enumerate(zip(sizes, gammas, strict=True))
    }
    cells = int(np.prod(sizes))
    counts = draw(st.lists(st.integers(0, 60), min_size=cells, max_size=cells).filter(lambda x: sum(x) > 1))
    return mw.estimation.cross_tabulate_counts(np.array(counts).reshape(sizes), designs)


@given(tables())
def test_sums_and_margins_do_not_depend_on_order(table):
    assert np.isclose(table.pi_hat.sum(), 1)
    assert np.allclose(table.estimate.covariance.sum(axis=0), 0, atol=1e-9)
    first, *_, last = table.names
    stepwise = table.collapse_to(last, first).margin(first)
    assert np.allclose(stepwise.pi_hat, table.margin(first).pi_hat)
    assert np.allclose(stepwise.covariance, table.margin(first).covariance)
    assert np.allclose(table.margin(first).pi_hat, table.pi_hat.reshape(table.shape[0], -1).sum(axis=1))
    one, other = (t.independence() for t in (table, table.collapse_to(*table.names[::-1])))
    assert np.isclose(one.statistic, other.statistic) and np.isclose(one.p_value, other.p_value)
    assert 0 <= one.p_value <= 1


@given(tables())
def test_conditional_shares_sum_to_one_and_lie_between_fieller_ends(table):
    found = table.conditional(given="x0")
    sums = found.share.reshape(table.shape[0], -1).sum(axis=1)
    exists = np.isfinite(sums)
    scale = np.abs(np.where(np.isfinite(found.share), found.share, 0)).max()
    assert np.allclose(sums[exists], 1, atol=1e-9 * max(1, scale))
    assert found.unstable.reshape(table.shape[0], -1)[~exists].all()
    low, high = np.moveaxis(found.confidence_interval(method="fieller"), -1, 0)
    ends = np.isfinite(low) & np.isfinite(found.share) & (found.ratios.var_a >= 0)
    slack = 1e-9 * np.maximum(1, np.abs(found.share))
    assert (low <= found.share + slack)[ends].all() and (found.share - slack <= high)[ends].all()
