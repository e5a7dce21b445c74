"""People who run surveys: passwords, sessions, and who may do what with which survey.

Passwords are kept as argon2 hashes, sessions as hashes of random tokens. Every form carries the token of its session,
so that another site cannot send it; repeated wrong passwords have to wait.
"""

from __future__ import annotations

import secrets
import threading
import time
from dataclasses import dataclass
from typing import Literal, TypeAlias

import sqlalchemy as sa
from argon2 import PasswordHasher
from argon2.exceptions import Argon2Error, InvalidHashError

from maskwell.collection.store import NoSurveyError, Store, StoredSurvey, token_hash
from maskwell.collection.tables import accounts, links, members, sessions, surveys
from maskwell.errors import InputError

Role: TypeAlias = Literal["owner", "analyst"]
SHORTEST_PASSWORD, LONGEST_PASSWORD = 10, 1000
LONGEST_NAME = 200
TRIES, MINUTES = 10, 15
"""Wrong passwords for one name that are allowed within these minutes."""


class AccessError(InputError):
    """Somebody may not do this."""

    code = "not-allowed"


@dataclass(frozen=True)
class Session:
    """Somebody who is signed in."""

    account: int
    name: str
    csrf: str


class Accounts:
    """Accounts and sessions in the database of the service."""

    def __init__(self, store: Store, *, hours: int = 12) -> None:
        self._store = store
        self._hours = hours
        self._hasher = PasswordHasher()
        self._limit = _Limit(TRIES, MINUTES * 60)
        self._absent = self._hasher.hash(secrets.token_hex(16))

    def setup_link(self) -> str | None:
        """A token that lets its bearer make the first account, once; None where there is an account already."""
        with self._store.engine.begin() as connection:
            if connection.execute(sa.select(accounts.c.id)).first() is not None:
                return None
            connection.execute(sa.delete(links).where(links.c.account.is_(None)))
            return _new_link(connection, None)

    def entry_link(self, account: int) -> str:
        """A token that signs its bearer in, once: for the screen of whoever starts the service. Earlier ones end."""
        with self._store.engine.begin() as connection:
            connection.execute(sa.delete(links).where(links.c.account == account))
            return _new_link(connection, account)

    def is_empty(self) -> bool:
        """Whether there is no account yet."""
        with self._store.reader.connect() as connection:
            return connection.execute(sa.select(accounts.c.id)).first() is None

    def account_link(self, session: Session) -> str:
        """A token that lets its bearer make one more account, once; only whoever runs the service can give it."""
        if not self.runs_service(session):
            raise AccessError(
                "only the first account of this service makes accounts", hint="ask whoever runs it", status=403
            )
        with self._store.engine.begin() as connection:
            return _new_link(connection, None)

    def runs_service(self, session: Session) -> bool:
        """Whether this is the account that was made first."""
        with self._store.reader.connect() as connection:
            first = connection.execute(sa.select(sa.func.min(accounts.c.id))).scalar()
        return bool(first == session.account)

    def enter(self, token: str) -> str:
        """The token of a new session, for a link that signs in."""
        with self._store.engine.begin() as connection:
            key = (links.c.token == token_hash(token)) & links.c.account.is_not(None)
            account = connection.execute(sa.select(links.c.account).where(key)).scalar()
            if account is None or connection.execute(sa.delete(links).where(key)).rowcount != 1:
                raise AccessError(
                    "this link is not valid any more", hint="restart the service for a new one", status=403
                )
        return self.begin_session(account)

    def set_up(self, token: str, name: str, password: str) -> int:
        """Make the first account with the one-time token."""
        with self._store.engine.begin() as connection:
            key = (links.c.token == token_hash(token)) & links.c.account.is_(None)
            if connection.execute(sa.delete(links).where(key)).rowcount != 1:
                raise AccessError("this link is not valid any more", hint="restart the service for a new one")
            return self._add(connection, name, password)

    def add(self, name: str, password: str) -> int:
        """Make an account."""
        with self._store.engine.begin() as connection:
            return self._add(connection, name, password)

    def _add(self, connection: sa.Connection, name: str, password: str) -> int:
        name = name.strip()
        if not 1 <= len(name) <= LONGEST_NAME or not name.isprintable():
            raise AccessError(f"a name has 1 to {LONGEST_NAME} visible characters", hint="choose another name")
        if len(password) < SHORTEST_PASSWORD or len(password) > LONGEST_PASSWORD:
            raise AccessError(
                f"a password has {SHORTEST_PASSWORD} to {LONGEST_PASSWORD} characters",
                hint="take a sentence you can remember",
            )
        if connection.execute(sa.select(accounts.c.id).where(accounts.c.name == name)).first() is not None:
            raise AccessError("this name is taken", hint="choose another name")
        row = sa.insert(accounts).values(name=name, password=self._hasher.hash(password))
        key = connection.execute(row).inserted_primary_key
        assert key is not None
        return int(key[0])

    def find(self, name: str) -> int | None:
        """The account of a name."""
        with self._store.reader.connect() as connection:
            account: int | None = connection.execute(sa.select(accounts.c.id).where(accounts.c.name == name)).scalar()
        return account

    def sign_in(self, name: str, password: str) -> str:
        """The token of a new session; AccessError for a wrong name or password, and after too many of them."""
        name = name.strip()  # as names are kept: else every blank more would be a further set of tries
        if len(name) > LONGEST_NAME or not name.isprintable() or len(password) > LONGEST_PASSWORD:
            raise AccessError("name or password is wrong", hint="try again", status=403)
        if not self._limit.take(name):
            raise AccessError(
                "there were too many wrong passwords for this name", hint=f"wait {MINUTES} minutes", status=429
            )
        with self._store.reader.connect() as connection:
            row = connection.execute(sa.select(accounts).where(accounts.c.name == name)).one_or_none()
        if not self._is_right(row.password if row is not None else self._absent, password) or row is None:
            raise AccessError("name or password is wrong", hint="try again", status=403)
        self._limit.give_back(name)
        return self.begin_session(row.id)

    def _is_right(self, kept: str, password: str) -> bool:
        try:
            return self._hasher.verify(kept, password)
        except (Argon2Error, InvalidHashError):
            return False

    def begin_session(self, account: int, *, hours: int | None = None) -> str:
        """The token of a new session; only its hash is kept."""
        token, now = secrets.token_urlsafe(32), int(time.time())
        expires = now + 3600 * (self._hours if hours is None else hours)
        row = {"token": token_hash(token), "account": account, "csrf": secrets.token_urlsafe(24), "expires": expires}
        with self._store.engine.begin() as connection:
            connection.execute(sa.delete(sessions).where(sessions.c.expires < now))
            connection.execute(sa.insert(sessions).values(**row))
        return token

    def session(self, token: str | None) -> Session | None:
        """Who is signed in with this token."""
        if not token:
            return None
        chosen = (
            sa.select(sessions.c.account, sessions.c.csrf, accounts.c.name)
            .join(accounts, accounts.c.id == sessions.c.account)
            .where(sessions.c.token == token_hash(token), sessions.c.expires >= int(time.time()))
        )
        with self._store.reader.connect() as connection:
            row = connection.execute(chosen).one_or_none()
        return None if row is None else Session(row.account, row.name, row.csrf)

    def sign_out(self, token: str) -> None:
        """End a session."""
        with self._store.engine.begin() as connection:
            connection.execute(sa.delete(sessions).where(sessions.c.token == token_hash(token)))

    def end_others(self, session: Session, token: str) -> int:
        """End all other sessions of an account, keys of programs among them; how many there were."""
        others = (sessions.c.account == session.account) & (sessions.c.token != token_hash(token))
        with self._store.engine.begin() as connection:
            return connection.execute(sa.delete(sessions).where(others)).rowcount

    # ---- who may do what

    def role(self, session: Session, stored: StoredSurvey) -> Role | None:
        """What somebody is for a survey."""
        key = (members.c.survey == stored.id) & (members.c.account == session.account)
        with self._store.reader.connect() as connection:
            role: Role | None = connection.execute(sa.select(members.c.role).where(key)).scalar_one_or_none()
        return role

    def visible(self, session: Session, code: str, *roles: Role) -> tuple[StoredSurvey, Role]:
        """A survey, where somebody has one of these roles; for others it does not exist."""
        stored = self._store.survey(code)
        role = self.role(session, stored)
        if role is None:
            raise NoSurveyError("there is no survey of this code", hint="see your surveys at /studio")
        if roles and role not in roles:
            raise AccessError("only the owner of the survey may do this", hint="ask the owner", status=403)
        return stored, role

    def share(self, stored: StoredSurvey, name: str, role: Role) -> None:
        """Let somebody see a survey, as its owner or as an analyst."""
        with self._store.engine.begin() as connection:
            known = accounts.c.name == name.strip() if name.isprintable() else sa.false()
            account = connection.execute(sa.select(accounts.c.id).where(known)).scalar()
            if account is None:
                raise AccessError(
                    "there is no account of this name", hint="ask for the name as it is written at sign-in"
                )
            key = (members.c.survey == stored.id) & (members.c.account == account)
            connection.execute(sa.delete(members).where(key))
            connection.execute(sa.insert(members).values(survey=stored.id, account=account, role=role))

    def unshare(self, stored: StoredSurvey, name: str) -> None:
        """Let somebody not see a survey any more; its last owner stays."""
        with self._store.engine.begin() as connection:
            people = connection.execute(
                sa.select(members.c.account, members.c.role, accounts.c.name)
                .join(accounts, accounts.c.id == members.c.account)
                .where(members.c.survey == stored.id)
            ).all()
            leaving = [one for one in people if one.name == name.strip()]
            if not leaving:
                raise AccessError("nobody of this name sees the survey", hint="load the page again")
            if not any(one.role == "owner" for one in people if one not in leaving):
                raise AccessError("a survey keeps at least one owner", hint="make somebody else an owner first")
            key = (members.c.survey == stored.id) & (members.c.account == leaving[0].account)
            connection.execute(sa.delete(members).where(key))

    def names(self, stored: StoredSurvey) -> list[tuple[str, str]]:
        """Who sees a survey, with the role of each."""
        chosen = (
            sa.select(accounts.c.name, members.c.role)
            .join(members, members.c.account == accounts.c.id)
            .join(surveys, surveys.c.id == members.c.survey)
            .where(surveys.c.id == stored.id)
            .order_by(accounts.c.name)
        )
        with self._store.reader.connect() as connection:
            return [(row.name, row.role) for row in connection.execute(chosen)]


def _new_link(connection: sa.Connection, account: int | None) -> str:
    token = secrets.token_urlsafe(24)
    connection.execute(sa.insert(links).values(token=token_hash(token), account=account))
    return token


class _Limit:
    """So many events of a name within a time; kept in memory, forgotten when the process ends."""

    def __init__(self, most: int, seconds: int) -> None:
        self._most, self._seconds = most, seconds
        self._events: dict[str, list[float]] = {}
        self._lock = threading.Lock()

    def take(self, name: str) -> bool:
        """Count one more before it happens, so that many at once are no way around; False where it is not allowed."""
        with self._lock:
            recent = self._recent(name)
            if len(recent) >= self._most:
                return False
            self._events[name] = [*recent, time.monotonic()]
            if len(self._events) > 10_000:
                self._events = {key: left for key in self._events if (left := self._recent(key))}
            return True

    def give_back(self, name: str) -> None:
        """The last one was none."""
        with self._lock:
            self._events[name] = self._recent(name)[:-1]

    def _recent(self, name: str) -> list[float]:
        now = time.monotonic()
        return [at for at in self._events.get(name, []) if now - at < self._seconds]
