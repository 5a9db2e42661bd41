"""NeuralLP (Yang, Yang and Cohen, 2017): an LSTM reads the query relation and attends to relations.

At step t it chooses relations (attention a_t) and the states to continue from (attention b_t over all states
so far), so it can follow rules of any length up to the number of steps.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from paper.baselines.walks import Edges, Questions, start, step


class NeuralLP(nn.Module):  # type: ignore[misc]  # torch is not typed here
    """Scores of all entities as soft sums over the walks of all rules."""

    def __init__(self, num_relations: int, steps: int, hidden_size: int) -> None:
        """`num_relations` counts inverses too."""
        super().__init__()
        self._steps = steps
        self._query = nn.Embedding(num_relations + 1, hidden_size)  # the last one marks the end of a rule
        self._lstm = nn.LSTM(hidden_size, hidden_size, batch_first=True)
        self._operators = nn.Linear(hidden_size, num_relations)

    def forward(self, edges: Edges, questions: Questions) -> Tensor:
        """Scores [B, E], none negative."""
        relations, memory = self.attention(questions.relation)
        states = [start(edges, questions, 1)]
        for t in range(self._steps):
            states.append(step(edges, questions, _read(states, memory[t]), relations[t]))
        return _read(states, memory[-1]).sum(dim=2).t()

    def attention(self, relation: int) -> tuple[list[Tensor], list[Tensor]]:
        """a_t [1, 2R + 1] for each step (0 for staying), and b_t [t] for each step and the end."""
        end = self._query.num_embeddings - 1
        read = torch.tensor([[relation] * self._steps + [end]])
        hidden = self._lstm(self._query(read))[0][0]  # [steps + 1, hidden]
        relations = torch.softmax(self._operators(hidden[:-1]), dim=1)
        moves = nn.functional.pad(relations, (0, 1)).unsqueeze(1)  # [steps, 1, 2R + 1]
        memory = [torch.ones(1)]
        for t in range(1, self._steps + 1):
            before = torch.cat([torch.zeros(1, hidden.shape[1]), hidden[:t]])  # first the state at the head
            memory.append(torch.softmax(before @ hidden[t], dim=0))
        return list(moves), memory


def _read(states: list[Tensor], weights: Tensor) -> Tensor:
    return torch.stack(states, dim=-1) @ weights
