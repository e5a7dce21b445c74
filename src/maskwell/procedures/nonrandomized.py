"""Two questions at once, and one answer to both: no device is needed."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any

from maskwell.core.arguments import as_real, check_kind
from maskwell.core.exact import Number, check_probability
from maskwell.designs.dense import Dense
from maskwell.errors import NotIdentifiableError, ParameterError
from maskwell.procedures.design_builders import of_two_reports


def crosswise(q: Number, *, allow_unidentifiable: bool = False) -> Dense:
    """Say whether your answers to the sensitive and to an innocuous question are the same.

        Pr(same | A) = q,   Pr(same | not A) = 1 - q

    where ``q`` is the known share of yes to the innocuous question, unrelated to the sensitive one. This **is**
    Warner's design with p = q. Source: after Yu, Tian and Tang (2008); P derived from the instruction.
    """
    share = check_probability(q, "q")
    return of_two_reports(
        share,
        1 - share,
        "crosswise",
        {"q": share},
        needs="q away from 1/2",
        reports=("same", "different"),
        allow_unidentifiable=allow_unidentifiable,
        same_as=f"warner --p {share}",
    )


def triangular(q: Number, *, allow_unidentifiable: bool = False) -> Dense:
    """Say whether at least one of the sensitive and an innocuous trait applies to you.

        Pr(at least one | A) = 1,   Pr(at least one | not A) = q

    where ``q`` is the known share of people with the innocuous trait, unrelated to the sensitive one. The design is
    that of :func:`~maskwell.procedures.statement_cards.mangat` with p = 1 - q: "neither" is only said outside A.
    Source: after Yu, Tian and Tang (2008); P derived from the instruction.
    """
    share = check_probability(q, "q")
    return of_two_reports(
        Fraction(1),
        share,
        "triangular",
        {"q": share},
        needs="q below 1",
        reports=("at least one", "neither"),
        allow_unidentifiable=allow_unidentifiable,
        same_as=f"mangat --p {1 - share}",
    )


@dataclass(frozen=True)
class Sensitivity:
    """An estimate by a trait of assumed share q, and how it moves with q.

    >>> sensitivity = sensitivity_to_q("triangular", q="1/4", lam_hat=0.42)
    >>> round(sensitivity.pi_hat, 6), round(sensitivity.derivative, 6)
    (0.226667, -1.031111)
    >>> round(sensitivity.standard_error(0.03, q_error=0.01), 4)   # q came from a survey of its own
    0.0317
    """

    family: str  # ``"crosswise"`` or ``"triangular"``
    # q, lam_hat: the assumed share of the innocuous trait, and the observed share of the first report ("same", "at
    # least one")
    q: float
    lam_hat: float
    pi_hat: float  # the estimate at ``q``
    derivative: float  # d pi_hat / d q

    def estimate_at(self, q: Number) -> float:
        """The estimate if the share were another one, exactly."""
        return _checked(self.family).estimate(self.lam_hat, _share(self.family, q))

    def variance_added(self, q_error: float) -> float:
        """What an estimated q adds to the variance of the estimate: (d pi_hat / d q)^2 times the variance of q.

        ``q_error`` is the standard error of q, from a sample of its own. Source: derived (delta method).
        """
        return (self.derivative * _error(q_error, "q_error")) ** 2

    def standard_error(self, error: float, *, q_error: float) -> float:
        """The standard error of the estimate, ``error``, with that of q added."""
        return math.sqrt(_error(error, "error") ** 2 + self.variance_added(q_error))

    def to_dict(self) -> dict[str, Any]:
        """As JSON."""
        return asdict(self)


def sensitivity_to_q(family: str, *, q: Number, lam_hat: Number) -> Sensitivity:
    """How the estimate of the crosswise or the triangular model moves with the assumed share q.

        crosswise    pi_hat = (lam_hat - (1 - q)) / (2 q - 1),   d pi_hat / d q = (1 - 2 lam_hat) / (2 q - 1)^2
        triangular   pi_hat = (lam_hat - q) / (1 - q),           d pi_hat / d q = -(1 - lam_hat) / (1 - q)^2

    where ``q`` is the share of people with the innocuous trait and ``lam_hat`` the observed share of "same", or of "at
    least one". A q that is wrong by d biases the estimate by about d times the derivative.
    Source: derived.

    >>> round(sensitivity_to_q("crosswise", q="1/4", lam_hat=0.6).derivative, 6)   # q too high by 0.01: 0.008 too low
    -0.8
    """
    model, share = _checked(family), _share(family, q)
    lam = float(check_probability(lam_hat, "lam_hat"))
    return Sensitivity(family, share, lam, model.estimate(lam, share), model.derivative(lam, share))


@dataclass(frozen=True)
class _Model:
    """The estimate and its derivative as functions of the share of reports and of q, and the q where both fail."""

    estimate: Callable[[float, float], float]
    derivative: Callable[[float, float], float]
    fails_at: float


_LARGEST_ERROR = 1e100
_MODELS = {
    "crosswise": _Model(
        lambda lam, q: (lam - (1 - q)) / (2 * q - 1), lambda lam, q: (1 - 2 * lam) / (2 * q - 1) ** 2, 0.5
    ),
    "triangular": _Model(lambda lam, q: (lam - q) / (1 - q), lambda lam, q: -(1 - lam) / (1 - q) ** 2, 1.0),
}


def _checked(family: str) -> _Model:
    check_kind(str, family=family)
    if family not in _MODELS:
        raise ParameterError("has-no-share-q", family=family, models=", ".join(_MODELS))
    return _MODELS[family]


def _share(family: str, q: Number) -> float:
    share = float(check_probability(q, "q"))
    if share == _MODELS[family].fails_at:
        raise NotIdentifiableError("with-q-shares-cannot-be-estimated", family=family, share=share, q=q)
    return share


def _error(value: float, name: str) -> float:
    error = as_real(value, name)
    if not 0 <= error <= _LARGEST_ERROR:
        what = "negative" if error < 0 else "too large"
        raise ParameterError("name-value-is-what", name=name, what=what, value=value)
    return error
