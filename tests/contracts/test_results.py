"""Every result shows itself in the same ways: a new one that forgets some of them fails here.

A result is whatever a verb of the door or a public function answers with. Those that are told by other results, and
values that are given and not found, are named below; whatever else has ``to_dict`` must be a ``Result``, with an
example here.
"""

import importlib
import inspect
import json
import pkgutil
import re
from functools import cache

import numpy as np
import pytest
from tests.support.surveys import estimate_with, tabulate_with

import maskwell as mw
from maskwell.core.display import Result
from maskwell.core.documents import json_form
from maskwell.errors import WrongTypeError
from maskwell.estimation.direct_estimate import Released, estimate_unknown
from maskwell.estimation.regression import Anchor, estimate_with_anchor
from maskwell.planning.power import plan_test
from maskwell.planning.sample_size import plan_sample
from maskwell.planning.stratum_allocation import allocate_strata
from maskwell.plots import Picture

pd = pytest.importorskip("pandas")
pytest.importorskip("matplotlib")

GIVEN = {"AverageSecurity", "Bounds", "Demand", "Improves", "Measure", "ReleasePlan", "Sampling", "Sensitivity"}
"""What is given to a verb, besides designs: stated, and not found."""

PARTS = {
    "AttributeRisk",
    "ReportedAttribute", "DrawnAgain",
    "LinkedRisk", "JoinedRisk", "JointRisk", "RecodeEffect", "SpecialUniques", "UnitRisk",
    "Analysis", "Association", "ComparedTerm", "Diversity", "Efficiency", "Entry",
    "FileRisk", "Garbling", "Hazard", "Inflation", "Itemset", "LevelContribution", "Option", "PathParities",
    "PropensityScore", "Randomized", "RegressionComparison", "ReleasedColumns", "RiskUtilityPoint", "Rule",
    "SideChannel", "SideChannelRisk", "Story", "Sufficiency", "TableDistance", "TableKept",
    "UnitVariance",
    "VariableContribution", "VariableUtility",
}  # fmt: skip
"""What a result is made of: shown by the result that holds it."""

BASES = {"AnyRelease", "Assessment", "Coefficients", "Draw", "Estimate", "Replacement", "Result"}
"""What the classes of results have in common."""

NO_PICTURE = {
    "Allocation", "BoundedOddsRatio", "Certificate", "Comparison", "Conditional", "Counts", "Device", "Difference",
    "Extremal", "FairComparison", "GoodnessOfFit", "Improvement", "IndependenceTest", "Intervals", "NestedTest",
    "OddsRatio", "OneSided", "Order", "PowerPlan", "Quantity", "QuestionsPlan", "Verified", "WaldTest",
}  # fmt: skip
"""Results that are one number, a proof or a plan: no picture says more than they do."""


@cache
def examples() -> dict[str, Result]:
    """A result of every class, with labels that need protection."""
    yes = "yes, <b>always</b> & 50 %"
    warner = mw.design("warner", p="0.8", categories=[yes, "[no]"])
    rng = np.random.default_rng(5)
    n = 400
    region = rng.choice(["no_rth", "south"], n).tolist()
    truth = np.where(rng.random(n) < np.where(np.array(region) == "south", 0.6, 0.3), yes, "[no]").tolist()
    data = {
        "y": mw.randomize({"y": truth}, {"y": warner}, random=mw.SeededRandom(1))["y"],
        "region": region,
        "age": rng.normal(size=n).tolist(),
    }
    counts = mw.tally(data, {"y": warner})["y"]
    shares = estimate_with(data, {"y": warner}, by="region", combine={"any": [yes]})
    joint = tabulate_with(data, {"y": warner}, direct="region")
    fitted = mw.regress(data, "y ~ age + region", {"y": warner})
    smaller = mw.regress(data, "y ~ age", {"y": warner})
    other = mw.design("forced", truth="3/4", yes="1/8", no="1/8", categories=[yes, "[no]"])
    dense = mw.designs.Dense.of([["0.4", "0.3", "0.3"], ["0.3", "0.4", "0.2"], ["0.3", "0.3", "0.5"]])
    bits = mw.design("bits", items=["bread", "milk"], p="0.9")
    baskets = [["bread", "milk"]] * 50 + [["milk"]] * 25 + [["bread"]] * 10 + [[]] * 15
    people = {"town": list("AAABBB") * 5, "job": ["baker", "clerk", "clerk", "clerk", "clerk", "smith"] * 5}
    plan = {
        "release": {"keys": ["town", "job"], "demonstration": True},
        "protect": [{"variables": ["job"], "method": "inverse-frequency", "xi": 0.5}],
    }
    released = mw.release(pd.DataFrame(people), plan, random=mw.SeededRandom(1))
    moved = [{"variables": ["y"], "method": "method1", "theta": "0.02"}]
    public = mw.release(
        {"y": truth, "region": region}, mw.ReleasePlan.of(moved, demonstration=True), random=mw.SeededRandom(1)
    )
    withheld = mw.Survey.from_release(public.data, public.receipt()).table("y", "region")
    certificate = mw.certify(warner)
    anchor = Anchor(mw.randomize({"y": ["[no]"] * n}, {"y": warner})["y"], warner)
    anchored = estimate_with_anchor(data["y"], warner, anchor)
    comparison = mw.compare(warner, other)
    made: list[Result] = [counts, shares, joint, fitted, anchored, certificate, comparison, mw.device(warner)]
    made += [shares.estimate, shares.estimate.intervals(), *shares.quantities[:1], mw.verify(certificate)]
    made += [joint.conditional(given="region"), joint.odds_ratio(), joint.independence(), fitted.wald_test("age")]
    made += [fitted.marginal_effects(), fitted.predictions(at={"age": [0, 1]}), fitted.compare(smaller)]
    made += [released.release, released.release.risk, released.release.utility]
    made += [comparison.given, comparison.given.order, withheld, withheld.odds_ratio()]
    made += [
        estimate_with(data, direct="region").estimate,
        estimate_unknown(Released.of([60, 40]), categories=["a", "b"]),
        joint.difference({"y": yes}, given="region", between=("south", "no_rth")),
        mw.estimation.goodness_of_fit(counts, warner),
        mw.mine(baskets, bits, min_support=0.4),
        mw.risk(people, ["town", "job"], receipt=released.receipt(internal=True)),
        mw.verbs.dry_run(people, plan),
        estimate_with(released.data, receipt=released.receipt(), columns="job"),
        mw.audit(warner, mw.Demand.from_epsilon(1)),
        mw.choose(3, epsilon=1),
        plan_sample(warner, n=1000),
        plan_test(warner, pi=[0.1, 0.9], against=0.15, power=0.8),
        mw.planning.plan_questions({"a": ["x", "y"], "b": ["x", "y", "z"]}, mw.Demand.from_epsilon(2)),
        allocate_strata([mw.planning.Stratum(one, 0.5, warner, [0.2, 0.8]) for one in "ab"], n=100),
        mw.planning.extremal_design([0.5, 0.5], 3),
        mw.improve(dense, gamma=3),
        mw.improve(warner, sensitive=yes),
    ]
    return {type(one).__name__: one for one in made if one is not None}


