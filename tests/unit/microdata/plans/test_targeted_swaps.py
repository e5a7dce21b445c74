"""Targeted swaps: what stays, who is pooled, what is refused, and a file of 100,000 households."""

import time
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from tests.support.quiet import refused
from tests.support.together import together

import maskwell as mw
from maskwell.core.categories import Categories
from maskwell.core.randomness import SeededRandom
from maskwell.errors import CountsError, MissingValueError, ParameterError, PlanError
from maskwell.microdata.matrices.swap_flows import UnitDealer
from maskwell.microdata.records.swap_pools import SwapUnits, drawn_pools, levels_at_risk, make_ups

AREAS = ["nuts", "district", "lau"]
SWAP: dict[str, Any] = {
    "variables": AREAS,
    "method": "targeted-swap",
    "similar": [["hsize", "income"], ["hsize"]],
    "risk": ["income", "age"],
    "k": 2,
    "rate": "0.1",
}


def households(n: int = 300, seed: int = 1) -> dict[str, list[Any]]:
    draw = np.random.default_rng(seed)
    lau, hsize, income = draw.integers(0, 12, n), draw.integers(1, 4, n), draw.choice(3, n, p=[0.6, 0.3, 0.1])
    of = np.repeat(np.arange(n), hsize)
    return {
        "hid": of.tolist(),
        "nuts": [f"N{lau[i] // 6}" for i in of],
        "district": [f"D{lau[i] // 3}" for i in of],
        "lau": [f"L{lau[i]}" for i in of],
        "hsize": hsize[of].tolist(),
        "income": income[of].tolist(),
        "age": draw.choice(5, len(of), p=[0.4, 0.3, 0.2, 0.08, 0.02]).tolist(),
        "name": list(range(len(of))),
    }


def plan(release: dict[str, Any] | None = None, **more: Any) -> mw.ReleasePlan:
    options = {"keys": [*AREAS, "hsize", "income"], "unit": "hid", "demonstration": True, "drop": ["name"]}
    return mw.ReleasePlan.of([SWAP | more], **options | (release or {}))


def table(data: dict[str, Any], *columns: str) -> Counter[tuple[Any, ...]]:
    return Counter(zip(*(data[name] for name in columns), strict=True))


def test_what_a_targeted_swap_keeps() -> None:
    """Everything but the regions, each household together, regions by size of household, and nested regions."""
    data = households()
    kept = plan({"drop": [], "accept": ["name", "hid"]})
    out = mw.release(data, kept, random=SeededRandom(3))
    made = {name: [*out.data[name]] for name in data}
    others = [name for name in data if name not in AREAS]
    assert table(made, *others) == table(data, *others)
    assert table(made, *AREAS, "hsize") == table(data, *AREAS, "hsize")
    assert table(made, *AREAS, "hsize", "income") != table(data, *AREAS, "hsize", "income")  # the second list is used
    assert len(table(made, "hid", *AREAS)) == len({*data["hid"]})
    assert table(made, "lau", "hid") != table(data, "lau", "hid")
    first = plan({"drop": [], "accept": ["name", "hid"]}, similar=["hsize", "income"])
    made = mw.release(data, first, random=SeededRandom(3)).data
    assert table(made, *AREAS, "hsize", "income") == table(data, *AREAS, "hsize", "income")
    receipt = out.receipt()
    (group,) = receipt.groups
    assert (group.method, group.variables, group.within) == ("swap", (*AREAS,), ("hsize",))
    shares = mw.Survey.from_release(out.data, receipt).shares("lau", "hsize")
    assert "exactly" in str(shares.to_report())


