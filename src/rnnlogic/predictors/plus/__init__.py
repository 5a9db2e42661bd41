"""RNNLogic+: a network over the rules that reach an answer, in place of a weighted sum."""
