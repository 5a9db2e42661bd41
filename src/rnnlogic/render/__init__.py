"""Explanations, answers, rules and run cards as text, HTML and SVG."""
