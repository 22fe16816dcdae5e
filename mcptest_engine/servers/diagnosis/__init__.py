"""What stands between mcptest and a server that works, looked at layer by layer; nothing here ever calls a tool."""
