"""A family graph whose rules are known, and a learner that answers at once with given rules."""

import numpy as np

from rnnlogic.config import Config, override
from rnnlogic.data.dataset import Dataset, load_dataset
from rnnlogic.fit.result import Learned
from rnnlogic.predictors.loglinear.predictor import RuleScorer
from rnnlogic.rules.ruleset import RuleSet

RULES = {
    "grandparent(X,Y) <- parent(X,Z) & parent(Z,Y)": 2.0,
    "married(X,Y) <- married(Y,X)": 1.5,
    "parent(X,Y) <- married(X,Z) & parent(Z,Y)": 1.25,
    "grandparent(X,Y) <- married(X,Z) & grandparent(Z,Y)": 1.0,
    "parent(X,Y) <- parent(X,Z1) & parent(Z2,Z1) & parent(Z2,Y)": -0.25,
    "parent^-1(X,Y) <- parent^-1(X,Z) & married(Z,Y)": 0.75,
}
STAGES = ("mined", "pretrained", "round-1")
TINY = {
    "max_length": 2,
    "mine.facts_per_relation": 50,
    "mine.candidates": 60,
    "mine.keep": 40,
    "mine.queries_per_relation": 500,
    "generator.embedding_size": 32,
    "generator.hidden_size": 32,
    "generator.pretrain_steps": 100,
    "generator.tune_steps": 10,
    "generator.pretrain_learning_rate": 0.003,
    "generator.tune_learning_rate": 0.001,
    "generator.batch_size": 1024,
    "generator.rules_per_mined": "null",
    "predictor.steps": 10,
    "em.rounds": 3,
    "em.patience": 3,
    "em.rules": 20,
    "em.selected": 5,
    "em.predictor_steps": 5,
    "em.queries_per_relation": 500,
    "final.rules": 20,
    "compact.enabled": "false",
    "evidence.negative_evidence": "off",
    "evidence.surest": "false",
    "evidence.constants": "false",
    "evidence.prior": "false",
    "choice.decays": "[]",
}


def family_facts(families: int = 8, children: int = 3) -> list[tuple[str, str, str]]:
    """Couples, their children, and grandchildren of children who married into the next family."""
    facts = []
    for i in range(families):
        parents = (f"grandpa{i}", f"grandma{i}")
        facts += [(*parents[:1], "married", parents[1]), (parents[1], "married", parents[0])]
        facts += [(p, "parent", f"child{i}_{c}") for p in parents for c in range(children)]
        couple = (f"child{i}_0", f"child{(i + 1) % families}_1")
        facts += [(couple[0], "married", couple[1]), (couple[1], "married", couple[0])]
        for c in range(children):
            facts += [(p, "parent", f"grandchild{i}_{c}") for p in couple]
            grandparents = [*parents, f"grandpa{(i + 1) % families}", f"grandma{(i + 1) % families}"]
            facts += [(g, "grandparent", f"grandchild{i}_{c}") for g in grandparents]
    return facts


def family(name: str = "family") -> Dataset:
    """The graph, split by seed 0."""
    return load_dataset(family_facts(), ratios=(60, 20, 20), name=name)


def write_family(path) -> str:
    """The facts as a file."""
    path.write_text("".join("\t".join(fact) + "\n" for fact in family_facts()), encoding="utf-8")
    return str(path)


def given_rules(dataset: Dataset) -> Learned:
    """The known rules with their weights, as a learner gives them."""
    n = len(RULES)
    prior = np.log(np.arange(1, n + 1) / n)
    prior[-1] = np.nan
    rules = RuleSet.from_text(list(RULES), dataset.vocab)
    scorer = RuleScorer(rules, np.array(list(RULES.values())), "log1p")
    return Learned(scorer, prior, np.arange(n) * 10, np.arange(n) / n)


def fake_learn(dataset, config, store, progress, deadline=None, embedding=None, given=None) -> Learned:
    """Saves its stages as the real one does, and stops where `store` says so."""
    for stage in STAGES:
        if store.load(stage) is None:
            progress(stage, 0, 1, "")
            store.save(stage, {"x": np.arange(3)})
            store.log({"stage": stage, "deadline": deadline is not None})
            progress(stage, 1, 1, "valid MRR 0.500")
    return given_rules(dataset)


def tiny_config() -> Config:
    """Settings that make a real fit of the family quick."""
    return override(Config(), tiny_settings()[1::2])


def tiny_settings() -> list[str]:
    """The same as arguments."""
    return [word for key, value in TINY.items() for word in ("--set", f"{key}={value}")]
