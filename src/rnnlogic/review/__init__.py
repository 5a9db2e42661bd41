"""Decisions of people about facts: kept in a file beside the run, and read by whoever answers questions."""
