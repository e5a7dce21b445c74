"""``sample_size``: respondents, power, and how to divide them, for designs that are chosen already."""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterable, Mapping, Sequence
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np

from maskwell.core.arguments import Real, as_list, check_kind, list_of
from maskwell.core.exact import Number, check_probability, to_decimal
from maskwell.core.phrases import Printed, option, together
from maskwell.designs.design import Design
from maskwell.designs.matrix_reading import read_shares
from maskwell.designs.wire import read_design
from maskwell.engines.handwritten_files import read_small_table
from maskwell.errors import DataFileError, MaskwellError, ParameterError
from maskwell.estimation.sampling.sampling_description import Sampling
from maskwell.planning.power import PowerPlan, plan_test
from maskwell.planning.respondent_variance import Sampling as RespondentSampling
from maskwell.planning.sample_allocation import allocate_samples
from maskwell.planning.sample_size import SamplePlan, plan_sample
from maskwell.planning.stratum_allocation import Allocation, Stratum, allocate_strata
from maskwell.verbs.inputs import DesignOrPath

STRATA_HINT = "give a CSV with a header stratum,share,pi (and design, cost where they differ)"
TESTS = ("power", "against")
COMPLEX = ("deff", "cv_weights", "icc", "cluster_size")


def sample_size(
    designs: DesignOrPath | Sequence[Design] | Mapping[str, Design] | Sequence[Stratum],
    sampling: Sampling | Mapping[str, Number] | None = None,
    *,
    n: Number | None = None,
    margin: Number | None = None,
    pi: Iterable[Number] | None = None,
    category: Hashable = None,
    level: Number | None = None,
    power: Number | None = None,
    against: Number | None = None,
    budget: Number | None = None,
) -> SamplePlan | PowerPlan | Allocation:
    """How many respondents a survey needs, what power a test has, or how to divide respondents.

    Parameters
    ----------
    designs
        The design, or its file; for several samples their designs, by name or in a list; for strata a list of
        :class:`~maskwell.planning.Stratum`, each with its share, design and cost.
    sampling
        How the sample differs from a simple random one: ``deff`` (design effect of the open question) and
        ``cv_weights`` (coefficient of variation of the weights), or ``icc`` and ``cluster_size`` from which the first
        follows: ``{"icc": 0.05, "cluster_size": 20}``. Or a Sampling with the weights of a similar sample as an array.
    n, margin
        The number of respondents, or the half width of the interval that is wanted.
    pi
        True shares to assume; the worst ones by default, for one design.
    category
        The category of interest, by its label; the one that is hardest to estimate by default.
    level
        Confidence level, 0.95 by default; a test has the significance level ``1 - level``.
    power, against
        For a test: its power, and the share to be distinguished from that in ``pi``.
    budget
        With strata: what may be spent.

    >>> import maskwell as mw
    >>> sample_size(mw.design("warner", p="0.7"), margin="0.05", pi=["0.1", "0.9"]).n
    2156
    >>> sample_size(mw.design("warner", p="0.7"), {"deff": 2}, margin="0.05", pi=["0.1", "0.9"]).n
    2294
    """
    shares = None if pi is None else as_list(pi, "pi")
    asked = {"n": n, "margin": margin, "pi": shares, "category": category, "level": level, "power": power}
    asked |= {"against": against, "budget": budget, **complex_words(sampling)}
    one = _for_estimate if power is None and against is None else _for_test
    if isinstance(designs, Design | str | os.PathLike):
        return one(read_design(designs), asked)
    check_kind(Design | Sequence | Mapping, designs=designs)
    names = [*map(str, designs)] if isinstance(designs, Mapping) else None
    several = [*(designs.values() if isinstance(designs, Mapping) else designs)]
    if not several:
        raise ParameterError("no-design-to-ask")
    if isinstance(several[0], Stratum):
        return _by_strata(list_of(Stratum, several, "designs"), asked)
    chosen = list_of(Design, several, "designs")
    return _by_samples(chosen, names, asked) if len(chosen) > 1 else one(chosen[0], asked)


