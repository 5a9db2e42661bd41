"""Knowledge graphs: reading, naming, splitting, indexing."""
