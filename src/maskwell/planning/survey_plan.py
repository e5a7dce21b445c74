"""Planning a survey with designs that are chosen: respondents, power, and how to divide them.

One design: respondents for a margin, or for a test. Several designs: the division among samples, which may tell the
shares only together. A table of strata: the division among these.
"""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterable, Mapping, Sequence
from pathlib import Path
from statistics import NormalDist
from typing import Any

from maskwell.core.arguments import Real, as_list, check_path, list_of
from maskwell.core.exact import Number, check_probability, to_decimal
from maskwell.core.phrases import Printed, option, together
from maskwell.designs.design import Design
from maskwell.designs.matrix_reading import read_shares
from maskwell.designs.wire import read_design
from maskwell.engines.handwritten_files import read_small_table
from maskwell.errors import DataFileError, MaskwellError, ParameterError
from maskwell.planning.power import PowerPlan, plan_test
from maskwell.planning.sample_allocation import allocate_samples
from maskwell.planning.sample_size import SamplePlan, plan_sample
from maskwell.planning.stratum_allocation import Allocation, Stratum, allocate_strata

STRATA_HINT = "give a CSV with a header stratum,share,pi (and design, cost where they differ)"
TESTS = ("power", "against", "alpha")
COMPLEX = ("deff", "cv_weights", "icc", "cluster_size")


def plan_survey(
    designs: Design | Sequence[Design] = (),
    *,
    n: Number | None = None,
    margin: Number | None = None,
    pi: Iterable[Number] | None = None,
    category: Hashable = None,
    power: Number | None = None,
    against: Number | None = None,
    alpha: Number | None = None,
    deff: Number | None = None,
    cv_weights: Number | None = None,
    icc: Number | None = None,
    cluster_size: Number | None = None,
    strata: str | os.PathLike[str] | None = None,
    budget: Number | None = None,
    level: Number | None = None,
    names: Sequence[str] | None = None,
) -> SamplePlan | PowerPlan | Allocation:
    """How many respondents a survey needs, what power a test has, or how to divide respondents.

    Parameters
    ----------
    designs
        The design, or one for each sample; none where every row of ``strata`` names its own.
    n, margin
        The number of respondents, or the half width of the interval that is wanted.
    pi
        True shares to plan for; the worst ones by default, for one design.
    category
        The category of interest, by its label; the one that is hardest to estimate by default.
    power, against, alpha
        For a test: its power, the share that it shall tell from that in ``pi``, the chance of a false alarm (0.05).
    deff, cv_weights, icc, cluster_size
        Of a complex sample: the design effect of the open question and the coefficient of variation of the weights; or,
        in place of the first, intraclass correlation and size of the clusters, from which it follows.
    strata
        A CSV file with the columns stratum, share, pi and, where they differ, design and cost.
    budget
        With ``strata``: what may be spent.
    level
        Of the intervals, 0.95 by default.
    names
        Of several samples, in the order of the designs.

    >>> from maskwell.procedures.statement_cards import warner
    >>> plan_survey(warner("0.7"), margin="0.05", pi=["0.1", "0.9"]).n
    2156
    """
    chosen = [designs] if isinstance(designs, Design) else list_of(Design, designs, "designs")
    asked = {
        "n": n,
        "margin": margin,
        "pi": None if pi is None else as_list(pi, "pi"),
        "category": category,
        "power": power,
        "against": against,
        "alpha": alpha,
        "deff": deff,
        "cv_weights": cv_weights,
        "icc": icc,
        "cluster_size": cluster_size,
        "budget": budget,
        "level": level,
    }
    if strata is not None:
        check_path(strata=strata)
        return _by_strata(os.fspath(strata), chosen, asked)
    if len(chosen) > 1:
        return _by_samples(chosen, names, asked)
    if not chosen:
        raise ParameterError("no design to plan with", hint=f"give one, or {option('strata')} that name theirs")
    tests = power is not None or against is not None
    return _for_test(chosen[0], asked) if tests else _for_estimate(chosen[0], asked)


# ---- one design


def _for_estimate(design: Design, asked: Mapping[str, Any]) -> SamplePlan:
    _refuse(alpha=asked["alpha"], why=f"it is for a test: give {option('power')} or {option('against')}")
    _refuse(budget=asked["budget"], why=f"it is for {option('strata')}")
    if asked["n"] is None and asked["margin"] is None:
        test = f"{option('power')} and {option('against')} for a test"
        raise ParameterError(
            "plan needs to know how large the survey is, or how exact",
            hint=f"give {option('n')}, {option('margin')}, or {test}",
        )
    return plan_sample(
        design,
        pi=_shares(design, asked["pi"]),
        category=_category(design, asked["category"]),
        n=asked["n"],
        margin=asked["margin"],
        level=asked["level"] or "0.95",
        **_complex(asked),
    )


def _for_test(design: Design, asked: Mapping[str, Any]) -> PowerPlan:
    instead = f"a test has {option('power')} and {option('alpha')} instead"
    _refuse(margin=asked["margin"], level=asked["level"], why=instead)
    _refuse(budget=asked["budget"], why=f"it is for {option('strata')}")
    pi = _shares(design, asked["pi"])
    if pi is None:
        raise ParameterError(
            "a test needs the shares under the hypothesis",
            hint=f"give them: {together(option('pi', '0.1,0.9', '[0.1, 0.9]'), option('against', '0.15'))}",
        )
    return plan_test(
        design,
        pi=pi,
        against=asked["against"],
        power=asked["power"],
        n=asked["n"],
        category=_category(design, asked["category"]),
        alpha=asked["alpha"] or "0.05",
        **_complex(asked),
    )


