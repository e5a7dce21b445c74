"""Stores of both kinds."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.collecting import database

pytest.importorskip("sqlalchemy", reason="the service is not installed: pip install 'maskwell[serve]'")

from argon2 import PasswordHasher

from maskwell.collection import accounts
from maskwell.collection.store import Store


@pytest.fixture(autouse=True)
def _quick_passwords(monkeypatch: pytest.MonkeyPatch) -> None:
    """Passwords are hashed as the service does it, but with less work: what is tested does not depend on how much."""
    monkeypatch.setattr(accounts, "PasswordHasher", lambda: PasswordHasher(time_cost=1, memory_cost=8, parallelism=1))


@pytest.fixture(params=["sqlite", "postgresql"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    """An empty store, in SQLite and in PostgreSQL."""
    with database(request.param, tmp_path) as url:
        made = Store(url)
        made.create()
        yield made
        made.close()
