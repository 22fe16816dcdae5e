"""A small learned model that judges sentences: the second detector of SEC-001, SEC-002, SEC-003 and SEC-006.

Where `phrases` knows wordings, this weighs words, their meanings (`lexicon.txt`) and their order, with weights (`weights.txt`)
that `tests/safety/train.py` learns from the corpora. A first look at the single words of a sentence skips most of what honest
descriptions say; only the rest is weighed in full.
"""

from __future__ import annotations

from mcptest_engine.safety.learned.judge import Steering, first_look, steering, support
from mcptest_engine.safety.learned.windows import sentences, stems_of_name

__all__ = ["Steering", "first_look", "sentences", "steering", "stems_of_name", "support"]
