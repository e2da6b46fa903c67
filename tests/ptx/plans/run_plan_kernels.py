"""Compiles a model in the precisions named and runs all its generated kernels on the PTX emulator.

run_plan_kernels.py PROGRAM MODEL PRECISION…
"""
import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "cli"))
from program import plan_of

program, model, *precisions = sys.argv[1:]
with tempfile.TemporaryDirectory() as folder:
    plans = []
    for precision in precisions:
        plans.append(os.path.join(folder, f"{precision}.plan"))
        plan_of(model, plans[-1], "--precision", precision)
    sys.exit(subprocess.run([program, *plans]).returncode)
