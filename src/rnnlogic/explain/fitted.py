"""A fitted model and the graph it is on: what was learned, decided and stated, and how probable facts are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

from rnnlogic.base.budget import UNLIMITED, Budget
from rnnlogic.base.errors import RNNLogicError
from rnnlogic.base.types import Arrays, Progress, silent
from rnnlogic.calibrate.calibration import Calibration, unpack_calibration
from rnnlogic.calibrate.kept import Levels
from rnnlogic.config import Arguments, Config, Variant, changed
from rnnlogic.constraints.constraints import Constraints
from rnnlogic.data.dataset import Dataset, Evidence, load_dataset
from rnnlogic.data.labels import Labels, Templates, relabelled, templated
from rnnlogic.explain.asking import Question
from rnnlogic.explain.records import HeldOut, Records
from rnnlogic.fit.result import Learned
from rnnlogic.fit.transfer import Transfer, dataset_with, labelled_like, transfer, with_new_rules
from rnnlogic.predictors.base import Predictor
from rnnlogic.review.judged import Reviewer, lacking, removed, straight_names
from rnnlogic.review.log import Decisions
from rnnlogic.runs.constraints import FoundConstraints, StatedSource, stated_texts
from rnnlogic.runs.given import RuleSource, read_given

if TYPE_CHECKING:
    from rnnlogic.calibrate.level import Level
    from rnnlogic.data.graph import Graph
    from rnnlogic.data.vocab import Vocab

Part = TypeVar("Part")


class FittedModel(Arguments):
    """What a model knows of its graph, and the same model on other facts, rules, names or constraints."""

    def __init__(
        self,
        config: Config | Mapping[str, Any] | None = None,
        variant: Variant | None = None,
        **settings: Any,
    ) -> None:
        self._dataset: Dataset | None = None
        self._learned: Learned | None = None
        self._levels: Levels | None = None
        self._records: Records | None = None
        self._folder: Path | None = None  # of the run that it was loaded from
        self._reviewer = Reviewer()
        self._constraints = FoundConstraints()
        self.preliminary: str | None = None  # the stage that the model is from, if its fit is not finished
        self.left_out: Mapping[str, str] = {}  # what stages of the fit left out for want of time
        super().__init__(config, variant, **settings)
        self.transfer: Transfer | None = None  # how the relations fit, if the rules come from another graph

    def __repr__(self) -> str:
        if self._dataset is None or self._learned is None:
            return "RNNLogic(not fitted)"
        kind = "preliminary, " if self.preliminary else ""
        return f"RNNLogic({kind}{len(self._learned.rules):,} rules for {self._dataset.name})"

    @property
    def dataset(self) -> Dataset:
        """The data it was fitted on."""
        return fitted(self._dataset)

    @property
    def learned(self) -> Learned:
        """Rules, weights and statistics."""
        return fitted(self._learned)

    @property
    def config(self) -> Config:
        """The settings; before `fit`, those given."""
        return fitted(self._config)

    @property
    def scorer(self) -> Predictor:
        """The predictor, which is a scorer for `evaluate`."""
        return self.learned.predictor

    @property
    def records(self) -> Records:
        """How often each rule is right on the training facts; counted for a rule when first needed."""
        if self._records is None or self._records.rules is not self.learned.rules:
            held_out = HeldOut.of(self.dataset)
            self._records = Records(self.dataset.graph("train"), self.learned.rules, held_out=held_out)
        return self._records.doubting(self.decisions, self.dataset.vocab)

    def graph(self, evidence: Evidence = "train") -> Graph:
        """The known facts: those of the evidence and the accepted ones, without the rejected ones."""
        return self._reviewer.graph(self.dataset, evidence)

    def calibration(self, progress: Progress | None = None) -> Calibration:
        """How probable facts are for each kind of evidence; made by `fit`, or now if it was not."""
        return fitted(self._levels).every(progress or silent)

    def level(
        self,
        evidence: Evidence = "train",
        progress: Progress | None = None,
        budget: Budget = UNLIMITED,
        missing: float | None = None,
    ) -> Level:
        """How probable facts are that the evidence lacks (`missing` of them), measured if need be."""
        return fitted(self._levels).of(evidence, progress or silent, budget, missing)

    def constraints(self, evidence: Evidence = "train", types: str | None = None) -> Constraints:
        """What cannot be true beside the known facts: found in those of the dataset, or stated.

        `types` is the relation that says what kind of thing an entity is, or "off"; usual ones are found.
        """
        return self._constraints.on(self.dataset, evidence, self.graph(evidence), types)

    def with_constraints(self, source: StatedSource) -> Self:
        """The same model with other stated constraints: a file, or lines such as "functional: section"."""
        other = copy(self)
        texts = stated_texts(source, self.dataset.vocab)
        other._config = changed(self.config, {"constraints": {"stated": texts}})
        other._constraints = FoundConstraints(texts)
        return other

    @property
    def decisions(self) -> Decisions:
        """What people decided about facts, as the file beside the run has it now."""
        return self._reviewer.log.read()

    def on(self, graph: Any) -> Self:
        """A model with the same rules and weights on another graph, of anything that `load_dataset` takes.

        Entities may be others; relations are matched by name. `transfer` of the new model tells which had no
        match and how many rules were dropped for it.
        """
        if not isinstance(graph, Dataset):
            graph = load_dataset(graph, attributes=[one.name for one in self.dataset.vocab.attributes])
        dataset = labelled_like(graph, self.dataset.vocab).counting(self.config.path_kind)
        learned, report = transfer(self.learned, self.dataset.vocab, dataset)
        moved = type(self)(self.config)._take(dataset, self.config, learned)
        moved.transfer = report
        moved._constraints = FoundConstraints(self.config.constraints.stated, is_moved=True)
        return moved

    def with_labels(self, labels: Labels | Vocab) -> Self:
        """The same model with names to show: a mapping, a file of `name<TAB>label` lines, or a vocabulary."""
        shown = copy(self)
        shown._dataset = self.dataset.with_vocab(relabelled(self.dataset.vocab, labels).vocab)
        return shown

    def with_templates(self, templates: Templates) -> Self:
        """The same model with relations said so: `{"depends": "X depends on Y"}`, or a file of such lines."""
        shown = copy(self)
        shown._dataset = self.dataset.with_vocab(templated(self.dataset.vocab, templates).vocab)
        return shown

    def with_facts(self, facts: Iterable[Sequence[str]]) -> Self:
        """A model whose evidence holds these facts (head, relation, tail) too; this one stays as it is.

        Nothing is learned anew, so it is quick. New entities are welcome, except where there is an embedding.
        """
        dataset = dataset_with(self.dataset, facts, new_entities=self.scorer.embedding is None)
        return self._like_this(dataset, self.learned)

    def without_facts(self, facts: Iterable[Sequence[str]]) -> Self:
        """A model that does not know these facts (head, relation, tail); this one stays as it is.

        They may be facts of the data or accepted ones. Nothing is learned or measured again.
        """
        given = list(facts)
        if not all(not isinstance(fact, str) and len(fact) == 3 for fact in given):
            raise RNNLogicError("give facts of three names each: (head, relation, tail)")
        gone = frozenset(straight_names(self.dataset.vocab, *fact) for fact in given)
        accepted = frozenset(one.fact for one in self.decisions.current().values() if one.is_true)
        for fact in lacking(self.dataset, gone, accepted):
            raise RNNLogicError(f"{' '.join(fact)!r} is no known fact, so it cannot be taken away")
        less = self._like_this(removed(self.dataset, gone), self.learned)
        fitted(less._levels).calibration = fitted(self._levels).calibration
        less._reviewer = Reviewer(self._reviewer.log, self._reviewer.gone | gone)
        return less

    def with_rules(self, rules: RuleSource) -> Self:
        """A model that uses these rules too, though it was not trained on them; this one stays as it is.

        Only RNNLogic+ with vectors by an LSTM can tell what a rule is worth that it has never seen.
        """
        given = read_given(rules, self.dataset.vocab).rules
        queries = self.config.mine.queries_per_relation
        learned = with_new_rules(self.learned, given, self.dataset.graph("train"), queries)
        return self._like_this(self.dataset, learned)

    def _limits(self, how: Question, graph: Graph | None = None) -> Constraints | None:
        """The constraints that answers must keep; None if all are allowed."""
        if how.allow_violations or not self.config.constraints.enabled:
            return None
        known = self.graph(how.facts) if graph is None else graph
        return self._constraints.on(self.dataset, how.facts, known, how.types)

    def _like_this(self, dataset: Dataset, learned: Learned) -> Self:
        more = type(self)(self.config)._take(dataset, self.config, learned)
        more.transfer, more.preliminary = self.transfer, self.preliminary
        more._reviewer = Reviewer(self._reviewer.log, self._reviewer.gone)
        return more

    def _take(
        self,
        dataset: Dataset,
        config: Config,
        learned: Learned,
        calibration: tuple[Arrays, dict[str, Any]] | None = None,
    ) -> Self:
        self._dataset, self._config, self._learned = dataset, config, learned
        self._constraints = FoundConstraints(config.constraints.stated, self.transfer is not None)
        self.preliminary, self.left_out, self._folder = None, {}, None
        self._levels = Levels(dataset, learned.predictor, config.seed)
        if calibration is not None:
            self._levels.calibration = unpack_calibration(*calibration, dataset.vocab.num_relations)
        return self


def fitted(part: Part | None) -> Part:
    """A part of a fitted model; a model without it is refused."""
    if part is None:
        raise RNNLogicError("the model is not fitted yet; call fit(dataset) or RNNLogic.load(folder)")
    return part
