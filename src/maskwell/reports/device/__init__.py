"""Sheets to print for a device: what is said, what is printed on cards, and how it fits on paper."""
