"""The one probability: the chance that a fact is true, fitted on facts that the rules have not seen."""
