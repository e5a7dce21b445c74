"""Design files: every emitted one fits the schema, no changed one is read."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from tests.support.certificates import Place, leaves, replaced
from tests.support.examples import DYADIC, EXAMPLES
from tests.support.quiet import told
from tests.support.together import together

from maskwell import Categories
from maskwell.designs import Uniform, wire
from maskwell.errors import DesignFileError

ALL = {**EXAMPLES, **{f"dyadic {name}": design for name, design in DYADIC.items()}}
VALIDATOR = jsonschema.Draft202012Validator(wire.schema())


def content(name: str) -> dict[str, Any]:
    made: dict[str, Any] = json.loads(wire.dumps(ALL[name]))
    return made


def other_digits(value: Any) -> list[Any]:
    """The value with one digit (or letter) changed, at the start, in the middle and at the end."""
    if isinstance(value, bool) or value is None:
        return [not value]
    if isinstance(value, int | float):
        return [value + 1, -value - 1, 0 if value else 2]
    places = {0, len(value) // 2, len(value) - 1} if value else set()
    changed = [value[:i] + ("1" if value[i] != "1" else "2") + value[i + 1 :] for i in sorted(places)]
    zeroed = [value[:i] + "0" + value[i + 1 :] for i in sorted(places) if value[i] != "0"]
    return [*changed, *zeroed, value + "0", "0"] if value != "0" else [*changed, "00"]


def is_zero_denominator(path: Place, value: Any) -> bool:
    """Tried on its own below."""
    return "denominator" in str(path[-2:]) and str(value).strip("0") == ""


@together("name", list(ALL))
def test_a_design_file_fits_the_schema_and_lacks_and_adds_nothing(name: str) -> None:
    VALIDATOR.validate(content(name))
    for path, value in leaves(content(name)["exact"]):
        if isinstance(value, int | float) and "inputs" not in path and "outputs" not in path:
            assert path[-1] in ("size", "version") or "rows" in path
    original = content(name)
    for key in original:
        if key != "provenance":
            with pytest.raises(DesignFileError):
                wire.design_from_dict({k: v for k, v in original.items() if k != key})
    with pytest.raises(DesignFileError):
        wire.design_from_dict({**original, "note": "added"})
    assert not VALIDATOR.is_valid({**original, "note": "added"})
    for path, _ in leaves(original):
        if "denominator" in str(path[-2:]):
            with pytest.raises(DesignFileError):
                wire.design_from_dict(replaced(original, path, "0"))


@together("name", list(ALL))
def test_any_change_is_refused(name: str) -> None:
    original = content(name)
    all_leaves = [(path, value) for path, value in leaves(original) if path[0] != "provenance"]
    step = max(1, len(all_leaves) // 30)
    for path, value in all_leaves[::step] + all_leaves[-3:]:
        for changed in other_digits(value):
            if (changed != value or type(changed) is not type(value)) and not is_zero_denominator(path, changed):
                with told(DesignFileError):
                    wire.design_from_dict(replaced(original, path, changed))


@together("name", list(ALL))
def test_a_fingerprint_that_was_made_again_is_only_accepted_for_a_design(name: str) -> None:
    """Whoever recomputes the fingerprint after a change gets a valid design or an error, never something else."""
    from maskwell.core.documents import fingerprint_of

    original = content(name)
    covered = {key: value for key, value in original.items() if key not in ("provenance", "fingerprint")}
    all_leaves = list(leaves(covered))
    for path, value in all_leaves[:: max(1, len(all_leaves) // 15)]:
        for changed in other_digits(value):
            if is_zero_denominator(path, changed):
                continue
            forged = replaced(covered, path, changed)
            forged = {**forged, "provenance": {}, "fingerprint": fingerprint_of(forged)}
            try:
                design = wire.design_from_dict(forged)
            except DesignFileError:
                continue
            assert design.fingerprint == forged["fingerprint"]
            if design.m * design.k < 10**3:
                assert all(sum(column) == 1 for column in zip(*design.exact_matrix(), strict=True))
                assert (design.matrix() >= 0).all()


def pattern_form(sets: list[Any] | None = None, **changed: Any) -> dict[str, Any]:
    good = {"denominator": "4", "inside": "3", "outside": "1", "weights": ["1", "1"], "sets": ["10", "01"]}
    return {**good, **changed, **({} if sets is None else {"sets": sets})}


FORGED: dict[str, tuple[str, dict[str, Any]]] = {
    "a negative entry": ("dense square", {"columns": [["-1", "3"], ["1", "1"]], "denominators": ["2", "2"]}),
    "a column of zeros": ("dense square", {"columns": [["0", "0"], ["1", "1"]], "denominators": ["0", "2"]}),
    "the columns have different lengths": (
        "dense square",
        {"columns": [["1", "1"], ["1"]], "denominators": ["2", "1"]},
    ),
    "a column too few": ("dense square", {"columns": [["1", "1"]], "denominators": ["2"]}),
    "an empty column": ("dense square", {"columns": [[], []], "denominators": ["0", "0"]}),
    "no columns": ("dense square", {"columns": [], "denominators": []}),
    "numbers instead of text": ("dense square", {"columns": [[1, 1], [1, 2]], "denominators": [2, 3]}),
    "spaces and signs": ("dense square", {"columns": [["+1", " 1"], ["1", "1_0"]], "denominators": ["2", "11"]}),
    "other digits": ("dense square", {"columns": [["١", "1"], ["1", "1"]], "denominators": ["2", "2"]}),
    "a set of nothing": ("patterns k=2", pattern_form(["10", "00"])),
    "a set of all": ("patterns k=2", pattern_form(["10", "11"])),
    "a set twice": ("patterns k=2", pattern_form(["10", "10"])),
    "a set too short": ("patterns k=2", pattern_form(["10", "1"])),
    "a set of other characters": ("patterns k=2", pattern_form(["10", "0x"])),
    "a number for a set": ("patterns k=2", pattern_form(["10", 1])),
    "a weight too few": ("patterns k=2", pattern_form(weights=["1"])),
    "a weight of zero": ("patterns k=2", pattern_form(weights=["1", "0"])),
    "weights that do not balance": ("patterns k=2", pattern_form(weights=["1", "2"])),
    "weights not in lowest terms": ("patterns k=2", pattern_form(weights=["2", "2"])),
    "another denominator": ("patterns k=2", pattern_form(denominator="5")),
    "inside as likely as outside": ("patterns k=2", pattern_form(inside="1", denominator="2")),
    "inside over nothing": ("patterns k=2", pattern_form(outside="0", denominator="3")),
    "inside and outside not in lowest terms": ("patterns k=2", pattern_form(inside="6", outside="2", denominator="8")),
    "no truth at all": ("uniform k=3", {"denominator": "3", "truth": "0"}),
    "more than all": ("uniform k=3", {"denominator": "3", "truth": "4"}),
    "negative over negative": ("uniform k=3", {"denominator": "-3", "truth": "-1"}),
    "a sum below one": ("mixture", {"denominator": "10", "truth": "6", "fixed": ["1", "1", "1"]}),
    "a negative share": ("mixture", {"denominator": "10", "truth": "6", "fixed": ["3", "2", "-1"]}),
    "a size of nothing": ("subset k=4 q=2", {"denominator": "4", "include": "3", "size": 0}),
    "a size of all": ("subset k=4 q=2", {"denominator": "4", "include": "3", "size": 4}),
    "a truth value for a size": ("l-diverse k=5 l=3", {"size": True}),
    "a text for a size": ("l-diverse k=5 l=3", {"size": "3"}),
    "flip above keep": ("rappor k=3", {"denominator": "3", "keep": "1", "flip": "2"}),
    "no factors": ("kronecker of two", {"factors": []}),
    "no parts": ("blocks of two", {"parts": []}),
}


@together("what", list(FORGED))
def test_a_forged_file_is_refused_although_its_fingerprint_is_right(what: str) -> None:
    """Whoever can compute fingerprints can still not make a file that is no design."""
    from maskwell.core.documents import fingerprint_of

    name, exact = FORGED[what]
    covered = {k: v for k, v in content(name).items() if k not in ("provenance", "fingerprint")} | {"exact": exact}
    with told(DesignFileError):
        wire.design_from_dict({**covered, "provenance": {}, "fingerprint": fingerprint_of(covered)})


@together("bad", [None, [], "design", 3, {}, {**content("uniform k=3"), "note": float("nan")}])
def test_what_is_not_a_design_file_is_refused(bad: Any) -> None:
    """Every field with every wrong value is tried in tests/fuzz/test_documents.py."""
    with told(DesignFileError) as raised:
        wire.design_from_dict(bad)
    assert raised.value.message


def test_a_saved_design_is_read_back_and_labels_that_look_alike_are_told_apart(tmp_path: Path) -> None:
    texts = ["1", "\u00e9", "e\u0301", "a "]
    numbers = [1, "\u00e9", "e\u0301", "a "]
    kept, changed = (Uniform.from_gamma(3, Categories.of(labels)) for labels in (texts, numbers))
    assert kept.fingerprint != changed.fingerprint
    assert wire.design_from_dict(json.loads(wire.dumps(kept))).inputs.labels == tuple(texts)
    design, path = Uniform.from_gamma(3, Categories.of(["yes", "no"])), tmp_path / "design.json"
    wire.save_design(design, path)
    assert wire.load_design(path) == design
    with pytest.raises(DesignFileError, match="exists"):
        wire.save_design(design, path)
    wire.save_design(Uniform.from_gamma(5, Categories.of(["yes", "no"])), path, overwrite=True)
    assert wire.load_design(path).parity_exact() == 5
    with pytest.raises(DesignFileError, match="does not exist"):
        wire.save_design(design, tmp_path / "nowhere" / "design.json")
