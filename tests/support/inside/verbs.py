"""Private names of ``verbs`` that tests need, each from the file it stands in."""

from maskwell.verbs import release as publish
from maskwell.verbs.demo_story import PEOPLE, QUESTION, _broken_command
from maskwell.verbs.estimate import Question, answer, quantities
from maskwell.verbs.release import release_file
from maskwell.verbs.row_designs import MOST_DESIGNS, designs_by_group, read_row_design

__all__ = [
    "MOST_DESIGNS",
    "PEOPLE",
    "QUESTION",
    "Question",
    "_broken_command",
    "answer",
    "designs_by_group",
    "publish",
    "quantities",
    "read_row_design",
    "release_file",
]
