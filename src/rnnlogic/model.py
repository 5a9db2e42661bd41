"""The one facade: learn rules for a knowledge graph, answer questions with them, and say why."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from rnnlogic.base.budget import UNLIMITED, Budget
from rnnlogic.base.errors import RNNLogicError
from rnnlogic.base.lock import exclusive
from rnnlogic.base.progress import StageProgress
from rnnlogic.base.renamed import renamed
from rnnlogic.base.types import Progress, Tick, silent
from rnnlogic.calibrate.calibration import pack_calibration
from rnnlogic.calibrate.kept import calibration_of
from rnnlogic.complete.possible import PossibleFacts
from rnnlogic.data.dataset import Evidence, load_dataset
from rnnlogic.data.types import with_types
from rnnlogic.evaluation.evaluate import Split, evaluate
from rnnlogic.evaluation.report import Report, Side
from rnnlogic.explain.answers import Answer, Known, Wanted, best_answers
from rnnlogic.explain.asking import Question
from rnnlogic.explain.explain import DETAILED, Basis, compare_on, explain_on
from rnnlogic.explain.explanation import Comparison, Explanation
from rnnlogic.explain.fitted import FittedModel, fitted
from rnnlogic.explain.listing import Choice, RuleInfo, Sort, list_rules
from rnnlogic.explain.question import Question as AskedIds
from rnnlogic.fit.given import edits_of, generating
from rnnlogic.render.tables import Listed, Stream
from rnnlogic.review.decision import Decision, Verdict, checked
from rnnlogic.review.judged import Reviewer, straight_names
from rnnlogic.review.log import DecisionLog
from rnnlogic.runs.constraints import stated_texts
from rnnlogic.runs.embedding import Given, obtain_embedding, save_with_run
from rnnlogic.runs.fitted import keep_first_model, load_fitted
from rnnlogic.runs.folder import Run
from rnnlogic.runs.given import RuleSource, rule_lines, rules_of_fit

if TYPE_CHECKING:
    from rnnlogic.complete.complete import NewFact
    from rnnlogic.complete.falls import Fallen
    from rnnlogic.fit.result import Store

EMBEDDING, CALIBRATE, FINISH = 0.4, 0.4, 0.6  # shares of the time that is left, under a budget


class RNNLogic(FittedModel):
    """Learns rules and their weights; then predicts, explains, evaluates.

    Without settings it uses the default of the variant: `rnnlogic`, `rnnlogic-emb`, `plus` or `plus-emb`
    (docs/learning.md). Keywords change single settings (docs/python.md).
    """

    def fit(
        self,
        dataset: Any,
        run: str | Path | None = None,
        progress: Progress | None = None,
        max_minutes: float | None = None,
        restart: bool = False,
        embeddings: Given = None,
        rules: RuleSource | None = None,
        generate: bool | None = None,
        verbose: bool = True,
        calibrate: bool = True,
    ) -> RNNLogic:
        """Learn from anything that `load_dataset` takes; shows its progress unless `verbose` is false.

        With a folder `run` finished stages are kept there: an interrupted fit resumes, and a finished one is
        only loaded, unless `restart`; `load` gives a preliminary model while it is at work. It takes about
        `max_minutes`, if given: stages are cut short, and `left_out` says how. Without `calibrate`
        probabilities are measured when asked for. `embeddings` is a folder that `rnnlogic embed` made or a
        `RotatE`, for the variants with embeddings; without it they train one first. For `plus-emb` without
        path scores it may be anything that scores answers, such as a `PyKEENScorer`, but without `run`.

        `rules` (a rule file, a run folder, a `RuleSet`, texts) are always among the final ones; with
        `generate=False` they are the only ones. RNNLogic+ generates none beside given ones unless told to.
        """
        deadline = None if max_minutes is None else time.monotonic() + 60 * max_minutes
        from rnnlogic.fit.pipeline import learn
        from rnnlogic.fit.result import MemoryStore, cuts_of, noted_cuts

        with (
            exclusive(run),
            StageProgress() if verbose and progress is None else nullcontext(progress or silent) as shown,
        ):
            data = load_dataset(dataset)
            config, self._reviewer = self.settings_for(data), Reviewer(DecisionLog.of_run(run))
            data = data.counting(config.path_kind)
            stated_texts(config.constraints.stated, data.vocab)  # refuses what the graph lacks
            given = rules_of_fit(rules, data.vocab, None if restart else run)
            config = generating(config, given, generate)
            edits = edits_of(config, given, data.vocab)  # refuses what does not fit before writing anything
            lines = rule_lines(given.rules, data.vocab)
            folder = None if run is None else Run.start(run, data, config, restart, lines)
            memory = MemoryStore()
            store: Store = folder or memory
            budget = noted_cuts(deadline, store)
            if (folder is None and budget.is_limited) or (folder is not None and not folder.finished):
                keep_first_model(store, data, config, edits, shown, budget)
            embedding = obtain_embedding(data, config, embeddings, folder, shown, budget.share(EMBEDDING))
            if folder is not None and folder.finished:
                self._take(data, config, folder.learned(embedding), folder.calibration())
                self.left_out = folder.left_out()
                return self
            self._take(data, config, learn(data, config, store, shown, deadline, embedding, given))
            if folder is not None:
                args = self.dataset, self.scorer, shown, config.seed, budget.share(CALIBRATE)
                fitted(self._levels).calibration = calibration_of(folder, *args) if calibrate else None
                with budget.share(FINISH).enforced():
                    folder.finish(self.learned)
            self.left_out = cuts_of(memory.records) if folder is None else folder.left_out()
            return self

    @renamed(k="most", evidence="facts")
    def predict(
        self,
        head: str | None = None,
        relation: str | None = None,
        most: int = 10,
        facts: Evidence = "all",
        known: Known = "drop",
        *,
        tail: str | None = None,
        allow_violations: bool = False,
        missing: float | None = None,
    ) -> Listed[Answer]:
        """The `most` best answers of (head, relation, ?); `tail` or `relation^-1` asks for heads.

        Known facts (`facts`) are left out, or with `known="keep"` only marked. Candidates are the entities
        that some rule reaches, or all where the embedding has a say too. The most probable come first;
        `probability` is the chance that the fact is true (docs/probability.md). Answers that break a
        constraint are left out, unless `allow_violations`; `left_out` of the list counts them.
        """
        query = Question(head=head, relation=relation, tail=tail).forward(self.dataset.vocab)
        return self.predict_many([query], most, facts, known, allow_violations, missing)[0]

    @renamed(k="most", evidence="facts")
    def predict_many(
        self,
        queries: Sequence[tuple[str, str]],
        most: int = 10,
        facts: Evidence = "all",
        known: Known = "drop",
        allow_violations: bool = False,
        missing: float | None = None,
    ) -> list[Listed[Answer]]:
        """`predict` for many (head, relation) at once, on all threads."""
        how = Question(
            most=most, facts=facts, known=known, allow_violations=allow_violations, missing=missing
        )
        return self.answers([replace(how, head=head, relation=relation) for head, relation in queries])

    def answers(self, questions: Sequence[Question]) -> list[Listed[Answer]]:
        """The answers of questions with one open end, which differ in their ends and relations only."""
        how = questions[0].without_ends if questions else Question()
        if any(question.without_ends != how for question in questions):
            raise RNNLogicError("questions that are asked together differ in their ends and relations only")
        vocab = self.dataset.vocab
        asked = [question.forward(vocab) for question in questions]
        heads = np.array([vocab.entity_id(head) for head, _ in asked], np.int32)
        relations = np.array([vocab.relation_id(relation) for _, relation in asked], np.int32)
        graph, level = self.graph(how.facts), self.level(how.facts, missing=how.missing)
        rejected = self._reviewer.rejected_answers(vocab)
        wanted = Wanted(how.most, how.known, rejected, self._limits(how))
        return best_answers(graph, vocab, self.scorer, level, heads, relations, wanted)

    # fmt: off
    @overload
    def explain(self, head: str, relation: str, tail: str, paths: int = 3, facts: Evidence = "all",
                detailed: int | None = DETAILED, instead: None = None, types: str | None = None,
                missing: float | None = None) -> Explanation: ...

    @overload
    def explain(self, head: str, relation: str, tail: str, paths: int = 3, facts: Evidence = "all",
                detailed: int | None = DETAILED, *, instead: str, types: str | None = None,
                missing: float | None = None) -> Comparison: ...
    # fmt: on

    @renamed(evidence="facts")
    def explain(
        self,
        head: str,
        relation: str,
        tail: str,
        paths: int = 3,
        facts: Evidence = "all",
        detailed: int | None = DETAILED,
        instead: str | None = None,
        types: str | None = None,
        missing: float | None = None,
    ) -> Explanation | Comparison:
        """Why relation(head, tail) is likely: the reasons, then ideas, the rules of each, and their paths.

        `facts` are those that are known; its rank is the place in the list of `predict`. With another answer
        `instead`, why the two scores differ. `types` and `missing` mean what they mean to `complete`.
        """
        how = Question(instead=instead, facts=facts, types=types, missing=missing)
        return self.why(replace(how, head=head, relation=relation, tail=tail), paths, detailed)

    def why(
        self, question: Question, paths: int = 3, detailed: int | None = DETAILED
    ) -> Explanation | Comparison:
        """Explain the answer of a question with both ends; with `instead`, why it is preferred to another.

        The `detailed` strongest rules come with up to `paths` paths each; None: all do.
        """
        head, relation, tail = (getattr(question, name) or "" for name in ("head", "relation", "tail"))
        facts, vocab = question.facts, self._reviewer.noted(self.dataset)
        vocab = with_types(vocab, self.dataset.graph("all"), question.types)
        asked = AskedIds(vocab.entity_id(head), vocab.relation_id(relation), vocab.entity_id(tail))
        graph, level = self.graph(facts), self.level(facts, missing=question.missing)
        rejected = self._reviewer.rejected_answers(vocab).get((asked.head, asked.relation), ())
        limits = self._limits(replace(question, types=None))
        known = graph, partial(level.probabilities, graph), self.records, rejected, limits
        basis = Basis(graph, vocab, self.scorer, *known)
        if question.instead is None:
            return explain_on(basis, asked, paths, detailed)
        return compare_on(basis, asked, vocab.entity_id(question.instead), paths, detailed)

    @renamed(top="most")
    def rules(
        self,
        relation: str | None = None,
        most: int | None = None,
        sort: Sort = "use",
        min_confidence: float = 0.0,
        min_support: int = 0,
        max_length: int | None = None,
        use: bool = False,
        progress: Progress | None = None,
    ) -> list[RuleInfo]:
        """Rules by relation, best first; of one relation only, or only the `most` best of each.

        Those come first that decide most on validation facts; `sort` is "use", "weight", "confidence" or
        "support", and `use` counts what they decide anyway. Other figures are AMIE's on the training facts.
        """
        choice = Choice(most, sort, min_confidence, min_support, max_length, use)
        every = self.learned.rules.head_relations().tolist()
        wanted = every if relation is None else [self.dataset.vocab.relation_id(relation)]
        return list_rules(self.learned, self.dataset, wanted, choice, progress or silent)

    @renamed(evidence="facts")
    def evaluate(
        self,
        split: Split = "test",
        facts: Evidence = "train",
        sides: Side = "both",
        progress: Tick | None = None,
        negatives: int | None = None,
        seed: int = 0,
        max_minutes: float | None = None,
        allow_violations: bool = False,
    ) -> Report:
        """Rank the answers of a split by the rules, among all entities or so many sampled ones.

        `facts` are the known ones: those of train unless told otherwise. With `max_minutes` as large a sample
        of the facts is asked as there is time for. Answers that break a constraint found in the known facts
        come last, unless `allow_violations`.
        """
        how = Question(facts=facts, allow_violations=allow_violations)
        return evaluate(
            *(self.scorer, self.dataset, split, facts, sides),
            progress=progress,
            negatives=negatives,
            seed=seed,
            budget=Budget.of_minutes(max_minutes),
            constraints=self._limits(how, self.dataset.graph(facts)),
        )

    @renamed(evidence="facts")
    def complete(
        self,
        relation: str | None = None,
        min_probability: float = 0.0,
        most: int = 1000,
        facts: Evidence = "all",
        progress: Progress | None = None,
        types: str | None = None,
        budget: Budget = UNLIMITED,
        allow_violations: bool = False,
        missing: float | None = None,
    ) -> Stream[NewFact]:
        """The most probable facts that are not known (`facts`), best first, with reasons.

        They come one by one once all questions have been asked; memory does not grow with their number. Facts
        are left out that break a constraint, unless `allow_violations`; `left_out` of the result counts them.
        `types` is the relation that says what kind of thing an entity is ("off" for none). A budget leaves
        out entities with few facts first. `missing` is the number of missing facts, or below 1 their share.
        """
        how = Question(facts=facts, allow_violations=allow_violations, missing=missing, types=types)
        wanted = replace(how, relation=relation, min_probability=min_probability, most=most)
        return self.proposals(wanted, progress, budget)

    def proposals(
        self, question: Question, progress: Progress | None = None, budget: Budget = UNLIMITED
    ) -> Stream[NewFact]:
        """`complete` for the relation of a question, or for all."""
        from rnnlogic.complete.complete import complete, relations_named

        wanted = relations_named(self.dataset.vocab, question.relation)
        level = self.level(question.facts, progress, budget, question.missing)
        found_limits, graph = self._limits(question), self.graph(question.facts)
        possible = None if found_limits is None else PossibleFacts(found_limits)
        rejected = {one.fact for one in self.decisions.current().values() if one.is_true is False}
        most = question.most + len(rejected)
        limits = question.min_probability, most, progress or silent, possible, budget, self.records
        found = complete(graph, self._reviewer.noted(self.dataset), self.scorer, level, wanted, *limits)
        kept = (fact for fact in found if (fact.head, fact.relation, fact.tail) not in rejected)
        return Stream(islice(kept, question.most), None if possible is None else possible.left_out)

    def review(
        self,
        head: str,
        relation: str,
        tail: str,
        verdict: Verdict,
        comment: str = "",
        by: str = "",
        probability: float | None = None,
        rule: str = "",
    ) -> Decision:
        """Decide about a fact: "accept", "reject", "other-reason" (true, but not for this rule) or "unsure".

        It is kept at once. Rejected facts are no answers any more, accepted ones are known facts.
        """
        run = "" if self._folder is None else self._folder.resolve().name
        fact = straight_names(self.dataset.vocab, head, relation, tail)
        if verdict == "other-reason" and not rule:
            rule = next((one.rule.rule for one in self.explain(*fact).reasons), "")
        made = Decision(*fact, checked(verdict), comment, by, "", run, probability, rule)
        return self._reviewer.log.add(made)

    def decision(self, head: str, relation: str, tail: str) -> Decision | None:
        """What was decided about a fact, if anything."""
        return self.decisions.current().get(straight_names(self.dataset.vocab, head, relation, tail))

    def undo_review(
        self, head: str | None = None, relation: str = "", tail: str = "", by: str = ""
    ) -> Decision | None:
        """Take back the decision about a fact, or the last one (of a person); gives what was taken back."""
        last = self.decisions.last(by)
        if head is not None:
            last = self.decision(head, relation, tail)
        if last is not None:
            self._reviewer.log.undo(last.fact, by)
        return last

    def falls(
        self,
        facts: Iterable[Sequence[str]],
        threshold: float | None = None,
        most: int = 1000,
        evidence: Evidence = "all",
        progress: Progress | None = None,
    ) -> list[Fallen]:
        """Accepted facts and proposals that lose their support if these facts go, the greatest loss first.

        With a threshold, those that fall below it; otherwise those whose probability falls by .05 or more.
        The `most` best proposals are looked at.
        """
        from rnnlogic.complete.falls import what_falls

        gone = [straight_names(self.dataset.vocab, *fact) for fact in facts]
        less, level = self.without_facts(gone), self.level(evidence)
        accepted = [one.fact for one in self.decisions.current().values() if one.is_true]
        proposals = list(self.complete(most=most, facts=evidence, progress=progress))
        graphs = self.graph(evidence), less.graph(evidence)
        about = graphs, self.dataset.vocab, self.scorer, level
        return what_falls(about, accepted, proposals, frozenset(gone), threshold, self.records)

    def save(self, folder: str | Path) -> Path:
        """Write a run folder that `load` reads back; it must be new or empty."""
        run = Run.create(folder, self.dataset, self.config)
        if self.scorer.embedding is not None:
            save_with_run(self.scorer.embedding, self.dataset.vocab, run)
        if (calibration := fitted(self._levels).calibration) is not None:
            run.save_calibration(*pack_calibration(calibration))
        run.finish(self.learned)
        DecisionLog.of_run(folder).extend(self.decisions.every)
        return run.folder

    @classmethod
    def load(cls, folder: str | Path) -> RNNLogic:
        """A fitted model from its run folder, which holds or names all it needs.

        While a fit is at work, or if it was stopped, the best model so far; `preliminary` says so.
        """
        kept = load_fitted(folder)
        model = cls()._take(kept.dataset, kept.config, kept.learned, kept.calibration)
        model.preliminary, model.left_out = kept.preliminary, kept.left_out
        model._folder = fitted(model._levels).folder = Path(folder)
        model._reviewer = Reviewer(DecisionLog.of_run(folder))
        return model
