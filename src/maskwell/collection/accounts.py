"""People who run surveys: passwords, sessions, keys for programs, and who may do what with which survey."""

from __future__ import annotations

import hashlib
import math
import secrets
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, date, datetime
from typing import Any, Literal, TypeAlias

import sqlalchemy as sa
from argon2 import PasswordHasher
from argon2.exceptions import Argon2Error, InvalidHashError

from maskwell.collection.store import Store
from maskwell.collection.stored_survey import NoSurveyError, StoredSurvey, token_hash
from maskwell.collection.tables import accounts, links, members, sessions, surveys
from maskwell.core.phrases import shorten, visible
from maskwell.errors import InputError

Role: TypeAlias = Literal["owner", "analyst"]
Scope: TypeAlias = Literal["results", "export", "manage"]
# What a key may do, each with those before it: read results, download reports, add and change surveys.
SCOPES: tuple[Scope, ...] = ("results", "export", "manage")
SHORTEST_PASSWORD, LONGEST_PASSWORD = 10, 1000
LONGEST_NAME = 200
KEY_HOURS = 24 * 365
LINK_HOURS = 24 * 7
TRIES = 5  # wrong passwords for a name, from one address, that nobody has to wait after
LONGEST_WAIT = 300  # seconds; each further wrong password doubles the wait up to this
# Wrong passwords for a name, from all addresses together, after which a try is let through every so many seconds.
TRIES_FOR_NAME, NAME_PACE = 30, 10
TRIES_IN_ALL, PACE = 300, 1  # the same for all names together
FORGET = 3600  # seconds after which wrong passwords are forgotten
MOST_REMEMBERED = 10_000
HANDLE_DIGITS = 12


class AccessError(InputError):
    """Somebody may not do this."""

    code = "not-allowed"


@dataclass(frozen=True)
class Session:
    """A signed-in user, or a program with an access key, which has a scope."""

    account: int
    name: str
    csrf: str
    scope: Scope | None = None

    def may(self, wish: Scope) -> bool:
        """Whether a key may do this; people may do everything."""
        return self.scope is None or SCOPES.index(self.scope) >= SCOPES.index(wish)


@dataclass(frozen=True)
class Key:
    """A key for programs, without the key itself: ``handle`` is what it is revoked by."""

    handle: str
    account: str
    name: str
    scope: Scope
    made: date | None
    used: date | None
    expires: date

    def to_dict(self) -> dict[str, str | None]:
        """In JSON."""
        return {key: one.isoformat() if isinstance(one, date) else one for key, one in asdict(self).items()}


