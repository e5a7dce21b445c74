"""Variables of a table, and which of them share a device: one randomization, for direct questions the truth."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from maskwell.core.arguments import shown_short
from maskwell.core.categories import Categories
from maskwell.core.phrases import listed
from maskwell.designs.coded import CodedDesign
from maskwell.designs.design import Design
from maskwell.designs.kronecker import Kronecker, check_coded
from maskwell.errors import LabelError, ParameterError, WrongTypeError

Names = str | tuple[str, ...]  # one variable, or those that share a device


@dataclass(frozen=True)
class Variable:
    """One variable of a table."""

    name: str  # What it is called
    # Its true categories and its reports
    inputs: Categories
    outputs: Categories
    device: int  # Number of the device that randomizes it, counted from 0


@dataclass(frozen=True)
class Layout:
    """The devices of a table and their variables, in the order of the axes."""

    devices: tuple[CodedDesign, ...]
    variables: tuple[Variable, ...]

    @classmethod
    def of(cls, designs: Mapping[Names, Design]) -> Layout:
        """From a design for each variable, or for each tuple of variables that share a device."""
        unchecked: Any = designs
        if not isinstance(unchecked, Mapping) or not unchecked:
            raise WrongTypeError("designs-must-name-a-design-for", name=type(designs).__name__)
        _check_names([name for key in unchecked for name in (key if isinstance(key, tuple) else [key])])
        devices = check_coded(designs.values(), "a table")
        keyed = enumerate(zip(designs, devices, strict=True))
        variables = [variable for number, (key, design) in keyed for variable in _split(key, design, number)]
        return cls(devices, tuple(variables))

    @property
    def design(self) -> CodedDesign:
        """The design of all variables together."""
        return self.devices[0] if len(self.devices) == 1 else Kronecker.of(self.devices)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the variables."""
        return tuple(v.name for v in self.variables)

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of true categories of each variable."""
        return tuple(len(v.inputs) for v in self.variables)

    @property
    def report_shape(self) -> tuple[int, ...]:
        """Number of reports of each variable."""
        return tuple(len(v.outputs) for v in self.variables)

    def cell_labels(self) -> tuple[Hashable, ...]:
        """Labels of the cells: those of the only variable, or tuples, the last variable fastest."""
        if len(self.variables) == 1:
            return tuple(self.variables[0].inputs.labels)
        return tuple(product(*(v.inputs.labels for v in self.variables)))

    def axes(self, names: Iterable[str]) -> tuple[int, ...]:
        """Positions of these variables, each named once."""
        asked = tuple(names)
        _check_names(asked)
        unknown = next((name for name in asked if name not in self.names), None)
        if unknown is not None:
            known = listed(map(repr, self.names), len(self.names), 60)
            raise ParameterError("there-is-no-variable", name_shown=shown_short(unknown), known=known, name=unknown)
        return tuple(map(self.names.index, asked))

    def whole_devices(self, axes: Sequence[int]) -> tuple[int, ...] | None:
        """The devices behind these variables, in this order, or None where another variable shares one of them."""
        devices = tuple(dict.fromkeys(self.variables[axis].device for axis in axes))
        behind = [i for d in devices for i, v in enumerate(self.variables) if v.device == d]
        return devices if behind == list(axes) else None

    def shares_devices(self) -> bool:
        """Whether two of the variables share a device."""
        return len(self.devices) < len(self.variables)


def _split(key: Names, design: CodedDesign, device: int) -> list[Variable]:
    if isinstance(key, str):
        return [Variable(key, design.inputs, design.outputs, device)]
    inputs = _coordinates(design.inputs, len(key), "categories")
    outputs = _coordinates(design.outputs, len(key), "reports")
    return [Variable(*parts, device) for parts in zip(key, inputs, outputs, strict=True)]


def _coordinates(labels: Categories, count: int, what: str) -> list[Categories]:
    """The categories of each variable, from labels that are all combinations of them, first variable slowest."""
    tuples = [label for label in labels.labels if isinstance(label, tuple) and len(label) == count]
    parts: list[list[Hashable]] = [list(dict.fromkeys(column)) for column in zip(*tuples, strict=True)]
    if len(tuples) < len(labels) or list(product(*parts)) != tuples:
        raise LabelError("the-of-a-device-for-variables", what=what, count=count)
    return [Categories.of(part) for part in parts]


def _check_names(names: Sequence[str]) -> None:
    unchecked: Sequence[Any] = names
    wrong = [name for name in unchecked if not isinstance(name, str)]
    if wrong:
        raise WrongTypeError("is-not-the-name", wrong=shown_short(wrong[0]))
    if len(set(names)) < len(names):
        raise ParameterError("a-variable-is-named-twice-among", names=", ".join(names))
