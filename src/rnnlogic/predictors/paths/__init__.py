"""Scores of paths by an embedding: how close the turned head comes to the end."""
