"""Processes of this machine."""

from contextlib import suppress
from pathlib import Path


def processes_marked(marker):
    """Processes that were started with this entry in their environment; other tests have clusters too.

    Not the workers of `processes`, which a test may leave idle while the entry is set.
    """
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):
            is_worker = b"multiprocessing" in path.with_name("cmdline").read_bytes()
            is_marked = marker.encode() in path.read_bytes() and not is_worker
            found += [int(path.parent.name)] if is_marked else []
    return found
