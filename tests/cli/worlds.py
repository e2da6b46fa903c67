"""Runs of several processes: a command under mpirun, its ranks' processes, what each said; and what a trace shows of messages."""
import json
import os
import shutil
import signal
import subprocess
import time
import unittest
from pathlib import Path

from program import SHEAF, Done, must
from training import TRAIN, TrainTest

MPIRUN = shutil.which("mpirun")
ENGINE = Path(SHEAF).parent.parent / "lib/libsheaf_mpi.so"
DELAYING = ENGINE.with_name("libsheaf_delaying.so")
ENDING = ENGINE.with_name("libsheaf_ending.so")
MISSING = "there is no mpirun: tools/setup.sh installs Open MPI" if not MPIRUN else "" if ENGINE.exists() else "this build has no MPI"
LAUNCH = ["mpirun", "--oversubscribe", "--allow-run-as-root", "--tag-output"]
# Of a failing rank Open MPI itself says much; what the ranks say is what counts.
ENVIRONMENT = {**os.environ, "OMPI_MCA_orte_base_help_aggregate": "1", "OMPI_MCA_btl_vader_single_copy_mechanism": "none"}


class World:
    """A started run: its ranks' processes while they last, then what it left."""

    def __init__(self, commands, cwd=None, environment=None):
        """`commands`: of each rank."""
        line = list(LAUNCH)
        for rank, command in enumerate(commands):
            line += ([":"] if rank else []) + ["-n", "1", *(str(part) for part in command)]
        self.line, self.size = line, len(commands)
        self.launcher = subprocess.Popen(line, cwd=cwd, env=environment or ENVIRONMENT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def children(self):
        """The launcher's: folders in /proc. Those that have yet to become their rank's program are among them."""
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                if int((folder / "stat").read_text().rsplit(")", 1)[1].split()[1]) == self.launcher.pid:
                    yield folder
            except (OSError, IndexError, ValueError):
                continue

    def processes(self, limit=20):
        """The ranks' process ids, by rank, once all of them run their programs."""
        end = time.monotonic() + limit
        while time.monotonic() < end:
            found = {}
            for folder in self.children():
                try:
                    if os.readlink(folder / "exe") == os.path.realpath(MPIRUN):
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


def program_on_slow_links(folder, program, bytes_per_second):
    """A copy of `program` in `folder`, whose processes talk through tests/fixtures/delaying_messages.cpp; and the environment that it needs."""
    for part in ("bin", "lib"):
        (folder / part).mkdir(parents=True)
    copy = folder / "bin" / Path(program).name
    try:
        os.link(program, copy)
    except OSError:  # another file system
        shutil.copy(program, copy)
    shutil.copy(DELAYING, folder / "lib" / ENGINE.name)
    return copy, {**ENVIRONMENT, "SHEAF_LINKED_ENGINE": str(ENGINE), "SHEAF_LINK_BYTES_PER_SECOND": str(bytes_per_second)}


class Overlap:
    """By a trace of rank 0, of each step but the first: seconds that it took, for which its messages were on the link, and in which of them its devices did
    nothing. A message is on the link at its end, as long as its bytes take; before, the other rank hadn't come to it."""

    def __init__(self, trace, bytes_per_second):
        events = json.loads(Path(trace).read_text())["traceEvents"]
        names = {event["tid"]: event["args"]["name"] for event in events if event["ph"] == "M" and event["name"] == "thread_name"}
        steps = {}
        for event in events:
            if event["ph"] != "X" or event["args"].get("step", 1) == 1:
                continue
            step = steps.setdefault(event["args"]["step"], {"seconds": 0, "messages": [], "work": []})
            name, begin, end = names[event["tid"]], event["ts"] / 1e6, (event["ts"] + event["dur"]) / 1e6
            if event["cat"] == "step":
                step["seconds"] = end - begin
            elif name.endswith("/messages") and event["cat"] in ("send", "receive"):
                link = max(event["args"]["read_bytes"], event["args"]["written_bytes"]) / bytes_per_second
                step["messages"].append((max(begin, end - link), end))
            elif name.startswith("0/") and not name.endswith(("/messages", "/link")) and event["cat"] != "wait":
                step["work"].append((begin, end))
        self.seconds = [step["seconds"] for step in steps.values()]
        self.messages = [sum(end - begin for begin, end in step["messages"]) for step in steps.values()]
        self.exposed = [taken - common(sorted(step["messages"]), sorted(step["work"])) for taken, step in zip(self.messages, steps.values())]
        self.hidden = [1 - exposed / taken for exposed, taken in zip(self.exposed, self.messages)]


def common(one, other):
    """How long both of two lists of spans go on, each of which follow each other."""
    total, at = 0, 0
    for begin, end in one:
        while at > 0 and other[at - 1][1] > begin:
            at -= 1
        while at < len(other) and other[at][0] < end:
            total += max(0, min(end, other[at][1]) - max(begin, other[at][0]))
            at += 1
    return total


def alive(process):
    try:
        return Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0] not in ("Z", "X")
    except OSError:
        return False


