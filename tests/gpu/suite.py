"""The GPU suite: what only a GPU can show, in one go and in minutes. One line a check, `N passed, N failed` at the end.

    python3 suite.py FOLDER [--jobs N] [--only WORD]

FOLDER is what pack.py made. Without a usable GPU the status is 77, and the reason is printed. The checks: the conformance suite
of the device contract; every golden case of PyTorch on one, two and more replicas on cuda:0, in float32 as near to PyTorch's as
the CPU's same split; training goldens; bfloat16; graphs on and off give the same bits.
"""
import argparse
import concurrent.futures
import json
import os
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests/golden"
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
        self.environment = dict(os.environ, SHEAF_RUN=f"{self.bin}/sheaf-run run", SHEAF=str(self.bin / "sheaf-run"), SHEAF_SOURCE_DIR=str(ROOT),
                                SHEAF_COMPILED_PLANS=str(scratch / "plans"), SHEAF_KERNELS=str(scratch / "lib/conformance_kernels.so"),
                                SHEAF_GPU_KERNELS=str(scratch / "lib/kernels.ptx"),
                                PYTHONDONTWRITEBYTECODE="1", SHEAF_LIMIT_SECONDS="120")
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
        cuda = json.loads(done.stdout)["cuda"]
        return "" if cuda["available"] else cuda["reason"]

    def golden(self, runner, case, *options):
        done = self.run(sys.executable, GOLDEN / runner, GOLDEN / f"{case}.safetensors", "--gpu", *options)
        return "" if done.returncode == 0 else (done.stdout + done.stderr).strip()

    def tests(self, program, *options):
        done = self.run(self.bin / program, "--gtest_brief=1", *options)
        return "" if done.returncode == 0 else (done.stdout + done.stderr).strip()[-3000:]

    def plan(self, model, precision="f32"):
        sys.path[:0] = [str(GOLDEN), str(ROOT / "tests/cli")]
        from golden_runner import compiled_name
        return self.scratch / "plans" / compiled_name(ROOT / model, precision)

    def same_bits_with_and_without_graphs(self, precision):
        saved = []
        for options in ((), ("--no-graphs",)):
            out = self.scratch / f"graphs-{precision}-{len(saved)}.safetensors"
            done = self.run(self.bin / "sheaf-run", "train", self.plan("models/resnet18.json", precision), "--devices", "cuda:0", "--data",
                            "x=random:64", "--data", "label=random:64", "--batch-size", 32, "--steps", 4, "--seed", 1, "--save", out, *options)
            if done.returncode:
                return done.stderr.strip()
            saved.append(out.read_bytes())
        return "" if saved[0] == saved[1] else "parameters differ in bits"

    def checks(self):
        yield "conformance", lambda: self.tests("conformance_tests")
        yield "cuda unit tests", lambda: self.tests("cuda_tests")
        for folder, runner in (("layers", "run_goldens.py"), ("models", "run_goldens.py"), ("train", "run_train_goldens.py")):
            for case in sorted((GOLDEN / folder).glob("*.safetensors")):
                name = f"{folder}/{case.stem}"
                yield name, lambda r=runner, n=name: self.golden(r, n)
        for layer in BF16_LAYERS:
            yield f"bf16 layers/{layer}", lambda n=layer: self.golden("run_goldens.py", f"layers/{n}", "--precision", "bf16", "--tolerance", 0.015)
        for precision in ("f32", "bf16"):
            yield f"graphs on and off, {precision}", lambda p=precision: self.same_bits_with_and_without_graphs(p)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("folder", type=Path)
    p.add_argument("--jobs", type=int, default=min(8, os.cpu_count() or 1), help="checks at a time; they share the GPU")
    p.add_argument("--only", help="checks whose name contains this")
    options = p.parse_args()
    with tempfile.TemporaryDirectory(prefix="sheaf-gpu-") as scratch:
        suite = Suite(options.folder.resolve(), Path(scratch))
        if reason := suite.why_not():
            print(f"skipped: {reason}")
            return SKIPPED
        checks = [(n, c) for n, c in suite.checks() if not options.only or options.only in n]
        started, failed = time.monotonic(), 0

        def timed(check):
            begin = time.monotonic()
            try:
                complaint = check()
            except subprocess.TimeoutExpired as late:
                complaint = f"did not end within {late.timeout} s"
            return complaint, time.monotonic() - begin

        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            for (name, _), done in zip(checks, [pool.submit(timed, check) for _, check in checks]):
                complaint, seconds = done.result()
                failed += bool(complaint)
                print(f"{'FAILED' if complaint else 'ok    '} {name} ({seconds:.1f} s)" + (f"\n{complaint}" if complaint else ""), flush=True)
    print(f"{time.monotonic() - started:.0f} s\n{len(checks) - failed} passed, {failed} failed")
    return 1 if failed or not checks else 0


if __name__ == "__main__":
    sys.exit(main())
