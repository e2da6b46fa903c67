"""Makes a folder that a machine with a GPU can run tests/gpu/suite.py from: programs, their libraries, compiled plans.

    python3 pack.py BUILD FOLDER [--cases CASE…] [--virtual]

Such a machine needs neither the compiler nor oneDNN's packages, only CUDA's driver, cuDNN, cuBLASLt and (for several GPUs)
NCCL. The plans are those of all golden cases and of the models that bench/run.py times, by the names that
tests/golden/golden_runner.py gives them. --cases ("layers/linear") packs those alone; --virtual takes programs whose GPUs are virtual: so the
archive is tried where there is no GPU (tests/gpu/test_packed.py).
"""
import argparse
import concurrent.futures
import json
import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/golden"), str(ROOT / "tests/cli")]
from golden_runner import compiled_name
from tensors import read_safetensors

PACKED = "suite.tar.xz"  # as suite.py expects it
MANIFEST = "packed.json"
PROGRAMS = ["sheaf-run", "sheaf-many-runs", "bench-step", "conformance_tests", "cuda_tests"]
VIRTUAL = {"sheaf-run": "sheaf-sim-run", "sheaf-many-runs": "sheaf-sim-many-runs"}
# Libraries that every Linux machine has in a version of its own, at least as new as Debian 12's.
OF_THE_SYSTEM = ("ld-linux", "libstdc++", "libgcc_s", "libc.so", "libm.so", "libdl.so", "libpthread.so", "librt.so", "linux-vdso")
BENCHED = ["models/resnet18.json", "models/resnet50.json", "models/tutorial.json", "bench/linear.json"]


def libraries(program):
    for line in subprocess.run(["ldd", program], check=True, capture_output=True, text=True).stdout.splitlines():
        words = line.split()
        if len(words) > 2 and words[2].startswith("/") and not words[0].startswith(OF_THE_SYSTEM):
            yield Path(words[2])


def golden_cases():
    files = sorted(file for folder in ("layers", "models", "train") for file in (ROOT / "tests/golden" / folder).glob("*.safetensors"))
    return [f"{file.parent.name}/{file.stem}" for file in files]


def models(cases):
    """(model file, precision) of what is compiled for golden cases."""
    for name in cases:
        case = ROOT / "tests/golden" / f"{name}.safetensors"
        recipe = read_safetensors(case)[1]["recipe"]
        named = json.loads(recipe).get("model")
        model = ROOT / named if named else case.with_suffix(".json")
        yield from ((model, precision) for precision in ("f32", "bf16"))


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("build", type=Path)
    p.add_argument("folder", type=Path)
    p.add_argument("--cases", nargs="+", help="golden cases; default: all, and the models that are timed")
    p.add_argument("--virtual", action="store_true")
    options = p.parse_args()
    build, folder = options.build.resolve(), options.folder.resolve()
    cases = options.cases or golden_cases()
    benched = [] if options.cases else BENCHED
    jobs = [*models(cases), *((ROOT / model, precision) for model in benched for precision in ("f32", "bf16", "f16"))]
    shutil.rmtree(folder, ignore_errors=True)
    for part in ("bin", "lib", "plans"):
        (folder / part).mkdir(parents=True)
    for name in PROGRAMS:
        program = build / "bin" / (VIRTUAL.get(name, name) if options.virtual else name)
        shutil.copy2(program, folder / "bin" / name)
        subprocess.run(["strip", folder / "bin" / name], check=True)
        for library in libraries(program):
            shutil.copy2(library, folder / "lib" / library.name)
    for kernels in build.glob("lib/conformance_kernels.so"):
        shutil.copy2(kernels, folder / "lib")
    shutil.copy2(ROOT / "tests/conformance/kernels.ptx", folder / "lib")

    def compile_plan(model, precision):
        plan = folder / "plans" / compiled_name(model, precision)
        if not plan.exists():
            subprocess.run([build / "bin/sheaf", "compile", "--precision", precision, model, "-o", plan], check=True)

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for done in [pool.submit(compile_plan, *job) for job in dict.fromkeys(jobs)]:
            done.result()
    (folder / MANIFEST).write_text(json.dumps({"cases": cases, "benched": benched, "virtual": options.virtual}))
    with tarfile.open(folder / PACKED, "w:xz", preset=0 if options.virtual else 6) as archive:
        for part in ("bin", "lib", "plans"):
            archive.add(folder / part, part)
            shutil.rmtree(folder / part)
        archive.add(folder / MANIFEST, MANIFEST)
    print(f"{folder / PACKED}: {(folder / PACKED).stat().st_size / 2**20:.0f} MiB")


main()
