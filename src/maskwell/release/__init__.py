"""Releasing microdata: plans, matrices, risk, utility and the folder that is published."""