class Accounts:
    """Accounts and sessions in the database of the service."""

    def __init__(self, store: Store, *, hours: int = 12) -> None:
        self._store = store
        self._hours = hours
        self._hasher = PasswordHasher()
        self._waits = Waits()
        self._absent = self._hasher.hash(secrets.token_hex(16))

    def setup_link(self) -> str | None:
        """A token that lets its bearer make the first account, once; None where there is an account already."""
        with self._store.engine.begin() as connection:
            if connection.execute(sa.select(accounts.c.id)).first() is not None:
                return None
            connection.execute(sa.delete(links).where(links.c.account.is_(None)))
            return _new_link(connection, None)

    def entry_link(self, account: int) -> str:
        """A token that signs its bearer in, once: shown on the screen where the service starts. Earlier ones end."""
        with self._store.engine.begin() as connection:
            connection.execute(sa.delete(links).where(links.c.account == account))
            return _new_link(connection, account)

    def _found(self, chosen: sa.Select[Any]) -> Any:
        with self._store.reader.connect() as connection:
            return connection.execute(chosen).scalar()

    def _changed(self, change: sa.Update | sa.Delete) -> int:
        with self._store.engine.begin() as connection:
            return connection.execute(change).rowcount

    def is_empty(self) -> bool:
        """Whether the service has no account."""
        return self._found(sa.select(accounts.c.id)) is None

    def account_link(self, session: Session) -> str:
        """A token that lets its bearer create one account, once; only the person who runs the service can issue it."""
        if not self.runs_service(session):
            raise AccessError("only-the-first-account", status=403)
        with self._store.engine.begin() as connection:
            return _new_link(connection, None)

    def runs_service(self, session: Session) -> bool:
        """Whether this is the account that was made first."""
        return bool(self._found(sa.select(sa.func.min(accounts.c.id))) == session.account)

    def enter(self, token: str) -> str:
        """The token of a new session, for a link that signs in."""
        with self._store.engine.begin() as connection:
            key = _is_valid(token) & links.c.account.is_not(None)
            account = connection.execute(sa.select(links.c.account).where(key)).scalar()
            if account is None or connection.execute(sa.delete(links).where(key)).rowcount != 1:
                raise AccessError("this-link-is-not-valid-any", status=403)
        return self.begin_session(account)

    def set_up(self, token: str, name: str, password: str) -> int:
        """Make the first account with the one-time token."""
        with self._store.engine.begin() as connection:
            key = _is_valid(token) & links.c.account.is_(None)
            if connection.execute(sa.delete(links).where(key)).rowcount != 1:
                raise AccessError("this-link-is-not-valid-any")
            return self._add(connection, name, password)

    def add(self, name: str, password: str) -> int:
        """Make an account."""
        with self._store.engine.begin() as connection:
            return self._add(connection, name, password)

    def _add(self, connection: sa.Connection, name: str, password: str) -> int:
        name = name.strip()
        if not 1 <= len(name) <= LONGEST_NAME or not name.isprintable():
            raise AccessError("a-name-has-1-to-visible", longest_name=LONGEST_NAME)
        _check_password(password)
        if connection.execute(sa.select(accounts.c.id).where(accounts.c.name == name)).first() is not None:
            raise AccessError("this-name-is-taken")
        row = sa.insert(accounts).values(name=name, password=self._hasher.hash(password))
        key = connection.execute(row).inserted_primary_key
        assert key is not None
        return int(key[0])

    def find(self, name: str) -> int | None:
        """The account of a name."""
        account: int | None = self._found(sa.select(accounts.c.id).where(accounts.c.name == name))
        return account

    def known(self, name: str) -> int:
        """The account of a name; an error that lists the names, for somebody at the terminal."""
        account = self.find(name)
        if account is None:
            with self._store.reader.connect() as connection:
                names = [*connection.execute(sa.select(accounts.c.name).order_by(accounts.c.name)).scalars()]
            listed = f"accounts: {', '.join(names[:5])}{', ...' * (len(names) > 5)}"
            raise AccessError(
                "there-is-no-account",
                hint=listed if names else "make the first account with the link that maskwell serve prints",
                name=shorten(visible(name), 40),
            )
        return account

    def sign_in(self, name: str, password: str, address: str = "") -> str:
        """The token of a new session; AccessError for a wrong name or password, and while somebody has to wait."""
        name = name.strip()  # as names are kept: else every blank more would be a further set of tries
        if len(name) > LONGEST_NAME or not name.isprintable() or len(password) > LONGEST_PASSWORD:
            raise AccessError("name-or-password-is-wrong", status=403)
        with self._waits.one_try(address, name) as is_right:
            with self._store.reader.connect() as connection:
                row = connection.execute(sa.select(accounts).where(accounts.c.name == name)).one_or_none()
            account, kept = (None, self._absent) if row is None else (row.id, row.password)  # a hash takes as long
            if not self._is_right(kept, password) or account is None:
                raise AccessError("name-or-password-is-wrong", status=403)
            is_right()
        return self.begin_session(account)

    def change_password(self, session: Session, token: str, before: str, after: str) -> int:
        """Change the password; all other sessions and keys of the account end, and their number is returned."""
        kept = self._found(sa.select(accounts.c.password).where(accounts.c.id == session.account))
        with self._waits.one_try(f"session {session.account}", session.name) as is_right:
            if len(before) > LONGEST_PASSWORD or not self._is_right(kept, before):
                raise AccessError("the-password-of-now-is-wrong", status=403)
            is_right()
        self._set_password(session.account, after)
        return self.end_others(session, token)

    def reset_password(self, name: str, password: str) -> int:
        """Set a new password for an account, from the terminal; all its sessions and keys end; returns their number."""
        account = self.known(name)
        self._set_password(account, password)
        return self._changed(sa.delete(sessions).where(sessions.c.account == account))

    def _set_password(self, account: int, password: str) -> None:
        _check_password(password)
        hashed = self._hasher.hash(password)
        self._changed(sa.update(accounts).where(accounts.c.id == account).values(password=hashed))

    def _is_right(self, kept: str, password: str) -> bool:
        try:
            return self._hasher.verify(kept, password)
        except (Argon2Error, InvalidHashError):
            return False

    def begin_session(self, account: int) -> str:
        """The token of a new session; only its hash is kept."""
        return self._begin(account, self._hours, {})

    def make_key(self, account: int, name: str, scope: str = "results") -> str:
        """A key for programs, shown here and never again; it works for a year and may do what its scope says."""
        name = name.strip() or "key"
        if scope not in SCOPES:
            raise AccessError("the-scope-of-a-key-must", scopes=", ".join(SCOPES))
        if len(name) > LONGEST_NAME or not name.isprintable():
            raise AccessError("a-name-has-1-to-visible", longest_name=LONGEST_NAME)
        return self._begin(account, KEY_HOURS, {"name": name, "made": _today(), "scope": scope})

    def _begin(self, account: int, hours: int, key: Mapping[str, Any]) -> str:
        token, now = secrets.token_urlsafe(32), int(time.time())
        times = {"csrf": secrets.token_urlsafe(24), "expires": now + 3600 * hours}
        row = {"token": token_hash(token), "account": account, **times, **key}
        with self._store.engine.begin() as connection:
            connection.execute(sa.delete(sessions).where(sessions.c.expires < now))
            connection.execute(sa.insert(sessions).values(**row))
        return token

    def session(self, token: str | None) -> Session | None:
        """Who is signed in with this token."""
        if not token:
            return None
        chosen = (
            sa.select(sessions, accounts.c.name.label("owner"))
            .join(accounts, accounts.c.id == sessions.c.account)
            .where(sessions.c.token == token_hash(token), sessions.c.expires >= int(time.time()))
        )
        with self._store.reader.connect() as connection:
            row = connection.execute(chosen).one_or_none()
        if row is None:
            return None
        if row.name is not None and row.used != _today():
            self._changed(sa.update(sessions).where(sessions.c.token == token_hash(token)).values(used=_today()))
        return Session(row.account, row.owner, row.csrf, _scope(row))

    def list_keys(self, account: int | None = None) -> list[Key]:
        """The keys of an account, or of all, without the keys themselves."""
        chosen = (
            sa.select(sessions, accounts.c.name.label("owner"))
            .join(accounts, accounts.c.id == sessions.c.account)
            .where(sessions.c.name.is_not(None), sessions.c.expires >= int(time.time()))
            .order_by(accounts.c.name, sessions.c.made, sessions.c.name)
        )
        if account is not None:
            chosen = chosen.where(sessions.c.account == account)
        with self._store.reader.connect() as connection:
            return [
                Key(
                    _handle(row.token),
                    row.owner,
                    row.name,
                    _scope(row) or "results",
                    row.made,
                    row.used,
                    datetime.fromtimestamp(row.expires, UTC).date(),
                )
                for row in connection.execute(chosen)
            ]

    def revoke(self, handle: str, account: int | None = None) -> Key:
        """End the key of a handle, of an account or of any."""
        revoked = [one for one in self.list_keys(account) if one.handle == handle]
        if len(revoked) != 1:
            raise AccessError("there-is-no-key", status=404)
        with self._store.engine.begin() as connection:
            tokens = connection.execute(sa.select(sessions.c.token).where(sessions.c.name.is_not(None))).scalars()
            gone = [token for token in tokens if _handle(token) == handle]
            connection.execute(sa.delete(sessions).where(sessions.c.token.in_(gone)))
        return revoked[0]

    def sign_out(self, token: str) -> None:
        """End a session."""
        self._changed(sa.delete(sessions).where(sessions.c.token == token_hash(token)))

    def end_others(self, session: Session, token: str) -> int:
        """End all other sessions of an account, keys of programs among them; how many there were."""
        others = (sessions.c.account == session.account) & (sessions.c.token != token_hash(token))
        return self._changed(sa.delete(sessions).where(others))

    def role(self, session: Session, stored: StoredSurvey) -> Role | None:
        """What somebody is for a survey."""
        key = (members.c.survey == stored.id) & (members.c.account == session.account)
        role: Role | None = self._found(sa.select(members.c.role).where(key))
        return role

    def visible(self, session: Session, code: str, *roles: Role) -> tuple[StoredSurvey, Role]:
        """A survey, where somebody has one of these roles; for others it does not exist."""
        stored = self._store.survey(code)
        role = self.role(session, stored)
        if role is None:
            raise NoSurveyError("there-is-no-survey")
        if roles and role not in roles:
            raise AccessError("only-the-owner-of-the-survey", status=403)
        return stored, role

    def share(self, stored: StoredSurvey, name: str, role: Role) -> None:
        """Let somebody see a survey, as its owner or as an analyst."""
        with self._store.engine.begin() as connection:
            account = connection.execute(sa.select(accounts.c.id).where(_is_named(name))).scalar()
            if account is None:
                raise AccessError("there-is-no-account-of-this")
            if role != "owner":
                _check_owned(connection, stored, without=account)
            key = (members.c.survey == stored.id) & (members.c.account == account)
            connection.execute(sa.delete(members).where(key))
            connection.execute(sa.insert(members).values(survey=stored.id, account=account, role=role))

    def unshare(self, stored: StoredSurvey, name: str) -> None:
        """Let somebody not see a survey any more; its last owner stays."""
        with self._store.engine.begin() as connection:
            seeing = members.c.survey == stored.id
            chosen = sa.select(members.c.account).join(accounts, accounts.c.id == members.c.account)
            account = connection.execute(chosen.where(seeing, _is_named(name))).scalar()
            if account is None:
                raise AccessError("nobody-of-this-name-sees")
            _check_owned(connection, stored, without=account)
            connection.execute(sa.delete(members).where(seeing, members.c.account == account))

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


