"""What the paper compares with, in the same harness: each a scorer for `evaluate`."""
