"""Apply rules to a graph: count the grounding paths, exactly and fast."""
