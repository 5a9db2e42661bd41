"""Embeddings of entities and relations: RotatE, its training, its files and its scores."""
