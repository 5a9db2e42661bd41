"""The run card: one page about a fitted model."""
