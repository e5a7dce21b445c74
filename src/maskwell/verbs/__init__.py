"""One verb for each command: a table, a file or counts in, a result out. Joins what the rooms below offer.

The door has the verbs themselves; here are the steps before a release.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from maskwell.verbs.release import dry_run as dry_run
    from maskwell.verbs.release import first_plan as first_plan
else:
    import lazy_loader

    __getattr__, __dir__, __all__ = lazy_loader.attach(
        __name__,
        submod_attrs={
            "release": ["dry_run", "first_plan"],
        },
    )
