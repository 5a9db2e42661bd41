"""The methods that the paper compares with, each as a scorer for `evaluate`."""
