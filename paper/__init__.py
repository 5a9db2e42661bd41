"""The paper's tables and figures, run from a clone: experiments, baselines, report."""
