"""Completing a graph: the most probable missing facts, with probabilities and reasons."""
