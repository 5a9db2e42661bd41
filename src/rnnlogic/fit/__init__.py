"""Learning: the stages of a fit, and the EM rounds in which generator and predictor improve each other."""
