"""The suite language: the one place that says what its keys are, what they mean, and what messages and docs say of them.

The models read no suite, and importing them costs pydantic's start-up: `run` and `validate` use what is generated from them
(`suite/schema.py`), which `python -m mcptest_engine.suite.model.generate` writes.
"""

from mcptest_engine.suite.model.suite import Suite

__all__ = ["Suite"]
