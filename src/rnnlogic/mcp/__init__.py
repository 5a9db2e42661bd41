"""A fitted model as tools for language-model agents (Model Context Protocol)."""
