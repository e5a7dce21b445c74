"""Choosing among designs."""
