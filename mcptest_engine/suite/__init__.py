"""The suite language: text to a checked suite, or every problem in it."""
