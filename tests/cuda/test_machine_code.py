"""What ptxas makes of the kernels that go over whole tensors by vectors: no spills, and enough bytes on their way to keep an H200's memory busy.

usage: test_machine_code.py PTXAS FOLDER, which has the kernels' PTX. Of each kernel: its registers and spills, as ptxas says for sm_80 and
sm_90; how many threads a multiprocessor keeps with so many registers; and the widest accesses between two labels of its PTX, all of which are on
their way at once.
"""
import re
import subprocess
import sys
import tempfile
from pathlib import Path

MULTIPROCESSORS, REGISTERS, THREADS = 132, 65536, 2048
NEEDED = 3.5e6  # bytes: 4.8 TB/s for the 0.73 µs that a load takes
BLOCKS = {"norm": 512, "norm_gradient": 512}  # threads of a block, by file


def registers(ptxas, ptx, arch, folder):
    """Of each kernel: registers of a thread, bytes spilled."""
    done = subprocess.run([ptxas, "-v", f"-arch=sm_{arch}", "-o", f"{folder}/out.cubin", ptx], capture_output=True, text=True, check=True)
    text = done.stdout + done.stderr
    found = re.findall(r"Compiling entry function '(\w+)'.*?(\d+) bytes spill stores, (\d+) bytes spill loads.*?Used (\d+) registers", text, re.DOTALL)
    return {name: (int(used), int(stores) + int(loads)) for name, stores, loads, used in found}


def bytes_at_once(body):
    """The most bytes that a thread asks for between two labels or branches, by accesses of 16 bytes."""
    parts = re.split(r"^\s*(?:\$\w+:|@?[%!\w]*\s*bra).*$", body, flags=re.MULTILINE)
    return max(16 * len(re.findall(r"ld\.global\.v4\.\w32", part)) for part in parts)


def main():
    ptxas, folder = sys.argv[1], Path(sys.argv[2])
    bad = []
    with tempfile.TemporaryDirectory() as scratch:
        for file, block in BLOCKS.items():
            path = folder / f"{file}.ptx"
            text = path.read_text()
            bodies = dict(re.findall(r"\.entry (\w+)\((.*?)\n}\n", text, re.DOTALL))
            assert len(bodies) == 12, bodies.keys()
            for arch in (80, 90):
                used = registers(ptxas, path, arch, scratch)
                assert used.keys() == bodies.keys(), (used, bodies.keys())
                for name, (count, spilled) in used.items():
                    resident = min(THREADS, REGISTERS // (count * block) * block)
                    flying = resident * bytes_at_once(bodies[name]) * MULTIPROCESSORS
                    narrow = re.findall(r"(?:ld|st)\.global\.\w16", bodies[name])
                    print(f"{name} sm_{arch}: {count} registers, {spilled} bytes spilled, {resident} threads, {flying / 1e6:.1f} MB on their way")
                    if spilled or narrow or flying < NEEDED:
                        bad.append((name, arch, narrow))
    print("not as they should be:", bad) if bad else None
    return 1 if bad else 0


sys.exit(main())
