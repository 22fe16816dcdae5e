"""Names for JSON in annotations.

The members of a `JsonDict` or a `JsonMapping` are values whose shape the reader knows: our own code wrote them, or they were
checked. The type checker does not check them again. A value that a server, a file or a model gave, and that nobody has looked
at, is an `object`: it has to be checked before it is used.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

Json: TypeAlias = Any
JsonDict: TypeAlias = dict[str, Any]
JsonMapping: TypeAlias = Mapping[str, Any]
