"""RNNLogic."""
