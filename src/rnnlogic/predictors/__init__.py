"""Predictors: each is a folder that offers what base.py asks for; table.py names them."""
