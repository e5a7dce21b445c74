"""The folder of a release: it appears whole, with its public and its internal part, or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from maskwell.core.atomic import allowed_mode, name_folder, partial_folder
from maskwell.errors import DataFileError

PUBLIC = "public"
INTERNAL = "internal"


@contextmanager
def release_folder(path: str | Path) -> Iterator[Path]:
    """A new folder under another name, with ``public`` and ``internal`` in it, that gets its name when all went well.

    What is written is on the disk before the folder is renamed. Until then only its owner may look into it; after
    that the internal part stays closed to others, and the public part is as open as the umask leaves it. After an
    error, or a signal that ends the program with one, nothing is left; after a loss of power at most a hidden folder
    whose name says that it is partial, which the next run to the same place finds.

    >>> import tempfile
    >>> place = Path(tempfile.mkdtemp()) / "labour-2025"
    >>> with release_folder(place) as partial:
    ...     written = (partial / "public" / "README.md").write_text("How to analyse these data")
    >>> sorted(part.name for part in place.iterdir())   # finished: now it has its name
    ['internal', 'public']
    """
    target = check_new_folder(path)
    try:
        with partial_folder(target) as partial:
            (partial / PUBLIC).mkdir(mode=0o700)
            (partial / INTERNAL).mkdir(mode=0o700)
            yield partial
            _set_modes(partial)
            name_folder(partial, target)
    except FileExistsError as error:
        raise _exists(path) from error
    except OSError as error:
        raise _cannot_write(path, error) from error


def check_new_folder(path: str | Path) -> Path:
    """The whole path of a folder that may be made there, or an error."""
    target = Path(os.path.abspath(path))  # noqa: PTH100 - a link as the last part is an existing name, not another place
    if target.name == "" or os.path.lexists(target):
        raise _exists(path)
    if not target.parent.is_dir():
        raise DataFileError(f"there is no folder {target.parent}", hint="make the folder first", path=str(path))
    return target


def _set_modes(partial: Path) -> None:
    """The public part for whom the umask lets in, the internal part for its owner alone, whatever the umask says."""
    for part, folder, file in ((PUBLIC, allowed_mode(0o777), allowed_mode(0o666)), (INTERNAL, 0o700, 0o600)):
        for place in sorted((partial / part).rglob("*")):
            place.chmod(folder if place.is_dir() else file)
        (partial / part).chmod(folder)
    partial.chmod(allowed_mode(0o777))


def _exists(path: str | Path) -> DataFileError:
    return DataFileError(
        f"{path} exists; a release is never written over another one",
        hint="give the name of a new folder, or move the old one away",
        path=str(path),
    )


def _cannot_write(path: str | Path, error: OSError) -> DataFileError:
    return DataFileError(
        f"cannot write {path}: {error.strerror or error}",
        hint="choose a place where folders may be made",
        path=str(path),
    )
