"""Rows of reports made into cells, with a reading for each sample."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from maskwell.core.arguments import as_array, as_list
from maskwell.core.arrays import Array
from maskwell.core.cells import Cells
from maskwell.core.factors import Factor
from maskwell.core.phrases import VALUES, listed
from maskwell.core.report_data import Reports, bits_from_texts
from maskwell.designs.coded import CodedDesign, check_codes, codes_of, reports_of
from maskwell.designs.design import Design
from maskwell.errors import InputError, LabelError, ReportError
from maskwell.estimation.left_inverse import LeftInverse
from maskwell.estimation.sampling.plan import SamplingPlan
from maskwell.estimation.sampling.readings import Reading, reading_of, readings_of


def cells_of_rows(
    reports: Any,
    design: Design | Mapping[Any, Design],
    plan: SamplingPlan,
    *,
    domains: Any = None,
    samples: Any = None,
    inverse: LeftInverse | None = None,
) -> tuple[Cells, tuple[Reading, ...]]:
    """The cells of the rows of a sample, and how the reports of each of its samples are read."""
    if not isinstance(design, Mapping):
        if samples is not None:
            raise InputError("samples are told apart, but there is one design", hint="give a design for each sample")
        reading = reading_of(design, inverse)
        return _grouped(design, reports, plan, domain=domains), (reading,)
    if samples is None:
        raise InputError(f"{len(design)} designs and no samples", hint="say which design each row used: samples=")
    group = Factor.of(samples, "samples")
    labels = group.labels.tolist()
    missing = [label for label in labels if label not in design]
    if missing:
        raise LabelError(
            f"no design for {len(missing):,} of {len(labels):,} samples",
            hint="give one for each",
            values=listed(map(repr, missing), len(missing), VALUES),
            missing=missing,
        )
    unused = [label for label in design if label not in set(labels)]
    if unused:
        raise LabelError(
            f"no row of the samples {listed(map(repr, unused), len(unused), 40)}, which have a design",
            hint="leave out their designs if they were not asked, or check the column of the samples",
            samples=unused,
        )
    used = [design[label] for label in labels]
    readings = readings_of(used, inverse)
    codes = _codes_by_sample(used, reports, group)
    return Cells.of(codes, domain=domains, sample=group, **plan.columns(len(codes))), readings


def _grouped(design: Design, reports: Any, plan: SamplingPlan, *, domain: Any) -> Cells:
    if isinstance(design, CodedDesign):
        codes = _codes(design, reports)
        return Cells.of(codes, domain=domain, **plan.columns(len(codes)))
    held = _held(design, reports)
    if plan.joint_inclusion is not None:
        raise ReportError("set reports with pairwise probabilities", hint="use poisson or hajek-deville")
    return Cells.of_sets(held, domain=domain, **plan.columns(len(held)))


def _codes(design: CodedDesign, reports: Any) -> Array:
    if isinstance(reports, Reports):
        return np.asarray(check_codes(reports_of(design, reports)), dtype=np.int64)
    return np.asarray(codes_of(design.outputs, reports), dtype=np.int64)


def _held(design: Design, reports: Any) -> Array:
    bits = reports_of(design, reports) if isinstance(reports, Reports) else _bits(reports, design.k)
    design.tally(Reports(design.fingerprint, design.k, "bits", bits))  # refuses sets that the design never reports
    return np.unpackbits(bits, axis=1, count=design.k, bitorder="little")


def _bits(texts: Any, k: int) -> Array:
    return bits_from_texts(texts, k)


def _codes_by_sample(designs: list[Design], reports: Any, group: Factor) -> Array:
    """The code of each report among those of the design that its row used."""
    coded = [one for one in designs if isinstance(one, CodedDesign)]
    if len(coded) < len(designs):
        raise ReportError("one of several designs reports sets", hint="estimate set reports one sample at a time")
    if isinstance(reports, Reports):
        raise ReportError(
            "one column of reports of one design for several designs", hint="give the labels of the reports"
        )
    values = as_array(reports if hasattr(reports, "__array__") else as_list(reports, "reports"), "reports").astype(
        object
    )
    if values.shape != group.codes.shape:
        raise InputError(f"{len(group):,} samples for {len(values):,} reports", hint="name the sample of each row")
    codes = np.empty(len(values), dtype=np.int64)
    for place, one in enumerate(coded):
        own = group.codes == place
        codes[own] = codes_of(one.outputs, values[own].tolist())
    return codes
