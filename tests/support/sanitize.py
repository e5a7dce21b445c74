"""The compiled kernels under AddressSanitizer and UndefinedBehaviorSanitizer: ``make sanitize``.

The package is copied to ``build/sanitize``, its kernels are compiled there with both, and the tests that draw run on
it. The first bad access ends the process, and with it the test. A small program that reads beyond an array runs first:
unless it is caught, nothing else that is found to be in order would mean anything.
"""

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "build" / "sanitize"
KERNELS = Path("maskwell", "designs", "kernels")
FLAGS = ("-O1", "-g", "-fno-omit-frame-pointer", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
TESTS = (
    "tests/unit/designs", "tests/golden", "tests/contracts/test_exact_sampling.py",
    "tests/contracts/test_every_design.py", "tests/contracts/test_emitted_reports.py",
    "tests/statistical/test_sampling.py",
)  # fmt: skip

CONTROL = """\
#include <Python.h>
static PyObject *beyond(PyObject *self, PyObject *size) {
    Py_ssize_t n = PyLong_AsSsize_t(size);
    char *own = PyMem_RawCalloc((size_t)n, 1);
    PyObject *read = PyLong_FromLong(own[n]);
    PyMem_RawFree(own);
    return read;
}
static PyMethodDef methods[] = {{"beyond", beyond, METH_O, NULL}, {NULL, NULL, 0, NULL}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "control", NULL, -1, methods, NULL, NULL, NULL, NULL};
PyMODINIT_FUNC PyInit_control(void) { return PyModule_Create(&module); }
"""

WHERE = "from maskwell.designs import kernels; print(kernels.compiled.__file__)"


def library(compiler: str, name: str) -> str | None:
    """The full path of a library of the compiler, None where it has none."""
    done = subprocess.run([compiler, f"-print-file-name={name}"], capture_output=True, text=True, check=False)
    path = Path(done.stdout.strip())
    return str(path.resolve()) if done.returncode == 0 and path.is_absolute() and path.exists() else None


def compile_module(compiler: str, source: Path, target: Path) -> None:
    """One C file to an extension module with the sanitizers in it."""
    include = sysconfig.get_paths()["include"]
    command = [compiler, *FLAGS, "-fPIC", "-shared", f"-I{include}", str(source), "-o", str(target)]
    subprocess.run(command, check=True)


def environment(preload: list[str]) -> dict[str, str]:
    """What a Python needs that was not compiled with the sanitizers itself."""
    return os.environ | {
        "LD_PRELOAD": " ".join(preload),
        "PYTHONMALLOC": "malloc",  # the allocator of Python would hide what lies between two objects
        "PYTHONPATH": os.pathsep.join([str(FOLDER), str(ROOT)]),
        "OPENBLAS_NUM_THREADS": "1",
        "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1",  # Python never frees everything
        "UBSAN_OPTIONS": "print_stacktrace=1",
    }


def main(arguments: list[str]) -> int:
    """Compile, try the control, and run the tests; 1 if one fails."""
    compiler = os.environ.get("CC", "gcc")
    if shutil.which(compiler) is None or (asan := library(compiler, "libasan.so")) is None:
        print(f"error: {compiler} has no AddressSanitizer here; install gcc with libasan and libubsan, or set CC")
        return 1
    shutil.rmtree(FOLDER, ignore_errors=True)
    shutil.copytree(
        ROOT / "src" / "maskwell", FOLDER / "maskwell", ignore=shutil.ignore_patterns("*.so", "__pycache__")
    )
    compile_module(compiler, FOLDER / KERNELS / "_compiled.c", FOLDER / KERNELS / "_compiled.so")
    (FOLDER / "control.c").write_text(CONTROL)
    compile_module(compiler, FOLDER / "control.c", FOLDER / "control.so")
    # Exceptions of C++ libraries pass through the sanitizer, which has to find their library at the start.
    preload = [asan, *filter(None, [library(compiler, "libstdc++.so.6")])]
    env = environment(preload)

    def python(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([sys.executable, *words], env=env, cwd=ROOT, capture_output=True, text=True, check=False)

    control = python("-c", "import control; control.beyond(10)")
    if control.returncode == 0 or "heap-buffer-overflow" not in control.stderr:
        print(f"error: a read beyond an array is not caught, so the sanitizers do not work here\n{control.stderr}")
        return 1
    where = python("-c", WHERE)
    if str(FOLDER) not in where.stdout:
        print(f"error: the kernels are taken from elsewhere: {where.stdout}{where.stderr}")
        return 1
    print(f"sanitize: the control was caught; tests on {where.stdout.strip()}", flush=True)
    tests = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "--numprocesses", "auto", *(arguments or TESTS)]
    return subprocess.run([sys.executable, *tests], env=env, cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
