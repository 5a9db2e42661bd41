"""Memory that a fit frees is used again instead of given back to the system."""

from __future__ import annotations

import ctypes
import sys

TRIM_THRESHOLD, MMAP_THRESHOLD, ARENA_MAX = -1, -3, -8  # names of glibc's malloc.h
KEPT = 1 << 30  # bytes that may stay with the process when they are free
LARGEST = 1 << 28  # an array larger than this is given back at once


def reuse_memory() -> bool:
    """Ask the C library to keep freed memory; whether it could be asked (glibc only).

    Every large array would otherwise be mapped anew, page by page: a fifth of the processor time of a fit.
    Threads share one arena: those of their own give back every array above 64 MB.
    """
    if not sys.platform.startswith("linux"):
        return False
    try:
        set_option = ctypes.CDLL(None).mallopt
    except AttributeError:  # another C library
        return False
    options = (ARENA_MAX, 1), (MMAP_THRESHOLD, LARGEST), (TRIM_THRESHOLD, KEPT)
    return all(set_option(name, value) for name, value in options)
