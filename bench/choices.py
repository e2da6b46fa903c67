#!/usr/bin/env python3
"""Shows how good the cost model is on this machine: measures every candidate of PLAN's operations and compares the model's choice with
the fastest, operation by operation (docs/cpu-choices.md). A candidate's time excludes reorders of its neighbours.

    bench/choices.py PLAN... [--sheaf build/bin/sheaf] [--devices cpu:0] [--batch 256] [--program infer|train] [--numerics strict|fast]
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

PARSER = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
PARSER.add_argument("plans", nargs="+")
PARSER.add_argument("--sheaf", default="build/bin/sheaf")
PARSER.add_argument("--devices", default="cpu:0")
PARSER.add_argument("--batch", type=int, default=256)
PARSER.add_argument("--program", default="infer", choices=("infer", "train"))
PARSER.add_argument("--numerics", default="strict", choices=("strict", "fast"))


def measured(options, plan):
    """The contents of a cache of its own once everything was measured: key → entry."""
    with tempfile.TemporaryDirectory() as cache:
        subprocess.run([options.sheaf, "explain", plan, "--devices", options.devices, "--batch", str(options.batch), "--program",
                        options.program, "--numerics", options.numerics, "--tune", "full"],
                       check=True, stdout=subprocess.DEVNULL, env={**os.environ, "SHEAF_CACHE": cache})
        files = list(Path(cache).iterdir())
        return json.loads(files[0].read_text())["operations"] if files else {}


def main():
    options = PARSER.parse_args()
    for plan in options.plans:
        print(f"{plan}, {options.program}, {options.numerics}, batch {options.batch}, on {options.devices}")
        ratios = []
        for key, entry in sorted(measured(options, plan).items()):
            seconds = entry.get("seconds", {})
            if len(seconds) < 2 or entry["model"] not in seconds:
                continue
            fastest = min(seconds, key=seconds.get)
            ratios.append((seconds[entry["model"]] / seconds[fastest], seconds[entry["model"]]))
            times = ", ".join(f"{name} {1e3 * value:.3g}" for name, value in sorted(seconds.items(), key=lambda item: item[1]))
            print(f"  {ratios[-1][0]:5.2f}  model {entry['model']}, taken {entry['take']}; ms: {times}  {key}")
        if ratios:
            best, all_of_model = sum(time / ratio for ratio, time in ratios), sum(time for _, time in ratios)
            near = sum(ratio <= 1.1 for ratio, _ in ratios)
            print(f"  the model's choices take {all_of_model / best:.3f} times the fastest in all; {near} of {len(ratios)} are within 10%")


if __name__ == "__main__":
    sys.exit(main())
