"""Rules found by path search alone, and the statistics of any rules. Needs no torch."""
