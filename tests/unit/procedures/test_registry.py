"""The table of procedures: what a program can build from it without knowing any of them."""

import inspect
import json
import math
from pathlib import Path
from typing import Any

import pytest
from tests.support.together import together

from maskwell import Categories, SeededRandom
from maskwell.designs import design_from_dict
from maskwell.errors import LabelError, ParameterError
from maskwell.procedures.procedure import Kind
from maskwell.procedures.registry import PROCEDURES, procedure_named

THREE = Categories.of(["a", "b", "c"])
FOUR = Categories.of(["a", "b", "c", "d"])


def example_of(name: str) -> tuple[dict[str, Any], Categories | None]:
    """What the example of a record gives, as it is typed."""
    words = PROCEDURES[name].example.split()
    typed = {
        word.removeprefix("--").replace("-", "_"): value for word, value in zip(words[::2], words[1::2], strict=True)
    }
    labels, k = typed.pop("categories", None), typed.pop("k", None)
    categories = Categories.numbered(int(k)) if k else labels and Categories.of(labels.split(","))
    lists = {p.name for p in PROCEDURES[name].parameters if p.kind in (Kind.PROBABILITIES, Kind.LABELS)}
    return {word: value.split(",") if word in lists else value for word, value in typed.items()}, categories or None


EXAMPLES = {name: example_of(name) for name in PROCEDURES}
EXAMPLES["greenberg-statements"][0]["beta"] = "0.4"  # of an unknown one the truths are pairs
EXAMPLES["subset"] = ({"size": "2", "gamma": "3"}, FOUR)  # the example leaves the size to planning

ONE_OF_SEVERAL = {"cheating-detection", "lie-detector", "abul-ela", "greenberg-statements"}
"""Families that need another sample before shares can be estimated."""


@together("name", PROCEDURES)
def test_the_record_agrees_with_the_builder(name: str) -> None:
    procedure = PROCEDURES[name]
    assert procedure.name == name
    assert procedure.summary
    assert procedure.source
    expected = {word for parameter in procedure.parameters for word in parameter.keywords}
    expected |= {"categories"} if procedure.needs_categories else set()
    expected |= {"allow_unidentifiable"} if procedure.may_fail else set()
    assert set(inspect.signature(procedure.build).parameters) == expected


@together("name", PROCEDURES)
def test_every_procedure_builds_samples_and_is_built_again_from_its_file(name: str) -> None:
    parameters, categories = EXAMPLES[name]
    design = PROCEDURES[name].design(parameters, categories=categories)
    assert design.identifiable == (name not in ONE_OF_SEVERAL) == ("samples" not in design.provenance)
    assert all(sum(column) == 1 for column in zip(*design.exact_matrix(), strict=True))
    assert design.provenance["family"] == name
    noted = design.provenance["parameters"]
    assert set(noted) == set(parameters)
    assert all(isinstance(text, str) for text in noted.values())
    again = design_from_dict(json.loads(json.dumps(design.to_dict())))
    assert again == design
    assert again.provenance["parameters"] == noted
    truths = [design.inputs.labels[i % design.k] for i in range(20)]
    assert design.tally(design.randomize(truths, random=SeededRandom(1))).n == 20
    procedure = PROCEDURES[name]
    design = procedure.design(parameters, categories=categories)
    kinds = {word: parameter.kind for parameter in procedure.parameters for word in parameter.keywords}
    lists = (Kind.PROBABILITIES, Kind.LABELS)
    noted = design.provenance["parameters"].items()
    read = {word: text.split(",") if kinds[word] in lists else text for word, text in noted}
    assert procedure.design(read, categories=categories) == design
    if name == "bits":
        assert design.inputs.labels == ((1, 1), (1, 0), (0, 1), (0, 0))
        return
    assert design.inputs == (categories or Categories.of(procedure.truths or ()))
    if procedure.reports is not None:
        assert design.outputs == Categories.of(procedure.reports)


def test_truths_and_reports_can_be_named() -> None:
    user = Categories.of(["user", "other"])
    design = PROCEDURES["crosswise"].design({"q": "1/6"}, categories=user)
    assert (design.inputs, design.outputs) == (user, Categories.of(["same", "different"]))
    design = PROCEDURES["warner"].design({"p": "3/4"}, reports=Categories.of(["ja", "nein"]))
    assert (design.inputs, design.outputs) == (Categories.of(["yes", "no"]), Categories.of(["ja", "nein"]))
    assert design.provenance["family"] == "warner"
    places = Categories.of(["first", "second", "third"])
    design = PROCEDURES["bourke-dalenius"].design(EXAMPLES["bourke-dalenius"][0], categories=THREE, reports=places)
    assert (design.inputs, design.outputs) == (THREE, places)


@together(
    ("name", "labels"),
    [
        ("warner", {"categories": THREE}),
        ("warner", {"reports": THREE}),
        ("kuk", {"reports": THREE}),
        ("k-ary", {"categories": THREE, "reports": THREE}),
        ("liu-chow", {"categories": THREE, "reports": THREE}),
        ("bits", {"categories": Categories.of(["in", "out"])}),
        ("bits", {"reports": Categories.of(["in", "out"])}),
    ],
)
def test_labels_that_do_not_fit_are_refused(name: str, labels: dict[str, Categories]) -> None:
    with pytest.raises(LabelError):
        PROCEDURES[name].design(EXAMPLES[name][0], **labels)


def test_missing_and_unknown_parameters_are_named() -> None:
    with pytest.raises(ParameterError, match="forced has no q and needs no"):
        PROCEDURES["forced"].design({"truth": "0.5", "yes": "0.5", "q": "0.5"})
    with pytest.raises(ParameterError, match="neither a probability nor a privacy demand"):
        PROCEDURES["k-ary"].design({}, categories=THREE)
    with pytest.raises(ParameterError, match="k-ary needs the answer categories"):
        PROCEDURES["k-ary"].design({"gamma": 3})
    with pytest.raises(ParameterError, match="warnr") as caught:
        procedure_named("warnr")
    assert "crosswise" in caught.value.hint


@together("name", ["k-ary", "subset", "rappor", "oue", "bits"])
@together(
    "demand",
    [
        {"gamma": 3, "epsilon": 1},
        {"gamma": 1},
        {"gamma": "0.5"},
        {"gamma": math.nan},
        {"gamma": math.inf},
        {"epsilon": 0},
        {"epsilon": -1},
        {"epsilon": 1000},
    ],
)
def test_bad_demands_are_refused(name: str, demand: dict[str, Any]) -> None:
    parameters, categories = EXAMPLES[name]
    kept = {word: value for word, value in parameters.items() if word not in ("gamma", "epsilon")}
    with pytest.raises(ParameterError):
        PROCEDURES[name].design({**kept, **demand}, categories=categories)


def test_every_family_is_on_the_page_of_procedures(root: Path) -> None:
    page = (root / "docs/theory/procedures.md").read_text(encoding="utf-8")
    assert [name for name in PROCEDURES if f"`{name}`" not in page] == []
