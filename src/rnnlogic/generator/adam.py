"""How networks here are trained: Adam with a cosine learning rate, on a given number of threads."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import torch

BETAS = 0.9, 0.999
EPSILON = 1e-8


class Adam:
    """Parameters that follow their gradients, ever more slowly, for so many steps."""

    def __init__(self, parameters: Iterable[torch.Tensor], rate: float, steps: int) -> None:
        self.steps = steps  # may change on the way
        self._parameters, self._rate, self._done = list(parameters), rate, 0
        self._means, self._squares = ([torch.zeros_like(p) for p in self._parameters] for _ in range(2))
        self._counts = [torch.zeros(()) for _ in self._parameters]

    def step(self, loss: torch.Tensor) -> None:
        """One step down the gradient of a loss."""
        gradients = list(torch.autograd.grad(loss, self._parameters))
        torch._foreach_add_(self._counts, 1)
        with torch.no_grad():
            torch._fused_adam_(
                self._parameters,
                gradients,
                self._means,
                self._squares,
                [],
                self._counts,
                lr=self._rate,
                beta1=BETAS[0],
                beta2=BETAS[1],
                weight_decay=0.0,
                eps=EPSILON,
                amsgrad=False,
                maximize=False,
            )
        self._done += 1
        now, before = (1 + math.cos(math.pi * done / self.steps) for done in (self._done, self._done - 1))
        self._rate *= now / before if before else 0.0


@contextmanager
def torch_threads(number: int) -> Iterator[None]:
    """Use this number of threads inside the block; restore the former number afterwards."""
    before = torch.get_num_threads()
    torch.set_num_threads(number)
    try:
        yield
    finally:
        torch.set_num_threads(before)
