"""Reported counts to statements about the population."""
