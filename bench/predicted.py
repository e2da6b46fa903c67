#!/usr/bin/env python3
"""docs/scaling.md's predictions beside measurements on this machine: a training step of ResNet-18 in 1, 2 and 4 processes, in turns.

    python3 bench/predicted.py [--build build] [--batch 128] [--steps 7] [--turns 3]

The machine is calibrated first, and again at the end: where the two differ much, it had other load, and the figures say little. Of each arrangement the
fastest step and the median count, over all turns but each turn's first step.
"""
import argparse
import json
import os
import statistics
import subprocess
import tempfile
from pathlib import Path

from several import SOURCE, Training

WITHIN = {"bytes_per_second": 3e9, "seconds": 20e-6, "occupies": 1}  # the cores copy


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=SOURCE / "build")
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--steps", type=int, default=7)
    parser.add_argument("--turns", type=int, default=3)
    arguments = parser.parse_args()
    cores = len(os.sched_getaffinity(0))
    counts = (1, 2, 4)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        training = Training(arguments.build, folder, batch=arguments.batch, steps=arguments.steps)

        def calibrated(name):
            subprocess.run([training.program, "bench", "--calibrate", "-o", folder / name], check=True, stdout=subprocess.DEVNULL)
            return folder / name

        def predicted(processes, described):
            cluster = {"sheaf_cluster": "1.0", "device": "cpu", "nodes": 1, "devices": processes, "threads": max(1, cores // processes)}
            if processes > 1:
                cluster["within"] = WITHIN
            (folder / "cluster.json").write_text(json.dumps(cluster))
            line = [training.program, "estimate", training.plan, "--cluster", folder / "cluster.json", "--batch", str(arguments.batch), "--describe", described, "--json"]
            found = json.loads(subprocess.run(line, check=True, stdout=subprocess.PIPE).stdout)
            return next(one["step_seconds"] for one in found["strategies"] if one["strategy"] == "replicated")

        before = calibrated("before.json")
        seconds = {count: [] for count in counts}
        for _ in range(arguments.turns):
            for count in counts:
                training.run(["cpu:0"] * count)
                seconds[count] += training.step_seconds()
        after = calibrated("after.json")
        print("| processes | median | fastest | predicted | to the median | to the fastest | by the second calibration |\n|---|---|---|---|---|---|---|")
        for count, found in seconds.items():
            median, fastest, one, two = statistics.median(found), min(found), predicted(count, before), predicted(count, after)
            print(f"| {count} of {max(1, cores // count)} threads | {median:.3f} s | {fastest:.3f} s | {one:.3f} s | {one / median - 1:+.0%} | {one / fastest - 1:+.0%} | {two:.3f} s |")
        print(before.read_text(), after.read_text(), sep="\n")


if __name__ == "__main__":
    main()
