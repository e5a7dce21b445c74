"""Private names of ``privacy`` that tests need, each from the file it stands in."""

from maskwell.privacy import certificate, certificate_check
from maskwell.privacy.certificate import demand_from_stated
from maskwell.privacy.certificate_check import verify_file, verify_text
from maskwell.privacy.column_shapes import columns_sum_to_one, parity_of_rows, shapes
from maskwell.privacy.criteria import (
    DEMANDS,
    SLACK,
    Verdict,
    alike,
    area_between,
    average_security_bound,
    in_every_language,
    largest_shift,
    posterior_range,
    stands_for,
    verdict,
)
from maskwell.privacy.curves import Boundary, odds_ratio
from maskwell.privacy.design_audit import average_security, counted_reports, wear_out
from maskwell.privacy.measures import MEASURES
from maskwell.privacy.provable_claims import Improves, judged_rows, parts_of, provable, provable_rows, why_not
from maskwell.privacy.strength import LIMITS, strength_of

__all__ = [
    "Boundary",
    "DEMANDS",
    "Improves",
    "LIMITS",
    "MEASURES",
    "SLACK",
    "Verdict",
    "alike",
    "area_between",
    "average_security",
    "average_security_bound",
    "certificate",
    "certificate_check",
    "columns_sum_to_one",
    "counted_reports",
    "demand_from_stated",
    "in_every_language",
    "judged_rows",
    "largest_shift",
    "odds_ratio",
    "parity_of_rows",
    "parts_of",
    "posterior_range",
    "provable",
    "provable_rows",
    "shapes",
    "stands_for",
    "strength_of",
    "verdict",
    "verify_file",
    "verify_text",
    "wear_out",
    "why_not",
]
