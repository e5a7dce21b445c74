"""A cluster of Spark on this machine, with two workers in processes of their own; tests that need one start it once."""

import gc
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from maskwell.engines import spark_session

WORKERS = "local-cluster[2,1,1024]"
QUICK = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""A JVM that lives for a minute should not spend it on its own speed."""

SETTINGS = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.executor.extraJavaOptions": QUICK,
    "spark.python.daemon.module": "tests.support.spark_daemon",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


@contextmanager
def spark_cluster(folder: Path) -> Iterator[Any]:
    """A session of two workers, whose files are in a folder; skipped by name where PySpark or Java is not installed."""
    pytest.importorskip("pyspark", reason="no PySpark: pip install 'maskwell[spark]'")
    if shutil.which("java") is None:
        pytest.skip("no Java: Spark does not run here")
    root = Path(__file__).parents[2]
    environment = {
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_SUBMIT_ARGS": f'--driver-java-options "{QUICK}" --conf spark.log.level=OFF pyspark-shell',
        "PYTHONPATH": os.pathsep.join([str(root / "src"), str(root), *filter(None, [os.environ.get("PYTHONPATH")])]),
        "SPARK_LOCAL_DIRS": str(folder),
        "SPARK_WORKER_DIR": str(folder),
    }
    with pytest.MonkeyPatch.context() as patch:
        for name, value in environment.items():
            patch.setenv(name, value)
        patch.chdir(folder)
        session = spark_session(WORKERS, SETTINGS)
        session.sparkContext.setLogLevel("OFF")
        try:
            yield session
        finally:
            session.stop()
            gc.collect()  # sockets that PySpark leaves open, before other tests see them
