"""What ptxas makes of PTX, and how much of a GPU's memory traffic its kernels keep in flight: for the tests of machine code.

The figures are an H200's. A load that takes 0.73 µs and 4.8 TB/s give the bytes needed; a multiprocessor keeps as many whole blocks as its
registers allow.
"""
import re
import subprocess

MULTIPROCESSORS, REGISTERS, THREADS = 132, 65536, 2048
NEEDED = 3.5e6  # bytes


def entries(text):
    """Of each kernel: its body."""
    return dict(re.findall(r"\.entry (\w+)\((.*?)\n}\n", text, re.DOTALL))


def assembled(ptxas, ptx, arch, folder):
    """Of each kernel: registers of a thread, bytes spilled."""
    done = subprocess.run([ptxas, "-v", f"-arch=sm_{arch}", "-o", f"{folder}/out.cubin", ptx], capture_output=True, text=True, check=True)
    text = done.stdout + done.stderr
    found = re.findall(r"Compiling entry function '(\w+)'.*?(\d+) bytes spill stores, (\d+) bytes spill loads.*?Used (\d+) registers", text, re.DOTALL)
    return {name: (int(used), int(stores) + int(loads)) for name, stores, loads, used in found}


def loads(body):
    """Between each two labels or branches, where all are on their way at once: the bytes that each load asks for."""
    parts = re.split(r"^\s*(?:\$\w+:|@?[%!\w]*\s*bra).*$", body, flags=re.MULTILINE)
    found = [re.findall(r"ld\.global(?:\.nc)?(?:\.v(\d))?\.\w(\d+)", part) for part in parts]
    return [[int(count or 1) * int(bits) // 8 for count, bits in part] for part in found]


def threads(registers, block):
    """How many a multiprocessor keeps: it gives out registers eight at a time."""
    return min(THREADS, REGISTERS // (-(-registers // 8) * 8 * block) * block)


def in_flight(body, registers, block, most_blocks=None):
    """Bytes of the accesses of 16 bytes each, by all threads of the device; most_blocks: as many as are launched."""
    at_once = threads(registers, block) * MULTIPROCESSORS
    if most_blocks is not None:
        at_once = min(at_once, most_blocks * block)
    return at_once * max((sum(size for size in part if size == 16) for part in loads(body)), default=0)
