"""Compact models: few rules that rank as the many do, one small problem per relation and direction.

A student with few rules learns to rank as the full model does (its teacher). Questions are entities as heads;
known answers of the training graph are left out, as they are when answers are ranked. No label is needed.

1. Rules without support and rules that reach exactly what a shorter one reaches are left out.
2. A penalty on |weight| (smaller for confident rules) finds a first set of at most a few hundred rules.
3. Again and again the rules that the student would miss least are dropped and the others fitted again. The
   price of a model says how much loss its cheapest rules save.
4. One price for all relations, chosen on validation facts, says which model of each relation's path is taken.
"""
