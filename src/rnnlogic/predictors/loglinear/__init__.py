"""The log-linear predictor of the paper: an answer's score is the weighted sum over its rules."""
