"""`.mcptest/` in the workspace: runs, snapshots, cassettes, caches and other files; every write is atomic."""
