"""`mcptest view`: the runs of a workspace in a browser, served on loopback and to this machine alone.

`shelf` reads the workspace, `trends` reckons, the `*_page` modules make HTML of plain values, `guard` decides what a request
may do, `live` tells browsers that something has changed, `app` puts them together, `server` serves it. Nothing here writes.
"""
