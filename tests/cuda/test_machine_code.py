"""What ptxas makes of the kernels that go over whole tensors by vectors: no spills, and enough bytes on their way to keep an H200's memory busy.

usage: test_machine_code.py PTXAS FOLDER, which has the kernels' PTX. Of each kernel, for sm_80 and sm_90: its registers and spills, and what is
in flight (machine_code.py), of a pass that sums by the fewest blocks that it gets for a large tensor: those of few channels. Pooling's kernels
that have no vectors, for the plain format and odd numbers of channels, are only held to spill nothing. Kernels over elements go one by one
over those that fill no vector.
"""
import re
import sys
import tempfile
from pathlib import Path

from machine_code import NEEDED, assembled, entries, in_flight

SOURCE = Path(__file__).resolve().parents[2]
# Threads of a block, and kernels, by file.
FILES = {"norm": (512, 12), "norm_gradient": (512, 12), "pooling": (256, 36), "activation": (256, 3), "convert": (256, 8), "planes": (256, 15)}
HAVE_TAILS = ("activation", "convert")


def main():
    ptxas, folder = sys.argv[1], Path(sys.argv[2])
    bad = []
    with tempfile.TemporaryDirectory() as scratch:
        for file, (block, kernels) in FILES.items():
            path = folder / f"{file}.ptx"
            text = path.read_text()
            launches = SOURCE / "runtime/cuda" / ("planes.cpp" if file == "planes" else "vector_norm.cpp")
            fewest = int(re.search(r"kMostParts = (\d+)[,;]", launches.read_text())[1])
            bodies = entries(text)
            assert len(bodies) == kernels, bodies.keys()
            for arch in (80, 90):
                used = assembled(ptxas, path, arch, scratch)
                assert used.keys() == bodies.keys(), (used, bodies.keys())
                for name, (count, spilled) in used.items():
                    sums = re.search("_(squares|sums|gradients|at_once)_", name)
                    flying = in_flight(bodies[name], count, block, most_blocks=fewest if sums else None)
                    narrow = re.findall(r"(?:ld|st)\.global\.\w16", bodies[name])
                    print(f"{name} sm_{arch}: {count} registers, {spilled} bytes spilled, {flying / 1e6:.1f} MB on their way")
                    by_vectors = file != "pooling" or "_vectors_" in name
                    if spilled or (by_vectors and ((narrow and file not in HAVE_TAILS) or flying < NEEDED)):
                        bad.append((name, arch, spilled, narrow, flying))
    print("not as they should be:", bad) if bad else None
    return 1 if bad else 0


sys.exit(main())
