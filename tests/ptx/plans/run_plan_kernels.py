"""Compiles a model in the precisions named and runs all its generated kernels on the PTX emulator.

run_plan_kernels.py PROGRAM MODEL PRECISION…
"""
import os
import subprocess
import sys
import tempfile

program, model, *precisions = sys.argv[1:]
with tempfile.TemporaryDirectory() as folder:
    plans = []
    for precision in precisions:
        plans.append(os.path.join(folder, f"{precision}.plan"))
        subprocess.run([os.environ["SHEAF"], "compile", model, "-o", plans[-1], "--precision", precision], check=True)
    sys.exit(subprocess.run([program, *plans]).returncode)
