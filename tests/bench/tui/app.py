"""The workbench with `child.py` for an engine: `app.py TESTS PER_SECOND grow|known`."""

import gc
import sys
from pathlib import Path

from mcptest_tui import engine_client
from mcptest_tui.opening import run_workbench

gc.set_threshold(100_000, 20, 100)  # as the program has it
CHILD = str(Path(__file__).with_name("child.py"))
engine_client.engine_argv = lambda *_: (sys.executable, CHILD, *sys.argv[1:])
sys.exit(run_workbench([]))
