"""What Alembic runs: on the connection that the service hands over."""

from __future__ import annotations

from alembic import context

from maskwell.collection.tables import metadata


def run() -> None:
    """Bring the tables of the connection to the version that was asked for."""
    connection = context.config.attributes["connection"]
    context.configure(connection=connection, target_metadata=metadata, transactional_ddl=True)
    context.run_migrations()


if hasattr(context, "config"):  # Alembic runs this file; whoever only imports it changes nothing
    run()
