"""Every command runs in a folder of its own; a service and a browser are there for the tests of one file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.support.running_service import RunningService, chromium, running

if TYPE_CHECKING:
    from maskwell.collection.store import Store


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def service_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the service keeps its data."""
    return tmp_path_factory.mktemp("service")


@pytest.fixture(scope="module")
def store(service_folder: Path) -> Iterator[Store]:
    """The database of the service."""
    from maskwell.collection.store import Store

    made = Store(f"sqlite:///{service_folder / 'surveys.db'}")
    made.create()
    yield made
    made.close()


@pytest.fixture(scope="module")
def service(store: Store, service_folder: Path) -> Iterator[RunningService]:
    """The service, which answers."""
    with running(store.url, service_folder) as started:
        yield started


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium, or a skip."""
    with chromium() as started:
        yield started
