"""What a page of the documentation asks its reader to save."""

import re
import shutil
from pathlib import Path

LINKED = re.compile(r"[Ss]ave \[(\S+)\]\(\1\)")
SAVED = re.compile(r"(?:Write|[Ss]ave it as) `(\S+)`:\n\n```\w+\n(.*?)^```", re.MULTILINE | re.DOTALL)


def write_files(page: Path, folder: Path) -> None:
    """Save what a page shows below "Write `name`:" or "Save it as `name`:", and what it links after "Save"."""
    for name in LINKED.findall(page.read_text(encoding="utf-8")):
        shutil.copy(page.parent / name, folder)
    for name, content in SAVED.findall(page.read_text(encoding="utf-8")):
        (folder / name).write_text(content, encoding="utf-8")
