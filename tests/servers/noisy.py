"""A server that answers properly amid noise.

noisy.py stdout             text, invalid UTF-8, JSON logs and blank lines on stdout around every answer
noisy.py stderr MEGABYTES   that much on stderr before each answer, numbered lines
noisy.py endless            bytes without a newline on stdout for ever, instead of an answer
"""

import sys

import minimcp

MODE = sys.argv[1]


def handler(method, params, message):
    if MODE == "stdout":
        minimcp.write(b"starting up...\n\xff\xfe\x80 not text\n\n   \r\n")
        minimcp.write(
            b'{"level":"info","id":%d,"msg":"a log line"}\n42\n"text"\n{"method":"GET","path":"/"}\n' % message["id"]
        )
    elif MODE == "stderr":
        line = "%08d " + "e" * 118 + "\n"
        for number in range(int(sys.argv[2]) * 8192):
            sys.stderr.write(line % number)
        sys.stderr.write("the very last line\n")
        sys.stderr.flush()
    elif MODE == "endless":
        while True:
            minimcp.write(b"z" * 65536)
    return minimcp.text("answered")


minimcp.serve(handler, lists=True)
