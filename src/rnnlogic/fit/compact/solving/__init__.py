"""Weights that imitate a teacher: compiled loss, derivatives and minimisation."""