def _shares(design: Design, pi: Sequence[Number] | None) -> Real | None:
    return None if pi is None else read_shares(pi, option("pi"), design.k)


def _category(design: Design, category: Hashable) -> Any:
    if category is None:
        return None
    return design.inputs.labels[design.inputs.typed_codes([category], option("category"))[0]]


def _complex(asked: Mapping[str, Any]) -> dict[str, Any]:
    return {name: asked[name] for name in COMPLEX}


def _refuse(*, why: str, **options: Any) -> None:
    """Raise for what would be left aside."""
    for name, value in options.items():
        if value is not None:
            raise ParameterError(f"{option(name)} has no meaning here", hint=why)


# ---- strata


def _by_strata(path: str, designs: Sequence[Design], asked: Mapping[str, Any]) -> Allocation:
    _refuse(**{name: asked[name] for name in TESTS}, why="strata are divided for an estimate, not for a test")
    _refuse(pi=asked["pi"], why="each stratum has shares of its own, in the column pi")
    if len(designs) > 1:
        raise ParameterError(
            f"{option('strata')} and {len(designs)} design files", hint="name one, or put them into the column design"
        )
    strata = _read_strata(path, designs[0] if designs else None, asked["category"])
    return allocate_strata(
        strata,
        n=asked["n"],
        margin=asked["margin"],
        budget=asked["budget"],
        level=asked["level"] or "0.95",
        **_complex(asked),
    )


def _read_strata(path: str, design: Design | None, category: Hashable) -> list[Stratum]:
    rows = read_small_table(path, needed=("stratum", "share", "pi"), allowed=("design", "cost"), hint=STRATA_HINT)
    strata = []
    for number, row in rows:
        try:
            strata.append(_stratum(row, design, Path(path).parent, category))
        except MaskwellError as error:
            raise DataFileError(f"{path}, line {number}: {error.message}", hint=error.hint, path=path) from error
    return strata


def _stratum(row: Mapping[str, str], design: Design | None, folder: Path, category: Hashable) -> Stratum:
    used = read_design(str(folder / row["design"])) if row.get("design") else design
    if used is None:
        raise ParameterError(
            f"stratum {row['stratum']} has no design", hint="name a design file, or fill the column design"
        )
    pi, cost = _row_shares(row["pi"], used), row.get("cost") or "1"
    return Stratum(row["stratum"], row["share"], used, pi, cost, _category(used, category))


def _row_shares(text: str, design: Design) -> Real:
    """All shares, or the first of two."""
    parts = text.replace(" ", ",").replace(";", ",").split(",")
    if design.k == 2 and len(parts) == 1:
        first = check_probability(parts[0], "pi")
        parts = [to_decimal(first), to_decimal(1 - first)]
    return read_shares([part for part in parts if part], "pi", design.k)


# ---- samples


def _by_samples(designs: Sequence[Design], names: Sequence[str] | None, asked: Mapping[str, Any]) -> Allocation:
    alone = f"samples are divided for {option('n')} or {option('margin')} alone"
    _refuse(**{name: asked[name] for name in ("budget", *COMPLEX)}, why=alone)
    pi = _shares(designs[0], asked["pi"])
    coefficients = _coefficients(designs[0], asked["category"])
    tests = {name: asked[name] for name in TESTS}
    _refuse(**tests, why=_margin_of_test(tests, None if pi is None else float(pi @ coefficients)))
    if pi is None or (asked["n"] is None and asked["margin"] is None):
        size = f"{option('n', '1000')} or {option('margin', '0.03')}"
        raise ParameterError(
            "a division among samples needs all respondents and the shares to plan for",
            hint=f"give {size}, and {option('pi')} with one share for each category",
        )
    return allocate_samples(
        designs,
        pi,
        wanted=coefficients,
        n=asked["n"],
        margin=asked["margin"],
        level=asked["level"] or "0.95",
        names=names,
    )


def _margin_of_test(tests: Mapping[str, Any], null: float | None) -> str:
    """Which margin does what the test shall do, where that can be said."""
    said, margin_option = "samples are planned for an estimate:", option("margin")
    if null is None or tests["power"] is None or tests["against"] is None:
        return f"{said} give {margin_option} (0.7 of the difference: power 0.8)"
    values = {**tests, "alpha": tests["alpha"] or "0.05"}
    power, against, alpha = (float(check_probability(values[name], name, open_=True)) for name in TESTS)
    alarm, hit = (NormalDist().inv_cdf(p) for p in (1 - alpha / 2, power))
    if power <= alpha or against == null:
        return f"{said} give {margin_option}"
    margin = f"{Printed(abs(against - null) * alarm / (alarm + hit)):.3g}"
    level = f"{Printed(1 - alpha):g}"
    return f"{said} {together(option('margin', margin), option('level', level))} gives about that power"


def _coefficients(design: Design, category: Hashable) -> list[float]:
    """Coefficients of what is wanted: of one category, or of all that have an answer in common."""
    labels = design.inputs.labels
    if not all(isinstance(label, tuple) for label in labels):
        if category is None and design.k > 2:
            raise ParameterError("plan needs the category of interest", hint=f"give it: {option('category', 'A')}")
        code = 0 if category is None else design.inputs.typed_codes([category], option("category"))[0]
        return [float(j == code) for j in range(design.k)]
    parts = [str(label[design.wanted_place or 0]) for label in labels]  # type: ignore[index]
    answer = parts[0] if category is None else str(category)
    if answer not in parts:
        known = ", ".join(dict.fromkeys(parts))
        raise ParameterError(f"{option('category')}: no answer {answer!r}", hint=f"known: {known}")
    return [float(part == answer) for part in parts]
