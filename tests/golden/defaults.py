"""What default fits find on small graphs: everything that a user gets is switched on.

`slot python -m tests.golden.defaults` writes defaults.json again (about 30 s): do so only when results are
meant to change, and say in the commit why. A refactoring must leave the file alone. Only the generator is
smaller than by default, to save time.
"""

import json
import sys
from pathlib import Path

import numpy as np

import rnnlogic as rl
from rnnlogic.config import changed, preset_for
from tests.golden.record import digest, embedding, figures_of, machine
from tests.helpers.family import family

FILE = Path(__file__).with_name("defaults.json")
CASES = (  # graph, variant, settings that save time
    ("family", "rnnlogic", {}),
    ("family", "rnnlogic-emb", {}),
    ("family", "plus", {"plus": {"epochs": 2, "dim": 8, "hidden": 16, "keep": 40}}),
    ("family", "plus-emb", {"plus": {"epochs": 2, "dim": 8, "hidden": 16, "keep": 40}}),
    ("nations", "rnnlogic", {}),
)
SMALL = {"generator": {"embedding_size": 16, "hidden_size": 16, "pretrain_steps": 40, "tune_steps": 20}}
RELATIONS = 6  # of Nations, drawn with seed 0
ASKED, EXPLAINED = 24, 12  # test queries whose answers are kept, and how many of these are explained


def graph(name: str) -> rl.Dataset:
    """The family, or all facts of a few relations of Nations, split by seed 0."""
    if name == "family":
        return family()
    whole = rl.load_dataset(name)
    names, facts = whole.vocab, np.concatenate([whole.train, whole.valid, whole.test])
    used = np.random.default_rng(0).permutation(names.num_relations)[:RELATIONS]
    kept = facts[np.isin(facts[:, 1], used)].tolist()
    named = [(names.entities[h], names.relations[r], names.entities[t]) for h, r, t in kept]
    return rl.load_dataset(sorted(named), ratios=(60, 20, 20), name=f"{name}-part")


def results(name: str, variant: str, settings: dict[str, object]) -> dict[str, object]:
    """Rules, weights, answers, contributions, probabilities and the test report of one fit."""
    data = graph(name)
    config = changed(changed(preset_for(data, variant), SMALL), settings)
    vectors = embedding(data) if variant.endswith("-emb") else None
    model = rl.RNNLogic(config).fit(data, embeddings=vectors)
    rules = [(r.relation, r.text, r.weight, r.prior, *figures_of(model, r.text)) for r in model.rules()]
    asked = [(data.vocab.entities[h], data.vocab.relations[r]) for h, r, _ in data.test[:ASKED].tolist()]
    found = model.predict_many(asked)
    answers = [[(a.entity, a.score) for a in each] for each in found]
    told = [model.explain(*asked[i], each[0].entity) for i, each in enumerate(found[:EXPLAINED]) if each]
    parts = [[(one.rule, one.weight, one.contribution) for one in each.contributions] for each in told]
    report = model.evaluate("test").as_dict()
    return {
        "rules": len(rules),
        "first": [list(rule) for rule in rules[:3]],
        "rules_and_weights": digest(rules),
        "answers": digest(answers),
        "contributions": digest(parts),
        "probabilities": digest([[a.probability for a in each] for each in found]),
        "test": {side: report[side]["expected"] for side in ("both", "tail", "head")},
    }


def main() -> None:
    """Record everything."""
    found = {f"{name} {variant}": results(name, variant, settings) for name, variant, settings in CASES}
    FILE.write_text(json.dumps({"machine": machine(), "results": found}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
