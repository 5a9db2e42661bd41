"""What cannot be true of a graph: constraints found in its facts or stated by people."""