@unittest.skipIf(MISSING, MISSING)
class WorldTest(TrainTest):
    def world(self, lists, *more, environment=None, **options):
        """Starts the test's training run in as many processes as `lists` has device lists; options may be functions of the rank."""
        commands = []
        for rank, devices in enumerate(lists):
            own = [part(rank) if callable(part) else part for part in more]
            commands.append(self.command(*own, devices=devices, **options))
        return World(commands, cwd=self.shared, environment=environment)

    def run_world(self, lists, *more, **options):
        return self.world(lists, *more, **options).end()


class FaultTest(WorldTest):
    def started(self, lists=("cpu:0", "cpu:0", "cpu:0"), environment=None, **options):
        """A long run whose first checkpoint is there."""
        self.folder = self.path("checkpoints")
        world = self.world(lists, "--steps", 1000000, "--shards", 3, "--checkpoint", self.folder, "--checkpoint-every", 5, environment=environment, **options)
        processes = world.processes()
        end = time.monotonic() + 30
        while not list(self.folder.glob("*.safetensors")):
            self.assertLess(time.monotonic(), end, "no checkpoint")
            time.sleep(0.02)
        return world, processes

    def killed(self, rank, devices="cpu:0", **options):
        """A rank of three is killed: the others end and name it, as long as mpirun lets them. Left to itself it ends them after a
        second or two, which is too little on a machine with much else to do."""
        for environment in (None, {**ENVIRONMENT, "OMPI_MCA_orte_enable_recovery": "1"}):
            with self.subTest(mpirun_ends_the_others=environment is None):
                world, processes = self.started((devices,) * 3, environment, **options)
                os.kill(processes[rank], signal.SIGKILL)
                done = self.ended(world, processes, devices=devices, by_mpirun=environment is None)
                named = rf"error: rank {rank}: its process {processes[rank]} ended without a word"
                if environment is None:
                    self.assertRegex(done.err, rf"{named}|process rank {rank} with PID .* exited on signal 9")
                for other in processes.keys() - {rank}:
                    if environment is not None:
                        self.assertRegex(done.err, rf"\[1,{other}\]<stderr>:.*{named}")
            shutil.rmtree(self.folder)

    def ended(self, world, processes, within=10, devices="cpu:0", by_mpirun=True):
        """What it left: all ended in time, and the newest checkpoint is one to go on from, on `devices`. `by_mpirun`: which tells of the failure."""
        begin = time.monotonic()
        done = world.end(limit=20)
        self.assertLess(time.monotonic() - begin, within, done)
        if by_mpirun:
            self.assertNotEqual(done.status, 0)
        end = time.monotonic() + 2
        while any(alive(process) for process in processes.values()) and time.monotonic() < end:
            time.sleep(0.02)
        self.assertEqual([rank for rank, process in processes.items() if alive(process)], [])
        last = max(int(file.stem.split("-")[1]) for file in self.folder.glob("*.safetensors"))
        resumed = must(self.train("--steps", last + 1, "--shards", 3, "--checkpoint", self.folder, "--resume", "--checkpoint-every", 5, devices=devices))
        self.assertIn(f"{last:,} steps done", resumed.err)
        return done


__all__ = ["ENDING", "ENVIRONMENT", "MISSING", "TRAIN", "FaultTest", "Overlap", "World", "WorldTest", "alive", "program_on_slow_links"]
