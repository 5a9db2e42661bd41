"""The rule generator: an LSTM that reads a head relation and writes a body (appendix "Rule Generator").

A rule r <- r1 & ... & rl is the sequence [r, r1, ..., rl, END]. With v the relations' vectors, f, g, o linear

    h_0 = f(v_r), c_0 = 0;   h_{t+1}, c_{t+1} = LSTM(h_t, c_t, g([v_r, v_{r_t}])), where r_0 = r;
    p(r_{t+1} | r, ..., r_t) = softmax(o(h_{t+1}))   over all relations, inverses included, and END.

Empty and trivial rules have probability zero: END cannot come first, nor after r1 = r, and the softmax is
over what remains (with maximum length 1, over everything but END and r). A body of maximum length includes
the probability of END like any other, so the probabilities of all rules sum to one minus that of longer ones.

g and the LSTM's input weights are linear and only ever see one head and one relation. Their products are
therefore tables with a row per relation (`_Tables`), and a step of the LSTM looks up two rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor
from torch.nn import functional

from rnnlogic.base.budget import check_time
from rnnlogic.base.executor import map_ordered
from rnnlogic.rules.patterns import Banned
from rnnlogic.rules.ruleset import RuleSet

INPUT_SIZE, HIDDEN_SIZE = 512, 256  # as in the paper
CHUNK_RULES = 1 << 13  # sequences that are scored at a time
CHUNK_EXTENSIONS = 1 << 22  # (prefix, next relation) pairs that a beam search scores at a time
WIDEST = 16  # times the usual width, at most, where bans leave too few rules


class RankedRules(NamedTuple):
    """Distinct rules, ascending by head, then descending by probability."""

    rules: RuleSet
    log_prob: NDArray[np.float64]  # [n]


class Level(NamedTuple):
    """Prefixes of one length, and the weight of each relation (or END) that follows them."""

    parent: NDArray[np.int64]  # [b] row in the previous level
    head: NDArray[np.int64]  # [b]
    last: NDArray[np.int64]  # [b] the relation just written; the head at first
    row: NDArray[np.int64]  # [f] the prefix
    token: NDArray[np.int64]  # [f] the relation or END that follows it
    share: NDArray[np.float32]  # [f]


class _State(NamedTuple):
    """What the LSTM remembers of n sequences."""

    hidden: Tensor  # [n, H]
    cell: Tensor  # [n, H]

    def take(self, rows: Tensor) -> _State:
        return _State(functional.embedding(rows, self.hidden), functional.embedding(rows, self.cell))


class _Tables(NamedTuple):
    """What depends on one relation only."""

    head_gates: Tensor  # [R, 4H] what the head adds to the gates at every step, biases included
    token_gates: Tensor  # [R, 4H] what the relation just read adds
    start: _State  # [R] after reading the head


class _Beams(NamedTuple):
    """n bodies, or prefixes of bodies, for each of c heads."""

    log_prob: Tensor  # [c, n]
    tokens: Tensor  # [c, n, max_length + 1] padded with END

    def best(self, number: int) -> _Beams:
        log_prob, rows = self.log_prob.topk(min(number, self.log_prob.shape[1]))
        return _Beams(log_prob, _take_beams(self.tokens, rows))

    def joined(self, other: _Beams) -> _Beams:
        return _Beams(
            torch.cat([self.log_prob, other.log_prob], dim=1), torch.cat([self.tokens, other.tokens], dim=1)
        )

    def bar(self, number: int) -> Tensor:
        """Log p that a prefix must exceed to lead to one of the `number` best [c, 1]; always finite."""
        worst = self.log_prob[:, number - 1 : number]
        lowest = torch.finfo(worst.dtype).min
        return worst.clamp_min(lowest) if worst.numel() else torch.tensor(lowest)


class RuleGenerator(torch.nn.Module):  # type: ignore[misc]  # mypy does not follow torch
    """p(body | head relation) for bodies of 1..max_length relations with ids 0..num_relations-1."""

    def __init__(
        self,
        num_relations: int,
        max_length: int,
        *,
        input_size: int = INPUT_SIZE,
        hidden_size: int = HIDDEN_SIZE,
        seed: int = 0,
    ) -> None:
        """`num_relations` counts inverses too (2R of a graph); `seed` sets the initial parameters."""
        super().__init__()
        if num_relations < 2 or max_length < 1:
            raise ValueError("a generator needs a relation, its inverse, and a maximum length of at least 1")
        self.num_relations, self.max_length = num_relations, max_length
        self.input_size, self.hidden_size = input_size, hidden_size
        self.end = num_relations  # the token END
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.vectors = torch.nn.Embedding(num_relations, input_size)  # v
            self.initial = torch.nn.Linear(input_size, hidden_size)  # f
            self.combine = torch.nn.Linear(2 * input_size, input_size)  # g
            self.cell = torch.nn.LSTMCell(input_size, hidden_size)
            self.output = torch.nn.Linear(hidden_size, num_relations + 1)  # o

    def encode(self, rules: RuleSet) -> tuple[Tensor, Tensor]:
        """Heads [n] and tokens [n, max_length + 1] of rules; bodies are padded with END."""
        if rules.max_length > self.max_length:
            raise ValueError(f"{rules!r} exceeds the generator's maximum length {self.max_length}")
        if max(rules.heads.max(initial=-1), rules.body.max(initial=-1)) >= self.num_relations:
            raise ValueError(f"{rules!r} has a relation id outside 0..{self.num_relations - 1}")
        tokens = np.full((len(rules), self.max_length + 1), self.end)
        tokens[np.arange(self.max_length + 1) < rules.lengths[:, None]] = rules.body
        return torch.from_numpy(rules.heads.astype(np.int64)), torch.from_numpy(tokens)

    def log_prob(self, rules: RuleSet) -> Tensor:
        """Log p of a batch of rules [n], differentiable. Empty bodies and r <- r have -inf."""
        return self._log_prob(self._tables(), *self.encode(rules))

    def log_probs(self, rules: RuleSet) -> NDArray[np.float64]:
        """Log p of any number of rules [n], without gradients."""
        heads, tokens = self.encode(rules)
        order = torch.from_numpy(np.lexsort((*tokens.numpy().T[::-1], heads.numpy())))
        log_prob = np.empty(len(rules))
        with torch.inference_mode():
            tables = self._tables()
            for chunk in order.split(CHUNK_RULES):
                log_prob[chunk.numpy()] = self._log_prob(tables, heads[chunk], tokens[chunk]).numpy()
        return log_prob

    def weighted_log_prob(self, levels: Sequence[Level]) -> Tensor:
        """Sum of share * log p(next relation or END) over all prefixes, differentiable."""
        tables = self._tables()
        total, state = tables.head_gates.new_zeros(()), tables.start
        for length, level in enumerate(levels):
            parent, head, last, row, token, share = map(torch.from_numpy, level)
            state = (
                tables.start.take(head) if length == 0 else self._read(tables, state.take(parent), head, last)
            )
            following = self._next_log_prob(state, head, last, length)
            total = total + following.flatten().index_select(0, row * following.shape[1] + token) @ share
        return total

    def beam(
        self,
        relations: ArrayLike,
        number: int,
        width: int | None = None,
        threads: int = 1,
        banned: Banned | None = None,
        longest: int | None = None,
    ) -> RankedRules:
        """Search for the `number` most probable rules of each head relation, with at most `longest` atoms.

        Of the prefixes of each length the best `width` (default: `number`) are extended; finished rules of
        all lengths compete. The rules of a relation depend neither on the other relations asked for nor on
        the number of threads. Banned rules are left out; where they leave too few, the search is widened.
        """
        width, longest = width or number, self.max_length if longest is None else longest
        heads = np.unique(np.asarray(relations, dtype=np.int64))
        if not banned:
            return self._ranked(heads, number, width, threads, None, longest)
        heads = heads[[not banned.whole_head(int(head)) for head in heads]]
        widest = min(WIDEST * width, self.num_relations**longest)
        rules, log_prob = RuleSet.from_rules([]), np.empty(0)
        while len(heads):
            found = self._ranked(heads, number, width, threads, banned, longest)
            count = np.bincount(found.rules.heads, minlength=self.num_relations)
            enough = (count >= number) | (width >= widest)
            taken = enough[found.rules.heads]
            rules, log_prob = rules | found.rules.filter(taken), np.append(log_prob, found.log_prob[taken])
            heads, width = heads[~enough[heads]], 2 * width
        order = np.argsort(rules.heads, kind="stable")
        return RankedRules(rules[order], log_prob[order])

    def _ranked(
        self,
        relations: NDArray[np.int64],
        number: int,
        width: int,
        threads: int,
        banned: Banned | None,
        longest: int,
    ) -> RankedRules:
        """One beam search for distinct relations."""
        heads = torch.from_numpy(relations)
        size = max(1, CHUNK_EXTENSIONS // (width * (self.num_relations + 1)))
        with torch.inference_mode():
            search = _Search(self, self._tables(), number, width, banned, longest)
        parts = list(map_ordered(_beams_of, heads.split(size), search, threads, here=True))
        head, tokens, log_prob = (torch.cat(column).numpy() for column in zip(*parts, strict=True))
        return RankedRules(self._rule_set(head, tokens), np.asarray(log_prob, dtype=np.float64))

    def _tables(self) -> _Tables:
        vectors, cell = self.vectors.weight, self.cell
        of_head, of_token = self.combine.weight.chunk(2, dim=1)
        head_inputs = functional.linear(vectors, of_head, self.combine.bias)
        head_gates = functional.linear(head_inputs, cell.weight_ih, cell.bias_ih + cell.bias_hh)
        token_gates = functional.linear(functional.linear(vectors, of_token), cell.weight_ih)
        hidden = self.initial(vectors)
        start = self._gated(head_gates + token_gates, _State(hidden, torch.zeros_like(hidden)))
        return _Tables(head_gates, token_gates, start)

    def _gated(self, inputs: Tensor, state: _State) -> _State:
        """One step of the LSTM; `inputs` [n, 4H] is what its input adds to the gates, and is overwritten."""
        gates = inputs.addmm_(state.hidden, self.cell.weight_hh.T)
        let_in, keep, new, let_out = gates.chunk(4, dim=1)
        cell = keep.sigmoid() * state.cell + let_in.sigmoid() * new.tanh()
        return _State(let_out.sigmoid() * cell.tanh(), cell)

    def _read(self, tables: _Tables, state: _State, heads: Tensor, tokens: Tensor) -> _State:
        """States [n] after reading relations [n]."""
        inputs = functional.embedding(heads, tables.head_gates)
        return self._gated(inputs.add_(functional.embedding(tokens, tables.token_gates)), state)

    def _next_log_prob(self, state: _State, heads: Tensor, last: Tensor, length: int) -> Tensor:
        """Log p [n, R + 1] of what follows a body of this length whose last relation is `last`."""
        logits = self.output(state.hidden)
        if length == 0:
            logits[:, self.end] = -torch.inf
            if self.max_length == 1:
                logits.scatter_(1, heads[:, None], -torch.inf)
        elif length == 1 and self.max_length > 1:
            logits[:, self.end].masked_fill_(last == heads, -torch.inf)
        return logits.log_softmax(dim=1)

    def _log_prob(self, tables: _Tables, heads: Tensor, tokens: Tensor) -> Tensor:
        """Log p of rules [n]; shared prefixes are computed once."""
        log_prob = tables.head_gates.new_zeros(len(heads))
        rule = torch.arange(len(heads))  # those that are not finished
        head, node = heads.unique(return_inverse=True)  # prefixes, and the prefix of each rule
        state, last = tables.start.take(head), head
        for length in range(self.max_length + 1):
            following = self._next_log_prob(state, head, last, length)
            token = tokens[rule, length]
            taken = following.flatten().index_select(0, node * following.shape[1] + token)
            log_prob = log_prob.index_add(0, rule, taken)
            goes_on = token != self.end
            if not goes_on.any():
                break
            rule, node, token = rule[goes_on], node[goes_on], token[goes_on]
            key, node = (node * self.end + token).unique(return_inverse=True)
            parent, last = key // self.end, key % self.end
            head = head[parent]
            state = self._read(tables, state.take(parent), head, last)
        return log_prob

    def search(
        self, tables: _Tables, heads: Tensor, number: int, width: int, banned: Banned | None, longest: int
    ) -> _Beams:
        """The best finished bodies of heads [c], descending; log p is -inf where there are fewer."""
        tokens = torch.full((len(heads), 1, self.max_length + 1), self.end)
        beams = _Beams(tables.head_gates.new_zeros(len(heads), 1), tokens)
        finished = _Beams(beams.log_prob[:, :0], beams.tokens[:, :0])
        state, last = tables.start.take(heads), heads
        for length in range(longest + 1):
            check_time()
            beam_heads = heads.repeat_interleave(beams.log_prob.shape[1])
            following = self._next_log_prob(state, beam_heads, last, length).view(
                *beams.log_prob.shape, self.end + 1
            )
            following += beams.log_prob[:, :, None]  # log p of all extensions [c, n, R + 1]
            if banned:
                rules = self._rule_set(beam_heads.numpy(), beams.tokens.flatten(0, 1).numpy())
                unwanted = torch.from_numpy(banned.mask(rules)).view_as(beams.log_prob)
                following[:, :, self.end].masked_fill_(unwanted, -torch.inf)
            finished = finished.joined(_Beams(following[:, :, self.end], beams.tokens)).best(number)
            if length == longest:
                break
            following[:, :, self.end] = -torch.inf
            beams, rows = self._extended(beams, following, length, finished.bar(number), width)
            last = beams.tokens[:, :, length].flatten()
            beam_heads = heads.repeat_interleave(beams.log_prob.shape[1])
            state = self._read(tables, state.take(rows), beam_heads, last)
        return finished

    def _extended(
        self, beams: _Beams, following: Tensor, length: int, bar: Tensor, width: int
    ) -> tuple[_Beams, Tensor]:
        """The best `width` extensions by one relation, and the rows of the n beams [c * n] they came from.

        Columns where no head exceeds its bar [c, 1] are left out: they cannot lead to a better rule.
        """
        heads, count, choices = following.shape
        log_prob, place = following.view(heads, -1).topk(min(width, count * self.num_relations))
        columns = int((log_prob >= bar).sum(dim=1).max())
        log_prob, place = log_prob[:, :columns], place[:, :columns]
        parent = place // choices
        tokens = _take_beams(beams.tokens, parent)
        tokens[:, :, length] = place % choices
        return _Beams(log_prob, tokens), (parent + count * torch.arange(heads)[:, None]).flatten()

    def _rule_set(self, heads: NDArray[np.int64], tokens: NDArray[np.int64]) -> RuleSet:
        """A rule set of distinct rows."""
        return RuleSet.from_steps(heads, np.where(tokens == self.end, -1, tokens))


class _Search(NamedTuple):
    """What the beam searches of all heads share."""

    generator: RuleGenerator
    tables: _Tables
    number: int
    width: int
    banned: Banned | None
    longest: int


def _beams_of(search: _Search, heads: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Head, tokens and log p of the best bodies of some heads."""
    with torch.inference_mode():  # the mode is set per thread
        limits = search.number, search.width, search.banned, search.longest
        found = search.generator.search(search.tables, heads, *limits)
        possible = found.log_prob.isfinite()
        head = heads[:, None].expand_as(possible)[possible]
        return head, found.tokens[possible], found.log_prob[possible]


def _take_beams(tokens: Tensor, beams: Tensor) -> Tensor:
    """Tokens [c, m, length] of the chosen beams [c, m] of tokens [c, n, length]."""
    return tokens.gather(1, beams[:, :, None].expand(-1, -1, tokens.shape[2]))
