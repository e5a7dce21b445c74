from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from maskwell.reports.pictures.marks import round_numbers, scale_number, spread

places = st.lists(st.floats(0, 300), min_size=1, max_size=12)


@given(places)
def test_spread_labels_keep_their_distance_their_order_and_their_frame(at: list[float]) -> None:
    moved = spread(at, apart=15, low=0, high=300)
    order = sorted(range(len(at)), key=at.__getitem__)
    assert all(moved[b] - moved[a] >= 15 - 1e-9 for a, b in pairwise(order))
    assert min(moved) >= 0
    assert max(moved) <= 300 + 1e-9


def test_labels_with_room_stay_where_they_are() -> None:
    assert spread([200.0, 10.0, 40.0], apart=15, low=0, high=300) == [200.0, 10.0, 40.0]
    assert spread([100.0, 102.0], apart=15, low=0, high=300) == [93.5, 108.5]
    assert spread([298.0, 299.0], apart=15, low=0, high=300) == [285.0, 300.0]


@given(st.floats(1e-6, 1e6), st.floats(1.5, 1e6))
def test_a_scale_has_enough_numbers_and_all_inside(low: float, factor: float) -> None:
    found = round_numbers(low, low * factor)
    assert len(found) <= 14
    assert all(low * (1 - 1e-9) <= x <= low * factor * (1 + 1e-9) for x in found)
    assert factor < 2.6 or found


def test_numbers_are_short() -> None:
    assert [scale_number(x) for x in (0.001, 5, 5000, 20000, 1e6)] == ["0.001", "5", "5000", "2·10⁴", "10⁶"]
