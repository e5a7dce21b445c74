"""Locks: what many threads and processes read and replace loses nothing."""

import multiprocessing
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import pytest

from maskwell.core.atomic import atomic_file
from maskwell.core.locks import locked

EACH, AT_ONCE = 25, 4


def add_lines(path: str) -> None:
    """Read a file and replace it by one with a line more, many times."""
    for _ in range(EACH):
        with locked(path):
            before = Path(path).read_bytes()
            with atomic_file(path, force=True) as file:
                file.write(before + b"line\n")


@pytest.mark.parametrize("kind", ["threads", "processes"])
def test_no_line_is_lost_and_no_lock_is_left(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "lines"
    path.write_bytes(b"")
    context = multiprocessing.get_context("spawn")
    pool = ThreadPoolExecutor(AT_ONCE) if kind == "threads" else ProcessPoolExecutor(AT_ONCE, mp_context=context)
    with pool:
        for one in [pool.submit(add_lines, str(path)) for _ in range(AT_ONCE)]:
            one.result()
    assert path.read_bytes().count(b"\n") == EACH * AT_ONCE
    assert [one.name for one in tmp_path.iterdir()] == ["lines"]


def test_a_lock_is_let_go_where_the_work_fails(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), locked(tmp_path / "x"):
        _ = 1 // 0
    with locked(tmp_path / "x"):
        assert (tmp_path / ".x.lock").exists()
    assert not [*tmp_path.iterdir()]
