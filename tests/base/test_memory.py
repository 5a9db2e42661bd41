import platform
import resource
import subprocess
import sys

import pytest

from rnnlogic.base.memory import reuse_memory

FAULTS = """
import resource, sys
import numpy as np
from rnnlogic.base.memory import reuse_memory
if sys.argv[1] == "reuse":
    assert reuse_memory()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(20):
    np.ones(1 << 23)
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="an option of glibc")
def test_large_arrays_are_not_mapped_again_and_again():
    counts = [
        int(subprocess.run([sys.executable, "-c", FAULTS, how], capture_output=True, check=True).stdout)
        for how in ("plain", "reuse")
    ]
    pages = (1 << 26) // resource.getpagesize()
    assert counts[1] < 2 * pages  # one array's, with room for huge pages and the rest
    assert counts[1] <= counts[0]


def test_asking_twice_does_no_harm():
    assert reuse_memory() == reuse_memory()
