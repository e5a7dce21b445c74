"""Verifying a certificate: it holds if it is, to the letter, what would be made anew; anything else fails a check."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

from maskwell.core.arguments import check_kind
from maskwell.core.display import Result
from maskwell.core.documents import fingerprint_of, from_json_noting, read_document
from maskwell.core.exact import Parity, from_text, parity_text, to_text, told_apart
from maskwell.core.phrases import fault_of
from maskwell.designs.design import Design
from maskwell.designs.wire import design_from_dict
from maskwell.errors import CertificateError, MaskwellError
from maskwell.privacy.certificate import RULES, VERSION, answer_of, bound_of
from maskwell.privacy.column_shapes import columns_sum_to_one, parity_of_rows
from maskwell.privacy.provable_claims import Improves, proof_of, provable, provable_rows, why_not

WRONG = (KeyError, IndexError, AttributeError, TypeError, ValueError, ArithmeticError, RecursionError, MemoryError)
PARTS = ("maskwell", "version", "design", "claims", "seal")
CLAIMS = ("parity", "demand", "meets", "slack", "admissible", "improves")


@dataclass(frozen=True)
class Check:
    """One thing that was looked at."""

    name: str
    ok: bool
    words: str


@dataclass(frozen=True)
class Verified(Result):
    """What came of the checks.

    ``meets`` is the proved answer to the demand, None without one or when a check failed; ``slack_used`` says that it
    is yes only within the slack for decimals (:mod:`.criteria`).

    >>> from maskwell import Categories
    >>> from maskwell.designs import Uniform
    >>> from maskwell.privacy.certificate import certify
    >>> proof = certify(Uniform.from_gamma(3, Categories.of(["yes", "no"]))).to_dict()
    >>> verify_certificate(proof).ok
    True
    >>> verify_certificate({**proof, "claims": {**proof["claims"], "parity": "2"}}).failed[0].words
    'the seal is not that of the content: something was changed after it was made'
    """

    LINES = "checks"

    checks: tuple[Check, ...]
    meets: bool | None = None
    slack_used: bool = False

    @property
    def ok(self) -> bool:
        """Whether every check holds."""
        return all(check.ok for check in self.checks)

    @property
    def failed(self) -> tuple[Check, ...]:
        """The checks that do not hold."""
        return tuple(check for check in self.checks if not check.ok)

    def to_dict(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        checks = [{"name": check.name, "ok": check.ok, "words": check.words} for check in self.checks]
        return {"holds": self.ok, "ok": self.ok, "meets": self.meets, "slack_used": self.slack_used, "checks": checks}


def verify_certificate(content: Any, *, design: Design | None = None) -> Verified:
    """Work out anew all that a certificate claims."""
    check_kind(Design | None, design=design)
    verified = Verified(tuple(_checks(content, design)))
    claims = content["claims"] if verified.ok else {}
    return Verified(verified.checks, claims.get("meets"), "slack" in claims)


def verify_text(text: str, *, design: Design | None = None) -> Verified:
    """The same for the text of a file; CertificateError when it is not a certificate at all."""
    reader = _Numbers()
    try:
        content = from_json_noting(text, parse_float=reader.read, repeated=reader.note_repeated)
    except ValueError as error:
        raise CertificateError("this-is-not-json-fault", fault=fault_of(error)) from error
    if not isinstance(content, dict) or content.get("maskwell") != "certificate":
        raise CertificateError("this-is-no-certificate")
    if reader.fault:
        return Verified((Check("form", False, reader.fault),))
    return verify_certificate(content, design=design)


def verify_file(path: str | Path, *, design: Design | None = None) -> Verified:
    """The same for a file."""
    text = read_document(path, error=CertificateError, hint="check the path of the certificate")
    try:
        return verify_text(text, design=design)
    except CertificateError as error:
        raise CertificateError(f"{path}: {error.message}", hint=error.hint) from error


MOST_DECIMALS = 1_000_000  # numbers with a point in a certificate. All that is proved is integers in texts.


class _Numbers:
    """Reads numbers with a point, and remembers the first fault of the text that contains them."""

    def __init__(self) -> None:
        self.fault, self._many = "", 0

    def read(self, text: str) -> float:
        """Two texts that represent the same float would have the same seal: only the shortest one is read."""
        self._many += 1
        if self._many > MOST_DECIMALS:
            raise ValueError(f"it has more than {MOST_DECIMALS:,} numbers with a point")
        number = float(text)
        if repr(number) == text:
            return number
        self.fault = self.fault or f"the number {text:.40} is not written in its shortest form"
        return 0.0

    def note_repeated(self) -> None:
        """A key occurred twice in one object."""
        self.fault = self.fault or "a key is repeated, so that two readers could read two different things"


class _Wrong(Exception):  # noqa: N818 (not an error of the program, but the answer no)
    """A claim that does not hold, in words."""


def _checks(content: Any, expected: Design | None) -> Iterator[Check]:
    yield (form := _tried("form", lambda: _form(content)))
    if not form.ok:
        return
    yield _tried("seal", lambda: _seal(content))
    yield (read := _tried("design", lambda: _design(content)))
    if not read.ok:
        return
    design, claims = design_from_dict(content["design"]), content["claims"]
    if expected is not None:
        yield _tried("the same", lambda: _is_the_one(design, expected, claims))
    yield _tried("columns", lambda: _columns(design))
    yield _tried("parity", lambda: _parity(design, claims))
    if "demand" in claims:
        yield _tried("demand", lambda: _demand(claims))
        yield _tried("meets", lambda: _meets(design, claims))
    yield _tried("admissible", lambda: _admissible(design, claims))
    if "improves" in claims:
        yield _tried("improves", lambda: _improves(design, claims))


def _tried(name: str, check: Callable[[], str]) -> Check:
    try:
        return Check(name, True, check())
    except _Wrong as error:
        return Check(name, False, str(error))
    except MaskwellError as error:
        return Check(name, False, error.message)
    except WRONG as error:
        return Check(name, False, f"cannot be read ({type(error).__name__}: {error})"[:300])


def _same(claimed: Any, recomputed: Any, what: str) -> None:
    """Compared as JSON text, in which 3, 3.0, "3" and true differ."""
    if (one := _text(claimed)) != (two := _text(recomputed)):
        raise _Wrong(f"{what} is claimed to be {one:.80}, but it is {two:.80}")


def _text(content: Any) -> str:
    return json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def _form(content: Any) -> str:
    if not isinstance(content, Mapping) or content.get("maskwell") != "certificate":
        raise _Wrong("this is not a certificate")
    _same(content.get("version"), VERSION, "the version")
    _same(sorted(content), sorted(PARTS), "the list of its parts")
    claims = content["claims"]
    if not isinstance(claims, Mapping):
        raise _Wrong("the claims are not a list of names and values")
    unknown = sorted(set(claims) - set(CLAIMS))
    if unknown:
        raise _Wrong(f"it claims something that is not known: {unknown[0]!r:.60}")
    if ("demand" in claims) != ("meets" in claims):
        raise _Wrong("a demand and whether it is met belong together")
    if "slack" in claims and "demand" not in claims:
        raise _Wrong("slack is claimed, but no demand that it is for")
    return f"a certificate of version {VERSION} with all its parts and nothing else"


def _seal(content: Mapping[str, Any]) -> str:
    if content["seal"] != fingerprint_of({key: part for key, part in content.items() if key != "seal"}):
        raise _Wrong("the seal is not that of the content: something was changed after it was made")
    return "the seal is that of the content"


def _design(content: Mapping[str, Any]) -> str:
    design = design_from_dict(content["design"])
    _same(content["design"], design.to_dict(), "the design file")
    if (provable_rows if "improves" in content["claims"] else provable)(design) != design:
        raise _Wrong(f"{_a(design)} design is certified by its matrix, which is not here")
    return f"{_a(design)} design with the fingerprint {design.fingerprint[:19]}... of its integers and labels"


def _is_the_one(design: Design, expected: Design, claims: Mapping[str, Any]) -> str:
    form = (provable_rows if "improves" in claims else provable)(expected)
    if form != design:
        raise _Wrong(f"it is about another design, {design.fingerprint[:19]}..., not {form.fingerprint[:19]}...")
    if "slack" in claims and form.decimals != design.decimals:
        raise _Wrong("it is about a design given as decimals, and the design that was given is not, or the reverse")
    written = "" if form.kind == expected.kind else f", {_a(expected)} design, written out"
    return f"it is about the design that was given{written}"


def _columns(design: Design) -> str:
    if not columns_sum_to_one(design):
        raise _Wrong("a column does not sum to one")
    return f"for each of {design.k:,} truths the chances of all reports sum to one exactly"


def _parity(design: Design, claims: Mapping[str, Any]) -> str:
    _same(claims["parity"], to_text(parity_of_rows(design)), "parity")
    _same(claims["parity"], to_text(design.parity_exact()), "parity")
    return f"parity is {_exact_or_about(design.parity_exact())}, exactly as claimed"


def _demand(claims: Mapping[str, Any]) -> str:
    claimed = claims["demand"]
    bound, _ = bound_of(claimed)
    _same(claimed, bound, "the demand")
    if claimed["stated"]["language"] == "epsilon":
        _check_exp(from_text(claimed["stated"]["epsilon"]), from_text(claimed["gamma"]))
    stated, gamma = claimed["stated"], _bound_text(claimed["gamma"])
    asked = ", ".join(
        f"{key} = {value}" for key, value in stated.items() if isinstance(value, str) and key != "language"
    )
    how = RULES[stated["language"]] if claimed["derived"] else "as given: a function cannot be recomputed"
    return f"{asked or 'curves'}: parity must be {'below' if claimed['strict'] else 'at most'} {gamma} ({how})"


def _check_exp(epsilon: Fraction, gamma: Fraction) -> None:
    """That gamma does not exceed e**epsilon, and falls short of it by less than 1e-40 of it, with 80 digits."""
    context = Context(prec=80, Emax=MAX_EMAX, Emin=MIN_EMIN)
    near = Fraction(context.exp(context.divide(Decimal(epsilon.numerator), Decimal(epsilon.denominator))))
    room = near * Fraction(1, 10**70)  # covers the rounding of the quotient and of exp
    if not near - near / 10**40 <= gamma <= max(near - room, Fraction(1)):
        raise _Wrong("the bound is not e^epsilon, rounded down")


def _meets(design: Design, claims: Mapping[str, Any]) -> str:
    said = claims.get("slack", {"given_as_decimals": []})
    stated = {**claims["demand"], "decimals": "demand" in said["given_as_decimals"]}
    recomputed = answer_of(stated, parity_of_rows(design), decimals=design.decimals)
    _same(claims["meets"], recomputed["meets"], "that the demand is met")
    _same(claims.get("slack"), recomputed.get("slack"), "the slack that was needed")
    answer = "meets" if recomputed["meets"] else "does not meet"
    if "slack" not in recomputed:
        bound = _bound_text(recomputed["demand"]["gamma"])
        return f"parity {_exact_or_about(design.parity_exact())} {answer} the bound {bound}"
    parity, bound = told_apart(design.parity_exact(), from_text(recomputed["demand"]["gamma"]))
    decimal_sides = recomputed["slack"]["given_as_decimals"]
    whose = "both were" if len(decimal_sides) > 1 else f"the {decimal_sides[0]} was"
    return f"parity {parity} meets the bound {bound} within 1e-9, the slack for decimals: {whose} given as decimals"


def _admissible(design: Design, claims: Mapping[str, Any]) -> str:
    level = parity_of_rows(design)
    _same(claims["admissible"], proof_of(design, level), "the proof of admissibility")
    if claims["admissible"] is None:
        return f"nothing is claimed {'without a bound on parity' if level == math.inf else 'of products'}"
    reason = why_not(design)
    if reason is None:
        return f"no design of parity {_exact_or_about(level)} is more informative: every report has its witness"
    return f"not admissible: {reason}"


def _improves(design: Design, claims: Mapping[str, Any]) -> str:
    claimed = claims["improves"]
    read = Improves.from_dict(claimed)
    _same(claimed, read.to_dict(), "the improvement")
    if (fault := read.fault(design)) is not None:
        raise _Wrong(fault)
    original = read.original
    parity = _exact_or_about(original.parity_exact())
    return f"has all information of the {original.kind} design of parity {parity}, which is C P"


def _a(design: Design) -> str:
    return f"{'an' if design.kind.startswith('l-') else 'a'} {design.kind}"


def _exact_or_about(value: Parity) -> str:
    exact = to_text(value)
    return exact if len(exact) <= 30 else f"about {parity_text(value)}"


def _bound_text(text: str) -> str:
    return _exact_or_about(math.inf if text == "inf" else from_text(text))
