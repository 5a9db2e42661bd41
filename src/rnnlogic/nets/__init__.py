"""Networks: the rule generator and the reasoning predictors."""
