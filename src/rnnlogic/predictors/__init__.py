"""Predictors."""
