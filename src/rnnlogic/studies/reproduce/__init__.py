"""The paper's experiments, rerunnable: experiments, processes that run them, and the report made of them."""
