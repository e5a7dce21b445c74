"""Python imports this when it starts with this folder on its path: commands of a trembling test run tremble as well."""

import importlib.util
import os
from pathlib import Path

if os.environ.get("MASKWELL_TREMBLE"):
    spec = importlib.util.spec_from_file_location("trembling", Path(__file__).parents[1] / "trembling.py")
    assert spec is not None and spec.loader is not None
    trembling = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(trembling)
    trembling.install()
