"""The tables of the database, version by version (Alembic): a service brings its database up to date when it starts."""

from __future__ import annotations

from pathlib import Path

import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext


def upgrade(engine: sa.Engine) -> bool:
    """Bring the tables to the newest version; whether there were some of an earlier one."""
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent))
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        before = MigrationContext.configure(connection).get_current_revision()
        command.upgrade(config, "head")
        return before not in (None, MigrationContext.configure(connection).get_current_revision())
