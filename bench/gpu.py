"""Measures sheaf next to PyTorch on one GPU, in turns, and prints tables (docs/performance.md keeps them).

    python3 bench/gpu.py FOLDER [--python PYTHON] [--rounds 30] [--markdown] [--only NAME...]

FOLDER is what `tools/gpu-suite.sh pack` made; --python (or SHEAF_TORCH_PYTHON) has torch. NAME: resnet18-bf16, resnet18-tf32,
resnet18-f32, resnet50-bf16, linear, trace. Without a GPU it exits with status 77 and the reason. Rows are in host memory for both; PyTorch's
host waits for the device once in 20 steps, sheaf's for each step when the next one is handed over, and for the last one of a twentieth of a second.
"""
import argparse
import os
import sys
import tempfile
from pathlib import Path

import turns
from turns import ROOT, Turns, table

sys.path.insert(0, str(ROOT / "tests/gpu"))
LINEAR_TURNS = 200  # of a twentieth of a second
MLPERF_RESNET50 = 7950  # images a second of one H200 in MLPerf Training's ResNet-50


class GpuBench:
    def __init__(self, options, scratch, environment):
        self.options, self.plans = options, scratch / "plans"
        # Only for our programs: PyTorch has its own libraries.
        ours = [f"{name}={environment[name]}" for name in ("LD_LIBRARY_PATH", "SHEAF_CUDA_LIBRARIES")]
        self.step = ["env", *ours, scratch / "bin/bench-step"]

    def plan(self, model, precision):
        sys.path[:0] = [str(ROOT / "tests/golden"), str(ROOT / "tests/cli")]
        from golden_runner import compiled_name
        return self.plans / compiled_name(ROOT / model, precision)

    def ours(self, model, precision, batch, *arguments):
        return [*self.step, self.plan(model, precision), "--devices", "cuda:0", "--batch", batch, "--program", "train", *arguments]

    def next_to_torch(self, net, dtype, batch, bar):
        precision = "bf16" if dtype == "bf16" else "f32"
        programs = [("sheaf", self.ours(f"models/resnet{net}.json", precision, batch, "--numerics",
                                        "fast" if dtype == "tf32" else "strict", "--turns"))]
        programs += [(f"PyTorch {mode}", [self.options.python, ROOT / "bench/peers/resnet_torch.py", "--device", "cuda", "--program", "train",
                                          "--net", net, "--mode", mode, "--dtype", dtype, "--batch", batch, "--steps", 20])
                     for mode in ("eager", "max-autotune")]
        running = [Turns(name, command) for name, command in programs]
        for _ in range(self.options.rounds):
            for program in running:
                program.step()
        for program in running:
            program.close()
        seconds = {p.name: sorted(p.seconds)[len(p.seconds) // 2] for p in running}
        compiled = seconds["PyTorch max-autotune"]
        beside = f"; MLPerf's {MLPERF_RESNET50} img/s" if net == "50" else ""
        table(f"ResNet-{net} training step, {dtype}, batch {batch}, one GPU (bar: {bar} × torch.compile max-autotune, channels_last{beside})",
              ["", "ms", "img/s", "× torch.compile"],
              [[n, f"{s * 1e3:.2f}", f"{batch / s:.0f}", f"{compiled / s:.2f}"] for n, s in seconds.items()])

    def linear(self):
        program = Turns("sheaf", self.ours("bench/linear.json", "f32", 30, "--turns"))
        for _ in range(LINEAR_TURNS):
            program.step()
        program.close()
        seconds, cpu = sorted(program.seconds), sorted(program.cpu_seconds)
        table("Linear(5, 2), MSELoss, SGD, batch 30, one training step on cuda:0 (bar: under 10 µs of host time)", ["", "µs"],
              [["step, from call to result", f"{seconds[LINEAR_TURNS // 2] * 1e6:.1f}"], ["CPU time", f"{cpu[LINEAR_TURNS // 2] * 1e6:.1f}"]])

    def trace(self):
        print("\nWhere the time of ResNet-18's training step goes, bf16, batch 256")
        print("\n".join(turns.Bench.lines(self.ours("models/resnet18.json", "bf16", 256, "--profile"))))


MEASUREMENTS = {
    "resnet18-bf16": lambda b: b.next_to_torch("18", "bf16", 256, 1.2),
    "resnet18-tf32": lambda b: b.next_to_torch("18", "tf32", 256, 1.2),
    "resnet18-f32": lambda b: b.next_to_torch("18", "f32", 256, 1.2),
    "resnet50-bf16": lambda b: b.next_to_torch("50", "bf16", 256, 1.2),
    "linear": GpuBench.linear,
    "trace": GpuBench.trace,
}


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("folder", type=Path)
    p.add_argument("--python", default=os.environ.get("SHEAF_TORCH_PYTHON", sys.executable))
    p.add_argument("--rounds", type=int, default=30)
    p.add_argument("--markdown", action="store_true", help="tables as Markdown")
    p.add_argument("--only", nargs="+", choices=MEASUREMENTS, default=list(MEASUREMENTS), metavar="NAME")
    options = p.parse_args()
    turns.MARKDOWN = options.markdown
    from suite import SKIPPED, Suite
    with tempfile.TemporaryDirectory(prefix="sheaf-gpu-") as scratch:
        suite = Suite(options.folder.resolve(), Path(scratch))
        if reason := suite.why_not():
            print(f"skipped: {reason}")
            return SKIPPED
        bench = GpuBench(options, Path(scratch), suite.environment)
        for name in options.only:
            MEASUREMENTS[name](bench)
    return 0


sys.exit(main())
