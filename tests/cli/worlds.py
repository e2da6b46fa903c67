"""Runs of several processes: a command under mpirun, its ranks' processes, what each said."""
import os
import shutil
import signal
import subprocess
import time
import unittest
from pathlib import Path

from program import SHEAF, Done
from training import TRAIN, TrainTest

MPIRUN = shutil.which("mpirun")
ENGINE = Path(SHEAF).parent.parent / "lib/libsheaf_mpi.so"
MISSING = "there is no mpirun: tools/setup.sh installs Open MPI" if not MPIRUN else "" if ENGINE.exists() else "this build has no MPI"
LAUNCH = ["mpirun", "--oversubscribe", "--allow-run-as-root", "--tag-output"]
# Of a failing rank Open MPI itself says much; what the ranks say is what counts.
ENVIRONMENT = {**os.environ, "OMPI_MCA_orte_base_help_aggregate": "1", "OMPI_MCA_btl_vader_single_copy_mechanism": "none"}


class World:
    """A started run: its ranks' processes while they last, then what it left."""

    def __init__(self, commands, cwd=None):
        """`commands`: of each rank."""
        line = list(LAUNCH)
        for rank, command in enumerate(commands):
            line += ([":"] if rank else []) + ["-n", "1", *(str(part) for part in command)]
        self.line, self.size = line, len(commands)
        self.launcher = subprocess.Popen(line, cwd=cwd, env=ENVIRONMENT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def processes(self, limit=20):
        """The ranks' process ids, by rank, once all of them are there."""
        end = time.monotonic() + limit
        while time.monotonic() < end:
            found = {}
            for folder in Path("/proc").glob("[0-9]*"):
                try:
                    if int((folder / "stat").read_text().rsplit(")", 1)[1].split()[1]) != self.launcher.pid:
                        continue
                    for entry in (folder / "environ").read_bytes().split(b"\0"):
                        if entry.startswith(b"OMPI_COMM_WORLD_RANK="):
                            found[int(entry.split(b"=")[1])] = int(folder.name)
                except (OSError, IndexError, ValueError):
                    continue
            if len(found) == self.size:
                return found
            time.sleep(0.02)
        raise AssertionError("the ranks' processes never came up")

    def end(self, limit=60):
        try:
            out, err = self.launcher.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            self.launcher.send_signal(signal.SIGKILL)
            raise AssertionError(f"still running after {limit} s: {' '.join(self.line)}") from None
        return Done(self.line, self.launcher.returncode, out.decode(errors="replace"), err.decode(errors="replace"))


def alive(process):
    try:
        return Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0] not in ("Z", "X")
    except OSError:
        return False


@unittest.skipIf(MISSING, MISSING)
class WorldTest(TrainTest):
    def world(self, lists, *more, **options):
        """Starts the test's training run in as many processes as `lists` has device lists; options may be functions of the rank."""
        commands = []
        for rank, devices in enumerate(lists):
            own = [part(rank) if callable(part) else part for part in more]
            commands.append(self.command(*own, devices=devices, **options))
        return World(commands, cwd=self.shared)

    def run_world(self, lists, *more, **options):
        return self.world(lists, *more, **options).end()


__all__ = ["MISSING", "TRAIN", "World", "WorldTest", "alive"]
