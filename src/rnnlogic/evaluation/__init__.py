"""Fair ranking of answers: filtered, both query directions, ties reported openly."""
