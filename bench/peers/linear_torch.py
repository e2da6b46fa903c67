"""Peer: seconds for one call of Linear(5, 2) at batch 30 in PyTorch, or one training step with MSELoss and SGD; the best
of many short rounds.

    linear_torch.py [--program infer|train] [--mode eager|compile]

Needs: torch.
"""
import argparse
import time

import torch
from torch import nn

p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
p.add_argument("--program", default="infer", choices=["infer", "train"])
p.add_argument("--mode", default="eager", choices=["eager", "compile"])
a = p.parse_args()
torch.set_num_threads(1)
model, x, y = nn.Linear(5, 2), torch.randn(30, 5), torch.randn(30, 2)
criterion, optimizer = nn.MSELoss(), torch.optim.SGD(model.parameters(), lr=0.01)


def loss_of(x, y):
    return criterion(model(x), y)


forward = {"infer": model, "train": loss_of}[a.program]
forward = torch.compile(forward) if a.mode == "compile" else forward


def step():
    if a.program == "infer":
        return forward(x)
    optimizer.zero_grad(set_to_none=True)
    forward(x, y).backward()
    optimizer.step()


with torch.inference_mode(a.program == "infer"):
    for _ in range(500):
        step()
    best = float("inf")
    for _ in range(400):
        start = time.perf_counter()
        for _ in range(50):
            step()
        best = min(best, (time.perf_counter() - start) / 50)
print(best)
