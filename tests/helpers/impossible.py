"""Graphs that show what cannot be true: families with brothers and sisters, packages with one section."""

import numpy as np

from rnnlogic.config import Config
from rnnlogic.data.dataset import Dataset, load_dataset
from rnnlogic.fit.result import Learned
from rnnlogic.model import RNNLogic
from rnnlogic.predictors.loglinear.predictor import RuleScorer
from rnnlogic.rules.ruleset import RuleSet

Fact = tuple[str, str, str]


def siblings(families: int = 80) -> list[Fact]:
    """Two brothers and two sisters in each family, with both parents; `brother(X, Y)`: X is one of Y."""
    facts = list[Fact]()
    for i in range(families):
        men, women = [f"son{i}_{c}" for c in range(2)], [f"daughter{i}_{c}" for c in range(2)]
        for child in men + women:
            facts += [(f"father{i}", "parent", child), (f"mother{i}", "parent", child)]
            facts += [(man, "brother", child) for man in men if man != child]
            facts += [(woman, "sister", child) for woman in women if woman != child]
    return facts


def packages(number: int = 120, seed: int = 0) -> list[Fact]:
    """Each package has one section and one or two maintainers, and depends on three others, not on itself."""
    rng = np.random.default_rng(seed)
    facts = list[Fact]()
    for i in range(number):
        name = f"package{i}"
        facts.append((name, "section", f"section{i % 6}"))
        people = rng.choice(10, 1 + i % 2, replace=False)
        facts += [(name, "maintained_by", f"person{p}") for p in people.tolist()]
        others = rng.choice(i, min(3, i), replace=False) if i else []
        facts += [(name, "depends", f"package{other}") for other in others]
    return facts


WRONG = {  # rules that propose what cannot be true
    "section(X,Y) <- depends(X,Z) & section(Z,Y)": 1.5,
    "depends(X,Y) <- depends(X,Z) & depends(Z,Y)": 2.0,
    "depends(X,Y) <- depends(Y,X)": 1.0,
    "depends(X,Y) <- section(X,Z) & section(Y,Z)": 0.5,
}


def model_of_packages(number: int = 120) -> RNNLogic:
    """A model with those rules, on packages."""
    return model_with(WRONG, load_dataset(packages(number), ratios=(80, 10, 10), name="packages"))


def model_with(weights: dict[str, float], data: Dataset) -> RNNLogic:
    """A model with some rules and their weights."""
    rules = RuleSet.from_text(list(weights), data.vocab)
    scorer = RuleScorer(rules, np.array(list(weights.values())), "log1p")
    figures = np.full(len(weights), 0.5)
    learned = Learned(scorer, np.log(figures), np.arange(len(weights)), figures)
    return RNNLogic()._take(data, Config(), learned)
