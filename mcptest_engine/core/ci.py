"""Whether mcptest runs under CI, where no person can be asked and nothing new is accepted."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


def is_ci(environ: Mapping[str, str]) -> bool:
    """Whether `CI` is set, as the services set it, and neither "false" nor "0"."""
    return environ.get("CI", "").strip().lower() not in {"", "0", "false"}
