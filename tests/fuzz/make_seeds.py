#!/usr/bin/env python3
"""Makes the seeds under seeds/KIND: one small file of each form that a reader takes. Models are those of models/ and of the
frontend's tests; plans are compiled when the fuzzer runs, since their format moves on."""
import gzip
import io
import json
import struct
import zipfile
import zlib
from pathlib import Path

SEEDS = Path(__file__).resolve().parent / "seeds"


def npy(descr="<f4", shape=(2, 3), data=bytes(24), version=b"\x01\x00", fortran=False):
    header = f"{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}".encode()
    header += b" " * (-(len(header) + 11) % 64) + b"\n"
    size = struct.pack("<H" if version == b"\x01\x00" else "<I", len(header))
    return b"\x93NUMPY" + version + size + header + data


def npz(method):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in (("x.npy", npy()), ("labels.npy", npy("<i8", (3,)))):
            archive.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), content, method)
    return file.getvalue()


def safetensors(entries, metadata=None):
    header, data = ({"__metadata__": metadata} if metadata else {}), b""
    for name, (dtype, shape, content) in entries.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(content)]}
        data += content
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def checkpoint():
    content = json.dumps({
        "version": 2, "plan": "0" * 64, "model": "m", "rows": 10, "data": 7, "batch_size": 4, "micro_batches": 1, "seed": 1, "shuffle": True,
        "devices": ["cpu:0"], "numerics": "strict", "cpu": "x", "lr": 0.1, "step": 4, "epoch": 1, "position": 1, "epoch_loss_sum": 1.5,
        "epoch_rows": 4, "epoch_seconds": 0.1, "epoch_data_wait_seconds": 0.0,
        "epochs": [{"steps": 3, "seconds": 0.1, "data_wait_seconds": 0.0, "train_loss": 1.0, "lr": 0.1, "rows": 10, "eval_rows": 2, "eval_seconds": 0.1}],
        "epochs_stride": 1, "epochs_seconds": 0.1, "curve": [1.0, 0.5, 0.25, 0.1], "curve_stride": 1, "curve_sum": 0.0, "curve_count": 0})
    weight = struct.pack("<f", 0.5)
    sums = json.dumps({"": zlib.crc32(content.encode()), "w": zlib.crc32(weight)})
    return safetensors({"w": ("F32", [1], weight)}, {"sheaf_checkpoint": content, "sheaf_checksums": sums})


IDX = bytes([0, 0, 8, 3]) + struct.pack(">3I", 2, 2, 2) + bytes(range(8))
FILES = {
    "safetensors/three": safetensors({"a": ("F32", [2], bytes(8)), "b": ("I64", [], bytes(8)), "c": ("BF16", [0, 3], b"")}, {"k": "v"}),
    "safetensors/none": safetensors({}),
    "npy/f4": npy(), "npy/big-endian": npy(">i8", (1,), bytes(8)), "npy/scalar": npy("|u1", (), b"\1"),
    "npy/fortran-2.0": npy("<f2", (2, 2), bytes(8), b"\x02\x00", True),
    "npz/stored": npz(zipfile.ZIP_STORED), "npz/deflated": npz(zipfile.ZIP_DEFLATED),
    "idx/u8": IDX, "idx/u8.gz": gzip.compress(IDX, mtime=0), "idx/f32": bytes([0, 0, 13, 1]) + struct.pack(">If", 1, 1.0),
    "checkpoint/four-steps": checkpoint(),
}

for name, content in FILES.items():
    path = SEEDS / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
