"""Many small cases in one test: a test of its own for each would take longer to start and to report than to run."""

import inspect
from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from typing import Any

import pytest

MOST_TOLD = 5
"""Cases that a failure shows in full; the others it counts."""


def together(names: str | Sequence[str], cases: Iterable[Any], ids: object = None) -> Callable[..., Any]:
    """Written like ``pytest.mark.parametrize``, but all cases are one test, which runs them all and names what failed.

    Each case has its own ``tmp_path`` and begins with what ``monkeypatch`` changed undone. A case that is skipped is
    left out; where all are, the test is skipped. Other fixtures are shared: a test that changes one of them should be
    parametrized.

    >>> @together("n", [1, 2, 3])
    ... def test(n):
    ...     assert n != 2, "two"
    >>> try:
    ...     test()
    ... except AssertionError as error:
    ...     print(str(error).splitlines()[0], *error.__notes__, sep="; ")
    two; case n=2, 1 of 3 cases failed
    """
    keys = [names] if isinstance(names, str) else [*names]
    listed = [(case,) if isinstance(names, str) else tuple(case) for case in cases]
    assert listed, "no case"

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        @wraps(test)
        def run(**fixtures: Any) -> None:
            failures, skipped = list[BaseException](), list[BaseException]()
            for number, case in enumerate(listed):
                given = dict(zip(keys, case, strict=True))
                try:
                    test(**fixtures_of(fixtures, number), **given)
                except pytest.skip.Exception as error:
                    skipped.append(error)
                except (Exception, pytest.fail.Exception) as error:  # noqa: BLE001 - it is raised when all have run
                    error.add_note(f"case {', '.join(f'{key}={value!r}'[:200] for key, value in given.items())}")
                    failures.append(error)
                finally:
                    if "monkeypatch" in fixtures:
                        fixtures["monkeypatch"].undo()
            if failures:
                _fail(failures, len(listed))
            if len(skipped) == len(listed):
                raise skipped[0]

        signature = inspect.signature(test)
        kept = [parameter for name, parameter in signature.parameters.items() if name not in keys]
        run.__signature__ = signature.replace(parameters=kept)  # type: ignore[attr-defined]
        return run

    return decorate


def fixtures_of(fixtures: dict[str, Any], number: int) -> dict[str, Any]:
    """The fixtures for one case: a temporary folder of its own."""
    if "tmp_path" not in fixtures:
        return fixtures
    folder = fixtures["tmp_path"] / str(number)
    folder.mkdir()
    return fixtures | {"tmp_path": folder}


def _fail(failures: list[BaseException], cases: int) -> None:
    told = f"{len(failures)} of {cases} cases failed"
    if len(failures) == 1:
        failures[0].__notes__[-1] += f", {told}"
        raise failures[0]
    raise BaseExceptionGroup(told, failures[:MOST_TOLD])