def _is_named(name: str) -> sa.ColumnElement[bool]:
    return accounts.c.name == name.strip() if name.isprintable() else sa.false()  # PostgreSQL fails on some others


def _check_owned(connection: sa.Connection, stored: StoredSurvey, *, without: int) -> None:
    """Raise where an account is the only owner of a survey; one without any owner may stay so."""
    owning = sa.select(members.c.account).where(members.c.survey == stored.id, members.c.role == "owner")
    if [*connection.execute(owning).scalars()] == [without]:
        raise AccessError("a-survey-keeps-at-least-one")


def _new_link(connection: sa.Connection, account: int | None) -> str:
    token, now = secrets.token_urlsafe(24), int(time.time())
    connection.execute(sa.delete(links).where(links.c.expires < now))
    row = {"token": token_hash(token), "account": account, "expires": now + 3600 * LINK_HOURS}
    connection.execute(sa.insert(links).values(**row))
    return token


def _is_valid(token: str) -> sa.ColumnElement[bool]:
    return (links.c.token == token_hash(token)) & (links.c.expires >= int(time.time()))


def _check_password(password: str) -> None:
    if not SHORTEST_PASSWORD <= len(password) <= LONGEST_PASSWORD:
        raise AccessError(
            "a-password-has-to-characters", shortest_password=SHORTEST_PASSWORD, longest_password=LONGEST_PASSWORD
        )


