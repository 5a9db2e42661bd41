"""Chain rules: how many paths lead from a head to each entity."""
