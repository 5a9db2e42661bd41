"""Load time and peak memory of a large generated graph."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

ENTITIES, RELATIONS, FACTS = 1_000_000, 1_000, 5_000_000


def write_graph(path: Path, seed: int = 0) -> None:
    """Random facts as TSV; as in real graphs, some relations and tails are far more frequent than others."""
    rng = np.random.default_rng(seed)
    with path.open("w", encoding="utf-8") as file:
        for _ in range(10):
            size = FACTS // 10
            heads = rng.integers(ENTITIES, size=size)
            tails = (ENTITIES * rng.random(size) ** 3).astype(np.int64)
            relations = (RELATIONS * rng.random(size) ** 3).astype(np.int64)
            rows = zip(heads.tolist(), relations.tolist(), tails.tolist(), strict=True)
            file.writelines(f"entity{h}\trelation{r}\tentity{t}\n" for h, r, t in rows)


def load_graph(path: Path) -> dict[str, float]:
    """Read the file, split it, build the graph; in this process."""
    from rnnlogic.data.dataset import load_dataset

    started = time.perf_counter()
    dataset = load_dataset(path)
    loaded = time.perf_counter()
    graph = dataset.graph("all")
    return {
        "entities": graph.num_entities,
        "relations": graph.num_relations,
        "facts": len(graph),
        "load_seconds": loaded - started,
        "graph_seconds": time.perf_counter() - loaded,
        "graph_bytes_per_fact": graph.nbytes / len(graph),
        "peak_gb": peak_memory_gb(),
    }


def peak_memory_gb() -> float:
    """Peak resident memory of this process (ru_maxrss would count what its parent held before exec)."""
    status = Path("/proc/self/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1]) / 1024**2


def measure_scale() -> dict[str, float]:
    """Write the graph to a temporary file and load it in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "facts.tsv"
        write_graph(path)
        done = subprocess.run(
            [sys.executable, __file__, str(path)], capture_output=True, text=True, check=True
        )
    result: dict[str, float] = json.loads(done.stdout)
    return result


if __name__ == "__main__":
    print(json.dumps(load_graph(Path(sys.argv[1]))))
