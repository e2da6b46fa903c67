#!/usr/bin/env python3
"""Makes a folder of JPEG pictures for measuring: DIR/class0/00000.jpg, …, of 500 x 375 pixels, ImageNet's average size, with as much detail.

    make_images.py DIR [--count 5000] [--classes 10] [--size 500x375]        needs numpy and Pillow
"""
import argparse
from pathlib import Path

import numpy
from PIL import Image


def picture(draw, width, height):
    """Overlapping patches of several sizes: some hundred kilobytes of JPEG at quality 90."""
    total = numpy.zeros((height, width, 3), "float32")
    for cells, weight in ((4, 90), (16, 50), (64, 30), (192, 18)):
        patch = draw.integers(0, 256, (cells, cells, 3), dtype=numpy.uint8)
        total += weight / 188 * numpy.asarray(Image.fromarray(patch).resize((width, height), Image.BICUBIC), "float32")
    return Image.fromarray(total.clip(0, 255).astype("uint8"))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--count", type=int, default=5000)
    parser.add_argument("--classes", type=int, default=10)
    parser.add_argument("--size", default="500x375")
    given = parser.parse_args()
    width, height = map(int, given.size.split("x"))
    draw = numpy.random.default_rng(0)
    distinct = [picture(draw, width, height) for _ in range(min(given.count, 50))]
    for i in range(given.count):
        folder = given.folder / f"class{i % given.classes}"
        folder.mkdir(parents=True, exist_ok=True)
        distinct[i % len(distinct)].save(folder / f"{i:05d}.jpg", quality=90)


if __name__ == "__main__":
    main()