def complex_words(sampling: Sampling | Mapping[str, Number] | None) -> dict[str, Any]:
    """Design effect and variation of the weights, by the names of ``COMPLEX``; from weights by Kish's ``1 + cv^2``."""
    words: dict[str, Any] = dict.fromkeys(COMPLEX)
    if sampling is None:
        return words
    check_kind(Sampling | Mapping, sampling=sampling)
    if isinstance(sampling, Mapping):
        unknown = next((name for name in sampling if name not in COMPLEX), None)
        if unknown is not None:
            raise ParameterError("sampling-has-no-unknown", unknown=unknown, complex=", ".join(COMPLEX))
        return words | dict(sampling)
    if sampling.clusters:
        raise ParameterError("the-design-effect-of-clusters-needs")
    if sampling.names or sampling.n is None:
        raise ParameterError("sampling-must-have-the-weights")
    weights = sampling.base_weights(sampling.n)
    variation = float(np.std(weights) / np.mean(weights))
    return words | {"deff": 1 + variation**2, "cv_weights": variation}


def _for_estimate(design: Design, asked: Mapping[str, Any]) -> SamplePlan:
    _refuse(budget=asked["budget"], why=f"it is for {option('strata')}")
    if asked["n"] is None and asked["margin"] is None:
        test = f"{option('power')} and {option('against')} for a test"
        raise ParameterError("sample-size-needs-to-know-how", test=test)
    pi, category = _shares(design, asked["pi"]), _category(design, asked["category"])
    return plan_sample(design, pi=pi, category=category, sampling=_complex(asked), **_size(asked))


def _for_test(design: Design, asked: Mapping[str, Any]) -> PowerPlan:
    _refuse(margin=asked["margin"], why=f"a test has {option('power')} and {option('level')} instead")
    _refuse(budget=asked["budget"], why=f"it is for {option('strata')}")
    pi = _shares(design, asked["pi"])
    if pi is None:
        raise ParameterError(
            "a-test-needs-the-shares-under",
            together=together(option("pi", "0.1,0.9", "[0.1, 0.9]"), option("against", "0.15")),
        )
    return plan_test(
        design,
        pi=pi,
        against=asked["against"],
        power=asked["power"],
        n=asked["n"],
        category=_category(design, asked["category"]),
        alpha=_alpha(asked["level"]),
        sampling=_complex(asked),
    )


def _alpha(level: Number | None) -> Number:
    """The probability of a false alarm of a test with that confidence level."""
    return "0.05" if level is None else 1 - check_probability(level, "level", open_=True)


def _shares(design: Design, pi: Sequence[Number] | None) -> Real | None:
    return None if pi is None else read_shares(pi, option("pi"), design.k)


def _category(design: Design, category: Hashable) -> Any:
    if category is None:
        return None
    return design.inputs.labels[design.inputs.typed_codes([category], option("category"))[0]]


def _complex(asked: Mapping[str, Any]) -> RespondentSampling:
    return RespondentSampling.of(**{name: asked[name] for name in COMPLEX})


def _size(asked: Mapping[str, Any]) -> dict[str, Any]:
    return {"n": asked["n"], "margin": asked["margin"], "level": asked["level"] or "0.95"}


def _refuse(*, why: str, **options: Any) -> None:
    """Raise for what would be left aside."""
    for name, value in options.items():
        if value is not None:
            raise ParameterError("has-no-meaning-here", hint=why, name_option=option(name))


def _by_strata(strata: Sequence[Stratum], asked: Mapping[str, Any]) -> Allocation:
    _refuse(**{name: asked[name] for name in TESTS}, why="strata are divided for an estimate, not for a test")
    _refuse(pi=asked["pi"], category=asked["category"], why="each stratum has shares and a category of its own")
    return allocate_strata(strata, budget=asked["budget"], sampling=_complex(asked), **_size(asked))


