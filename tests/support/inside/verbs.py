"""Private names of ``verbs`` that tests need, each from the file it stands in."""

from maskwell.verbs import publish
from maskwell.verbs.demo_story import PEOPLE, QUESTION, _broken_command
from maskwell.verbs.publish import release_file
from maskwell.verbs.row_designs import MOST_DESIGNS, designs_by_group, read_row_design
from maskwell.verbs.share_results import EstimateResult

__all__ = [
    "EstimateResult",
    "MOST_DESIGNS",
    "PEOPLE",
    "QUESTION",
    "_broken_command",
    "designs_by_group",
    "publish",
    "read_row_design",
    "release_file",
]
