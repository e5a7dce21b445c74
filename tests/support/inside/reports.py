"""Private names of ``reports`` that tests need, each from the file it stands in."""

from maskwell.reports import plain_words
from maskwell.reports.demand_words import asked, explain, kept
from maskwell.reports.device.device_report import assigned
from maskwell.reports.device.device_sheets import sheet_notes
from maskwell.reports.device.paper_cards import Face, grid_for
from maskwell.reports.pages.paper_tables import STYLES, Table, document, in_latex
from maskwell.reports.pages.release_page import _stage_facts, _stages, lead
from maskwell.reports.pages.survey_page import PageContent, page
from maskwell.reports.pictures import estimate_picture
from maskwell.reports.pictures.belief_square import BESIDE, Jump, Outline, Region, Worst, find_worst
from maskwell.reports.pictures.belief_square import Grid as PriorGrid
from maskwell.reports.pictures.palette import PALETTE, contrast, levels, variables, with_variables
from maskwell.reports.pictures.risk_curves import MOST_STEPS, Cost, RiskSpread, draw_release_risk
from maskwell.reports.pictures.sheet import round_numbers, scale_number, spread
from maskwell.reports.pictures.transition_picture import WHOLE
from maskwell.reports.plain_words import average_promise, decimals_for, factor_down, factor_up, label, number
from maskwell.reports.report import GAP, WIDTH, Facts, Notes, Paragraph, Report, line, table_lines
from maskwell.reports.report import Grid as ReportGrid
from maskwell.reports.text.crosstab_report import (
    crosstab_content,
    crosstab_report,
    crosstab_table,
    odds_sentence,
    table_in,
)
from maskwell.reports.text.design_report import design_report, parity_of
from maskwell.reports.text.order_report import compare_report
from maskwell.reports.text.privacy_report import audit_report
from maskwell.reports.text.regression_report import regression_table
from maskwell.reports.text.release_report import dry_run_report, recode_table, refusal, release_report
from maskwell.reports.text.release_words import (
    bound_value,
    headline,
    promises,
    risk_rows,
    riskiest,
    rule_in_words,
    utility_rows,
)

__all__ = [
    "BESIDE",
    "Cost",
    "Face",
    "Facts",
    "GAP",
    "Jump",
    "MOST_STEPS",
    "Notes",
    "Outline",
    "PALETTE",
    "PageContent",
    "Paragraph",
    "PriorGrid",
    "Region",
    "Report",
    "ReportGrid",
    "RiskSpread",
    "STYLES",
    "Table",
    "WHOLE",
    "WIDTH",
    "Worst",
    "_stage_facts",
    "_stages",
    "asked",
    "assigned",
    "audit_report",
    "average_promise",
    "bound_value",
    "compare_report",
    "contrast",
    "crosstab_content",
    "crosstab_report",
    "crosstab_table",
    "decimals_for",
    "design_report",
    "document",
    "draw_release_risk",
    "dry_run_report",
    "estimate_picture",
    "explain",
    "factor_down",
    "factor_up",
    "find_worst",
    "grid_for",
    "headline",
    "in_latex",
    "kept",
    "label",
    "lead",
    "levels",
    "line",
    "number",
    "odds_sentence",
    "page",
    "parity_of",
    "plain_words",
    "promises",
    "recode_table",
    "refusal",
    "regression_table",
    "release_report",
    "risk_rows",
    "riskiest",
    "round_numbers",
    "rule_in_words",
    "scale_number",
    "sheet_notes",
    "spread",
    "table_in",
    "table_lines",
    "utility_rows",
    "variables",
    "with_variables",
]
