"""The checks of `mcptest doctor`, layer by layer. No tool is ever called."""
