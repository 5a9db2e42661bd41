"""Values of named evidence, kind by kind."""
