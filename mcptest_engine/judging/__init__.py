"""Deciding whether an answer is right: matchers, assertions, budgets."""
