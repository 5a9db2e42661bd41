"""Explanations: ideas, the rules behind each idea, and the facts behind each rule."""
