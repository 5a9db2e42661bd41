"""Embeddings of entities and relations: RotatE, trained on the CPU; scores and files."""