def _today() -> date:
    return datetime.now(UTC).date()


def _scope(row: Any) -> Scope | None:
    """Of a key, never more than it says: one that is not known is the least."""
    if row.name is None:
        return None
    return row.scope if row.scope in SCOPES else "results"


def _handle(token: bytes) -> str:
    """What a key is called by: a hash of the hash that is kept, so that nothing of the key can be found from it."""
    return hashlib.sha256(bytes(token)).hexdigest()[:HANDLE_DIGITS]


class Waits:
    """Who has to wait after wrong passwords, counted for a name from an address, for the name, and for all."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._wrong: dict[tuple[str, ...], tuple[int, float]] = {}
        self._known: dict[tuple[str, str], None] = {}
        self._lock = threading.Lock()

    @contextmanager
    def one_try(self, address: str, name: str) -> Iterator[Callable[[], None]]:
        """One try: counted as wrong, before the password is looked at, until called right; AccessError in a wait."""
        who = (address, name)
        with self._lock:
            counted: list[tuple[tuple[str, ...], Callable[[int], int]]] = [(who, wait_after)]
            if who not in self._known:
                counted += [((name,), _pace(TRIES_FOR_NAME, NAME_PACE)), ((), _pace(TRIES_IN_ALL, PACE))]
            self._begin(counted)
        yield lambda: self._right(who)

    def _begin(self, counted: Sequence[tuple[tuple[str, ...], Callable[[int], int]]]) -> None:
        now = self._clock()
        before = [self._before(key, now) for key, _ in counted]
        pairs = zip(before, counted, strict=True)
        left = max(last + wait(wrong) - now for (wrong, last), (_, wait) in pairs)
        if left > 0:
            seconds = math.ceil(left)
            words = "second" if seconds == 1 else "seconds"
            raise AccessError("there-were-too-many-wrong-passwords", words=words, status=429, wait=seconds)
        for (wrong, _), (key, _) in zip(before, counted, strict=True):
            self._wrong.pop(key, None)  # the newest are last
            self._wrong[key] = (wrong + 1, now)
        while len(self._wrong) > MOST_REMEMBERED:
            self._wrong.pop(next(iter(self._wrong)))  # that of longest ago

    def _before(self, key: tuple[str, ...], now: float) -> tuple[int, float]:
        wrong, last = self._wrong.get(key, (0, now))
        return (0, now) if now - last > FORGET else (wrong, last)

    def _right(self, who: tuple[str, str]) -> None:
        with self._lock:
            self._wrong.pop(who, None)
            for key in ((who[1],), ()):  # this try was none of the wrong ones
                if who not in self._known and key in self._wrong:
                    wrong, last = self._wrong[key]
                    self._wrong[key] = (max(0, wrong - 1), last)
            self._known.pop(who, None)
            self._known[who] = None
            if len(self._known) > MOST_REMEMBERED:
                self._known.pop(next(iter(self._known)))


def _pace(tries: int, seconds: int) -> Callable[[int], int]:
    """The wait where one try is let through every so many seconds, after so many wrong ones."""
    return lambda wrong: seconds if wrong >= tries else 0


def wait_after(wrong: int) -> int:
    """Seconds to wait after so many wrong passwords."""
    return 0 if wrong < TRIES else min(LONGEST_WAIT, 2 ** min(wrong - TRIES, 20))
