"""What small fits of all predictors find on the family and on UMLS, with little more than the paper has.

`python -m tests.golden.record` writes results.json anew: do so only when results are meant to change, and say
in the commit why. A refactoring must leave the file alone.
"""

import hashlib
import json
import sys
from pathlib import Path

import numpy as np
import torch
from threadpoolctl import threadpool_info

import rnnlogic as rl
from tests.helpers.family import family

FILE = Path(__file__).with_name("results.json")
CASES = (
    ("family", "rnnlogic"),
    ("family", "rnnlogic-emb"),
    ("family", "plus"),
    ("family", "plus-emb"),
    ("umls", "rnnlogic"),
)
ASKED = 40  # test queries whose answers are kept
SETTINGS = {
    "path_kind": "walks",
    "em": {"rounds": 2, "rules": 40, "selected": 20, "queries_per_relation": 40, "predictor_steps": 6},
    "final": {"rules": 60},
    "generator": {"embedding_size": 32, "hidden_size": 32, "pretrain_steps": 40, "tune_steps": 20},
    "mine": {"fanout": 15, "facts_per_relation": 60, "queries_per_relation": 40, "candidates": 300},
    "predictor": {
        "feature": "log1p",
        "weight_decay": 10.0,
        "steps": 12,
        "queries_per_relation": 200,
        "sign_lift": None,  # as when these were recorded
    },
    "compact": {"enabled": False},
    "evidence": {"negative_evidence": "off", "constants": False, "prior": False},
    "paths": {"per_relation_eta": False},  # as when these were recorded
    "plus": {"epochs": 2, "dim": 8, "hidden": 16, "queries_per_relation": 60, "keep": 40},
}


def embedding(dataset: rl.Dataset) -> object:
    """Seeded vectors in place of trained ones: what they score does not matter here."""
    from rnnlogic.embeddings.rotate import RotatE

    rng = np.random.default_rng(0)
    entities = rng.uniform(-1.4, 1.4, (dataset.vocab.num_entities, 16)).astype(np.float32)
    phases = rng.uniform(-np.pi, np.pi, (dataset.vocab.num_relations, 8)).astype(np.float32)
    return RotatE(entities, phases, 9.0)


def figures_of(model: rl.RNNLogic, text: str) -> tuple[int, float]:
    """The learner's own support and confidence of a rule."""
    learned = model.learned
    i = learned.rules.index(rl.parse_rule(text, model.dataset.vocab))
    return int(learned.support[i]), float(learned.confidence[i])


def results(name: str, variant: str) -> dict[str, object]:
    """Rules, weights, answers and the test report of one fit."""
    data = family() if name == "family" else rl.load_dataset(name)
    vectors = embedding(data) if variant.endswith("-emb") else None
    model = rl.RNNLogic(SETTINGS, variant=variant).fit(data, embeddings=vectors)
    rules = [(r.relation, r.text, r.weight, r.prior, *figures_of(model, r.text)) for r in model.rules()]
    asked = [(data.vocab.entities[h], data.vocab.relations[r]) for h, r, _ in data.test[:ASKED].tolist()]
    answers = [[(a.entity, a.score) for a in found] for found in model.predict_many(asked)]
    report = model.evaluate("test").as_dict()
    return {
        "rules": len(rules),
        "first": [list(rule) for rule in rules[:3]],
        "rules_and_weights": digest(rules),
        "answers": digest(answers),
        "test": {side: report[side]["expected"] for side in ("both", "tail", "head")},
    }


def machine() -> str:
    """What the last bits of sums depend on."""
    capability = torch.backends.cpu.get_cpu_capability()
    kernels = sorted({info.get("architecture", "") for info in threadpool_info()} - {""})  # of OpenBLAS
    return f"torch {torch.__version__}, numpy {np.__version__}, {capability}, {' '.join(kernels)}"


def digest(values: object) -> str:
    """Every bit counts: floats are written in full."""
    return hashlib.sha256(json.dumps(values).encode()).hexdigest()


def main() -> None:
    """Record everything."""
    found = {f"{name} {variant}": results(name, variant) for name, variant in CASES}
    FILE.write_text(json.dumps({"machine": machine(), "results": found}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
