"""Names for array kinds in tests."""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]
Real: TypeAlias = NDArray[np.float64]
