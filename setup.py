"""The one thing pyproject.toml cannot say: the compiled kernels are optional.

Without a compiler the package installs all the same and uses its NumPy path, which gives the same reports from the
same random words. ``MASKWELL_NO_COMPILER=1`` leaves the compiler out on purpose.
"""

from __future__ import annotations

import os
import sys
import sysconfig

from setuptools import Extension, setup

# One binary serves every Python from 3.11 on; free-threaded builds have no stable interface and get their own.
STABLE_INTERFACE = not sysconfig.get_config_var("Py_GIL_DISABLED")

kernels = Extension(
    "maskwell.designs.kernels._compiled",
    sources=["src/maskwell/designs/kernels/_compiled.c"],
    define_macros=[("Py_LIMITED_API", "0x030B0000")] if STABLE_INTERFACE else [],
    py_limited_api=STABLE_INTERFACE,
    extra_compile_args=[] if sys.platform == "win32" else ["-O3"],
    optional=True,
)

if os.environ.get("MASKWELL_NO_COMPILER") == "1":
    setup()
else:
    setup(
        ext_modules=[kernels],
        options={"bdist_wheel": {"py_limited_api": "cp311"}} if STABLE_INTERFACE else {},
    )
