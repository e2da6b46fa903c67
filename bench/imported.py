#!/usr/bin/env python3
"""Models that no kernel was tuned for, imported from PyTorch and timed next to it, in turns: inference and training steps.

    bench/imported.py [--build build] [--python PYTHON] [--only NAME...] [--program infer|train] [--side eager|compile|fast|parallel|c++...]
                      [--batch N] [--threads 1] [--rounds 5] [--markdown]

NAME: linear, resnet18 (of models/), mlp, gpt, lstm, unet, and torchvision's resnet50, mobilenet_v2, convnext_tiny, vit_b_16, swin_t. PYTHON has torch, torchvision and
numpy; the package is that of the build. With one thread, CPU seconds are compared, as they hold on a busy machine. The figures are how many
times as long a step takes as sheaf's with strict numerics, through Python (Session.run, Trainer.step). Sides: PyTorch eager and compiled;
--numerics fast; sheaf.nn.DataParallel around the module, trained by PyTorch's optimizer; the same plan from C++ (bench-step).
A side that fails is told, and left out.
"""
import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import turns
from turns import ROOT, Turns, table

NAMES = ("linear", "resnet18", "mlp", "gpt", "lstm", "unet", "resnet50", "mobilenet_v2", "convnext_tiny", "vit_b_16", "swin_t")


SIDES = {"eager": "PyTorch eager", "compile": "compiled", "fast": "sheaf fast", "parallel": "sheaf.nn.DataParallel", "c++": "sheaf, C++"}


def peer(options, side, name, program, *arguments):
    words = [options.python, ROOT / "bench/peers/imported.py", "--side", side, "--model", name, "--program", program,
             "--threads", options.threads, "--batch", options.batch, *arguments]
    return [str(word) for word in words]


def from_cpp(options, name, program, folder):
    """bench-step on the plan that Python compiles from the model."""
    binaries, model, plan = ROOT / options.build / "bin", folder / "model.json", folder / "model.plan"
    batch = subprocess.run(peer(options, "sheaf", name, program, "--save", model), check=True, stdout=subprocess.PIPE, text=True).stdout
    subprocess.run([binaries / "sheaf", "compile", model, "-o", plan], check=True)
    return [binaries / "bench-step", plan, "--devices", "cpu:0", "--batch", batch.strip(), "--program", program, "--threads", options.threads,
            "--turns"]


def measured(options, name, program):
    """Median seconds by side."""
    running = {}
    with tempfile.TemporaryDirectory() as folder:
        for side in ("sheaf", *options.side):
            try:
                running[side] = Turns(side, from_cpp(options, name, program, Path(folder)) if side == "c++" else
                                      peer(options, side, name, program))
            except (SystemExit, subprocess.CalledProcessError) as failure:
                print(failure, file=sys.stderr)
    for _ in range(options.rounds):
        for turn in running.values():
            turn.step()
    for turn in running.values():
        turn.close()
    return {side: statistics.median(turn.cpu_seconds if options.threads == 1 else turn.seconds) for side, turn in running.items()}


def row(options, name, program):
    seconds = measured(options, name, program)
    ratios = {side: s / seconds["sheaf"] for side, s in seconds.items()} if "sheaf" in seconds else {}
    best = min((ratios[side] for side in ("eager", "compile") if side in ratios), default=None)
    shown = [f"{ratios[side]:.2f}" if side in ratios else "–" for side in options.side]
    return [f"{name}, {program}", f"{1e3 * seconds['sheaf']:.3g}" if ratios else "–", *shown, f"{best:.2f}" if best else "–"]


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--build", default="build")
    p.add_argument("--python", default=os.environ.get("SHEAF_TORCH_PYTHON", sys.executable))
    p.add_argument("--only", nargs="+", choices=NAMES, default=NAMES, metavar="NAME")
    p.add_argument("--program", nargs="+", choices=("infer", "train"), default=("infer", "train"))
    p.add_argument("--side", nargs="+", choices=SIDES, default=("eager", "compile"))
    p.add_argument("--batch", type=int, default=0, help="rows; 0: each model's own")
    p.add_argument("--threads", type=int, default=1)
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--markdown", action="store_true", help="the table as Markdown")
    options = p.parse_args()
    turns.MARKDOWN = options.markdown
    os.environ["PYTHONPATH"] = str(ROOT / options.build / "python")
    rows = []
    for program in options.program:
        for name in options.only:
            rows.append(row(options, name, program))
            print(*rows[-1], sep="\t", file=sys.stderr, flush=True)
    threads = "one thread, by CPU time" if options.threads == 1 else f"{options.threads} threads"
    table(f"imported models, {threads}: how many times as long as sheaf's step", ["", "ms", *(SIDES[s] for s in options.side), "best PyTorch"], rows)


main()
