"""Running the service: one process or several, started and stopped together, without a log of requests."""

from __future__ import annotations

import json
import os
from dataclasses import asdict

import uvicorn
from starlette.applications import Starlette

from maskwell.collection.application import create_app
from maskwell.collection.settings import Settings
from maskwell.collection.store import Store
from maskwell.collection.studio import studio_routes

SHARDS = 8
"""Sets of counts that are added up when they are read: processes that count in different ones do not wait for each other."""

_SETTINGS = "MASKWELL_SERVICE_SETTINGS"


def serve(settings: Settings) -> None:
    """Serve until a signal ends it; reports on their way are written first."""
    store = Store(settings.database)
    store.create()
    store.close()
    common = {
        "host": settings.host,
        "port": settings.port,
        "access_log": False,
        "server_header": False,
        "log_level": "warning",
        "timeout_graceful_shutdown": 10,
    }
    if settings.workers == 1:
        uvicorn.run(create_app(settings, more=studio_routes), **common)  # type: ignore[arg-type]
        return
    os.environ[_SETTINGS] = json.dumps(asdict(settings))
    uvicorn.run("maskwell.collection.server:worker", factory=True, workers=settings.workers, **common)  # type: ignore[arg-type]


def worker() -> Starlette:
    """The application of one of several processes; each counts in a shard of its own."""
    return create_app(Settings(**json.loads(os.environ[_SETTINGS])), shard=os.getpid() % SHARDS, more=studio_routes)
