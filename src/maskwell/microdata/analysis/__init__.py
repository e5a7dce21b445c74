"""Estimates from a released file, as its receipt allows."""
