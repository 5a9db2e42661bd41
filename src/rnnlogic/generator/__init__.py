"""The rule generator: an LSTM, its training, and the prefix tree that training uses."""
