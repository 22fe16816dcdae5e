"""Compositions, run: `program` what is run, `spending` what it costs, `walk` the running, `trace` what came of it."""
