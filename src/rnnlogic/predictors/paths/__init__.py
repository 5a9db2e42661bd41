"""RNNLogic with embeddings: RotatE scores the paths of rules, and answers as one more voice."""
