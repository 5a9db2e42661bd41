"""Explanations: reasons, the rules behind each pattern, and the facts behind each rule."""
