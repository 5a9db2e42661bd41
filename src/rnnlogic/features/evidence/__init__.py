"""Evidence besides chains: links that are there already, frequent answers, and rules with constants."""
