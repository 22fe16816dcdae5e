"""Answers to be graded: where a candidate comes from, and the rows that scorers and judges make of it."""
