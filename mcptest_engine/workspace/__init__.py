"""`.mcptest/` in the workspace: runs, snapshots, side files; every write atomic."""
