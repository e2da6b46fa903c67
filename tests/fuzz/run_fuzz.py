#!/usr/bin/env python3
"""run_fuzz.py PROGRAM KIND --runs N | --seconds S [--corpus DIR]

Fuzzes the reader of one kind of file. With --runs everything is fixed, the random seed too: what a test does. With --seconds it goes on
for so long from another seed each time, and keeps in DIR what reached new code. An input that fails is printed; put it under
seeds/KIND once its fault is mended."""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
SOURCE = HERE.parent.parent
LONGEST = 20_000  # bytes of an input


def plans(folder):
    """Compiled without the machine code, which is most of a plan and none of its reader's business."""
    for model in ("tutorial", "data_parallel_model"):
        plan = folder / "made.plan"
        subprocess.run([os.environ["SHEAF"], "compile", SOURCE / f"models/{model}.json", "-o", plan], check=True)
        document = json.loads(plan.read_text())
        plan.unlink()
        for code in document["objects"]:
            code.update({key: "AAAA" for key in ("data", "text") if key in code})
        for key in ("ir", "train_ir", "accumulate_ir"):
            if key in document:
                document[key] = ""
        yield json.dumps(document).encode()


def seeds(kind, folder):
    yield from (path.read_bytes() for path in sorted((HERE / "seeds" / kind).glob("*")))
    if kind == "model":
        for path in sorted((SOURCE / "models").glob("*.json")) + sorted((SOURCE / "tests/unit/frontend/corpus").rglob("*.json")):
            if path.stat().st_size <= LONGEST:
                yield path.read_bytes()
    if kind == "plan":
        yield from plans(folder)


def dictionary(contents, file):
    """Options for a dictionary of the words of all seeds: a JSON reader hardly gets past its first field without them."""
    words = {word for content in contents for word in re.findall(rb'"[A-Za-z0-9_:.@-]{1,40}"', content)}
    file.write_text("".join('"' + word.decode().replace('"', '\\"') + '"\n' for word in sorted(words)))
    return [f"-dict={file}"] if words else []


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("program")
    parser.add_argument("kind")
    parser.add_argument("--runs", type=int)
    parser.add_argument("--seconds", type=int)
    parser.add_argument("--corpus", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="sheaf-fuzz-") as made:
        made = Path(made)
        first, found = made / "first", made / "found"
        for folder in (first, found, *([options.corpus] if options.corpus else [])):
            folder.mkdir(parents=True, exist_ok=True)
        contents = list(seeds(options.kind, made))
        for i, content in enumerate(contents):
            (first / f"{i:04}").write_bytes(content)
        budget = [f"-max_total_time={options.seconds}"] if options.seconds else [f"-runs={options.runs}", "-seed=1"]
        corpora = [str(options.corpus)] if options.corpus else []
        command = [options.program, *budget, "-timeout=20", "-rss_limit_mb=3000", f"-max_len={LONGEST}", *dictionary(contents, made / "words"),
                   "-print_final_stats=1", f"-artifact_prefix={found}/", *corpora, str(first)]
        done = subprocess.run(command, env={**os.environ, "SHEAF_FUZZ": options.kind}, capture_output=True)
        sys.stdout.write(done.stderr.decode(errors="replace")[-6000:])
        for path in sorted(found.iterdir()):
            print(f"{path.name}: {path.read_bytes()!r}")
        if done.returncode != 0:
            sys.exit(f"ended with {done.returncode}")


main()
