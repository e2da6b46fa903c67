#!/usr/bin/env python3
"""PyTorch's multi-GPU examples: three blocks, the middle one data-parallel; and its gradients, by autograd.

    parallelism_tutorial.py [DEVICES]        such as cpu:0,cpu:1 (the default), cpu:0-2, cuda:0,cuda:1
"""
import sys

import torch
import torch.nn as nn

from sheaf.nn import DataParallel

devices = sys.argv[1] if len(sys.argv) > 1 else "cpu:0,cpu:1"


class DataParallelModel(nn.Module):

    def __init__(self):
        super().__init__()
        self.block1 = nn.Linear(10, 20)

        # wrap block2 in DataParallel
        self.block2 = nn.Linear(20, 20)
        self.block2 = DataParallel(self.block2, devices=devices)

        self.block3 = nn.Linear(20, 20)

    def forward(self, x):
        x = self.block1(x)
        x = self.block2(x)
        x = self.block3(x)
        return x


torch.manual_seed(0)
model = DataParallelModel()
x = torch.randn(20, 10)
y = model(x)
y.square().mean().backward()
print("output", tuple(y.shape))

# The same without devices: block2's own Linear.
alone = nn.Sequential(model.block1, model.block2.module, model.block3)
gradients = [parameter.grad.clone() for parameter in model.parameters()]
model.zero_grad()
expected = alone(x)
expected.square().mean().backward()
print("largest difference to one device: output", f"{(y - expected).abs().max():.1e},",
      "gradients", f"{max((a - p.grad).abs().max() for a, p in zip(gradients, model.parameters())):.1e}")
