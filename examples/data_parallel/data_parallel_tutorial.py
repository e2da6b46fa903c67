#!/usr/bin/env python3
"""PyTorch's data-parallelism tutorial: 100 random rows in batches of 30 through a Linear(5, 2), split over devices.

    data_parallel_tutorial.py [DEVICES]        such as cpu:0,cpu:1 (the default), cpu:0-2, cuda:0,cuda:1
"""
import sys

import torch
import torch.nn as nn
from torch.utils.data import Dataset, DataLoader

from sheaf.nn import DataParallel

# Parameters and DataLoaders
input_size = 5
output_size = 2

batch_size = 30
data_size = 100


class RandomDataset(Dataset):

    def __init__(self, size, length):
        self.len = length
        self.data = torch.randn(length, size)

    def __getitem__(self, index):
        return self.data[index]

    def __len__(self):
        return self.len


rand_loader = DataLoader(dataset=RandomDataset(input_size, data_size),
                         batch_size=batch_size, shuffle=True)


class Model(nn.Module):
    # Our model

    def __init__(self, input_size, output_size):
        super(Model, self).__init__()
        self.fc = nn.Linear(input_size, output_size)

    def forward(self, input):
        output = self.fc(input)
        print("\tIn Model: input size", input.size(),
              "output size", output.size())

        return output


model = Model(input_size, output_size)
model = DataParallel(model, devices=sys.argv[1] if len(sys.argv) > 1 else "cpu:0,cpu:1")

for data in rand_loader:
    input = data
    output = model(input)
    print("Outside: input size", input.size(),
          "output_size", output.size())
