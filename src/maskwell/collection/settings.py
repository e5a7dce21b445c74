"""How the service is set up: a TOML file, then the environment (``MASKWELL_PORT=8080``), then what was typed."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from maskwell.core.documents import from_toml, read_document
from maskwell.core.phrases import fault_of, masked, shorten
from maskwell.errors import ParameterError, PlanError
from maskwell.microdata.plans.plan_entries import unknown

PREFIX = "MASKWELL_"
METRICS = ("local", "open")


@dataclass(frozen=True)
class Settings:
    """All settings with their defaults."""

    database: str = "sqlite:///maskwell-surveys.db"  # of SQLAlchemy; a file in the working folder by default
    host: str = "127.0.0.1"  # host, port: where the service listens: this machine only, unless another address is given
    port: int = 8750
    workers: int = 1  # processes that share the work
    # the address that respondents type, where a reverse proxy stands before the service; https makes cookies secure
    public_url: str = ""
    session_hours: int = 12  # how long somebody stays signed in
    # the address of a proxy whose header X-Forwarded-For is believed; whoever guesses passwords is known by it
    proxy: str = ""
    # who may read ``/metrics``: "local" this machine, where no proxy stands before the service; "open" everybody
    metrics: str = "local"
    metrics_token: str = ""  # whoever sends it (``Authorization: Bearer``) may read ``/metrics`` from anywhere

    @classmethod
    def load(
        cls, path: str | Path | None = None, *, environment: Mapping[str, str] = os.environ, **typed: Any
    ) -> Settings:
        """The settings of a file, overruled by the environment, overruled by what was typed."""
        settings = cls()
        if path is not None:
            settings = settings.changed(_read(path), str(path))
        named = {
            key.removeprefix(PREFIX).lower(): value for key, value in environment.items() if key.startswith(PREFIX)
        }
        known = {field.name for field in fields(cls)}
        settings = settings.changed({key: value for key, value in named.items() if key in known}, "the environment")
        return settings.changed({key: value for key, value in typed.items() if value is not None}, "the command")

    def changed(self, given: Mapping[str, Any], where: str) -> Settings:
        """A copy with other values; an error that says where an unknown or wrong one stands."""
        known = {field.name: field.type for field in fields(self)}
        for key in given:
            if key not in known:
                raise unknown(key, f"{where}: unknown setting", list(known))
        return replace(self, **{key: _value(key, value, str(known[key]), where) for key, value in given.items()})

    @property
    def address(self) -> str:
        """The address to open."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return self.public_url.rstrip("/") or f"http://{host}:{self.port}"

    @property
    def is_https(self) -> bool:
        """Whether respondents come over https."""
        return self.address.startswith("https://")


def _value(key: str, value: Any, kind: str, where: str) -> Any:
    if key == "metrics" and value not in METRICS:
        raise ParameterError(
            "metrics-is-none", where=where, masked=shorten(masked(str(value)), 20), metrics=", ".join(METRICS)
        )
    if kind == "str":
        return str(value)
    try:
        number = int(value)
    except (TypeError, ValueError):
        number = 0
    if number < 1 or number > 65535:
        raise ParameterError(
            "is-not-a-whole-number",
            where=where,
            key=key,
            masked=shorten(masked(str(value)), 20),
            words=8750 if key == "port" else 8,
        )
    return number


def _read(path: str | Path) -> dict[str, Any]:
    text = read_document(path, error=PlanError, hint="check the path of the settings", largest=1 << 20)
    try:
        return from_toml(text)
    except ValueError as error:
        raise PlanError("path-is-not-toml-fault", path=path, fault=fault_of(error)) from error
