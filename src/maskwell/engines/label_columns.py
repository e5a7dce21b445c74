"""Columns of Arrow made from codes of labels, in the type of the column whose place they take."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from maskwell.core.arguments import Array
from maskwell.core.extras import require
from maskwell.core.phrases import fault_of
from maskwell.engines.arrow_arrays import numbers_array, schema_without_views, texts_array, without_views
from maskwell.engines.column_codes import MISSING
from maskwell.engines.row_batches import TEXTS
from maskwell.errors import WrongTypeError


class LabelColumns:
    """Makes some columns of the batches of a schema anew, from the codes of their labels."""

    def __init__(self, schema: Any, labels: Mapping[str, Sequence[Hashable]], can_be_lost: Collection[str]) -> None:
        self._labels = {name: _label_array(name, schema.field(name).type, known) for name, known in labels.items()}
        self._kinds = {name: array.type for name, array in self._labels.items()}
        self._can_be_lost = can_be_lost  # Columns of which a missing value can be drawn

    def keep_codes(self, names: Collection[str]) -> None:
        """Leave these columns, where they are texts, in codes."""
        for name in names:
            labels = self._labels[name]
            if str(labels.type) in TEXTS:
                positions = numbers_array(np.arange(len(labels), dtype=np.int16 if len(labels) < 1 << 15 else np.int32))
                self._labels[name] = require().DictionaryArray.from_arrays(positions, labels)

    def in_schema(self, schema: Any) -> Any:
        """A schema with the types of these columns, and plain types of all."""
        made = (f.with_type(self._labels[f.name].type) if f.name in self._labels else f for f in schema)
        return schema_without_views(require().schema(made, metadata=schema.metadata))

    def columns(self, codes: Mapping[str, Array], batch: Any) -> dict[str, Any]:
        """The columns with these codes, in place of those of a batch."""
        return {name: self._column(name, codes[name], batch.column(name)) for name in self._labels}

    def _column(self, name: str, codes: Array, original: Any) -> Any:
        """Labels of the codes. Missing values become one where one can be drawn: NaN or 99 would reveal true ones."""
        arrow, labels = require(), self._labels[name]
        if isinstance(labels, arrow.DictionaryArray) and int(codes.min(initial=0)) > MISSING:
            positions = codes.astype(labels.type.index_type.to_pandas_dtype())
            return arrow.DictionaryArray.from_arrays(numbers_array(positions), labels.dictionary)
        lost = codes == MISSING
        some = bool(lost.any())
        values = labels.take(numbers_array(codes, lost if some else None))
        if name not in self._can_be_lost and some and original.null_count < int(lost.sum()):
            kind = self._kinds[name]
            plain = original if original.type == kind else original.cast(kind)
            values = require("pyarrow.compute").if_else(arrow.array(lost), plain, values.cast(kind))
        return values


def _label_array(column: str, kind: Any, labels: Sequence[Hashable]) -> Any:
    arrow = require()
    if not arrow.types.is_dictionary(kind):
        return _values(column, without_views(kind), labels)
    positions = arrow.int8() if len(labels) <= 2**7 else arrow.int16() if len(labels) <= 2**15 else arrow.int32()
    places = numbers_array(np.arange(len(labels))).cast(positions)
    return arrow.DictionaryArray.from_arrays(places, _values(column, kind.value_type, labels), ordered=kind.ordered)


def _values(column: str, kind: Any, labels: Sequence[Hashable]) -> Any:
    """Labels in the type of their column; an error for one that it cannot hold, which Arrow would cut to fit."""
    arrow = require()
    try:
        is_text = str(kind) in TEXTS[:2] and all(isinstance(label, str) for label in labels)
        values = texts_array([*map(str, labels)]).cast(kind) if is_text else arrow.array(labels, type=kind)
        whole = zip(labels, values.to_pylist(), strict=True) if arrow.types.is_integer(kind) else ()
        wrong = next((repr(given) for given, held in whole if given != held), None)
    except (arrow.ArrowException, OverflowError, TypeError, ValueError) as error:
        wrong = fault_of(error, 200)
    if wrong is not None:
        raise WrongTypeError("column-of-kind-cannot-hold-all", kind=kind, values=wrong, column=column) from None
    return values
