"""Every public name: those of the door, and those at the faces of the rooms."""

import importlib
import pkgutil
from typing import Any

import maskwell

KERNELS = "maskwell.designs.kernels"
"""Loops that are compiled or not: one interface, no room."""


def faces() -> dict[str, list[str]]:
    """The names that the door and each room offers, by the module that offers them."""
    packages = [m.name for m in pkgutil.walk_packages(maskwell.__path__, "maskwell.") if m.ispkg and m.name != KERNELS]
    offered = {name: getattr(importlib.import_module(name), "__all__", []) for name in ["maskwell", *packages]}
    return {name: list(names) for name, names in offered.items() if names}


def public_names() -> dict[str, Any]:
    """What stands behind each name; a name of the door hides the same name of a room, which keeps its path."""
    known: dict[str, Any] = {}
    for face, names in faces().items():
        module = importlib.import_module(face)
        for name in names:
            value = getattr(module, name)
            if name in known and known[name] is not value:
                known[f"{face.removeprefix('maskwell.')}.{name}"] = value
            else:
                known[name] = value
    return known


PUBLIC = public_names()
