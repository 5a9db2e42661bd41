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
from rnnlogic.runs.embedding import Given, obtain_embedding
from rnnlogic.runs.fitted import keep_first_model
from rnnlogic.runs.folder import Run
from rnnlogic.runs.given import RuleSource, rule_lines, rules_of_fit

if TYPE_CHECKING:
    from rnnlogic.complete.complete import NewFact
    from rnnlogic.complete.falls import Fallen
    from rnnlogic.fit.result import Store

EMBEDDING, CALIBRATE, FINISH = 0.4, 0.4, 0.6  # shares of the time that is left, under a budget


class RNNLogic(FittedModel):
    """Learns rules and their weights; then predicts, explains, evaluates.

    Args:
        config: All settings at once. Without them each dataset gets the default ones of the variant.
        variant: The predictor: `rnnlogic`, `rnnlogic-emb`, `plus` or `plus-emb` (docs/learning.md).
        **settings: Single settings that change the default, such as `max_length=2` (docs/python.md).

    Raises:
        RNNLogicError: If a setting is unknown or its value is wrong.

    Examples:
        >>> model = RNNLogic(rules=50, max_length=2).fit("nations", max_minutes=0.1)
        >>> print(model.explain("brazil", "embassy", "usa"))
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
        """Learn rules and their weights from a dataset.

        Args:
            dataset: Anything that `load_dataset` takes.
            run: A folder that keeps finished stages. An interrupted fit resumes there, and a finished one is
                only loaded. `load` gives a preliminary model while the fit is at work.
            progress: Called after each step, in place of the display.
            max_minutes: About how long the fit may take. Stages are cut short, and `left_out` says how.
            restart: Start over, whatever the run folder holds.
            embeddings: A folder that `rnnlogic embed` made, or a `RotatE`. Without it the variants with
                embeddings train one first. For `plus-emb` without path scores it may be anything that scores
                answers, such as a `PyKEENScorer`, but without `run`.
            rules: A rule file, a run folder, a `RuleSet` or texts. They are always among the final rules, and
                the only ones with `generate=False`.
            generate: Whether to generate rules beside the given ones. By default RNNLogic+ does not, and the
                other variants do.
            verbose: Show the progress.
            calibrate: Measure probabilities now; otherwise they are measured when asked for.

        Returns:
            The model itself.

        Raises:
            RNNLogicError: If the data cannot be read, the rules or embeddings do not fit them, or the folder
                holds another run.

        Examples:
            >>> model = RNNLogic().fit("umls", run="runs/umls", max_minutes=10)
            >>> model = RNNLogic().fit("umls", rules=["affects(X,Y) <- causes(X,Y)"], generate=False)
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
        """The best answers of (head, relation, ?), the most probable first.

        Candidates are the entities that some rule reaches, or all where the embedding has a say too.

        Args:
            head: The known end; leave it out to ask for heads.
            relation: The relation; `relation^-1` asks for heads, too.
            most: How many answers to list.
            facts: Those that count as known.
            known: Whether to "drop" answers that are known facts, or to "keep" and mark them.
            tail: The known end if heads are asked for.
            allow_violations: List answers that break a constraint, too.
            missing: How many facts are missing, or below 1 their share of the known ones. By default an
                estimate.

        Returns:
            The answers, which print as a table. Their `probability` is the chance that the fact is true
                (docs/probability.md). `left_out` of the list counts those that break a constraint.

        Raises:
            RNNLogicError: If a name is unknown, if both ends or none are given, or if the model is not
                fitted.

        Examples:
            >>> model.predict("brazil", "embassy", most=3)
            >>> model.predict(relation="embassy", tail="usa")
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
        """The answers of `predict` for many questions at once, on all threads.

        Args:
            queries: A head and a relation each; `relation^-1` asks for heads.
            most: How many answers to list of each.
            facts: Those that count as known.
            known: Whether to "drop" answers that are known facts, or to "keep" and mark them.
            allow_violations: List answers that break a constraint, too.
            missing: How many facts are missing, or below 1 their share of the known ones. By default an
                estimate.

        Returns:
            The answers of each query, in the order of the queries.

        Raises:
            RNNLogicError: If a name is unknown or the model is not fitted.

        Examples:
            >>> model.predict_many([("brazil", "embassy"), ("usa", "embassy^-1")], most=3)
        """
        how = Question(
            most=most, facts=facts, known=known, allow_violations=allow_violations, missing=missing
        )
        return self.answers([replace(how, head=head, relation=relation) for head, relation in queries])

    def answers(self, questions: Sequence[Question]) -> list[Listed[Answer]]:
        """The answers of many questions with one open end each, on all threads.

        Args:
            questions: They differ in their ends and relations only.

        Returns:
            The answers of each question, in the order of the questions.

        Raises:
            RNNLogicError: If the questions differ in more, if one has no open end or two, or if a name is
                unknown.

        Examples:
            >>> model.answers([Question(head="brazil", relation="embassy", most=3)])
        """
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

        Args:
            head: Where the fact begins.
            relation: The relation of the fact, or its inverse.
            tail: Where the fact ends.
            paths: How many paths to show for each rule, at most.
            facts: Those that are known. The rank is the place in the list of `predict` with the same ones.
            detailed: How many of the strongest rules come with their paths; None means all.
            instead: Another answer. Then the result says why the two scores differ.
            types: The relation that says what kind of thing an entity is, or "off"; usual ones are found.
            missing: How many facts are missing, or below 1 their share of the known ones. By default an
                estimate.

        Returns:
            The explanation, or the comparison with `instead`; print it to read it.

        Raises:
            RNNLogicError: If a name is unknown or the model is not fitted.

        Examples:
            >>> print(model.explain("brazil", "embassy", "usa"))
            >>> print(model.explain("brazil", "embassy", "usa", instead="cuba"))
        """
        how = Question(instead=instead, facts=facts, types=types, missing=missing)
        return self.why(replace(how, head=head, relation=relation, tail=tail), paths, detailed)

    def why(
        self, question: Question, paths: int = 3, detailed: int | None = DETAILED
    ) -> Explanation | Comparison:
        """Explain the answer of a question with both ends, as `explain` does.

        Args:
            question: Its ends and relation; with `instead`, why the answer is preferred to another.
            paths: How many paths to show for each rule, at most.
            detailed: How many of the strongest rules come with their paths; None means all.

        Returns:
            The explanation, or the comparison with `instead` of the question.

        Raises:
            RNNLogicError: If a name is unknown or missing, or if the model is not fitted.

        Examples:
            >>> model.why(Question(head="brazil", relation="embassy", tail="usa"), paths=1)
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
        """The learned rules by relation, best first.

        Args:
            relation: List the rules of this relation only.
            most: How many rules to list of each relation; None means all.
            sort: What comes first. "use" means the rules that decide most on validation facts.
            min_confidence: Leave out rules with less.
            min_support: Leave out rules with less.
            max_length: Leave out longer rules.
            use: Count what rules decide on validation facts, even if they are sorted otherwise.
            progress: Called after each step of the counting.

        Returns:
            The rules with their figures, which are AMIE's on the training facts except for their use.

        Raises:
            RNNLogicError: If the relation is unknown or the model is not fitted.

        Examples:
            >>> for rule in model.rules("embassy", most=3, sort="confidence"):
            ...     print(rule.confidence, rule.text)
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
        """Rank the answers of a split by the rules.

        Args:
            split: The facts that are asked for.
            facts: Those that are known; they must not contain the split.
            sides: Whether to ask for tails, heads or both.
            progress: Called after each step.
            negatives: Rank each answer among this many sampled entities; by default among all.
            seed: Decides which entities are sampled.
            max_minutes: Ask as large a sample of the facts as there is time for.
            allow_violations: Rank answers that break a constraint of the known facts like others. By default
                they come last.

        Returns:
            The report with metrics such as MRR; print it to read it.

        Raises:
            RNNLogicError: If the split has no facts, if the known facts contain them, or if the model is not
                fitted.

        Examples:
            >>> print(model.evaluate("valid", sides="tail"))
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
        """The most probable facts that are not known, best first, with reasons.

        They come one by one once all questions have been asked; memory does not grow with their number.

        Args:
            relation: Propose facts of this relation only.
            min_probability: Leave out facts that are less probable.
            most: How many facts to propose.
            facts: Those that count as known.
            progress: Called after each step of each stage.
            types: The relation that says what kind of thing an entity is, or "off"; usual ones are found.
            budget: The time. If it is short, entities with few facts are left out first.
            allow_violations: Propose facts that break a constraint, too.
            missing: How many facts are missing, or below 1 their share of the known ones. By default an
                estimate.

        Returns:
            The proposals, once each. `left_out` counts those that break a constraint.

        Raises:
            RNNLogicError: If the relation is unknown or an inverse, or if the model is not fitted.

        Examples:
            >>> for fact in model.complete("embassy", min_probability=0.5, most=5):
            ...     print(fact.head, fact.tail, fact.probability)
        """
        how = Question(facts=facts, allow_violations=allow_violations, missing=missing, types=types)
        wanted = replace(how, relation=relation, min_probability=min_probability, most=most)
        return self.proposals(wanted, progress, budget)

    def proposals(
        self, question: Question, progress: Progress | None = None, budget: Budget = UNLIMITED
    ) -> Stream[NewFact]:
        """The facts of `complete` for a question.

        Args:
            question: Its relation, or all without one; `min_probability`, `most`, `facts` and so on count,
                too.
            progress: Called after each step of each stage.
            budget: The time. If it is short, entities with few facts are left out first.

        Returns:
            The proposals, once each. `left_out` counts those that break a constraint.

        Raises:
            RNNLogicError: If the relation is unknown or an inverse, or if the model is not fitted.

        Examples:
            >>> list(model.proposals(Question(relation="embassy", most=5)))
        """
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
        """Decide about a fact; the decision is kept at once.

        Rejected facts are no answers any more, accepted ones are known facts.

        Args:
            head: Where the fact begins.
            relation: The relation of the fact, or its inverse.
            tail: Where the fact ends.
            verdict: "other-reason" means that the fact is true, but not for this rule.
            comment: Why, in free words.
            by: The person who decided.
            probability: What the model said about the fact.
            rule: The rule that "other-reason" is about; by default the first reason of `explain`.

        Returns:
            The decision as it is kept.

        Raises:
            RNNLogicError: If a name or the verdict is unknown, or if the model is not fitted.

        Examples:
            >>> model.review("brazil", "embassy", "usa", "accept", by="ann")
        """
        run = "" if self._folder is None else self._folder.resolve().name
        fact = straight_names(self.dataset.vocab, head, relation, tail)
        if verdict == "other-reason" and not rule:
            rule = next((one.rule.rule for one in self.explain(*fact).reasons), "")
        made = Decision(*fact, checked(verdict), comment, by, "", run, probability, rule)
        return self._reviewer.log.add(made)

    def falls(
        self,
        facts: Iterable[Sequence[str]],
        threshold: float | None = None,
        most: int = 1000,
        evidence: Evidence = "all",
        progress: Progress | None = None,
    ) -> list[Fallen]:
        """Accepted facts and proposals that lose their support if these facts go, the greatest loss first.

        Args:
            facts: What would go; a head, a relation and a tail each.
            threshold: List what falls below this probability. By default, what loses .05 or more.
            most: How many of the best proposals to look at.
            evidence: The facts that count as known.
            progress: Called after each step of each stage.

        Returns:
            What falls, with its probability before and after.

        Raises:
            RNNLogicError: If a fact is not known or the model is not fitted.

        Examples:
            >>> model.falls([("brazil", "embassy", "usa")], most=100)
        """
        from rnnlogic.complete.falls import what_falls

        gone = [straight_names(self.dataset.vocab, *fact) for fact in facts]
        less, level = self.without_facts(gone), self.level(evidence)
        accepted = [one.fact for one in self.decisions.current().values() if one.is_true]
        proposals = list(self.complete(most=most, facts=evidence, progress=progress))
        graphs = self.graph(evidence), less.graph(evidence)
        about = graphs, self.dataset.vocab, self.scorer, level
        return what_falls(about, accepted, proposals, frozenset(gone), threshold, self.records)
