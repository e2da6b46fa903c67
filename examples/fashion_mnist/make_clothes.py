#!/usr/bin/env python3
"""Draws pictures like Fashion-MNIST's, ten kinds of clothes in grey, 28 x 28, and writes them to FOLDER as that data set's four files.

    make_clothes.py FOLDER [--train 6000] [--test 1000]        needs numpy and Pillow
"""
import argparse
import gzip
import struct
from pathlib import Path

import numpy
from PIL import Image, ImageDraw

# Outlines in a square of 28 units, by class: t-shirt, trousers, pullover, dress, coat, sandal, shirt, sneaker, bag, ankle boot.
TORSO = [(9, 4), (19, 4), (20, 25), (8, 25)]
SHORT_SLEEVES = [[(9, 4), (3, 9), (6, 13), (10, 9)], [(19, 4), (25, 9), (22, 13), (18, 9)]]
LONG_SLEEVES = [[(9, 4), (3, 23), (7, 24), (10, 10)], [(19, 4), (25, 23), (21, 24), (18, 10)]]
CLOTHES = [
    [TORSO, *SHORT_SLEEVES],
    [[(9, 2), (19, 2), (19, 8), (9, 8)], [(9, 8), (13, 8), (12, 26), (8, 26)], [(15, 8), (19, 8), (20, 26), (16, 26)]],
    [TORSO, *LONG_SLEEVES],
    [[(11, 2), (17, 2), (16, 11), (12, 11)], [(12, 11), (16, 11), (21, 26), (7, 26)]],
    [[(9, 2), (13, 2), (13, 26), (7, 26)], [(15, 2), (19, 2), (21, 26), (15, 26)], *LONG_SLEEVES],
    [[(2, 20), (26, 20), (26, 23), (2, 23)], [(4, 20), (12, 12), (14, 13), (7, 20)], [(15, 20), (22, 13), (24, 14), (19, 20)]],
    [[(9, 4), (13, 8), (15, 8), (19, 4), (19, 26), (9, 26)], *SHORT_SLEEVES],
    [[(2, 15), (9, 13), (17, 9), (25, 17), (26, 21), (2, 21)]],
    [[(3, 12), (25, 12), (25, 25), (3, 25)], [(9, 12), (9, 6), (11, 6), (11, 12)], [(17, 12), (17, 6), (19, 6), (19, 12)], [(9, 6), (19, 6), (19, 8), (9, 8)]],
    [[(14, 3), (22, 3), (22, 13), (25, 19), (25, 24), (3, 24), (3, 19), (14, 14)]],
]


def picture(kind, draw):
    """One piece of clothing: its outline stretched, sheared and shifted a little, of one grey, with noise."""
    image = Image.new("L", (56, 56))
    pen = ImageDraw.Draw(image)
    width, height = draw.uniform(0.8, 1.1, 2)
    shear, right, down = draw.uniform(-0.15, 0.15), *draw.uniform(-2, 2, 2)
    for outline in CLOTHES[kind]:
        corners = [((x - 14) * width + (y - 14) * shear + 14 + right, (y - 14) * height + 14 + down) for x, y in outline]
        pen.polygon([(2 * (x + draw.normal(0, 0.4)), 2 * (y + draw.normal(0, 0.4))) for x, y in corners], fill=int(draw.integers(90, 230)))
    grey = numpy.asarray(image.resize((28, 28), Image.BILINEAR), "float32")
    return (grey + draw.normal(0, 12, grey.shape)).clip(0, 255).astype("uint8")


def write_idx(path, array):
    """`array` (bytes) as a gzip'ed IDX file: 0, 0, type 8, number of dimensions, sizes in big-endian order, bytes."""
    header = struct.pack(">BBBB", 0, 0, 8, array.ndim) + struct.pack(f">{array.ndim}I", *array.shape)
    path.write_bytes(gzip.compress(header + array.tobytes(), mtime=0))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--train", type=int, default=6000)
    parser.add_argument("--test", type=int, default=1000)
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    draw = numpy.random.default_rng(0)
    for name, count in (("train", given.train), ("t10k", given.test)):
        labels = draw.integers(0, 10, count).astype("uint8")
        write_idx(given.folder / f"{name}-images-idx3-ubyte.gz", numpy.stack([picture(kind, draw) for kind in labels]))
        write_idx(given.folder / f"{name}-labels-idx1-ubyte.gz", labels)


if __name__ == "__main__":
    main()
