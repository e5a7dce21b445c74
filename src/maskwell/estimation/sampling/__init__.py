"""Estimates under the sampling plan that was used: weights, strata, clusters, finite populations."""
