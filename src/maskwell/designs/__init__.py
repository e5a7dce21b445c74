"""Transition probabilities: one structure a file, one interface."""
