"""Private names of the survey service that tests need; loading them needs the extra ``serve``."""

from maskwell.collection import accounts, application, intake, studio
from maskwell.collection.accounts import TRIES, TRIES_FOR_NAME, TRIES_IN_ALL, AccessError, Accounts, Waits
from maskwell.collection.application import LARGEST_BODY, address_of, create_app
from maskwell.collection.check_page import check_words
from maskwell.collection.client import padded
from maskwell.collection.desk import Desk, check_elsewhere
from maskwell.collection.drafts import consequences, form_of, survey_text, unit_variance
from maskwell.collection.embeds import PLATFORMS, embed_text, field_name, limesurvey_code, report_texts
from maskwell.collection.exports import export_bytes
from maskwell.collection.foreign_exports import SOURCES, read_export
from maskwell.collection.forms import DEVICES, choice_names, form_bytes, form_names
from maskwell.collection.intake import Intake
from maskwell.collection.leaves import Leaves, leaf_text, lines_of
from maskwell.collection.offline import offline_page
from maskwell.collection.page_texts import factor_in, package_texts, static_text, text_table
from maskwell.collection.report_cells import Parts, content_of, longest_content
from maskwell.collection.results import (
    NO_INTERVAL,
    SMALL_SAMPLING,
    axis_of,
    card_of,
    fit_of,
    notes_of,
    place,
    question_result,
    read_margin,
    results_csv,
    shrinking,
    table_result,
)
from maskwell.collection.server import OPTIONS, MaskedFormatter, prepare
from maskwell.collection.settings import Settings
from maskwell.collection.store import NoSurveyError, StateError, Store, StoredSurvey, Submission, _told, token_hash
from maskwell.collection.studio import studio_routes
from maskwell.collection.survey import LONGEST_NAME, STEP, Survey, document_text
from maskwell.collection.tables import holdings, invitations, metadata, reports, tallies

__all__ = [
    "AccessError",
    "Accounts",
    "DEVICES",
    "Desk",
    "Intake",
    "LARGEST_BODY",
    "LONGEST_NAME",
    "Leaves",
    "MaskedFormatter",
    "NO_INTERVAL",
    "NoSurveyError",
    "OPTIONS",
    "PLATFORMS",
    "Parts",
    "SMALL_SAMPLING",
    "SOURCES",
    "STEP",
    "Settings",
    "StateError",
    "Store",
    "StoredSurvey",
    "Submission",
    "Survey",
    "TRIES",
    "TRIES_FOR_NAME",
    "TRIES_IN_ALL",
    "Waits",
    "_told",
    "accounts",
    "address_of",
    "application",
    "axis_of",
    "card_of",
    "check_elsewhere",
    "check_words",
    "choice_names",
    "consequences",
    "content_of",
    "create_app",
    "document_text",
    "embed_text",
    "export_bytes",
    "factor_in",
    "field_name",
    "fit_of",
    "form_bytes",
    "form_names",
    "form_of",
    "holdings",
    "intake",
    "invitations",
    "leaf_text",
    "limesurvey_code",
    "lines_of",
    "longest_content",
    "metadata",
    "notes_of",
    "offline_page",
    "package_texts",
    "padded",
    "place",
    "prepare",
    "question_result",
    "read_export",
    "read_margin",
    "report_texts",
    "reports",
    "results_csv",
    "shrinking",
    "static_text",
    "studio",
    "studio_routes",
    "survey_text",
    "table_result",
    "tallies",
    "text_table",
    "token_hash",
    "unit_variance",
]
