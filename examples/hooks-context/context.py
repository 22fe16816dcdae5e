#!/usr/bin/env python3
"""A hook for all four phases: reads the context on stdin, may answer with a patch on stdout, and talks on stderr."""

import json
import os
import sys

context = json.load(sys.stdin)
phase, test, variables = context["phase"], context["test"], context["vars"]
answer = {}

if phase == "beforeAll":
    # Holds for every later hook of the run. A value under a name like this one is redacted wherever it is shown.
    answer = {
        "env": {"SESSION_TOKEN": f"session-of-{variables['region']}"},
        "vars": {"endpoint": context["env"]["BASE_URL"]},
    }
elif phase == "beforeEach" and "(paid plan)" in test["name"] and not os.environ.get("PAID_PLAN"):
    answer = {"skip": {"reason": "needs the paid plan"}}
elif phase == "beforeEach":
    # Holds for the rest of this test's hooks.
    answer = {"vars": {"ticket": f"{test['name']} at {variables['endpoint']}"}}
elif phase == "afterEach":
    print(f"{variables.get('ticket', test['name'])}: {context['result']['verdict']}", file=sys.stderr)
else:
    print(f"the run came to {context['result']['verdict']}", file=sys.stderr)

print(json.dumps(answer))
