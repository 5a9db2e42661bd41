"""Research around the paper: its baselines and its experiments. Nothing else imports from here."""
