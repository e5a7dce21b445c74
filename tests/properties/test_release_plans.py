"""Plans: any that can be made comes back from its text and from its tables."""

from fractions import Fraction
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from maskwell import ReleasePlan
from maskwell.microdata import Protection
from maskwell.microdata.plans.release_plan import read_plan

names = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), min_size=1, max_size=6).filter(str.strip)
shares = st.fractions(min_value=Fraction(1, 1000), max_value=1, max_denominator=1000)
labels = st.lists(names, min_size=1, max_size=3, unique=True)


@st.composite
def protections(draw: st.DrawFn, variable: str, within: str) -> Protection:
    more: dict[str, Any] = {"within": [within]} if draw(st.booleans()) else {}
    method = draw(st.sampled_from(["method1", "sequential", "optimal", "uniform", "fixed", "swap", "method2"]))
    share = draw(shares)
    more |= {
        "method1": {"theta": share},
        "sequential": {"strength": share, "exclude": draw(labels)},
        "optimal": {"posterior": share, "caps": dict.fromkeys(draw(labels), share)},
        "uniform": {"epsilon": share},
        "fixed": {"matrix": [[share, 0], [1 - share, 1]], "orientation": "columns", "clearance": draw(names)},
        "swap": {"base": "inverse-frequency", "xi": share},
        "method2": {"first": draw(names), "orientation": "rows", "counts_from": draw(names)},
    }[method]
    return Protection.of([variable], method, **more)


@st.composite
def plans(draw: st.DrawFn) -> ReleasePlan:
    variable, other, within = draw(st.lists(names, min_size=3, max_size=3, unique=True))
    protect = [draw(protections(variable, within)), draw(protections(other, within))]
    forbid = {variable: draw(labels), within: draw(labels)}
    more = {"match": draw(shares), "title": draw(names), "codebook": {other + "x": draw(labels)}}
    return ReleasePlan.of(protect, rule=[{"forbid": forbid}], keys=[variable], **more)


@given(plans())
def test_a_plan_comes_back_from_its_text_and_its_tables(plan: ReleasePlan) -> None:
    assert read_plan(plan.to_toml()) == plan
    assert ReleasePlan.from_dict(plan.to_dict()) == plan
