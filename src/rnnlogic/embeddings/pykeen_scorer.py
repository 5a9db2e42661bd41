"""Any trained PyKEEN model as a scorer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from rnnlogic.base.errors import RNNLogicError
from rnnlogic.data.graph import Graph
from rnnlogic.data.vocab import Vocab


class PyKEENScorer:
    """Scores of a PyKEEN model, with ids matched by the names in its triples factory."""

    def __init__(self, model: Any, factory: Any, vocab: Vocab, batch_size: int = 32) -> None:
        """`factory` is the triples factory that the model was trained with."""
        self._model, self._batch_size = model, batch_size
        self._entities = _ids("entity", factory.entity_to_id, vocab.entities)  # [E]
        self._relations = _ids("relation", factory.relation_to_id, vocab.relations)  # [R]

    def score(
        self, graph: Graph, heads: NDArray[np.int32], relations: NDArray[np.int32]
    ) -> NDArray[np.float64]:
        """Scores [B, E]; an inverse relation asks the model for heads. The graph plays no part."""
        del graph
        scores = np.empty((len(heads), len(self._entities)))
        is_inverse = relations >= len(self._relations)
        for chosen, asks_heads in ((~is_inverse, False), (is_inverse, True)):
            queries = np.flatnonzero(chosen)
            for start in range(0, len(queries), self._batch_size):
                batch = queries[start : start + self._batch_size]
                scores[batch] = self._predict(heads[batch], relations[batch], asks_heads)
        return scores

    def _predict(
        self, entities: NDArray[np.int32], relations: NDArray[np.int32], asks_heads: bool
    ) -> NDArray[np.float64]:
        """PyKEEN's scores [b, E] of (entity, relation, ?), or of (?, relation, entity)."""
        known = torch.as_tensor(self._entities[entities])
        relation = torch.as_tensor(self._relations[relations % len(self._relations)])
        pair = [relation, known] if asks_heads else [known, relation]
        predict = self._model.predict_h if asks_heads else self._model.predict_t
        try:
            with torch.inference_mode():
                scores = predict(torch.stack(pair, dim=1).to(self._model.device))
        except NotImplementedError:
            side = "heads" if asks_heads else "tails"
            raise RNNLogicError(f"{type(self._model).__name__} cannot score all {side}") from None
        ordered: NDArray[np.float64] = scores.double().cpu().numpy()[:, self._entities]
        return ordered


def _ids(kind: str, ids: Mapping[str, int], names: Sequence[str]) -> NDArray[np.int64]:
    """The model's id of every name."""
    missing = [name for name in names if name not in ids]
    if missing:
        raise RNNLogicError(
            f"the PyKEEN model does not know {kind} {missing[0]!r} ({len(missing):,} of {len(names):,} names"
            " missing); it was trained on other data"
        )
    return np.array([ids[name] for name in names], np.int64)
