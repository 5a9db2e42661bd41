"""Loglinear."""