def test_pools_are_where_the_risk_is() -> None:
    draw, n = np.random.default_rng(5), 4000
    lau = draw.integers(0, 24, n)
    regions = np.column_stack([lau // 12, lau // 4, lau])
    profile = draw.integers(0, 6, n)
    level = draw.choice(4, n, p=[0.01, 0.02, 0.05, 0.92])
    units = SwapUnits(regions=regions, levels=level, profiles=[profile])
    found = drawn_pools(units, size=6, rate=Fraction(1, 5), random=SeededRandom(2))
    pool = found.of_units
    assert found.alone == 0 == found.fallback and (pool[level < 3] >= 0).all()
    for one in range(pool.max() + 1):
        those = np.flatnonzero(pool == one)
        assert len(those) >= 6 and len({*profile[those].tolist()}) == 1
        coarsest = min(int(level[those].min()), 2)
        assert len(np.unique(regions[those, coarsest])) > 1
    pooled = np.bincount(lau[pool >= 0], minlength=24) / np.bincount(lau, minlength=24)
    assert pooled.min() >= 0.2
    stay = np.bincount((lau * 6 + profile)[pool < 0], minlength=144)
    some = np.bincount((lau * 6 + profile)[pool >= 0], minlength=144)
    assert not ((stay > 0) & (stay < 6) & (some > 0)).any()  # the rest of a cell is never too small
    few = drawn_pools(units, size=6, rate=Fraction(0), random=SeededRandom(2)).of_units
    assert (few >= 0).sum() < (pool >= 0).sum() and (few[level < 3] >= 0).all()


def test_who_is_at_risk_and_alike_is_counted_as_by_hand() -> None:
    draw = np.random.default_rng(8)
    for _ in range(20):
        units = np.sort(np.concatenate([np.arange(8), draw.integers(0, 8, 8)]))
        lau = draw.integers(0, 4, 8)
        regions, risk = np.column_stack([lau // 2, lau]), draw.integers(0, 3, 16)
        found = levels_at_risk(units, regions, risk, 3)
        for unit in range(8):
            at = [
                level
                for level in (0, 1)
                for i in np.flatnonzero(units == unit)
                if sum(regions[units[j], level] == regions[unit, level] and risk[j] == risk[i] for j in range(16)) < 3
            ]
            assert found[unit] == min(at, default=2)
        numbers = make_ups(units, risk)
        bags = [tuple(sorted(risk[units == unit].tolist())) for unit in range(8)]
        assert [[a == b for b in bags] for a in bags] == (numbers[:, None] == numbers).tolist()


def test_units_without_partners_are_told_and_a_wider_area_is_tried() -> None:
    regions = np.array([[0, 0, 0], [0, 1, 1], [1, 2, 2], [1, 3, 3], [1, 3, 4]])
    alike, apart = np.zeros(5, dtype=np.int64), np.array([0, 1, 1, 1, 2])
    units = SwapUnits(regions=regions, levels=np.array([2, 3, 3, 2, 3]), profiles=[apart, alike])
    found = drawn_pools(units, size=2, rate=Fraction(0), random=SeededRandom(1))
    assert (found.alone, found.fallback, found.wider, found.at_risk) == (0, 1, 2, 2)
    assert (found.of_units[[0, 3]] >= 0).all()
    alone = drawn_pools(
        SwapUnits(regions=regions, levels=units.levels, profiles=[apart]),
        size=4,
        rate=Fraction(0),
        random=SeededRandom(1),
    )
    assert (alone.alone, alone.of_units.tolist()) == (2, [-1] * 5)
    assert [note.partition(" units")[0] for note in map(str, alone.notes())] == ["0 of 5", "2"]
    assert "1 unit at risk found too few partners by the first list" in " ".join(map(str, found.notes()))


@together(
    ["changes", "said"],
    [
        ({"unit": None}, "unit"),
        ({"similar": []}, "similar is an empty list"),
        ({"similar": None}, "needs similar"),
        ({"k": None}, "needs k"),
        ({"risk": ["height"]}, "no column 'height'"),
        ({"size": 1}, "size = 1 is out of range"),
        ({"each": "record"}, "each = 'record' is not allowed"),
        ({"again": "0.5"}, "does not go with again"),
        ({"strength": "0.5"}, "takes no 'strength'|takes no strength"),
        ({"exclude": {"lau": ["L0"]}}, "takes no 'exclude'|takes no exclude"),
    ],
)
def test_what_a_plan_must_say(changes: dict[str, Any], said: str) -> None:
    release = {"unit": None} if "unit" in changes else {}
    more = {name: value for name, value in changes.items() if name != "unit" and value is not None}

    def asked() -> object:
        left = {name: value for name, value in (SWAP | more).items() if changes.get(name, 0) is not None}
        return mw.release(households(20), plan(release, **more) if left.keys() == {*SWAP, *more} else bare(left))

    def bare(left: dict[str, Any]) -> mw.ReleasePlan:
        return mw.ReleasePlan.of([left], keys=AREAS, unit="hid", demonstration=True)

    refused(PlanError, said, asked)


def test_regions_must_be_nested_and_those_of_a_unit_alike() -> None:
    data = households(60)
    both = zip(data["lau"], data["district"], strict=True)
    crossed = {**data, "district": ["D0" if lau == "L7" else one for lau, one in both]}
    said = "'district' is not nested in 'nuts': 1 value in several regions"
    error = refused(PlanError, said, mw.release, crossed, plan())
    assert "D0: in N" in str(error.values)
    place = data["hsize"].index(2)
    torn = {
        **data,
        "lau": [*data["lau"][:place], "L0" if data["lau"][place] != "L0" else "L1", *data["lau"][place + 1 :]],
    }
    refused(PlanError, "'.*' differs within 1 unit", mw.release, torn, plan())
    nobody = {**data, "hid": [None, *data["hid"][1:]]}
    refused(MissingValueError, "belong", mw.release, nobody, plan())


def test_the_plan_is_written_as_it_was_typed_and_the_risk_cannot_be_measured_again(tmp_path: Any) -> None:
    typed = plan()
    assert mw.ReleasePlan.from_dict(typed.to_dict()) == typed
    data = households(60)
    out = mw.release(data, typed, random=SeededRandom(1))
    assert out.release.plan.to_dict() == typed.to_dict() and "hid" not in out.data and "pool" not in str([*out.data])
    receipt = out.receipt(internal=True)
    refused(ParameterError, "targeted swap", mw.risk, data, [*AREAS], receipt=receipt)


def test_a_region_that_is_missing_stays_missing() -> None:
    data = households(120)
    first = data["hid"][0]
    for name in AREAS:
        data[name] = [None if hid == first else one for hid, one in zip(data["hid"], data[name], strict=True)]
    out = mw.release(data, plan({"drop": [], "accept": ["name", "hid"]}), random=SeededRandom(1))
    lost = {hid for hid, lau in zip(out.data["hid"], out.data["lau"], strict=True) if lau is None}
    assert lost == {first}


def test_a_dealer_knows_its_units() -> None:
    dealer = UnitDealer(np.array([0, 0]), np.array([1, 1]), Categories.numbered(2), SeededRandom(1))
    dealt = dealer.sample(np.array([0, 0, 1]), np.array(["a", "a", "b"]))
    assert dealt[0] == dealt[1] != dealt[2] and dealer.sample(np.array([0]), np.array(["a"])) == dealt[:1]
    with pytest.raises(CountsError):
        dealer.sample(np.array([0]), np.array(["c"]))
    short = UnitDealer(np.array([0]), np.array([1]), Categories.numbered(1), SeededRandom(1))
    with pytest.raises(CountsError):
        short.check_finished()


def test_pools_of_a_hundred_thousand_units_take_seconds() -> None:
    draw, n = np.random.default_rng(5), 100_000
    lau = draw.integers(0, 400, n)
    units = SwapUnits(
        regions=np.column_stack([lau // 100, lau // 10, lau]),
        levels=draw.choice(4, n, p=[0.01, 0.02, 0.05, 0.92]),
        profiles=[draw.integers(0, 200, n), draw.integers(0, 5, n)],
    )
    begun = time.perf_counter()
    found = drawn_pools(units, size=10, rate=Fraction(1, 10), random=SeededRandom(2))
    assert time.perf_counter() - begun < 60 and found.alone == 0
