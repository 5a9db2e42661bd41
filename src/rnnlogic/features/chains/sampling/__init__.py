"""Grounding within a budget: large graphs have hubs, of whose edges a random sample is followed."""
