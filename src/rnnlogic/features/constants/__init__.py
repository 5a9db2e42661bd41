"""Rules with constants, and summaries of those that the facts imply."""
