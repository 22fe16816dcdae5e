"""View state knows no Textual, and the engine no workbench."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import mcptest_tui.state

MODULES = sorted(path.stem for path in Path(mcptest_tui.state.__file__).parent.glob("*.py") if path.stem != "__init__")


@pytest.mark.parametrize("module", MODULES)
def test_a_module_of_view_state_imports_no_textual(module):
    """It is tested, and could be used, without an app."""
    code = f"import sys, mcptest_tui.state.{module}; print('textual' in sys.modules)"
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_the_registry_needs_no_textual():
    """The docs' table is made without it."""
    code = "import sys, mcptest_tui.actions.__main__ as m; m.table(); print('textual' in sys.modules)"
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
