"""DRUM (Sadeghian et al., 2019): several walkers, each led by its own bidirectional LSTM.

The weight of a rule for one walker is a product over steps of its attention to relations, so L walkers
approximate all rule weights with rank L. A walker may also stay where it is, which gives shorter rules.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from paper.baselines.walks import Edges, Questions, start, step


class DRUM(nn.Module):  # type: ignore[misc]  # torch is not typed here
    """Scores of all entities as a sum over walkers."""

    def __init__(self, num_relations: int, steps: int, hidden_size: int, rank: int) -> None:
        """`num_relations` counts inverses too."""
        super().__init__()
        self._steps = steps
        self._query = nn.Embedding(num_relations, hidden_size)
        self._lstms = nn.ModuleList(
            nn.LSTM(hidden_size, hidden_size, batch_first=True, bidirectional=True) for _ in range(rank)
        )
        self._operators = nn.Linear(2 * hidden_size, num_relations + 1)

    def forward(self, edges: Edges, questions: Questions) -> Tensor:
        """Scores [B, E], none negative."""
        weights = self.attention(questions.relation)
        state = start(edges, questions, len(self._lstms))
        for t in range(self._steps):
            state = step(edges, questions, state, weights[t])
        return state.sum(dim=2).t()

    def attention(self, relation: int) -> Tensor:
        """How much each walker follows each relation or stays, [steps, walkers, 2R + 1]."""
        read = self._query(torch.full((1, self._steps), relation))
        hidden = torch.cat([lstm(read)[0] for lstm in self._lstms])  # [walkers, steps, 2 hidden]
        return torch.softmax(self._operators(hidden), dim=2).transpose(0, 1)
