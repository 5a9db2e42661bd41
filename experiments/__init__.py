"""Experiments behind the numbers of the documentation: `python -m experiments.NAME` from a clone."""
