#!/usr/bin/env python3
"""Measures how much of its communication a training step hides, from a trace of rank 0: two processes whose link tests/fixtures/delaying_messages.cpp slows down.

    python3 bench/overlap.py [--build build] [--model resnet18] [--batch 256] [--link 125e6] [--steps 4] [STRATEGY…]

Where one process has less of the machine than the other, that one waits, and what it waits for isn't hidden: so of steps the best one counts. Beside the
share by trace stands the one by the clock: how much longer the same step takes than with a link a thousand times as fast, in turns, minima.
"""
import argparse
import statistics
import tempfile
from pathlib import Path

from several import SOURCE, Training


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=Path, default=SOURCE / "build")
    parser.add_argument("--model", default="resnet18")
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--link", type=float, default=125e6, help="bytes a second, in either direction")
    parser.add_argument("--steps", type=int, default=4, help="the first isn't counted")
    parser.add_argument("--turns", type=int, default=2)
    parser.add_argument("strategies", nargs="*", default=["replicated", "sharded", "fully_sharded"])
    arguments = parser.parse_args()
    print("| strategy | step, s | messages on the link, s | hidden, best step | median step | by the clock |\n|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        links = {}
        for strategy in arguments.strategies:
            training = Training(arguments.build, folder, arguments.model, strategy, arguments.batch, arguments.steps)
            from worlds import Overlap, program_on_slow_links  # which reads from the environment what to run

            links = links or {rate: program_on_slow_links(folder / str(rate), training.program, rate) for rate in (arguments.link, 1000 * arguments.link)}
            seconds, messages, hidden = {rate: [] for rate in links}, [], []
            for _ in range(arguments.turns):
                for rate, (copy, environment) in links.items():
                    training.run(["cpu:0"] * 2, copy, environment)
                    found = Overlap(training.trace, rate)
                    seconds[rate] += found.seconds
                    if rate == arguments.link:
                        messages += found.messages
                        hidden += found.hidden
            slow, fast = (min(seconds[rate]) for rate in links)
            taken = statistics.median(messages)
            print(f"| `{strategy}` | {slow:.2f} | {taken:.2f} | {max(hidden):.0%} | {statistics.median(hidden):.0%} | {1 - (slow - fast) / taken:.0%} |", flush=True)


if __name__ == "__main__":
    main()
