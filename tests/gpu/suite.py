"""The GPU suite: what only a GPU can show, in one go and in minutes. One line a check, a table, `N passed, N failed` at the end.

    python3 suite.py FOLDER [--budget SECONDS] [--shard I/N] [--sanitizer TOOL] [--only WORD] [--jobs N] [--markdown]

FOLDER is what pack.py made. Without a usable GPU the status is 77, and the reason is printed. The checks, the most telling first: the conformance suite
of the device contract; the project's own kernels on the driver; graphs on and off give the same bits; some golden cases of each kind; then every golden
case of PyTorch on one, two and more replicas on cuda:0, in float32 as near to PyTorch's as the CPU's same split; training goldens; bfloat16. Ten cases
share a process. After the budget no check begins any more, and what is left is counted. --sanitizer (memcheck, racecheck, initcheck,
synccheck) runs conformance, own kernels and two small models under compute-sanitizer instead.
"""
import argparse
import concurrent.futures
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests/golden"
AT_A_TIME = 10  # cases in a process
# One golden case or two of each kind of operation: they come first.
TELLING = ["models/file_tutorial", "models/transformer_encoder", "models/word_language_model", "models/dcgan_generator", "layers/conv2d", "layers/conv2d_groups",
           "layers/conv_transpose2d", "layers/batch_norm2d", "layers/linear", "layers/matmul_broadcast", "layers/attention_self", "layers/lstm", "layers/gru", "layers/embedding",
           "layers/softmax", "layers/fused_residual", "train/conv2d", "train/batch_norm2d_relu", "train/linear", "train/lstm", "train/transformer_encoder", "train/adam",
           "train/sgd_momentum", "train/cross_entropy", "train/clip", "train/embedding"]
RESNET18 = "models/resnet18.json"
OWN_KERNELS = "Own*"
SANITIZED_PLAN, SANITIZED_DATA = "models/digits_cnn.json", ("x", "label")
SKIPPED = 77
PACKED = "suite.tar.xz"
# Layers that say nothing about bf16 (tests/golden/CMakeLists.txt has the tolerances on the CPU).
BF16_LAYERS = ["linear", "conv2d", "conv2d_groups", "conv_transpose2d", "fused_residual", "matmul_broadcast", "attention_self",
               "batch_norm2d", "lstm", "sequential"]


