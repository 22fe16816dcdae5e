"""Mutation testing of suites: wrong variants of recorded answers, and which tests notice them."""
