#!/usr/bin/env python3
"""Writes scikit-learn's handwritten digits (1,797 grey images of 8x8, ten classes) as IDX files, as MNIST has them.

    tools/digits.py FOLDER

writes train-images-idx3-ubyte, train-labels-idx1-ubyte (1,438 rows), test-images-idx3-ubyte and test-labels-idx1-ubyte
(359 rows) to FOLDER. Every fifth row is for testing, so the files are the same wherever it runs. The data is part of the
scikit-learn package: nothing is downloaded.
"""
import struct
import sys
from pathlib import Path


def write_idx(path, array):
    """`array` (numpy, uint8) as an IDX file: 0, 0, type 8, number of dimensions, sizes in big-endian order, bytes."""
    header = struct.pack(">BBBB", 0, 0, 8, array.ndim) + struct.pack(f">{array.ndim}I", *array.shape)
    path.write_bytes(header + array.tobytes())


def main(arguments):
    if len(arguments) != 1 or arguments[0].startswith("-"):
        print(__doc__.strip(), file=sys.stdout if arguments[:1] == ["--help"] else sys.stderr)
        return 0 if arguments[:1] == ["--help"] else 2
    try:
        from sklearn.datasets import load_digits
    except ImportError as error:
        print(f"digits.py: {error}; scikit-learn ships the data: pip install scikit-learn (Debian: python3-sklearn)", file=sys.stderr)
        return 1
    folder = Path(arguments[0])
    folder.mkdir(parents=True, exist_ok=True)
    digits = load_digits()
    # Grey levels are 0 … 16; an IDX image's are 0 … 255.
    images = (digits.images * (255 / 16) + 0.5).astype("uint8")
    labels = digits.target.astype("uint8")
    test = [i % 5 == 4 for i in range(len(labels))]
    for name, chosen in (("train", [not t for t in test]), ("test", test)):
        write_idx(folder / f"{name}-images-idx3-ubyte", images[chosen])
        write_idx(folder / f"{name}-labels-idx1-ubyte", labels[chosen])
        print(f"{folder}/{name}-*: {sum(chosen):,} rows")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
