"""A server whose lists come in pages.

paged.py empty         the last page's cursor is an empty text
paged.py good PAGES   PAGES pages of two entries each, in all four lists
paged.py loop         a cursor that leads back to an earlier page
paged.py endless      a new cursor for ever
paged.py broken       a page whose list is an object
paged.py mixed        a page that holds an entry that is no object
paged.py cursor       a cursor that is a number
"""

import sys

import minimcp

MEMBERS = {
    "tools/list": "tools",
    "resources/list": "resources",
    "prompts/list": "prompts",
    "resources/templates/list": "resourceTemplates",
}
MODE = sys.argv[1]


def handler(method, params, message):
    if method not in MEMBERS:
        raise minimcp.RpcError(-32601, "Method not found")
    if MODE == "broken":
        return {MEMBERS[method]: {"name": "no list"}}
    if MODE == "mixed":
        return {MEMBERS[method]: [{"name": "entry"}, "no entry"]}
    page = int(params.get("cursor", "0"))
    result = {MEMBERS[method]: [{"name": f"entry-{page * 2 + number}", "vendor": page} for number in range(2)]}
    if MODE == "cursor":
        result["nextCursor"] = 7
    elif MODE == "empty":
        result["nextCursor"] = ""
    elif MODE == "loop":
        result["nextCursor"] = str((page + 1) % 3)
    elif MODE == "endless" or page + 1 < int(sys.argv[2]):
        result["nextCursor"] = str(page + 1)
    return result


minimcp.serve(handler, lists=True)
