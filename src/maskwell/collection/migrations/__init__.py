"""The tables of the database, version by version (Alembic): a service brings its database up to date when it starts."""

from __future__ import annotations

from pathlib import Path

import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from alembic.util import CommandError

from maskwell.errors import InputError


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent))
    return config


def is_current(engine: sa.Engine) -> bool:
    """Whether the tables are those of the newest version."""
    with engine.connect() as connection:
        before = MigrationContext.configure(connection).get_current_revision()
    return before == ScriptDirectory.from_config(_config()).get_current_head()


def upgrade(engine: sa.Engine) -> bool:
    """Bring the tables to the newest version; whether there were some of an earlier one."""
    config = _config()
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        before = MigrationContext.configure(connection).get_current_revision()
        try:
            command.upgrade(config, "head")
        except CommandError:
            raise InputError("the-database-has-tables-of-version", before=before) from None
        return before not in (None, MigrationContext.configure(connection).get_current_revision())
