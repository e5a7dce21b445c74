"""The tables of the database, version by version (Alembic): a service brings its database up to date when it starts."""

from __future__ import annotations

from pathlib import Path

import sqlalchemy as sa
from alembic import command
from alembic.config import Config


def upgrade(engine: sa.Engine) -> None:
    """Bring the tables to the newest version."""
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent))
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "head")