def site_packages():
    """Of this Python and of SHEAF_TORCH_PYTHON."""
    for python in filter(None, [sys.executable, os.environ.get("SHEAF_TORCH_PYTHON")]):
        yield subprocess.run([python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
                             check=True, capture_output=True, text=True).stdout.strip()


class Suite:
    def __init__(self, folder, scratch):
        """Unpacks what is in `folder` to `scratch`."""
        self.packed, self.bin, self.scratch = folder / PACKED, scratch / "bin", scratch
        if self.packed.exists():
            with tarfile.open(self.packed) as archive:
                archive.extractall(scratch)
        manifest = scratch / "packed.json"
        self.packed_parts = json.loads(manifest.read_text()) if manifest.exists() else {}
        self.environment = dict(os.environ, SHEAF_RUN=f"{self.bin}/sheaf-run run", SHEAF_MANY_RUNS=str(self.bin / "sheaf-many-runs"), SHEAF=str(self.bin / "sheaf-run"), SHEAF_SOURCE_DIR=str(ROOT),
                                SHEAF_COMPILED_PLANS=str(scratch / "plans"), SHEAF_KERNELS=str(scratch / "lib/conformance_kernels.so"),
                                SHEAF_GPU_KERNELS=str(scratch / "lib/kernels.ptx"),
                                PYTHONDONTWRITEBYTECODE="1", SHEAF_LIMIT_SECONDS="120",
                                SHEAF_OWN_KERNELS_ON="" if self.packed_parts.get("virtual") else "cuda")
        # The packed libraries come last: the machine's own C++ runtime may be the newer one.
        # (NVIDIA's, where pip has put them for this Python or for PyTorch's.)
        pip = [lib for site in site_packages() for lib in sorted(Path(site).glob("nvidia/*/lib"))]
        self.environment.setdefault("SHEAF_CUDA_LIBRARIES", ":".join(map(str, pip)))
        path = self.environment.get("LD_LIBRARY_PATH")
        self.environment["LD_LIBRARY_PATH"] = ":".join(filter(None, [path, str(scratch / "lib")]))

    def run(self, *command, limit=240):
        return subprocess.run([str(c) for c in command], env=self.environment, capture_output=True, text=True, timeout=limit)

    def why_not(self):
        """Why there is nothing to run on; empty if there is."""
        if not self.packed.exists():
            return f"{self.packed} is not there (tools/gpu-suite.sh pack, where the compiler is)"
        done = self.run(self.bin / "sheaf-run", "devices", "--json")
        if done.returncode:
            return f"sheaf-run does not start: {done.stderr.strip()}"
        if self.packed_parts.get("virtual"):
            return ""
        cuda = json.loads(done.stdout)["cuda"]
        return "" if cuda["available"] else cuda["reason"]

    def golden(self, runner, cases, *options):
        files = [GOLDEN / f"{case}.safetensors" for case in cases]
        done = self.run(sys.executable, GOLDEN / runner, *files, "--gpu", *options, limit=60 + 30 * len(files))
        return "" if done.returncode == 0 else (done.stdout + done.stderr).strip()

    def tests(self, program, *options, under=()):
        done = self.run(*under, self.bin / program, "--gtest_brief=1", *options, limit=240 if not under else 580)
        return "" if done.returncode == 0 else (done.stdout + done.stderr).strip()[-3000:]

    def machine(self):
        """What the suite runs on, in the programs' own words."""
        for command in ((self.bin / "sheaf-run", "devices"), ("nvidia-smi",)):
            try:
                yield self.run(*command).stdout
            except (OSError, subprocess.TimeoutExpired) as problem:
                yield f"{command[0]}: {problem}\n"

    def plan(self, model, precision="f32"):
        sys.path[:0] = [str(GOLDEN), str(ROOT / "tests/cli")]
        from golden_runner import compiled_name
        return self.scratch / "plans" / compiled_name(ROOT / model, precision)

    def same_bits_with_and_without_graphs(self, precision):
        saved = []
        for options in ((), ("--no-graphs",)):
            out = self.scratch / f"graphs-{precision}-{len(saved)}.safetensors"
            done = self.run(self.bin / "sheaf-run", "train", self.plan(RESNET18, precision), "--devices", "cuda:0", "--data",
                            "x=random:64", "--data", "label=random:64", "--batch-size", 32, "--steps", 4, "--seed", 1, "--save", out, *options)
            if done.returncode:
                return done.stderr.strip()
            saved.append(out.read_bytes())
        return "" if saved[0] == saved[1] else "parameters differ in bits"

    def two_steps(self, under):
        data = [part for name in SANITIZED_DATA for part in ("--data", f"{name}=random:16")]
        done = self.run(*under, self.bin / "sheaf-run", "train", self.plan(SANITIZED_PLAN), "--devices", "cuda:0", "--batch-size", 8, "--steps", 2, "--seed", 1,
                        "--no-graphs", *data, limit=580)
        return "" if done.returncode == 0 else (done.stdout + done.stderr).strip()[-3000:]

    def groups(self, names, runner, kind, *options):
        """Ten golden cases a check: they share a process, and so a context."""
        for first in range(0, len(names), AT_A_TIME):
            some = names[first:first + AT_A_TIME]
            told = some[0] if len(some) == 1 else f"{some[0]} … {some[-1].partition('/')[2]} ({len(some)})"
            yield kind, told if some[0].startswith(kind) else f"{kind} {told}", len(some), lambda some=some: self.golden(runner, some, *options)

    def checks(self):
        """(kind, name, cases, what runs it), the most telling first."""
        yield "conformance", "conformance", 1, lambda: self.tests("conformance_tests")
        yield "own kernels", "own kernels", 1, lambda: self.tests("cuda_tests", f"--gtest_filter={OWN_KERNELS}")
        for precision in ("f32", "bf16") if RESNET18 in self.packed_parts["benched"] else ():
            yield "graphs", f"graphs on and off, {precision}", 1, lambda p=precision: self.same_bits_with_and_without_graphs(p)
        cases = {folder: [case for case in self.packed_parts["cases"] if case.startswith(folder + "/")] for folder in ("models", "layers", "train")}
        telling = [case for case in TELLING if case in cases[case.partition("/")[0]]]
        runners = {"models": "run_goldens.py", "layers": "run_goldens.py", "train": "run_train_goldens.py"}
        for folder, runner in runners.items():
            yield from self.groups([case for case in telling if case in cases[folder]], runner, folder)
        yield from self.groups([f"layers/{layer}" for layer in BF16_LAYERS if f"layers/{layer}" in cases["layers"]], "run_goldens.py", "bf16", "--precision", "bf16", "--tolerance", 0.015)
        for folder, runner in runners.items():
            yield from self.groups([case for case in cases[folder] if case not in telling], runner, folder)

    def sanitized(self, tool):
        """What compute-sanitizer looks at: it makes launches some hundred times slower."""
        under = ("compute-sanitizer", "--tool", tool, "--error-exitcode", 9)
        yield tool, "own kernels", 1, lambda: self.tests("cuda_tests", f"--gtest_filter={OWN_KERNELS}", under=under)
        yield tool, f"two steps of {SANITIZED_PLAN}", 1, lambda: self.two_steps(under)
        yield tool, "conformance", 1, lambda: self.tests("conformance_tests", "--gtest_filter=*cuda*", under=under)


def table(counted, markdown):
    rows = [("", "cases", "checks", "passed", "failed", "left out", "seconds")]
    rows += [(kind, *(f"{number:.0f}" for number in numbers)) for kind, numbers in counted.items()]
    if markdown:
        rows.insert(1, ("---",) * len(rows[0]))
        return "\n".join("| " + " | ".join(row) + " |" for row in rows)
    widths = [max(map(len, column)) for column in zip(*rows)]
    return "\n".join("  ".join(cell.ljust(width) if not i else cell.rjust(width) for i, (cell, width) in enumerate(zip(row, widths))) for row in rows)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("folder", type=Path)
    p.add_argument("--jobs", type=int, default=min(8, os.cpu_count() or 1), help="checks at a time; they share the GPU")
    p.add_argument("--only", help="checks whose name contains this")
    p.add_argument("--shard", default="1/1", help="I/N: every N-th check, from the I-th")
    p.add_argument("--budget", type=float, default=float("inf"), help="seconds after which no check begins")
    p.add_argument("--sanitizer", help="of compute-sanitizer: memcheck, racecheck, initcheck, synccheck")
    p.add_argument("--markdown", action="store_true", help="the table as Markdown")
    options = p.parse_args()
    index, of = map(int, options.shard.split("/"))
    if not 1 <= index <= of:
        p.error("--shard is I/N, with I from 1 to N")
    if options.sanitizer and not shutil.which("compute-sanitizer"):
        print("skipped: compute-sanitizer isn't on the path; the CUDA toolkit has it")
        return SKIPPED
    with tempfile.TemporaryDirectory(prefix="sheaf-gpu-") as scratch:
        suite = Suite(options.folder.resolve(), Path(scratch))
        if reason := suite.why_not():
            print(f"skipped: {reason}")
            return SKIPPED
        for text in suite.machine():
            print(text, flush=True)
        checks = list(suite.sanitized(options.sanitizer) if options.sanitizer else suite.checks())
        checks = [check for check in checks if not options.only or options.only in check[1]][index - 1::of]
        started, failed = time.monotonic(), 0
        counted = {kind: [0] * 6 for kind, *_ in checks}

        def timed(run):
            begin = time.monotonic()
            if begin - started > options.budget:
                return None, 0
            try:
                complaint = run()
            except subprocess.TimeoutExpired as late:
                complaint = f"did not end within {late.timeout} s"
            return complaint, time.monotonic() - begin

        with concurrent.futures.ThreadPoolExecutor(1 if options.sanitizer else options.jobs) as pool:
            for (kind, name, cases, _), done in zip(checks, [pool.submit(timed, run) for *_, run in checks]):
                complaint, seconds = done.result()
                end = "left out" if complaint is None else "FAILED" if complaint else "ok"
                for column, number in enumerate((cases, 1, end == "ok", end == "FAILED", end == "left out", seconds)):
                    counted[kind][column] += number
                failed += end == "FAILED"
                print(f"{end.ljust(8)} {name} ({seconds:.1f} s)" + (f"\n{complaint}" if complaint else ""), flush=True)
    passed, left_out = (sum(numbers[column] for numbers in counted.values()) for column in (2, 4))
    print(f"\n{table(counted, options.markdown)}\n\n{time.monotonic() - started:.0f} s\n{passed} passed, {failed} failed" + (f", {left_out} left out after {options.budget:.0f} s" if left_out else ""))
    return 1 if failed or not checks else 0


if __name__ == "__main__":
    sys.exit(main())
