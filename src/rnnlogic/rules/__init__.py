"""Chain rules: text, sets and files."""
