"""What the measurements of several processes share: the program, the plan, and the training command on random rows."""
import json
import os
import subprocess
import sys
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[1]


class Training:
    """Steps of a model's training, as `sheaf train` runs them; a trace of rank 0 is at `self.trace`."""

    def __init__(self, build, folder, model="resnet18", strategy="replicated", batch=256, steps=6):
        self.program = Path(build).resolve() / "bin/sheaf"
        os.environ.update(SHEAF=str(self.program), SHEAF_SOURCE_DIR=str(SOURCE))
        sys.path.insert(0, str(SOURCE / "tests/cli"))
        self.folder, self.batch, self.steps = Path(folder), batch, steps
        self.plan, self.trace = self.folder / f"{strategy}.plan", self.folder / "trace.json"
        description = json.loads((SOURCE / f"models/{model}.json").read_text())
        names = (*description["inputs"], *description["training"]["targets"])
        self.data = [part for name in names for part in ("--data", f"{name}=random:{batch * steps}")]
        subprocess.run([self.program, "compile", SOURCE / f"models/{model}.json", "--strategy", strategy, "-o", self.plan], check=True)

    def line(self, devices, program=None):
        """The command; `program`: another copy of it."""
        line = (program or self.program, "train", self.plan, *self.data, "--batch-size", self.batch, "--steps", self.steps, "--trace", self.trace, "--devices", devices)
        return [str(part) for part in line]

    def run(self, lists, program=None, environment=None):
        """Runs it in as many processes as `lists` has device lists."""
        if len(lists) == 1:
            subprocess.run(self.line(lists[0], program), check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            return
        from worlds import World  # which the environment tells what to run

        done = World([self.line(devices, program) for devices in lists], cwd=self.folder, environment=environment).end(600)
        if done.status:
            raise SystemExit(done.err)

    def step_seconds(self):
        """Of each step of the last run but the first."""
        events = json.loads(self.trace.read_text())["traceEvents"]
        return [event["dur"] / 1e6 for event in events if event["ph"] == "X" and event["cat"] == "step" and event["args"]["step"] > 1]
