import platform
import resource
import subprocess
import sys

from rnnlogic.base.executor import reuse_memory

IS_GLIBC = platform.libc_ver()[0] == "glibc"
FAULTS = """
import resource, sys
import numpy as np
from rnnlogic.base.executor import reuse_memory
if sys.argv[1] == "reuse":
    reuse_memory()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(20):
    np.ones(1 << 23)
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def test_large_arrays_are_not_mapped_again_and_again():
    counts = [
        int(subprocess.run([sys.executable, "-c", FAULTS, how], capture_output=True, check=True).stdout)
        for how in ("plain", "reuse")
    ]
    pages = (1 << 26) // resource.getpagesize()
    assert counts[1] < (2 if IS_GLIBC else 40) * pages  # one array's, and the rest; 20 arrays' elsewhere


def test_only_glibc_can_be_asked_and_twice_does_no_harm():
    assert [reuse_memory(), reuse_memory()] == [IS_GLIBC, IS_GLIBC]
