"""Run tests with other last bits: no verdict, printed digit or draw may depend on them.

    python -m tests.support.trembling 1 -q tests/unit/microdata

is pytest with seed 1. Floats that maskwell or a test gets from linear algebra, solvers, special
functions and logarithms (:data:`PATCHES`) are moved by up to four units in the last place. Linear programs are solved
with their unknowns in another order; vectors of equal eigenvalues change places, and vectors their signs. Commands that
tests start tremble, too: the seed is in the environment, and ``startup/sitecustomize.py`` on Python's path reads it.

The move follows from the seed and the result alone. So a computation that is repeated gives the same result, in any
process and order, as on one processor of another kind. Integers and fractions stay. ``a @ b``, ``a.sum()`` and
``a ** b`` cannot be reached from outside.
"""

import functools
import hashlib
import importlib.abc
import importlib.machinery
import math
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

SEED = "MASKWELL_TREMBLE"
STARTUP = Path(__file__).parent / "startup"
ULPS = 4
EPS = sys.float_info.epsilon
CALLERS = {"maskwell", "tests", "__main__"}
"""Packages whose calls tremble: NumPy and SciPy also call themselves, and rely on what they get."""

Function = Callable[..., Any]


def moved(value: Any, name: str, *, ulps: float = ULPS, largest: float = 0) -> Any:
    """A float, an array or a tuple of them with other last bits.

    ``largest`` are units in the last place of the largest entry, by which all entries move.
    """
    import numpy as np

    if isinstance(value, tuple):
        return like(value, [moved(part, name, ulps=ulps, largest=largest) for part in value])
    if isinstance(value, float):
        return type(value)(value * (1 + ulps * EPS * (number(value.hex().encode(), name) / 2**63 - 1)))
    if not isinstance(value, np.ndarray) or value.dtype.kind not in "fc" or value.size == 0:
        return value
    random = np.random.default_rng(number(value.tobytes(), name))
    with np.errstate(all="ignore"):
        new = value * (1 + ulps * EPS * random.uniform(-1, 1, value.shape))
        if largest:
            scale = np.nan_to_num(np.abs(value), posinf=0.0).max(axis=(-2, -1)[-value.ndim :], keepdims=True)
            new = new + largest * EPS * scale * random.uniform(-1, 1, value.shape)
    return new.astype(value.dtype)


def number(content: bytes, name: str) -> int:
    """64 random bits for a result of a function."""
    key = f"{os.environ.get(SEED)} {name}".encode()[:64]
    return int.from_bytes(hashlib.blake2b(content, digest_size=8, key=key).digest())


def like(old: tuple[Any, ...], parts: Sequence[Any]) -> tuple[Any, ...]:
    """A tuple of the same kind."""
    return type(old)(*parts) if hasattr(old, "_fields") else tuple(parts)


# --- how results of a function are moved: each takes the name, the function and its arguments ------------------------


def plain(name: str, function: Function, *args: Any, **options: Any) -> Any:
    """Every entry for itself; whole numbers of a whole matrix are exact everywhere."""
    made = function(*args, **options)
    return made if is_whole(args[0]) and is_whole(made) else moved(made, name)


def is_whole(value: Any) -> bool:
    """Whether all entries are whole numbers."""
    import numpy as np

    return bool(isinstance(value, np.ndarray | float) and np.all(value == np.rint(value)))


def solution(name: str, function: Function, *args: Any, **options: Any) -> Any:
    """Solutions of equations: their error is relative to the largest entry, and what is zero here is not elsewhere."""
    return moved(function(*args, **options), name, largest=1)


def of_library(name: str, function: Function, *args: Any) -> Any:
    """Functions of the C library are right to one unit; what is a whole number is exact everywhere."""
    value = function(*args)
    return value if not math.isfinite(value) or value == round(value) else moved(value, name, ulps=1)


def by_entry(name: str, function: Function, *args: Any, **options: Any) -> Any:
    """Products and functions of arrays: whole numbers, such as sums of counts, are exact everywhere."""
    import numpy as np

    value = function(*args, **options)
    if "out" in options or not isinstance(value, np.ndarray | np.floating) or value.dtype.kind != "f":
        return value
    return np.where(value == np.rint(value), value, moved(value, name))[()]


