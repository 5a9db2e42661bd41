"""A fitted model and the graph it is on: what was learned, decided and stated, and how probable facts are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

from rnnlogic.base.budget import UNLIMITED, Budget
from rnnlogic.base.errors import RNNLogicError
from rnnlogic.base.types import Arrays, Progress, silent
from rnnlogic.calibrate.calibration import Calibration, pack_calibration, unpack_calibration
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
from rnnlogic.review.decision import Decision
from rnnlogic.review.judged import Reviewer, lacking, removed, straight_names
from rnnlogic.review.log import DecisionLog, Decisions
from rnnlogic.runs.constraints import FoundConstraints, StatedSource, stated_texts
from rnnlogic.runs.embedding import save_with_run
from rnnlogic.runs.fitted import load_fitted
from rnnlogic.runs.folder import Run
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
        """The known facts, with the accepted ones and without the rejected ones.

        Args:
            evidence: The facts of the dataset that count as known.

        Returns:
            The graph that rules are applied to.

        Raises:
            RNNLogicError: If the model is not fitted.
        """
        return self._reviewer.graph(self.dataset, evidence)

    def calibration(self, progress: Progress | None = None) -> Calibration:
        """How probable facts are for each kind of evidence; made by `fit`, or now if it was not.

        Args:
            progress: Called after each step of the measurement.

        Returns:
            The calibrators for all kinds of known facts.

        Raises:
            RNNLogicError: If the model is not fitted.
        """
        return fitted(self._levels).every(progress or silent)

    def level(
        self,
        evidence: Evidence = "train",
        progress: Progress | None = None,
        budget: Budget = UNLIMITED,
        missing: float | None = None,
    ) -> Level:
        """How probable facts are that the evidence lacks, measured if need be.

        Args:
            evidence: The facts that count as known.
            progress: Called after each step of the measurement.
            budget: The time that the measurement may take.
            missing: How many facts are missing, or below 1 their share of the known ones. By default an
                estimate.

        Returns:
            What turns the scores of these facts into probabilities.

        Raises:
            RNNLogicError: If the model is not fitted.
        """
        return fitted(self._levels).of(evidence, progress or silent, budget, missing)

    def constraints(self, evidence: Evidence = "train", types: str | None = None) -> Constraints:
        """What cannot be true beside the known facts: found in those of the dataset, or stated.

        Args:
            evidence: The facts that count as known.
            types: The relation that says what kind of thing an entity is, or "off"; usual ones are found.

        Returns:
            The constraints; print their `lines()`.

        Raises:
            RNNLogicError: If `types` is no relation, or the model is not fitted.
        """
        return self._constraints.on(self.dataset, evidence, self.graph(evidence), types)

    def with_constraints(self, source: StatedSource) -> Self:
        """The same model with other stated constraints.

        Args:
            source: A file, or lines such as "functional: section".

        Returns:
            A new model; this one stays as it is.

        Raises:
            RNNLogicError: If the constraints cannot be read, or the graph lacks a name in them.
        """
        other = copy(self)
        texts = stated_texts(source, self.dataset.vocab)
        other._config = changed(self.config, {"constraints": {"stated": texts}})
        other._constraints = FoundConstraints(texts)
        return other

    @property
    def decisions(self) -> Decisions:
        """What people decided about facts, as the file beside the run has it now."""
        return self._reviewer.log.read()

    def decision(self, head: str, relation: str, tail: str) -> Decision | None:
        """What was decided about a fact, if anything.

        Args:
            head: Where the fact begins.
            relation: The relation of the fact, or its inverse.
            tail: Where the fact ends.

        Returns:
            The decision that holds now; None if there is none.

        Raises:
            RNNLogicError: If a name is unknown or the model is not fitted.
        """
        return self.decisions.current().get(straight_names(self.dataset.vocab, head, relation, tail))

    def undo_review(
        self, head: str | None = None, relation: str = "", tail: str = "", by: str = ""
    ) -> Decision | None:
        """Take back a decision.

        Args:
            head: Where the fact begins. Without it the last decision is taken back.
            relation: The relation of the fact, or its inverse.
            tail: Where the fact ends.
            by: The person whose last decision is meant, and who takes it back.

        Returns:
            What was taken back; None if there was nothing.

        Raises:
            RNNLogicError: If a name is unknown or the model is not fitted.
        """
        last = self.decisions.last(by)
        if head is not None:
            last = self.decision(head, relation, tail)
        if last is not None:
            self._reviewer.log.undo(last.fact, by)
        return last

    def on(self, graph: Any) -> Self:
        """The same rules and weights on another graph.

        Entities may be others; relations are matched by name.

        Args:
            graph: Anything that `load_dataset` takes.

        Returns:
            A new model. Its `transfer` tells which relations had no match and how many rules were dropped for
                it.

        Raises:
            RNNLogicError: If the graph cannot be read, or no rule uses any of its relations.

        Examples:
            >>> moved = model.on([("chile", "embassy", "peru"), ("peru", "embassy", "chile")])
            >>> moved.transfer
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
        """The same model with names to show.

        Args:
            labels: A mapping, a file of `name<TAB>label` lines, or a vocabulary.

        Returns:
            A new model; this one stays as it is.

        Raises:
            RNNLogicError: If the labels cannot be read.
        """
        shown = copy(self)
        shown._dataset = self.dataset.with_vocab(relabelled(self.dataset.vocab, labels).vocab)
        return shown

    def with_templates(self, templates: Templates) -> Self:
        """The same model with a sentence for each relation.

        Args:
            templates: A mapping such as `{"depends": "X depends on Y"}`, or a file of such lines.

        Returns:
            A new model; this one stays as it is.

        Raises:
            RNNLogicError: If the templates cannot be read.
        """
        shown = copy(self)
        shown._dataset = self.dataset.with_vocab(templated(self.dataset.vocab, templates).vocab)
        return shown

    def with_facts(self, facts: Iterable[Sequence[str]]) -> Self:
        """The same model with more known facts. Nothing is learned again, so it is quick.

        Args:
            facts: A head, a relation and a tail each. New entities are welcome, except where there is an
                embedding.

        Returns:
            A new model; this one stays as it is.

        Raises:
            RNNLogicError: If a relation is unknown, something is not a fact, or an entity is new to an
                embedding.

        Examples:
            >>> model.with_facts([("brazil", "embassy", "usa")]).predict("usa", "embassy^-1")
        """
        dataset = dataset_with(self.dataset, facts, new_entities=self.scorer.embedding is None)
        return self._like_this(dataset, self.learned)

    def without_facts(self, facts: Iterable[Sequence[str]]) -> Self:
        """The same model with fewer known facts. Nothing is learned or measured again.

        Args:
            facts: A head, a relation and a tail each; facts of the data or accepted ones.

        Returns:
            A new model; this one stays as it is.

        Raises:
            RNNLogicError: If a name is unknown, or something is not a known fact.
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
        """The same model with more rules, though it was not trained on them.

        Only RNNLogic+ with vectors by an LSTM can tell what a rule is worth that it has never seen.

        Args:
            rules: A rule file, a run folder, a `RuleSet` or texts.

        Returns:
            A new model; this one stays as it is.

        Raises:
            RNNLogicError: If the rules cannot be read, or the variant cannot weigh new ones.
        """
        given = read_given(rules, self.dataset.vocab).rules
        queries = self.config.mine.queries_per_relation
        learned = with_new_rules(self.learned, given, self.dataset.graph("train"), queries)
        return self._like_this(self.dataset, learned)

    def save(self, folder: str | Path) -> Path:
        """Write a run folder that `load` reads back.

        Args:
            folder: It must be new or empty.

        Returns:
            The folder.

        Raises:
            RNNLogicError: If the folder is not empty or cannot be written, or if the model is not fitted.
        """
        run = Run.create(folder, self.dataset, self.config)
        if self.scorer.embedding is not None:
            save_with_run(self.scorer.embedding, self.dataset.vocab, run)
        if (calibration := fitted(self._levels).calibration) is not None:
            run.save_calibration(*pack_calibration(calibration))
        run.finish(self.learned)
        DecisionLog.of_run(folder).extend(self.decisions.every)
        return run.folder

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """Read a fitted model from its run folder, which holds or names all it needs.

        While a fit is at work, or if it was stopped, this is the best model so far; `preliminary` says so.

        Args:
            folder: What `save`, `fit` with `run`, or `rnnlogic fit` wrote.

        Returns:
            The model.

        Raises:
            RNNLogicError: If the folder holds no model yet, or a file of it is missing or damaged.

        Examples:
            >>> model = RNNLogic.load("runs/umls")
        """
        kept = load_fitted(folder)
        model = cls()._take(kept.dataset, kept.config, kept.learned, kept.calibration)
        model.preliminary, model.left_out = kept.preliminary, kept.left_out
        model._folder = fitted(model._levels).folder = Path(folder)
        model._reviewer = Reviewer(DecisionLog.of_run(folder))
        return model

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