def classes() -> dict[str, type]:
    """All classes of the package that have plain values, without designs and without the service."""
    found: dict[str, type] = {}
    for module in pkgutil.walk_packages(mw.__path__, "maskwell."):
        if "__main__" in module.name or module.name.startswith(("maskwell.collection", "maskwell.cli")):
            continue
        for name, one in inspect.getmembers(importlib.import_module(module.name), inspect.isclass):
            ours = one.__module__ == module.name and not name.startswith("_") and not issubclass(one, mw.Design)
            if ours and hasattr(one, "to_dict"):
                found[name] = one
    return found


def test_whatever_has_plain_values_is_a_result_or_says_why_not() -> None:
    results = {name for name, one in classes().items() if issubclass(one, Result)}
    assert {*classes()} - results == GIVEN | PARTS
    assert results - BASES == {*examples()} - BASES, "give a new result an example here"


def test_a_notebook_shows_tables_and_no_label_is_markup() -> None:
    for name, one in examples().items():
        page = one._repr_html_()
        assert page.count("<table") >= 1 and page.count("<table") == page.count("</table>"), name
        assert "<b>" not in page and "--" not in page and "Next:" not in page, name
        assert one.summary()._repr_html_() == page, name
        assert str(one.summary()) == repr(one.summary()) and "Next:" not in one.summary(), name
    shares = examples()["Shares"]._repr_html_()
    assert "By region" in shares and "no_rth" in shares and "any" in shares and "&lt;b&gt;" in shares


def test_results_become_plain_values_and_frames() -> None:
    for name, one in examples().items():
        json.dumps(json_form(one.to_dict()), allow_nan=False)
        frame = one.to_frame()
        assert isinstance(frame, pd.DataFrame) and len(frame) and len(frame.columns), name


def cells(line: str) -> int:
    """Cells of a line of a LaTeX table."""
    return len(re.findall(r"(?<!\\)&", line)) + 1


def check_latex(text: str) -> None:
    """Braces and environments are balanced, and every line has the cells that the columns ask for."""
    plain = re.sub(r"\\[\\{}&%$#_]", "", text)
    assert plain.count("{") == plain.count("}")
    open_ones: list[str] = []
    for line in text.split("\n"):
        for kind, what in re.findall(r"\\(begin|end)\{([a-z*]+)\}", line):
            assert kind == "begin" or open_ones.pop() == what
            open_ones += [what] if kind == "begin" else []
        if line.startswith("\\begin{tabular}"):
            columns = len(re.findall(r"[lrp]", re.sub(r"p\{[^}]*\}", "p", line.partition("}")[2])))
        if line.endswith(("\\\\", "\\tabularnewline")):
            assert cells(line) == columns and not re.match(r"[\[*]", line), line
    assert not open_ones


def test_results_are_tables_for_papers_that_name_design_and_plan() -> None:
    for name, one in examples().items():
        text = one.to_latex(label="tab:mine", caption="50 % & more")
        check_latex(text)
        assert "\\caption{50 \\% \\& more}" in text and text.count("\\label{tab:mine}") == 1, name
        check_latex(one.to_latex())
        rows = [line for line in one.to_markdown().split("\n") if line.startswith("|")]
        assert rows and all(line.endswith("|") for line in rows), name
        page = one.to_html(caption="mine")
        assert page.startswith("<!DOCTYPE html>") and 'charset="utf-8"' in page and "<b>" not in page, name
    for name in ("Shares", "Regression"):
        assert "Randomized by y: warner, p = 4/5" in examples()[name].to_markdown(), name
    assert "simple random sample" in examples()["Shares"].to_markdown()
    assert "simple random sample" in examples()["Table"].to_markdown()


def test_results_have_a_picture_that_a_notebook_shows_or_say_that_they_have_none() -> None:
    for name, one in examples().items():
        if name in NO_PICTURE:
            with pytest.raises(WrongTypeError, match="not available"):
                one.plot()
            continue
        picture = one.plot(title="A title", size=4)
        assert isinstance(picture, Picture) and picture.axes and picture.style.title == "A title", name
    png = mw.plot(examples()["Shares"])._repr_png_()
    assert png is not None and png.startswith(b"\x89PNG")
