"""Rows of a sample as cells: the sums that an estimate needs of them, and how their reports are read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from maskwell.core.arguments import Array, as_array, as_list
from maskwell.core.groups import Factor
from maskwell.core.phrases import VALUES, listed
from maskwell.core.report_data import Reports, split_sets
from maskwell.core.row_sums import Cells
from maskwell.designs.coded import CodedDesign, check_codes, codes_of, reports_of
from maskwell.designs.design import Design
from maskwell.errors import InputError, LabelError, ReportError
from maskwell.estimation.left_inverse import LeftInverse
from maskwell.estimation.sampling.recovery import Reading, readings_of
from maskwell.estimation.sampling.sampling_description import Sampling


def cells_of_rows(
    reports: Any,
    design: Design | Mapping[Any, Design],
    plan: Sampling,
    *,
    domains: Any = None,
    samples: Any = None,
    inverse: LeftInverse | None = None,
) -> tuple[Cells, tuple[Reading, ...]]:
    """The cells of the rows of a sample, and how the reports of each of its samples are read."""
    if not isinstance(design, Mapping):
        if samples is not None:
            raise InputError("samples-are-told-apart-but-there")
        readings = readings_of([design], inverse)
        if not isinstance(design, CodedDesign):
            return _cells_of_sets(reports, design, plan, domains), readings
        if isinstance(reports, Reports):
            codes = np.asarray(check_codes(reports_of(design, reports)), dtype=np.int64)
        else:
            codes = np.asarray(codes_of(design.outputs, reports), dtype=np.int64)
        return Cells.of(codes, domain=domains, **plan.columns(len(codes))), readings
    if samples is None:
        raise InputError("designs-and-no-samples", design_count=len(design))
    group = Factor.of(samples, "samples")
    labels = group.labels.tolist()
    used = designs_of(labels, design)
    unused = [label for label in design if label not in set(labels)]
    if unused:
        raise LabelError(
            "no-row-of-the-samples-which", unused=listed(map(repr, unused), len(unused), 40), samples=unused
        )
    readings = readings_of(used, inverse)
    codes = _codes_by_sample(used, reports, group)
    return Cells.of(codes, domain=domains, sample=group, **plan.columns(len(codes))), readings


def designs_of(labels: Sequence[Any], designs: Mapping[Any, Design]) -> list[Design]:
    """The design of each sample."""
    missing = [label for label in labels if label not in designs]
    if missing:
        raise LabelError(
            "no-design-for-of-samples",
            missing_count=len(missing),
            labels_count=len(labels),
            values=listed(map(repr, missing), len(missing), VALUES),
            missing=missing,
        )
    return [designs[label] for label in labels]


def _cells_of_sets(reports: Any, design: Design, plan: Sampling, domains: Any) -> Cells:
    bits = reports_of(design, reports) if isinstance(reports, Reports) else split_sets(reports, design.k)
    design.tally(Reports(design.fingerprint, design.k, "bits", bits))  # refuses sets that the design never reports
    if plan.joint_inclusion is not None:
        raise ReportError("set-reports-with-pairwise-probabilities")
    held = np.unpackbits(bits, axis=1, count=design.k, bitorder="little")
    return Cells.of_sets(held, domain=domains, **plan.columns(len(held)))


def _codes_by_sample(designs: list[Design], reports: Any, group: Factor) -> Array:
    """The code of each report among those of the design that its row used."""
    coded = [one for one in designs if isinstance(one, CodedDesign)]
    if len(coded) < len(designs):
        raise ReportError("one-of-several-designs-reports-sets")
    if isinstance(reports, Reports):
        raise ReportError("one-column-of-reports-of-one")
    given = reports if hasattr(reports, "__array__") else as_list(reports, "reports")
    values = as_array(given, "reports").astype(object)
    if values.shape != group.codes.shape:
        raise InputError("samples-for-reports", group_count=len(group), values_count=len(values))
    codes = np.empty(len(values), dtype=np.int64)
    for place, one in enumerate(coded):
        in_sample = group.codes == place
        codes[in_sample] = codes_of(one.outputs, values[in_sample].tolist())
    return codes
