"""Peer: seconds for one call of Linear(5, 2) at batch 30 in PyTorch; the best of several rounds.

    linear_torch.py [eager|compile]

Needs: torch.
"""
import sys
import time

import torch
from torch import nn

torch.set_num_threads(1)
model, x = nn.Linear(5, 2), torch.randn(30, 5)
call = torch.compile(model) if sys.argv[1:] == ["compile"] else model
with torch.inference_mode():
    for _ in range(500):
        call(x)
    best = float("inf")
    for _ in range(10):
        start = time.perf_counter()
        for _ in range(2000):
            call(x)
        best = min(best, (time.perf_counter() - start) / 2000)
print(best)
