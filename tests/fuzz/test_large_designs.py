"""Designs that are small to state and hard to audit: an answer, or one clear error, within the rule for every input."""

from pathlib import Path

import pytest
from tests.support.fuzzing import check_ended, files_in, numbers, run_command
from tests.support.large_designs import LARGE

from maskwell.core.documents import from_json
from maskwell.designs import wire
from maskwell.errors import TooLargeError

FIRST = ["product of 11 coins", "matrix of 300", "band of 3000", "matrices of 100, 10 times"]
NAMES = [*FIRST, *(name for name in LARGE if name not in FIRST)]


@pytest.mark.parametrize("number", numbers(len(FIRST)))
def test_an_audit_of_a_large_design(number: int, tmp_path: Path) -> None:
    try:
        text = wire.dumps(LARGE[NAMES[number % len(NAMES)]]())
    except (TooLargeError, RecursionError) as error:
        pytest.skip(f"cannot be made: {error}")
    (tmp_path / "d.json").write_text(text, encoding="utf-8")
    before = files_in(tmp_path)
    ended = run_command(["audit", "d.json", "--json"], tmp_path)
    check_ended(ended, tmp_path, before)
    assert ended.status == 0 or b"hint: " in ended.err


def test_designs_within_designs_have_an_end() -> None:
    inner = wire.dumps(LARGE["coins 30 times"]())
    assert wire.design_from_dict(from_json(inner)).k == 2
