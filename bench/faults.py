#!/usr/bin/env python3
"""Kills one rank of a training run at a random moment, again and again: every other rank must end within 10 s with the first cause, the newest checkpoint must be valid,
and the run, resumed in another number of processes, must give the bits of an undisturbed one.

    python3 bench/faults.py [--sheaf build/bin/sheaf] [--runs 300] [--seed 0]
"""
import argparse
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(SOURCE / "tests/cli"))
LIMIT = 10  # seconds
STEPS = 60
FAULTS = {"killed": signal.SIGKILL, "stopped": signal.SIGSTOP, "crashed": signal.SIGSEGV, "told to end": signal.SIGTERM}
SAID = {"killed": "rank {0}: its process", "stopped": "rank {0}: it has given no sign of life|process {1} has been stopped", "crashed": "rank {0}: its process", "told to end": "SIGTERM|process rank {0} with PID"}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--sheaf", default=SOURCE / "build/bin/sheaf")
    parser.add_argument("--runs", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    os.environ.setdefault("SHEAF", str(arguments.sheaf))
    os.environ.setdefault("SHEAF_SOURCE_DIR", str(SOURCE))
    from worlds import World, alive  # reads from the environment what to run

    chance = random.Random(arguments.seed)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        plans = {}
        for strategy in ("data_parallel", "replicated", "sharded", "fully_sharded"):
            plans[strategy] = folder / f"{strategy}.plan"
            subprocess.run([arguments.sheaf, "compile", SOURCE / "models/data_parallel_model.json", "--strategy", strategy, "-o", plans[strategy]], check=True)
        options = ["--shards", "4", "--batch-size", "16", "--seed", "2", "--checkpoint-every", "4", "--data", "x=random:64", "--data", "y=random:64"]

        def command(strategy, checkpoints, devices, steps=STEPS, more=()):
            return [arguments.sheaf, "train", plans[strategy], "--devices", devices, "--steps", steps, *options, "--checkpoint", checkpoints, *more]

        def bits(checkpoints):
            """The newest checkpoint's tensors, and all losses. Beside them a checkpoint records how long the run took,
            and on what."""
            newest = sorted(checkpoints.glob("*.safetensors"), key=lambda file: int(file.stem.split("-")[1]))[-1].read_bytes()
            end = 8 + int.from_bytes(newest[:8], "little")
            header = json.loads(newest[8:end])
            return json.loads(header.pop("__metadata__")["sheaf_checkpoint"])["curve"], header, newest[end:]

        def run(*line):
            return subprocess.run([str(part) for part in line], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)

        run(*command("replicated", folder / "whole", "cpu:0"))
        whole, failures, hung, slowest = bits(folder / "whole"), 0, 0, 0.0
        begin = time.monotonic()
        calm = World([command("replicated", folder / "calm", "cpu:0")] * 3, cwd=folder)
        calm.end(120)
        usual = time.monotonic() - begin
        for number in range(arguments.runs):
            strategy, fault, size = chance.choice(list(plans)), chance.choice(list(FAULTS)), chance.choice((2, 3, 4))
            checkpoints, victim = folder / f"run{number}", chance.randrange(size)
            world = World([command(strategy, checkpoints, "cpu:0")] * size, cwd=folder)
            told = f"{number}: {strategy}, {size} ranks, rank {victim} {fault}"
            try:
                processes = world.processes()
                time.sleep(chance.uniform(0, usual))
                starting = not list(checkpoints.glob("*.safetensors"))
                os.kill(processes[victim], FAULTS[fault])
                at = time.monotonic()
                while any(rank != victim and alive(process) for rank, process in processes.items()) and time.monotonic() < at + 6 * LIMIT:
                    time.sleep(0.01)
                took = time.monotonic() - at
                if fault == "stopped":  # a stopped process can't end: the launcher ends it
                    try:
                        os.kill(processes[victim], signal.SIGCONT)
                    except OSError:
                        pass
                try:
                    done = world.end(LIMIT)
                except AssertionError:  # a process was killed as it connected to Open MPI's launcher (docs/worlds.md)
                    done, hung = None, hung + 1
                problems = [f"rank {rank} is still there" for rank, process in processes.items() if rank != victim and alive(process)]
                if took > LIMIT:
                    problems.append(f"took {took:.1f} s")
                late = not done or done.status == 0  # it was done before the fault
                # The launcher notices a process's end too, names it and ends the others, sometimes before they have
                # noticed. Before a process has joined, only the launcher knows.
                said = SAID[fault] + ("|process rank {0} with PID" if fault in ("killed", "crashed") else "") + ("|process rank {0} with PID|rank {0}: " if starting else "")
                if not late and not re.search(said.format(victim, processes[victim]), done.err):
                    problems.append("says " + done.err[-3000:])
                slowest = max(slowest, took)
                devices = chance.choice(("cpu:0", "cpu:0,cpu:1", "cpu:0-2"))
                run(*command(chance.choice(list(plans)), checkpoints, devices, more=("--resume",)))
                if bits(checkpoints) != whole:
                    problems.append("resumed: other bits")
            except ProcessLookupError:
                problems = []
            except (AssertionError, subprocess.CalledProcessError, OSError) as error:
                problems = [str(error)[-600:] + (error.stderr.decode(errors="replace")[-600:] if getattr(error, "stderr", None) else "")]
            if problems:
                failures += 1
                print(told, *problems, sep="\n  ", flush=True)
            elif number % 20 == 19:
                print(f"{number + 1} runs, {failures} failed, the slowest end took {slowest:.1f} s", flush=True)
            subprocess.run(["rm", "-rf", str(checkpoints)], check=False)
    print(f"{arguments.runs} runs, {failures} failed, the slowest end took {slowest:.1f} s; the launcher itself hung {hung} times, after its ranks' end")
    raise SystemExit(1 if failures else 0)


if __name__ == "__main__":
    main()
