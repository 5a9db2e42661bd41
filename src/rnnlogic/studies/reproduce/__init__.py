"""The paper's experiments: their settings, the processes that run them, and the report."""
