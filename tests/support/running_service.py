"""A real browser and a running service, for tests of what respondents see and send."""

import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.support.browser import browser as browser_path

FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip


@contextmanager
def chromium() -> Iterator[Any]:
    """A browser; the test is skipped where there is none."""
    playwright = pytest.importorskip("playwright.sync_api", reason="no Playwright: pip install playwright")
    path = browser_path()
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=FLAGS)
        try:
            yield browser
        finally:
            browser.close()


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class RunningService:
    """``maskwell serve`` in a process of its own."""

    def __init__(self, database: str, folder: Path, *, workers: int = 1, port: int | None = None) -> None:
        self.port = free_port() if port is None else port
        self.address = f"http://127.0.0.1:{self.port}"
        self.log = folder / "service.log"
        command = [sys.executable, "-m", "maskwell", "serve", "--database", database, "--port", str(self.port)]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [*command, "--workers", str(workers)], stdout=log, stderr=log, cwd=folder, start_new_session=True
            )

    def wait(self, seconds: float = 60) -> None:
        """Until it answers."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            try:
                with urllib.request.urlopen(f"{self.address}/health", timeout=5) as answer:
                    if answer.status == 200:
                        return
            except OSError:
                assert self.process.poll() is None, self.log.read_text()
                time.sleep(0.1)
        raise AssertionError(f"the service did not start: {self.log.read_text()}")

    def stop(self) -> int:
        """End it as a system does; its status."""
        self.process.terminate()
        return self.process.wait(30)


@contextmanager
def running(database: str, folder: Path, *, workers: int = 1) -> Iterator[RunningService]:
    """A service that answers."""
    service = RunningService(database, folder, workers=workers)
    try:
        service.wait()
        yield service
    finally:
        if service.process.poll() is None:
            service.stop()


def press(page: Any, name: str) -> None:
    page.get_by_role("button", name=name, exact=True).click()


def answer(page: Any, label: str, button: str = "Next") -> None:
    """Tick an answer and press a button."""
    page.get_by_label(label, exact=True).check()
    press(page, button)
