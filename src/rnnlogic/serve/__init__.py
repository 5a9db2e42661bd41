"""The HTTP service and the explorer: presentation of a model, and nothing else."""
