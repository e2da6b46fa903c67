"""What all measurements need: plans, peers, programs that take turns, tables."""
import json
import statistics
import subprocess
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


class Turns:
    """A program that prints a line first, and then times one step for each line it is given."""

    def __init__(self, name, command):
        self.name, self.seconds, self.cpu_seconds = name, [], []
        self.process = subprocess.Popen([str(c) for c in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.first = self.process.stdout.readline()
        if not self.first:
            raise SystemExit(f"{name} did not start: {' '.join(map(str, command))}")

    def step(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"{self.name} ended in the middle of its turns")
        seconds, cpu = line.split()
        self.seconds.append(float(seconds))
        self.cpu_seconds.append(float(cpu))

    def close(self):
        self.process.stdin.close()
        self.process.wait()


MARKDOWN = False  # set by bench/run.py


def table(title, header, rows):
    print(f"\n{title}")
    if MARKDOWN:
        print()
        for row in [header, ["---"] + ["---:"] * (len(header) - 1), *rows]:
            print("| " + " | ".join(str(c) for c in row) + " |")
        return
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
        self.scratch = tempfile.TemporaryDirectory(prefix="sheaf-bench-")
        self.folder = Path(self.scratch.name)
        self.torch = options.python if self.has(options.python, "torch") else None
        if self.torch is None:
            print("PyTorch: skipped (no interpreter with torch; name one with --python or SHEAF_TORCH_PYTHON)")
        self.jax = options.jax_python if self.has(options.jax_python, "jax") else None
        if self.jax is None:
            print("JAX: skipped (no interpreter with jax; name one with --jax-python or SHEAF_JAX_PYTHON)")

    @staticmethod
    def has(python, module):
        try:
            return subprocess.run([python, "-c", f"import {module}"], capture_output=True).returncode == 0
        except OSError:
            return False

    def plan(self, model, precision="f32"):
        plan = self.folder / f"{Path(model).stem}-{precision}.plan"
        if not plan.exists():
            subprocess.run([self.sheaf, "compile", "--precision", precision, ROOT / model, "-o", plan], check=True)
        return plan

    def ours(self, plan, devices, batch, *arguments):
        return [str(c) for c in (self.step, plan, "--devices", devices, "--batch", batch, *arguments)]

    def measured(self, plan, devices, batch, *arguments):
        """The object that `sheaf bench` prints."""
        return json.loads("".join(self.lines([self.sheaf, "bench", plan, "--devices", devices, "--batch", batch, "--json", *arguments])))

    def peers(self, name, *arguments, dtype="f32"):
        """Commands of the available peers, by name: PyTorch's two ways and, in f32, JAX (bench/peers/NAME_….py)."""
        commands = []
        if self.torch:
            of_dtype = () if dtype == "f32" else ("--dtype", dtype)
            commands += [(f"PyTorch {mode}", [self.torch, ROOT / f"bench/peers/{name}_torch.py", "--mode", mode, *arguments, *of_dtype])
                         for mode in ("eager", "compile")]
        if self.jax and dtype == "f32":
            commands.append(("JAX", [self.jax, ROOT / f"bench/peers/{name}_jax.py", *arguments]))
        return commands

    @staticmethod
    def lines(command):
        """The output of a program that takes no turns."""
        return subprocess.run([str(c) for c in command], check=True, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL,
                              text=True).stdout.splitlines()

    def take_turns(self, programs):
        """Median seconds of a step by name; the programs are stepped one after the other, round after round."""
        running = [Turns(name, command) for name, command in programs]
        for _ in range(self.options.rounds):
            for program in running:
                program.step()
        for program in running:
            program.close()
        return {p.name: statistics.median(p.cpu_seconds if self.options.threads == 1 else p.seconds) for p in running}

    def resnet18_next_to_peers(self, program, bars, dtype="f32"):
        """A table of images per second: sheaf with the numerics that `bars` names (None: no bar), PyTorch's two ways,
        and JAX. `program`: infer or train; `dtype`: f32 or bf16 (autocast in PyTorch; no JAX)."""
        batch, plan, n_threads = self.options.batch, self.plan("models/resnet18.json", dtype), self.options.threads
        programs = [(f"sheaf {n}", self.ours(plan, "cpu:0", batch, "--program", program, "--numerics", n, "--threads",
                                             n_threads, "--turns")) for n in bars]
        programs += self.peers("resnet", "--program", program, "--batch", batch, "--threads", n_threads, dtype=dtype)
        seconds = self.take_turns(programs)
        best = min((s for n, s in seconds.items() if n.startswith("PyTorch")), default=None)
        words = {"infer": "inference", "train": "training step"}[program]
        table(f"ResNet-18 {words}, {dtype}, batch {batch}, {self.threads_in_words()} "
              f"(bar: {', '.join(f'{n} {bar}' for n, bar in bars.items() if bar)} × the best of PyTorch)",
              ["", "img/s", "× best PyTorch"],
              [[n, f"{batch / s:.0f}", f"{best / s:.2f}" if best else "–"] for n, s in seconds.items()])

    def threads_in_words(self):
        n = self.options.threads
        return "all cores" if n == 0 else "one thread, by CPU time" if n == 1 else f"{n} threads"
