#!/usr/bin/env python3
"""Compares a training step of ResNet-18 in two processes of one core each with one process that has both, and with PyTorch's DistributedDataParallel, in turns.

    python3 bench/processes.py [--build build] [--python PYTHON_THAT_HAS_TORCH] [--batch 256] [--steps 6] [--turns 3]

Of each kind the fastest step and the median count, over all turns but each turn's first step.
"""
import argparse
import os
import statistics
import subprocess
import tempfile
from pathlib import Path

from several import SOURCE, Training


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=SOURCE / "build")
    parser.add_argument("--python", default=os.environ.get("SHEAF_TORCH_PYTHON", ""), help="default: without PyTorch")
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--turns", type=int, default=3)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        training = Training(arguments.build, place, batch=arguments.batch, steps=arguments.steps)

        def steps(lists):
            training.run(lists)
            return training.step_seconds()

        def ddp():
            command = [arguments.python, SOURCE / "bench/peers/resnet_ddp.py", "--batch", str(arguments.batch), "--steps", str(arguments.steps)]
            return [float(text) for text in subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.split()]

        kinds = {"one process, `cpu:0,cpu:1`": lambda: steps(["cpu:0,cpu:1"]), "two processes, `cpu:0` each": lambda: steps(["cpu:0", "cpu:0"])} | ({"DistributedDataParallel, gloo": ddp} if arguments.python else {})
        seconds = {name: [] for name in kinds}
        for _ in range(arguments.turns):
            for name, measure in kinds.items():
                seconds[name] += measure()
    base = seconds["two processes, `cpu:0` each"]
    print("| | fastest step, s | median, s | two processes are × as fast: fastest | median |\n|---|---|---|---|---|")
    for name, found in seconds.items():
        print(f"| {name} | {min(found):.3f} | {statistics.median(found):.3f} | {min(found) / min(base):.2f} | {statistics.median(found) / statistics.median(base):.2f} |")


if __name__ == "__main__":
    main()
