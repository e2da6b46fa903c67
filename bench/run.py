"""Measures sheaf next to PyTorch, in turns on the same machine, and prints tables.

    python3 bench/run.py [--build build] [--python PYTHON] [--batch 256] [--rounds 7] [--threads N] [--only NAME...]

--python is an interpreter that has torch (or the environment variable SHEAF_TORCH_PYTHON); without one the peers are
skipped with a word. NAME: resnet18, linear, compile, memory, devices. Compare ratios within one run: absolute figures
depend on what else the machine does. On a machine that others use, teams of threads wait for the slowest member:
--threads 1 runs each ResNet-18 on one thread and compares CPU seconds.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


class Turns:
    """A program that times one step for each line it is given."""

    def __init__(self, name, command):
        self.name, self.seconds, self.cpu_seconds = name, [], []
        self.process = subprocess.Popen([str(c) for c in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.first = self.process.stdout.readline()
        if not self.first:
            raise SystemExit(f"{name} did not start: {' '.join(map(str, command))}")

    def step(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        seconds, cpu = self.process.stdout.readline().split()
        self.seconds.append(float(seconds))
        self.cpu_seconds.append(float(cpu))

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def table(title, header, rows):
    print(f"\n{title}")
    columns = [[str(c) for c in column] for column in zip(header, *rows)]
    widths = [max(map(len, column)) for column in columns]
    for number, row in enumerate([header, *rows]):
        print("  " + "  ".join(str(c).ljust(w) if i == 0 else str(c).rjust(w) for i, (c, w) in enumerate(zip(row, widths))))
        if number == 0:
            print("  " + "  ".join("-" * w for w in widths))


class Bench:
    def __init__(self, options):
        self.options = options
        self.sheaf, self.step = (ROOT / options.build / "bin" / n for n in ("sheaf", "bench-step"))
        self.folder = Path(tempfile.mkdtemp(prefix="sheaf-bench-"))
        self.torch = options.python if self.has_torch(options.python) else None
        if self.torch is None:
            print("PyTorch: skipped (no interpreter with torch; name one with --python or SHEAF_TORCH_PYTHON)")

    @staticmethod
    def has_torch(python):
        try:
            return subprocess.run([python, "-c", "import torch"], capture_output=True).returncode == 0
        except OSError:
            return False

    def plan(self, model):
        plan = self.folder / f"{Path(model).stem}.plan"
        if not plan.exists():
            subprocess.run([self.sheaf, "compile", ROOT / model, "-o", plan], check=True)
        return plan

    def peer(self, name, *arguments):
        return [self.torch, ROOT / "bench/peers" / name, *arguments]

    def take_turns(self, programs):
        """Median seconds of a step by name; the programs are stepped one after the other, round after round."""
        running = [Turns(name, command) for name, command in programs]
        for _ in range(self.options.rounds):
            for program in running:
                program.step()
        for program in running:
            program.close()
        return {p.name: statistics.median(p.cpu_seconds if self.options.threads == 1 else p.seconds) for p in running}

    def threads_in_words(self):
        n = self.options.threads
        return "all cores" if n == 0 else "one thread, by CPU time" if n == 1 else f"{n} threads"

    def resnet18(self):
        batch, plan = self.options.batch, self.plan("models/resnet18.json")
        n_threads = self.options.threads
        programs = [(f"sheaf {n}", [self.step, plan, "cpu:0", batch, n, f"threads={n_threads}", "--turns"])
                    for n in ("strict", "fast")]
        if self.torch:
            programs += [(f"PyTorch {m}", self.peer("resnet_torch.py", "--mode", m, "--batch", batch, "--threads", n_threads))
                         for m in ("eager", "compile")]
        seconds = self.take_turns(programs)
        best = min((s for n, s in seconds.items() if n.startswith("PyTorch")), default=None)
        table(f"ResNet-18 inference, f32, batch {batch}, {self.threads_in_words()} (bar: strict 1.15, fast 1.5 × the best of PyTorch)",
              ["", "img/s", "× best PyTorch"],
              [[n, f"{batch / s:.0f}", f"{best / s:.2f}" if best else "–"] for n, s in seconds.items()])

    def linear(self):
        rows = []
        for devices in ("cpu:0", "cpu:0,cpu:1"):
            out = subprocess.run([self.step, self.plan("bench/linear.json"), devices, "30"], check=True, capture_output=True, text=True)
            rows.append([f"sheaf {devices}", f"{float(out.stdout.splitlines()[-1]) * 1e6:.2f}"])
        for mode in ("eager", "compile") if self.torch else ():
            out = subprocess.run(self.peer("linear_torch.py", mode), check=True, capture_output=True, text=True)
            rows.append([f"PyTorch {mode}", f"{float(out.stdout) * 1e6:.2f}"])
        table("Linear(5, 2), batch 30, one call (bar: under 2 µs on one device)", ["", "µs"], rows)

    def compile(self):
        rows = []
        for model, bar in (("models/tutorial.json", 0.3), ("models/resnet18.json", 1.0), ("models/resnet50.json", None)):
            seconds = []
            for _ in range(5):
                start = time.perf_counter()
                subprocess.run([self.sheaf, "compile", ROOT / model, "-o", self.folder / "timed.plan"], check=True)
                seconds.append(time.perf_counter() - start)
            rows.append([Path(model).stem, f"{min(seconds):.2f}", f"{statistics.median(seconds):.2f}", bar or "–"])
        table("sheaf compile, start-up included", ["", "best s", "median s", "bar"], rows)

    def memory(self):
        rows = []
        for model, batch in (("models/data_parallel_model.json", 30), ("models/resnet18.json", 256), ("models/transformer_encoder.json", 32), ("models/resnet50.json", 8)):
            for devices in ("cpu:0", "cpu:0,cpu:1"):
                out = subprocess.run([self.step, self.plan(model), devices, str(batch), "--turns"], check=True, capture_output=True, text=True, stdin=subprocess.DEVNULL)
                info = json.loads(out.stdout.splitlines()[0])
                ratio = info["arena_bytes"] / info["arena_bound"] if info["arena_bound"] else 1
                rows.append([f"{Path(model).stem}, batch {batch}, {devices}", f"{info['arena_bytes'] / 2**20:.2f}", f"{info['arena_bound'] / 2**20:.2f}", f"{ratio:.3f}"])
        table("arenas of all lanes (bar: within 1.10 of the lower bound)", ["", "MiB", "lower bound", "ratio"], rows)

    def devices(self):
        batch, plan = self.options.batch, self.plan("models/resnet18.json")
        seconds = self.take_turns([(d, [self.step, plan, d, batch, "--turns"]) for d in ("cpu:0", "cpu:0,cpu:1")])
        table(f"ResNet-18 inference, batch {batch}: one device with all cores, two that share them (bar: at least 1.00)",
              ["", "img/s", "× one device"], [[n, f"{batch / s:.0f}", f"{seconds['cpu:0'] / s:.2f}"] for n, s in seconds.items()])


def main():
    names = ["resnet18", "linear", "compile", "memory", "devices"]
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--build", default="build")
    p.add_argument("--python", default=os.environ.get("SHEAF_TORCH_PYTHON", sys.executable))
    p.add_argument("--batch", type=int, default=256)
    p.add_argument("--rounds", type=int, default=7)
    p.add_argument("--threads", type=int, default=0, help="for ResNet-18; 0: all cores")
    p.add_argument("--only", nargs="+", choices=names, default=names)
    options = p.parse_args()
    bench = Bench(options)
    for name in options.only:
        getattr(bench, name)()


main()
