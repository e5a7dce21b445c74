"""Collecting: answers are randomized in the respondent's browser, and the service keeps the reports."""
