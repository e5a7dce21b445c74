"""Who looks for a record: the intruders that a bound on the chance of a correct match can speak of.

All of them know the keys of a person, that the person is in the file, the matrices and the true counts. They differ in
where they look and in what else they use:

``any-look``
    looks at the released value under which the person is found most easily, whatever number of records has it.
``own-key``
    looks only at the records released with the person's own keys, whatever their number.
``own-key-95``
    the same, for the numbers of records that 95 % of the releases have.
``released-counts``
    as ``any-look``, and also compares all released counts with the true ones. What this tells is known only once the
    file is drawn, so the bound is for the very file that is released.

>>> chosen("own-key", {"strict": np.array([0.5]), "any_release": np.array([0.6])}).tolist()
[0.5]
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from maskwell.core.arguments import check_option
from maskwell.core.arrays import Real

ANY_LOOK, OWN_KEY, OWN_KEY_95, RELEASED_COUNTS = "any-look", "own-key", "own-key-95", "released-counts"
INTRUDERS = (ANY_LOOK, OWN_KEY, OWN_KEY_95, RELEASED_COUNTS)
_MEASURES = {
    ANY_LOOK: ("any_release",),
    OWN_KEY: ("strict",),
    OWN_KEY_95: ("in_range",),
    RELEASED_COUNTS: ("any_release", "released_counts"),
}


def chosen(intruder: str, risks: Mapping[str, Real]) -> Real:
    """The risk of each cell against one of the intruders, of risks by their measure: the largest that is known."""
    check_option("intruder", intruder, _MEASURES)
    known = [risks[name] for name in _MEASURES[intruder] if name in risks]
    return np.asarray(np.max(known, axis=0))
