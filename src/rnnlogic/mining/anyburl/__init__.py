"""Figures of rules as AnyBURL and PyClause define them."""
