"""What every room builds on: errors, atomic files, the executor, settings, shared types."""
