"""Matrices for a release, from counts: closed forms, linear programs, and the one rounding to exact numbers."""
