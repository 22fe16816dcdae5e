"""Hands a scenario over to the process that `client.py --serve SOCKET` forks for it, and ends as that does.

python -I -S tests/conformance/hand_over.py SOCKET URL
"""

import json
import os
import socket
import sys

with socket.socket(socket.AF_UNIX) as asking:
    asking.connect(sys.argv[1])
    environ = {name: value for name, value in os.environ.items() if name.startswith("MCP_CONFORMANCE_")}
    socket.send_fds(asking, [json.dumps({"url": sys.argv[2], "environ": environ}).encode()], [1, 2])
    sys.exit(code[0] if (code := asking.recv(1)) else 1)
