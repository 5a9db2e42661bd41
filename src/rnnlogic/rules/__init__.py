"""Chain rules: text, sets, bans, files, and programs for other engines."""
