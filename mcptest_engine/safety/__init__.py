"""The safety policy: which tools may be called without a person asking."""
