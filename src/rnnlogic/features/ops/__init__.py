"""Operations on answers and on tables of features: compiled kernels beside plain twins."""
