"""Confidence intervals, one family a file; ``registry.py`` lists them by name."""
