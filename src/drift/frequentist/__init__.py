"""Frequentist answers beside the posterior's: estimates with confidence intervals, from plain arrays."""
