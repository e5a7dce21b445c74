"""Fixtures for the tests of releases."""

import pytest

from maskwell.plots import Picture


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages with all their words and no drawings, which take most of their time and have tests of their own."""
    monkeypatch.setattr(Picture, "inline_svg", lambda *_, **__: "")
