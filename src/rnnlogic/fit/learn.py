"""From a dataset to weighted rules: mine, pre-train the generator, EM rounds, final rules, final weights."""

from __future__ import annotations

from rnnlogic.base.executor import default_threads, reuse_memory
from rnnlogic.base.types import Progress
from rnnlogic.config import Config
from rnnlogic.data.dataset import Dataset
from rnnlogic.evaluation.evaluate import Scorer
from rnnlogic.fit.given import NOTHING_GIVEN, GivenRules, edits_of
from rnnlogic.fit.pipeline import Fit
from rnnlogic.fit.result import Learned, Store, noted_cuts, unpack_learned
from rnnlogic.fit.stages import CheckedStore
from rnnlogic.generator.adam import torch_threads
from rnnlogic.predictors.base import Predictor, predictor_class


def learn(
    dataset: Dataset,
    config: Config,
    store: Store,
    progress: Progress,
    deadline: float | None = None,
    embedding: Scorer | None = None,
    given: GivenRules = NOTHING_GIVEN,
) -> Learned:
    """Learn rules and fit a predictor on them; stages found in the store are skipped.

    Every stage keeps to its share of the time until `deadline` (a value of time.monotonic()) and logs what it
    left out. Given rules are pinned; without `config.generate` the fit uses only these and the rules
    pinned in the settings.
    """
    reuse_memory()
    edits = edits_of(config, given, dataset.vocab)
    threads, kept = config.threads or default_threads(), CheckedStore(store, config, dataset.vocab)
    edits = edits.for_predictor(predictor_class(config.variant).uses_constants)
    fit = Fit(dataset, config, kept, progress, threads, embedding, edits, noted_cuts(deadline, kept))
    is_sum = fit.predictor.reduced is not Predictor.reduced
    is_compact = config.compact.enabled and config.generate and len(dataset.valid) > 0 and is_sum
    with torch_threads(1):  # torch's sums depend on the number of threads; ours do not
        found = fit.result("full")
        return unpack_learned(fit.result("compact") if is_compact else found, config, embedding)
