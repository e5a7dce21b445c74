"""Plans for users of sdcMicro: the arguments of ``pram``, and matrices as it stores them (rows are truths).

Its ``pram`` draws a diagonal between ``pd`` and one, makes Method 2 with it and mixes it with the identity by
``alpha``; here the diagonal is ``pd`` itself, and every stratum has its own matrix. Source: the public source of
sdcMicro's ``pram``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from maskwell.core.arguments import check_kind, check_path, list_of
from maskwell.core.exact import Number
from maskwell.designs.dense import Dense
from maskwell.engines.handwritten_files import read_matrix
from maskwell.errors import LabelError, MatrixError, PlanError
from maskwell.microdata.plans.protection import Protection
from maskwell.microdata.plans.release_plan import ReleasePlan

PD, ALPHA = "0.8", "0.5"  # What ``pram`` takes where nothing is said


def design_from_sdcmicro(path: str) -> Dense:
    """The design in a matrix that R wrote with ``write.csv(mat)``: rows are truths, with the levels as names.

    Raises
    ------
    MatrixError
        Where the matrix is not square, has no names, or its rows do not sum to one.
    LabelError
        Where the names of rows and columns differ.
    """
    check_path(path=path)
    matrix = read_matrix(path)
    if matrix.row_labels is None or matrix.column_labels is None:
        raise MatrixError("has-no-names-of-rows", path=path)
    if matrix.row_labels != matrix.column_labels:
        raise LabelError("rows-and-columns-of-have-different", path=path)
    return Dense.from_rows(matrix.entries, inputs=matrix.row_labels, outputs=matrix.row_labels)


def plan_from_sdcmicro(
    variables: Sequence[str],
    *,
    pd: Number | str | Sequence[Any] | Mapping[str, Any] = PD,
    alpha: Number | Sequence[Number] = ALPHA,
    strata_variables: Sequence[str] = (),
    keys: Sequence[str] = (),
    weights: str | None = None,
    **release: Any,
) -> ReleasePlan:
    """The plan that does what ``pram(data, variables, strata_variables, pd, alpha)`` is meant to do.

    Each variable is randomized on its own, ``P = alpha Q R + (1 - alpha) I``: by Method 2 with the first matrix that
    keeps a value with probability ``pd`` and else takes every other one alike, mixed with the identity.

    Parameters
    ----------
    variables
        Columns to randomize.
    pd
        One number for all variables, one for each in a list, or by name in a table. In place of a number there may be
        the name of a CSV file with a matrix as R writes it (rows are truths): it is used as it is.
    alpha
        One number for all, or one for each; not used where there is a matrix.
    strata_variables
        Columns within whose cells each variable is randomized.
    keys, weights, **release
        The same as in the table ``[release]`` of a plan; sdcMicro has them in ``createSdcObj``.

    Source: [Adeshiyan2011, section 4.5, Method 2].

    >>> plan = plan_from_sdcmicro(["roof", "walls"], pd=["0.95", "0.8"], strata_variables=["urbrur"])
    >>> plan.protections[0]
    Protection(roof within urbrur, method2, diagonal = 0.95)
    >>> plan.protections[0].strength
    Fraction(1, 2)
    """
    names = [variables] if isinstance(variables, str) else list_of(str, variables, "variables")
    keys = list_of(str, keys, "keys")
    check_kind(str | None, weights=weights)
    diagonals, alphas = _for_each(pd, names, "pd"), _for_each(alpha, names, "alpha")
    protections = [
        Protection.of(name, "fixed", within=strata_variables, matrix=d, orientation="rows")
        if isinstance(d, str) and d.lower().endswith((".csv", ".json", ".npy"))
        else Protection.of(name, "method2", within=strata_variables, diagonal=d, strength=a)
        for name, d, a in zip(names, diagonals, alphas, strict=True)
    ]
    more: dict[str, Any] = {key: value for key, value in (("keys", keys), ("weights", weights)) if value}
    return ReleasePlan.of(protections, **more, **release)


def _for_each(values: Any, names: Sequence[str], what: str) -> list[Any]:
    if isinstance(values, Mapping):
        missing = [name for name in names if name not in values]
        if missing:
            raise PlanError("what-has-nothing-for-missing", what=what, missing=missing[0])
        return [values[name] for name in names]
    if isinstance(values, str) or not isinstance(values, Sequence):
        return [values] * len(names)
    if len(values) != len(names):
        raise PlanError("values-of-for-variables", values_count=len(values), what=what, names_count=len(names))
    return [*values]