def special(name: str, function: Function, *args: Any, **options: Any) -> Any:
    """Special functions: what is a probability stays one."""
    import numpy as np

    value = function(*args, **options)
    new = moved(value, name)
    return new if isinstance(value, tuple) else np.where(np.abs(value) <= 1, np.clip(new, -1, 1), new)[()]


def spectrum(name: str, function: Function, *args: Any, **options: Any) -> Any:
    """Eigenvalues, with or without vectors: in order, and vectors of equal ones in another."""
    import numpy as np

    made = function(*args, **options)
    if not isinstance(made, tuple):
        return np.sort(moved(made, name))
    order, signs = exchange(made[0], name)
    return like(made, [np.sort(moved(made[0], name)), moved(made[1][..., order] * signs, name)])


def singular(name: str, function: Function, *args: Any, **options: Any) -> Any:
    """Singular values, with or without vectors: in order, and vectors of equal ones in another."""
    import numpy as np

    made = function(*args, **options)
    if not isinstance(made, tuple):
        return -np.sort(-moved(made, name))
    left, values, right = made
    order, signs = exchange(values, name)
    if values.ndim == 1:
        left, right = left.copy(), right.copy()
        left[:, : len(values)] = left[:, order] * signs
        right[: len(values)] = right[order] * signs[:, None]
        right[len(values) :] *= -1  # directions that the matrix does not see
    return like(made, [moved(left, name), -np.sort(-moved(values, name)), moved(right, name)])


def exchange(values: Any, name: str) -> tuple[Any, Any]:
    """An order of the vectors in which those of equal values have changed places, and a sign for each."""
    import numpy as np

    if values.ndim > 1:
        return slice(None), 1.0
    random = np.random.default_rng(number(values.tobytes(), name))
    scale = np.abs(values).max(initial=0.0) or 1.0
    apart = np.concatenate([[0], np.cumsum(np.abs(np.diff(values)) > 1e-12 * scale)])[: len(values)]
    return np.lexsort([random.random(len(values)), apart]), random.choice([-1.0, 1.0], len(values))


def optimum(name: str, function: Function, *args: Any, **options: Any) -> Any:
    """Roots and minima: a number, or an object whose arrays are moved."""
    return moved_within(function(*args, **options), name)


def moved_within(made: Any, name: str) -> Any:
    """A result of SciPy with its floats moved."""
    if not hasattr(made, "items"):
        return moved(made, name)
    for key, value in made.items():
        made[key] = moved_within(value, name)
    return made


def program(name: str, function: Function, c: Any, *args: Any, **options: Any) -> Any:
    """A linear program with its unknowns in another order, which leads to another of several solutions."""
    import numpy as np

    asked = dict(zip(("A_ub", "b_ub", "A_eq", "b_eq", "bounds", "method"), args, strict=False)) | options
    c = np.asarray(c, dtype=float)
    order = np.random.default_rng(number(c.tobytes(), name)).permutation(len(c))
    asked |= {key: columns(asked.get(key), order) for key in ("A_ub", "A_eq")}
    if np.ndim(np.asarray(bounds := asked.get("bounds"), dtype=object)) == 2:
        asked["bounds"] = [tuple(bounds[at]) for at in order]
    made = function(c[order], **asked)
    for part in (made, made.get("lower", {}), made.get("upper", {})):
        for key in {"x", "residual", "marginals"} & set(part):
            part[key] = None if part[key] is None else np.asarray(part[key])[np.argsort(order)]
    return moved_within(made, name)


def columns(matrix: Any, order: Any) -> Any:
    """A matrix, dense or sparse or none, with its columns in another order."""
    import numpy as np

    if matrix is None:
        return None
    return matrix.tocsc()[:, order] if hasattr(matrix, "tocsc") else np.asarray(matrix)[:, order]


