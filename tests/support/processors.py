"""Run tests as on other processors: what is printed must not depend on the last bits of a computation.

OpenBLAS has a kernel for each family of processors, NumPy and the C library have functions for each set of vector
instructions, and their results differ in the last bits. All three can be told to work as on an older processor::

    python -m tests.support.processors tests/end_to_end docs

runs pytest on these paths as on a processor that this one can stand in for, and that is not its own kind. Where there
is none (no OpenBLAS, or a processor with one kernel only) it says so and runs them as they are.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
from tests.support.side_by_side import options

KERNELS = ("Nehalem", "Haswell", "Sandybridge", "Prescott", "ARMV8", "NEOVERSEN1")
"""In order of preference. Prescott runs on every 64-bit x86, Nehalem and Haswell stand for before and after FMA."""
WITH_FMA = ("Haswell",)
NO_FMA = "glibc.cpu.hwcaps=-AVX512F,-AVX2,-FMA"
PROCESSES = min((os.cpu_count() or 1) // 2, 8)
"""Half of the cores are left to the other tests, which run meanwhile."""
PYTEST = ["-m", "pytest", "-q", *(options(PROCESSES) if PROCESSES > 1 else [])]


def kernel() -> str | None:
    """The kernel that NumPy's own OpenBLAS uses in this process, None where NumPy brings no OpenBLAS."""
    package = Path(np.__file__).parent
    for path in sorted([*package.parent.glob("numpy.libs/*openblas*"), *package.glob(".dylibs/*openblas*")]):
        library = ctypes.CDLL(str(path))
        for name in ("scipy_openblas_get_corename64_", "openblas_get_corename64_", "openblas_get_corename"):
            if hasattr(library, name):
                tell = getattr(library, name)
                tell.restype = ctypes.c_char_p
                return str(tell().decode())
    return None


def environment(name: str) -> dict[str, str]:
    """What makes a process compute as on a processor with this kernel."""
    from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__

    newer = [one for one in __cpu_dispatch__ if name not in WITH_FMA or "512" in one or one == "X86_V4"]
    disabled = " ".join(one for one in newer if __cpu_features__.get(one))
    plain = {"OPENBLAS_CORETYPE": name, "OPENBLAS_NUM_THREADS": "1", "NPY_DISABLE_CPU_FEATURES": disabled}
    return plain if name in WITH_FMA else plain | {"GLIBC_TUNABLES": NO_FMA}


def other() -> str | None:
    """A processor that this one can stand in for: tried in a process of its own, and with another kernel."""
    ours = kernel()
    for name in KERNELS if ours is not None else ():
        if _kernel_of(name) not in (None, ours):
            return name
    return None


def _kernel_of(name: str) -> str | None:
    """The kernel of a process that works as on this processor; None where it ends, on an illegal instruction say."""
    probe = (
        "import numpy as np; from tests.support.processors import kernel; np.linalg.inv(np.eye(70)); print(kernel())"
    )
    command, folder = [sys.executable, "-W", "error", "-c", probe], Path(__file__).parents[2]
    env = os.environ | environment(name)
    done = subprocess.run(command, env=env, cwd=folder, capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else None


def main(paths: list[str]) -> int:
    """Run pytest on the paths as on another processor; its status."""
    name = other()
    if name is None:
        why = "NumPy brings no OpenBLAS" if kernel() is None else "this processor can stand in for no other"
        print(f"as on this processor ({why}):", flush=True)
    else:
        print(f"as on {name}:", flush=True)
    env = os.environ | ({} if name is None else environment(name))
    return subprocess.run([sys.executable, *PYTEST, *paths], env=env, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
