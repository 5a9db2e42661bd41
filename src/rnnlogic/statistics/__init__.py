"""What is counted of a rule: pairs, support, confidence, and the figures of other programs."""
