"""Measures sheaf next to PyTorch and JAX, in turns on the same machine, and prints tables.

    python3 bench/run.py [--build build] [--python PYTHON] [--jax-python PYTHON] [--batch 256] [--rounds 7] [--threads N]
                         [--markdown] [--only NAME...]

--python is an interpreter that has torch (or the environment variable SHEAF_TORCH_PYTHON), --jax-python one that has
jax (SHEAF_JAX_PYTHON); a peer without one is skipped with a message. --markdown prints tables as in docs/performance.md.
NAME is one of, for inference: resnet18, resnet18-bf16, linear, compile, memory, devices; for the training step:
train, train-bf16, train-linear, train-devices, train-memory. Compare ratios within one run: absolute figures depend on the
machine's other load. On a shared machine, teams of threads wait for the slowest member: --threads 1 runs each
ResNet-18 on one thread and compares CPU seconds.
"""
import argparse
import os
import sys

import inference
import training
import turns


def main():
    measurements = inference.MEASUREMENTS | training.MEASUREMENTS
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--build", default="build")
    p.add_argument("--python", default=os.environ.get("SHEAF_TORCH_PYTHON", sys.executable))
    p.add_argument("--jax-python", default=os.environ.get("SHEAF_JAX_PYTHON", sys.executable))
    p.add_argument("--batch", type=int, default=256)
    p.add_argument("--rounds", type=int, default=7)
    p.add_argument("--threads", type=int, default=0, help="for ResNet-18; 0: all cores")
    p.add_argument("--markdown", action="store_true", help="tables as Markdown")
    p.add_argument("--only", nargs="+", choices=measurements, default=list(measurements), metavar="NAME")
    options = p.parse_args()
    turns.MARKDOWN = options.markdown
    bench = turns.Bench(options)
    left_out = []
    for name in options.only:
        try:
            measurements[name](bench)
        except SystemExit as reason:  # as bf16 on a CPU without it; the program has said why
            print(f"{name}: left out ({reason})", file=sys.stderr)
            left_out.append(name)
    sys.exit(f"left out: {', '.join(left_out)}" if left_out else 0)


main()
