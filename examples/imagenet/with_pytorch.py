#!/usr/bin/env python3
"""The same training in PyTorch, to compare with: pictures by torchvision and a DataLoader, torch.nn.DataParallel where there are GPUs.

    with_pytorch.py FOLDER [--arch resnet18] [--size 32] [--lr 0.0125] [--epochs 10] [--batch-size 32] [--workers 2]
"""
import argparse
import time
from pathlib import Path

import torch
from torch.utils.data import DataLoader
from torchvision import datasets, transforms

from import_model import network

NORMALIZE = transforms.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--arch", default="resnet18")
    for option, default in (("--size", 32), ("--epochs", 10), ("--batch-size", 32), ("--workers", 2)):
        parser.add_argument(option, type=int, default=default)
    parser.add_argument("--lr", type=float, default=0.0125)
    given = parser.parse_args()

    train = datasets.ImageFolder(given.folder / "train", transforms.Compose([
        transforms.RandomResizedCrop(given.size), transforms.RandomHorizontalFlip(), transforms.ToTensor(), NORMALIZE]))
    val = datasets.ImageFolder(given.folder / "val", transforms.Compose([
        transforms.Resize(given.size * 8 // 7), transforms.CenterCrop(given.size), transforms.ToTensor(), NORMALIZE]))
    how = {"batch_size": given.batch_size, "num_workers": given.workers}
    train_loader, val_loader = DataLoader(train, shuffle=True, **how), DataLoader(val, **how)

    model = torch.nn.DataParallel(network(given.arch, len(train.classes)))
    optimizer = torch.optim.SGD(model.parameters(), given.lr, momentum=0.9, weight_decay=1e-4)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, step_size=30, gamma=0.1)
    for epoch in range(given.epochs):
        begin, total = time.perf_counter(), 0.0
        model.train()
        for x, label in train_loader:
            loss = torch.nn.functional.cross_entropy(model(x), label)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(x)
        seconds = time.perf_counter() - begin
        schedule.step()
        model.eval()
        with torch.no_grad():
            right = sum(int((model(x).argmax(1) == label).sum()) for x, label in val_loader)
        print(f"epoch {epoch + 1}/{given.epochs}  train loss {total / len(train):.4f}  eval accuracy {right / len(val):.4f}  {seconds:.0f} s", flush=True)


if __name__ == "__main__":
    main()
