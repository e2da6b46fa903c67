"""Measurements of inference, and of compiling."""
import json
import os
import statistics
import subprocess
import time
from pathlib import Path

from turns import ROOT, table


def resnet18(bench):
    bench.resnet18_next_to_peers("infer", {"strict": 1.15, "fast": 1.5})


def resnet18_bf16(bench):
    bench.resnet18_next_to_peers("infer", {"strict": 1.25, "fast": None}, "bf16")


def linear(bench):
    rows = []
    for devices in ("cpu:0", "cpu:0,cpu:1"):
        measured = bench.measured(bench.plan("bench/linear.json"), devices, 30)
        rows.append([f"sheaf {devices}", f"{measured['step_seconds_min'] * 1e6:.2f}"])
    for name, command in bench.peers("linear"):
        rows.append([name, f"{float(bench.lines(command)[-1]) * 1e6:.2f}"])
    table("Linear(5, 2), batch 30, one call (bar: under 2 µs on one device)", ["", "µs"], rows)


def compiling(bench):
    """From nothing, and with the kernels that the compilation before has left in the cache."""
    rows = []
    for model, bar in (("models/tutorial.json", 0.3), ("models/resnet18.json", 1.0), ("models/resnet50.json", None)):
        anew, again = [], []
        for number in range(5):
            for seconds in (anew, again):
                environment = {**os.environ, "SHEAF_CACHE": str(bench.folder / f"{Path(model).stem}-{number}")}
                start = time.perf_counter()
                subprocess.run([bench.sheaf, "compile", ROOT / model, "-o", bench.folder / "timed.plan"], check=True, env=environment)
                seconds.append(time.perf_counter() - start)
        rows.append([Path(model).stem, f"{min(anew):.2f}", f"{statistics.median(anew):.2f}", f"{statistics.median(again):.2f}", bar or "–"])
    table("sheaf compile, start-up included", ["", "best s", "median s", "again", "bar"], rows)


def memory(bench):
    rows = []
    for model, batch in (("models/data_parallel_model.json", 30), ("models/resnet18.json", 256),
                         ("models/transformer_encoder.json", 32), ("models/resnet50.json", 8)):
        for devices in ("cpu:0", "cpu:0,cpu:1"):
            info = json.loads(bench.lines(bench.ours(bench.plan(model), devices, batch, "--turns"))[0])
            ratio = info["arena_bytes"] / info["arena_bound"] if info["arena_bound"] else 1
            rows.append([f"{Path(model).stem}, batch {batch}, {devices}", f"{info['arena_bytes'] / 2**20:.2f}",
                         f"{info['arena_bound'] / 2**20:.2f}", f"{ratio:.3f}"])
    table("arenas of all lanes (bar: within 1.10 of the lower bound)", ["", "MiB", "lower bound", "ratio"], rows)


def devices(bench):
    batch, plan = bench.options.batch, bench.plan("models/resnet18.json")
    seconds = bench.take_turns([(d, bench.ours(plan, d, batch, "--turns")) for d in ("cpu:0", "cpu:0,cpu:1")])
    table(f"ResNet-18 inference, batch {batch}: one device with all cores, two that share them (bar: at least 1.00)",
          ["", "img/s", "× one device"], [[n, f"{batch / s:.0f}", f"{seconds['cpu:0'] / s:.2f}"] for n, s in seconds.items()])


MEASUREMENTS = {"resnet18": resnet18, "resnet18-bf16": resnet18_bf16, "linear": linear, "compile": compiling, "memory": memory, "devices": devices}
