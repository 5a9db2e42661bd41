"""Learning: the generator and the predictor, and the rounds that improve them in turn."""
