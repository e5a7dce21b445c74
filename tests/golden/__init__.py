"""Draws that never change: checked here and, from the same file, by the script of a page."""
