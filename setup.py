"""The two things pyproject.toml cannot say: the compiled kernels are optional, and links of the README need addresses.

Without a compiler the package installs all the same and uses its NumPy path, which gives the same reports from the
same random words. ``MASKWELL_NO_COMPILER=1`` leaves the compiler out on purpose.
"""

from __future__ import annotations

import os
import re
import sys
import sysconfig
import tomllib
from pathlib import Path

from setuptools import Extension, setup

# One binary serves every Python from 3.11 on; free-threaded builds have no stable interface and get their own.
STABLE_INTERFACE = not sysconfig.get_config_var("Py_GIL_DISABLED")
HERE = Path(__file__).parent
PROJECT = tomllib.loads((HERE / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def readme() -> str:
    """The README with addresses in place of paths, which lead nowhere on the page of a package."""
    at = f"{PROJECT['urls']['Source']}/{{}}/v{PROJECT['version']}/"
    text = (HERE / "README.md").read_text(encoding="utf-8")
    text = re.sub(r"(!\[[^\]]*\]\()(?!https?:)", rf"\g<1>{at.format('raw')}", text)
    return re.sub(r"(?<!!)(\[[^\]]*\]\()(?!https?:|#)", rf"\g<1>{at.format('blob')}", text)


kernels = Extension(
    "maskwell.designs.kernels._compiled",
    sources=["src/maskwell/designs/kernels/_compiled.c"],
    define_macros=[("Py_LIMITED_API", "0x030B0000")] if STABLE_INTERFACE else [],
    py_limited_api=STABLE_INTERFACE,
    extra_compile_args=[] if sys.platform == "win32" else ["-O3"],
    optional=True,
)
compiled = {
    "ext_modules": [kernels],
    "options": {"bdist_wheel": {"py_limited_api": "cp311"}} if STABLE_INTERFACE else {},
}
setup(
    long_description=readme(),
    long_description_content_type="text/markdown",
    **({} if os.environ.get("MASKWELL_NO_COMPILER") == "1" else compiled),
)
