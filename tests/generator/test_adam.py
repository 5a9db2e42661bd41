"""Our Adam against torch's."""

import subprocess
import sys

import torch

from rnnlogic.generator.train import Adam


def losses_of(net, step):
    inputs, losses = torch.arange(12.0).reshape(4, 3) / 10, []
    for _ in range(20):
        loss = ((net(inputs) - 1) ** 2).sum()
        step(loss)
        losses.append(loss.item())
    return losses


def test_it_does_what_torch_does():
    nets = []
    for _ in range(2):
        torch.manual_seed(0)
        nets.append(torch.nn.Linear(3, 2))
    ours = Adam(nets[0].parameters(), 0.1, 20)
    theirs = torch.optim.Adam(nets[1].parameters(), lr=0.1, fused=True)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(theirs, T_max=20)

    def step(loss):
        theirs.zero_grad()
        loss.backward()
        theirs.step()
        schedule.step()

    losses = losses_of(nets[0], ours.step)
    assert losses == losses_of(nets[1], step)
    assert losses[-1] < losses[0] / 5
    for mine, other in zip(*(net.parameters() for net in nets), strict=True):
        assert torch.equal(mine, other)


def test_training_does_not_load_torchs_compiler():
    code = (
        "import sys, torch; from rnnlogic.generator.train import Adam; w = torch.ones(2, requires_grad=True);"
        "Adam([w], 0.1, 2).step((w * w).sum()); assert 'torch._dynamo' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
