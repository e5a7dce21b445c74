"""The process of Spark that its workers are forked from: what they all import is imported once, not in each of them.

Spark's own has PySpark as a zip file on the path, whose list of contents is read again for every task. Here it is
imported from where it is installed.
"""

import gc
import sys


def main() -> None:
    """Import, then do as Spark's own."""
    sys.path[:] = [path for path in sys.path if not path.endswith(".zip")]
    sys.path_importer_cache.clear()
    import cryptography.hazmat.primitives.ciphers  # noqa: F401
    import pandas as pd  # noqa: F401
    import pyarrow.pandas_compat  # noqa: F401
    import pyspark.worker  # noqa: F401
    from pyspark.daemon import manager

    from maskwell.designs import subset  # noqa: F401
    from maskwell.engines import arrow_columns, spark_randomizer  # noqa: F401

    gc.collect()
    gc.freeze()  # a worker looks for rubbish after each task
    manager()


if __name__ == "__main__":
    main()
