"""A case that fails says how to run it again, alone."""

from collections.abc import Generator
from typing import Any

import pytest
from tests.support.fuzzing import Numbers


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add the number of the case, and what to type, to what is shown of a failure."""
    report = yield
    if report.failed and report.when == "call":
        given: dict[str, Any] = item.callspec.params if hasattr(item, "callspec") else {}
        number = given.get("number", Numbers.latest)
        if number is not None:
            test = item.nodeid.partition("[")[0]
            command = f"MASKWELL_FUZZ_ONLY={number} .venv/bin/python -m pytest {test}"
            report.sections.append(("this case alone", command))
    return report


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """Forget the number of the test before."""
    Numbers.latest = None
