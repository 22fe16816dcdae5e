"""One screen a mode, and those that lie over them."""
