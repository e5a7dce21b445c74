"""Fixtures for every test; the markers are declared in pyproject.toml."""

import gc
from pathlib import Path
from random import Random

import pytest
from hypothesis import settings

# The same examples everywhere, however busy it is; for others, and more: pytest --hypothesis-profile=thorough
settings.register_profile("house", deadline=None, derandomize=True, max_examples=30)
settings.register_profile("thorough", deadline=None, max_examples=1000)
settings.load_profile("house")

LONGEST = (
    "test_every_engine.py",
    "test_documents.py",
    "test_collection_",
    "test_cli_release.py",
    "test_device_sheets.py",
    "test_printed_devices.py",
    "test_wrong_arguments.py",
)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--order", default="", help="a seed: files, and the tests of each, in a random order")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """The longest files first, with those that wait for a browser, so that no process is left with one at the end.

    A seed gives a random order instead: no test may need one that ran before it.
    """
    seed = config.getoption("--order")
    if seed:
        items.sort(key=lambda item: [Random(f"{seed} {name}").random() for name in (str(item.path), item.nodeid)])
    else:
        items.sort(key=lambda item: not item.path.name.startswith(LONGEST))


def pytest_collection(session: pytest.Session) -> None:
    """Nothing that is collected is rubbish."""
    gc.disable()


def pytest_collection_finish(session: pytest.Session) -> None:
    """What stays for the whole run is not looked at for rubbish again and again."""
    gc.collect()
    gc.freeze()
    gc.enable()


ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="session")
def root() -> Path:
    """The folder of the project."""
    return ROOT


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder ``shared`` beside the project, with real data that is not ours to pass on."""
    folder = ROOT.parent / "shared"
    if not folder.is_dir():
        pytest.skip("no folder ../shared beside the project: the published data are not here")
    return folder
