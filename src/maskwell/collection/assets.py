"""Files that the service hands out as they are, with their hashes: the respondent's page and its script.

They are read once, packed once, and named by their SHA-256, so that a sceptic can compare what a browser got with what
was published.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files

from starlette.requests import Request
from starlette.responses import Response

KINDS = {
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "svg": "image/svg+xml",
    "json": "application/json",
}


@dataclass(frozen=True)
class Asset:
    """One file."""

    name: str
    content: bytes

    @cached_property
    def sha256(self) -> str:
        """Its hash, as ``sha256sum`` prints it."""
        return hashlib.sha256(self.content).hexdigest()

    @cached_property
    def integrity(self) -> str:
        """Its hash, as a page states it for a script that it loads."""
        return "sha384-" + base64.b64encode(hashlib.sha384(self.content).digest()).decode()

    @cached_property
    def packed(self) -> bytes:
        """Compressed; the same bytes every time."""
        return gzip.compress(self.content, 9, mtime=0)

    def response(self, request: Request, headers: dict[str, str] | None = None) -> Response:
        """The file, packed where the browser takes that, or "not modified"."""
        tag = f'"{self.sha256[:32]}"'
        common = {"ETag": tag, "Cache-Control": "no-cache", "Vary": "Accept-Encoding", **(headers or {})}
        if request.headers.get("if-none-match") == tag:
            return Response(status_code=304, headers=common)
        kind = KINDS[self.name.rsplit(".", 1)[-1]]
        if "gzip" in request.headers.get("accept-encoding", ""):
            return Response(self.packed, media_type=kind, headers={**common, "Content-Encoding": "gzip"})
        return Response(self.content, media_type=kind, headers=common)


def load_assets() -> dict[str, Asset]:
    """All files of the folder ``static``."""
    folder = files("maskwell.collection").joinpath("static")
    return {one.name: Asset(one.name, one.read_bytes()) for one in folder.iterdir() if one.is_file()}
