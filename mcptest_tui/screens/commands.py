"""The command log as a list: what was done here, newest first, as one would type it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from mcptest_tui.screens.picker import Choice

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcptest_tui.state.command_log import Done


def command_choices(done: Sequence[Done]) -> list[Choice]:
    """A row each; the whole command stands below the list, where a row cuts it."""
    return [
        Choice(str(at), one.command, time.strftime("%H:%M:%S", time.localtime(one.at)), one.command)
        for at, one in enumerate(done)
    ]
