#!/usr/bin/env python3
"""Draws photographs of nothing, of ten classes, as a folder of JPEG files that is made as ImageNet's is:

    FOLDER/train/cross/00000.jpg …, FOLDER/val/cross/00000.jpg …

A class is a shape. Its place, size, angle and colours, the background and the picture's own size differ from picture to picture.

    make_pictures.py FOLDER [--train 1000] [--val 200]        needs numpy and Pillow
"""
import argparse
import math
from pathlib import Path

import numpy
from PIL import Image, ImageDraw


def regular(corners, inner=1.0):
    """A polygon of unit radius; with `inner` below 1, a star."""
    count = corners if inner == 1 else 2 * corners
    return [((inner if i % 2 else 1) * math.cos(2 * math.pi * i / count), (inner if i % 2 else 1) * math.sin(2 * math.pi * i / count)) for i in range(count)]


def box(left, top, right, bottom):
    return [(left, top), (right, top), (right, bottom), (left, bottom)]


# Each a list of outlines, in a circle of unit radius.
SHAPES = {
    "arrow": [[(-1, -0.2), (0.2, -0.2), (0.2, -0.7), (1, 0), (0.2, 0.7), (0.2, 0.2), (-1, 0.2)]],
    "bars": [box(-0.8, -0.8, -0.4, 0.8), box(-0.2, -0.8, 0.2, 0.8), box(0.4, -0.8, 0.8, 0.8)],
    "cross": [box(-0.25, -1, 0.25, 1), box(-1, -0.25, 1, 0.25)],
    "crescent": [[(math.cos(t / 9), math.sin(t / 9)) for t in range(6, 52)] + [(0.35 + 0.75 * math.cos(t / 9), 0.75 * math.sin(t / 9)) for t in range(51, 5, -1)]],
    "disc": [regular(40)],
    "dots": [[(x + 0.3 * a, y + 0.3 * b) for a, b in regular(20)] for x in (-0.55, 0.55) for y in (-0.55, 0.55)],
    "hook": [box(-0.8, -0.9, -0.3, 0.9), box(-0.8, 0.4, 0.8, 0.9)],
    "square": [box(-0.75, -0.75, 0.75, 0.75)],
    "star": [regular(5, 0.4)],
    "triangle": [regular(3)],
}


def picture(outlines, draw):
    width, height = (int(side) for side in draw.integers(40, 72, 2))
    cells = draw.integers(0, 100, (3, 3, 3), dtype=numpy.uint8)
    image = Image.fromarray(cells).resize((width, height), Image.BICUBIC)
    pen = ImageDraw.Draw(image)
    radius = min(width, height) * draw.uniform(0.34, 0.46)
    x, y = draw.uniform(radius, width - radius), draw.uniform(radius, height - radius)
    angle = draw.uniform(-0.5, 0.5)
    colour = tuple(int(level) for level in draw.integers(130, 256, 3))
    for outline in outlines:
        pen.polygon([(x + radius * (a * math.cos(angle) - b * math.sin(angle)), y + radius * (a * math.sin(angle) + b * math.cos(angle))) for a, b in outline],
                    fill=colour)
    noisy = numpy.asarray(image, "float32") + draw.normal(0, 10, (height, width, 3))
    return Image.fromarray(noisy.clip(0, 255).astype("uint8"))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--train", type=int, default=1000)
    parser.add_argument("--val", type=int, default=200)
    given = parser.parse_args()
    draw = numpy.random.default_rng(0)
    for part, count in (("train", given.train), ("val", given.val)):
        for i in range(count):
            name, outlines = list(SHAPES.items())[i % len(SHAPES)]
            folder = given.folder / part / name
            folder.mkdir(parents=True, exist_ok=True)
            picture(outlines, draw).save(folder / f"{i:05d}.jpg", quality=90)


if __name__ == "__main__":
    main()
