"""Scorers: programs of the user's that grade answers, and the models that do so where there is none.

See docs/how-to/scorers.md.
"""
