"""The most trusted rule that reaches a candidate."""
