"""Mining."""
