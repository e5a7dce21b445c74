"""The stored draws are what the library draws: formats and draws change only with a version."""

import json
from typing import Any

import numpy as np
import pytest
from tests.golden.make_draws import PATH, golden_designs, shown
from tests.support.together import together

from maskwell import SeededRandom
from maskwell.core.draws import WordReader
from maskwell.designs import kernels, wire

GOLDEN: dict[str, Any] = json.loads(PATH.read_text(encoding="utf-8"))
BY_NAME: dict[str, dict[str, Any]] = {entry["name"]: entry for entry in GOLDEN["designs"]}
each = together("name", list(BY_NAME))


def test_every_kind_is_there() -> None:
    assert {entry["design"]["kind"] for entry in BY_NAME.values()} == set(wire.KINDS)
    assert set(BY_NAME) == set(golden_designs())


@each
def test_stored_designs_are_read_and_named_alike(name: str) -> None:
    design = wire.design_from_dict(BY_NAME[name]["design"])
    assert design == golden_designs()[name]
    assert design.to_dict()["exact"] == BY_NAME[name]["design"]["exact"]
    assert design.words_per_row == BY_NAME[name]["words_per_row"]


@each
def test_the_seed_gives_the_stored_words(name: str) -> None:
    rows = BY_NAME[name]["rows"]
    words = SeededRandom(GOLDEN["seed"]).stream().words(0, len(rows["codes"]), BY_NAME[name]["words_per_row"])
    assert words.tolist() == rows["words"]


@each
@together("path", ["compiled", "plain"])
def test_the_seed_gives_the_stored_reports(name: str, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if getattr(kernels, path) is None:
        pytest.skip("no compiled kernels here")
    monkeypatch.setattr(kernels, "active", getattr(kernels, path))
    design, rows = wire.design_from_dict(BY_NAME[name]["design"]), BY_NAME[name]["rows"]
    reports = design.sample(np.array(rows["codes"]), random=SeededRandom(GOLDEN["seed"]))
    assert [shown(report) for report in reports.data] == rows["reports"]


@each
def test_the_definition_gives_the_stored_reports(name: str) -> None:
    design, rows = wire.design_from_dict(BY_NAME[name]["design"]), BY_NAME[name]["rows"]
    kind = design.empty_reports(0).dtype
    for code, words, report in zip(rows["codes"], rows["words"], rows["reports"], strict=True):
        drawn = design.encode_report(design.draw(code, WordReader(words)))
        assert shown(np.asarray(drawn, dtype=kind)) == report


@each
def test_edge_words_give_the_stored_reports(name: str) -> None:
    design = wire.design_from_dict(BY_NAME[name]["design"])
    for edge in BY_NAME[name]["edges"]:
        spill = edge["spill"]
        read = WordReader(edge["words"], more=lambda refill, spill=spill: spill[4 * refill :][:4])
        assert shown(design.encode_report(design.draw(edge["code"], read))) == edge["report"]


def test_some_edges_need_further_words() -> None:
    """Otherwise the edges would not try what they are there for."""

    def is_settled(entry: dict[str, Any], edge: dict[str, Any]) -> bool:
        try:
            wire.design_from_dict(entry["design"]).draw(edge["code"], WordReader(edge["words"]))
        except EOFError:
            return False
        return True

    open_kinds = {e["design"]["kind"] for e in BY_NAME.values() for edge in e["edges"] if not is_settled(e, edge)}
    assert open_kinds == set(wire.KINDS)
