"""mcptest as an MCP server: the engine's verbs for a coding agent, each a thin adapter over what the command line does too."""
