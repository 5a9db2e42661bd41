"""Fair ranking of answers: filtered, both query directions, ties treated openly."""
