"""Collecting garbage while no key waits: left to itself, Python does it in the middle of one, and takes up to 100 ms."""

from __future__ import annotations

import gc

PAUSE_SECONDS, REST_SECONDS = 0.3, 60.0
"""Without a key for so long, what was made lately is looked through; for so long, everything."""
YOUNG = 10_000


def keep_all() -> None:
    """Collect garbage from now on; what is there stays until the end, and is not looked through again."""
    gc.freeze()
    gc.enable()


def collect_young() -> None:
    """Look through what was made since the last time, if it is much; what is left of it is old now."""
    if gc.isenabled() and gc.get_count()[0] > YOUNG:
        gc.collect(1)


def collect_all() -> None:
    """Look through everything: windows that were closed after a while, which are old."""
    if gc.isenabled():
        gc.collect()
