"""Rules with constants, counted."""
