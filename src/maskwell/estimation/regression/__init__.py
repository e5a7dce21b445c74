"""Regression where the outcome or a predictor was randomized."""
