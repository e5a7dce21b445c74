"""What Alembic runs: on the connection that the service hands over."""

from __future__ import annotations

from alembic import context

from maskwell.collection.store import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata, transactional_ddl=True)
context.run_migrations()