class MovedSolver:
    """piqp with its unknowns in another order."""

    def __init__(self, solver: Any) -> None:
        self._solver = solver

    def __getattr__(self, name: str) -> Any:
        return getattr(self._solver, name)

    def setup(self, P: Any, c: Any, A: Any, b: Any, G: Any, h_l: Any, h_u: Any, x_l: Any, x_u: Any) -> None:
        """The program, turned."""
        import numpy as np

        order = np.random.default_rng(number(c.tobytes(), "piqp")).permutation(len(c))
        self._back = np.argsort(order)
        turned = P[order][:, order], c[order], A[:, order], b, G[:, order], h_l, h_u, x_l[order], x_u[order]
        self._solver.setup(*turned)

    @property
    def result(self) -> Any:
        """What is known of the solution, turned back and moved."""
        return MovedResult(self._solver.result, self._back)


class MovedResult:
    """A result of piqp."""

    def __init__(self, result: Any, back: Any) -> None:
        self._result, self._back = result, back

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._result, name)
        return moved(value[self._back], name) if name in ("x", "z_bl", "z_bu") else value


def solver(_: str, function: Function) -> Any:
    """A solver of piqp."""
    return MovedSolver(function())


# --- where they are put -----------------------------------------------------------------------------------------------

ALGEBRA = {
    solution: "solve lstsq lu_solve",
    plain: "inv pinv qr cholesky norm det slogdet cond null_space orth expm solve_triangular eig eigvals spsolve",
    spectrum: "eigh eigvalsh",
    singular: "svd svdvals",
}
PATCHES: dict[str, dict[Function, str]] = {
    "math": {of_library: "exp expm1 log log1p lgamma erf erfc pow tanh"},
    "numpy": {by_entry: "exp expm1 log log1p tanh dot einsum inner matmul tensordot vdot convolve"},
    "numpy.linalg": ALGEBRA,
    "scipy.linalg": ALGEBRA,
    "scipy.sparse.linalg": ALGEBRA,
    "scipy.optimize": {
        program: "linprog",
        optimum: "brentq brenth bisect minimize minimize_scalar root root_scalar least_squares lsq_linear nnls newton",
    },
    "scipy.special": {
        special: "bdtr bdtrc betainc betainccinv betaincinv chdtr chdtrc chdtri fdtr fdtrc gammaln ndtr ndtri "
        "roots_laguerre stdtr stdtrit xlog1py xlogy"
    },
    "piqp": {solver: "SparseSolver DenseSolver"},
}


def install() -> None:
    """Patch what is imported, and what will be."""
    sys.meta_path.insert(0, Finder())
    for name in PATCHES:
        if name in sys.modules:
            patch(name, sys.modules[name])


def patch(place: str, module: ModuleType) -> None:
    """Put trembling functions in place of those of a module."""
    for how, names in PATCHES[place].items():
        for name in names.split():
            if hasattr(module, name):
                setattr(module, name, trembling(how, f"{place}.{name}", getattr(module, name)))


def trembling(how: Function, name: str, function: Function) -> Function:
    """A function that trembles where maskwell or a test calls it."""

    @functools.wraps(function, assigned=("__module__", "__name__", "__qualname__", "__doc__"), updated=())
    def called(*args: Any, **options: Any) -> Any:
        caller = sys._getframe(1).f_globals.get("__name__", "")
        if caller.partition(".")[0] not in CALLERS:
            return function(*args, **options)
        return how(name, function, *args, **options)

    return called


class Finder(importlib.abc.MetaPathFinder):
    """Patches modules when they are imported: commands import SciPy only where they need it."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        """The usual place, with a loader that patches."""
        spec = importlib.machinery.PathFinder.find_spec(name, path, target) if name in PATCHES else None
        if spec is not None and spec.loader is not None:
            load = spec.loader.exec_module

            def and_patch(module: ModuleType) -> None:
                load(module)
                patch(name, module)

            spec.loader.exec_module = and_patch  # type: ignore[method-assign]
        return spec


def environment(seed: str) -> dict[str, str]:
    """What makes a process and those that it starts tremble."""
    path = os.pathsep.join([str(STARTUP), *filter(None, [os.environ.get("PYTHONPATH")])])
    return os.environ | {SEED: seed, "PYTHONPATH": path, "OPENBLAS_NUM_THREADS": "1"}


if __name__ == "__main__":
    command = [sys.executable, "-m", "pytest", *sys.argv[2:]]
    os.execve(sys.executable, command, environment(sys.argv[1]))  # Python starts anew, with startup/sitecustomize.py
