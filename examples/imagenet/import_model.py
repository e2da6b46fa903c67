#!/usr/bin/env python3
"""Compiles a network of torchvision's for `sheaf train`, as PyTorch's ImageNet program sets up its training: SGD with momentum 0.9, weight
decay 1e-4, a tenth of the learning rate after every 30 epochs.

    import_model.py FOLDER NAME [--arch resnet18] [--size 32] [--lr 0.0125]

writes NAME.plan, for FOLDER/train's number of classes, and NAME.safetensors with the network's initial weights.
"""
import argparse
from pathlib import Path

import sheaf
import torch
import torchvision


def network(arch, classes, seed=0):
    torch.manual_seed(seed)
    return torchvision.models.get_model(arch, num_classes=classes)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("name")
    parser.add_argument("--arch", default="resnet18")
    parser.add_argument("--size", type=int, default=32)
    parser.add_argument("--lr", type=float, default=0.0125)
    given = parser.parse_args()

    classes = sum(path.is_dir() for path in (given.folder / "train").iterdir())
    net = torch.nn.DataParallel(network(given.arch, classes))
    file = sheaf.from_torch(net, torch.randn(2, 3, given.size, given.size))
    file.save(f"{given.name}.json", f"{given.name}.safetensors")
    plan = sheaf.compile(file, loss=torch.nn.CrossEntropyLoss(), metrics=["accuracy"],
                         optimizer={"type": "SGD", "lr": given.lr, "momentum": 0.9, "weight_decay": 1e-4},
                         schedule={"type": "StepLR", "step_size": 30, "gamma": 0.1})
    plan.save(f"{given.name}.plan")
    print(f"{given.name}.plan takes {', '.join(str(value) for value in sheaf.Model(plan).inputs)} and {classes} classes")


if __name__ == "__main__":
    main()