def read_strata(path: str, design: Design | None, category: Hashable) -> list[Stratum]:
    """The strata in a CSV file with the columns stratum, share, pi and, where they differ, design and cost."""
    rows = read_small_table(path, needed=("stratum", "share", "pi"), allowed=("design", "cost"), hint=STRATA_HINT)
    strata = []
    for number, row in rows:
        try:
            used = read_design(str(Path(path).parent / row["design"])) if row.get("design") else design
            if used is None:
                raise ParameterError("stratum-has-no-design", stratum=row["stratum"])
            pi, cost = _row_shares(row["pi"], used), row.get("cost") or "1"
            strata.append(Stratum(row["stratum"], row["share"], used, pi, cost, _category(used, category)))
        except MaskwellError as error:
            raise DataFileError(
                "path-line-number-problem", hint=error.hint, number=number, problem=error.message, path=path
            ) from error
    return strata


def _row_shares(text: str, design: Design) -> Real:
    """All shares, or the first of two."""
    parts = text.replace(" ", ",").replace(";", ",").split(",")
    if design.k == 2 and len(parts) == 1:
        first = check_probability(parts[0], "pi")
        parts = [to_decimal(first), to_decimal(1 - first)]
    return read_shares([part for part in parts if part], "pi", design.k)


def _by_samples(designs: Sequence[Design], names: Sequence[str] | None, asked: Mapping[str, Any]) -> Allocation:
    alone = f"samples are divided for {option('n')} or {option('margin')} alone"
    _refuse(**{name: asked[name] for name in ("budget", *COMPLEX)}, why=alone)
    pi = _shares(designs[0], asked["pi"])
    coefficients = _coefficients(designs[0], asked["category"])
    tests = {name: asked[name] for name in TESTS}
    _refuse(**tests, why=_margin_of_test(tests, asked["level"], None if pi is None else float(pi @ coefficients)))
    if pi is None or (asked["n"] is None and asked["margin"] is None):
        size = f"{option('n', '1000')} or {option('margin', '0.03')}"
        raise ParameterError("a-division-among-samples-needs-all", size=size)
    return allocate_samples(designs, pi, wanted=coefficients, names=names, **_size(asked))


def _margin_of_test(tests: Mapping[str, Any], level: Number | None, null: float | None) -> str:
    """Which margin does what the test shall do, where that can be said."""
    said, margin_option = "samples are divided for an estimate:", option("margin")
    if null is None or tests["power"] is None or tests["against"] is None:
        return f"{said} give {margin_option} (0.7 of the difference: power 0.8)"
    power, against = (float(check_probability(tests[name], name, open_=True)) for name in TESTS)
    alpha = float(check_probability(_alpha(level), "level", open_=True))
    alarm, hit = (NormalDist().inv_cdf(p) for p in (1 - alpha / 2, power))
    if power <= alpha or against == null:
        return f"{said} give {margin_option}"
    margin = f"{Printed(abs(against - null) * alarm / (alarm + hit)):.3g}"
    sure = f"{Printed(1 - alpha):g}"
    return f"{said} {together(option('margin', margin), option('level', sure))} gives about that power"


def _coefficients(design: Design, category: Hashable) -> list[float]:
    """Coefficients of what is wanted: of one category, or of all that have an answer in common."""
    labels = design.inputs.labels
    if not all(isinstance(label, tuple) for label in labels):
        if category is None and design.k > 2:
            raise ParameterError("sample-size-needs-the-category")
        code = 0 if category is None else design.inputs.typed_codes([category], option("category"))[0]
        return [float(j == code) for j in range(design.k)]
    parts = [str(label[design.wanted_place or 0]) for label in labels]  # type: ignore[index]
    answer = parts[0] if category is None else str(category)
    if answer not in parts:
        known = ", ".join(dict.fromkeys(parts))
        raise ParameterError("category-no-answer", answer=answer, known=known)
    return [float(part == answer) for part in parts]
