"""mcptest as an MCP server: its tools for a coding agent, each a thin adapter over what the command line uses too."""
