"""Tables in memory: released in their own kind, at the chances of the matrix, with margins kept where promised."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from maskwell.core import SeededRandom
from maskwell.designs.sampler import forget_tables
from maskwell.errors import DataFileError, PlanError, PublishError, WrongTypeError
from maskwell.microdata import ReleasePlan, release_table

pa = pytest.importorskip("pyarrow")
PEOPLE = {"x": ["a"] * 120 + ["b"] * 80 + ["c"] * 30, "y": list(range(230))}


def plan(**more: Any) -> ReleasePlan:
    protect = {"variables": "x", "method": "method1", "theta": "2/3"}
    return ReleasePlan.of([{**protect, **more.pop("protect", {})}], **{"order": "kept", **more})


def test_every_kind_of_table_comes_back_as_it_was_given() -> None:
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    for data in (pandas.DataFrame(PEOPLE), polars.DataFrame(PEOPLE), pa.table(PEOPLE), PEOPLE):
        released = release_table(data, plan(accept="y")).data
        assert type(released) is type(data)
        assert list(released["y"]) == list(range(230)) or released["y"].to_pylist() == list(range(230))


def test_a_shuffled_table_has_the_same_records_in_another_order() -> None:
    released = release_table(PEOPLE, plan(accept="y", order="shuffled", protect={"theta": "0"})).data
    pairs = list(zip(released["x"], released["y"], strict=True))
    assert sorted(pairs, key=lambda pair: pair[1]) == list(zip(PEOPLE["x"], PEOPLE["y"], strict=True))
    assert released["y"] != PEOPLE["y"]


def test_a_seed_is_refused_outside_a_demonstration() -> None:
    with pytest.raises(PublishError, match="seed"):
        release_table(PEOPLE, plan(), random=SeededRandom(1))


@pytest.mark.parametrize(
    ("data", "error"), [(3, WrongTypeError), ({"x": []}, DataFileError), ({"z": ["a"]}, PlanError)]
)
def test_tables_that_cannot_be_released_are_refused(data: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        release_table(data, plan())


def test_weights_may_be_different_for_every_record() -> None:
    """They tell the records apart, so that the plan has to accept them."""
    data = {"x": ["a", "b"] * 1500, "w": [1 + i / 7 for i in range(3000)]}
    with pytest.raises(PlanError, match="w identifies records: 100 % are alone"):
        release_table(data, plan(weights="w"))
    released = release_table(data, plan(weights="w", accept="w"))
    assert sorted(released.data["w"]) == data["w"]
    assert any("accepted by the plan: w identifies" in warning for warning in released.release.warnings)
    by_key = release_table(data, plan(weights="w", keys=["x", "w"])).release
    assert by_key.risk.before.uniques == 3000, "as a key, every weight counts"


def test_a_sorted_file_whose_order_is_kept_is_told_to_give_itself_away() -> None:
    """All a come first, then b and c: whatever is drawn, the neighbours tell."""
    people = {"x": PEOPLE["x"]}
    assert any("stand together" in warning for warning in release_table(people, plan()).release.warnings)
    assert not release_table(people, plan(order="shuffled")).release.warnings
    mixed = {"x": np.random.default_rng(3).permutation(people["x"]).tolist()}
    assert not release_table(mixed, plan()).release.warnings


def test_tables_of_draws_make_room_when_the_records_are_drawn() -> None:
    """They would be a tenth of the memory of a large release; made again, they draw the same."""
    (stage,) = release_table(PEOPLE, plan(accept="y")).release.stages
    assert "_table" not in vars(stage.design)
    codes = np.arange(3).repeat(100)
    first = stage.design.sample(codes, random=SeededRandom(1)).data
    assert "_table" in vars(stage.design)
    forget_tables(stage.design)
    assert "_table" not in vars(stage.design)
    assert (stage.design.sample(codes, random=SeededRandom(1)).data == first).all()
