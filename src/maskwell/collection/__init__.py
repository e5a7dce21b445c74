"""Collecting: surveys whose answers are randomized in the respondent's browser, and the service that keeps the reports."""
