#!/usr/bin/env python3
"""Draws faces as FOLDER/faces/00000.png …, of 64 x 64 pixels: skin, hair, eyes, mouth and background differ.

    make_faces.py FOLDER [--count 2000]        needs numpy and Pillow
"""
import argparse
from pathlib import Path

import numpy
from PIL import Image, ImageDraw

SKIN = [(255, 224, 189), (241, 194, 125), (224, 172, 105), (141, 85, 36), (92, 58, 33)]
HAIR = [(35, 25, 20), (90, 56, 37), (181, 134, 84), (229, 200, 168), (140, 60, 30)]


def face(draw):
    """Drawn in 192 x 192 and shrunk, so that edges are smooth."""
    image = Image.new("RGB", (192, 192), tuple(int(level) for level in draw.integers(90, 256, 3)))
    pen = ImageDraw.Draw(image)
    skin, hair = SKIN[draw.integers(len(SKIN))], HAIR[draw.integers(len(HAIR))]
    x, y = 96 + draw.normal(0, 5), 104 + draw.normal(0, 4)
    width, height = draw.uniform(48, 62), draw.uniform(62, 74)
    pen.ellipse([x - width - 8, y - height - 14, x + width + 8, y + height * draw.uniform(-0.1, 0.7)], fill=hair)
    pen.ellipse([x - width, y - height, x + width, y + height], fill=skin)
    apart, size = draw.uniform(20, 26), draw.uniform(6, 10)
    for side in (-1, 1):
        eye = x + side * apart
        pen.ellipse([eye - size * 1.4, y - 18 - size, eye + size * 1.4, y - 18 + size], fill=(255, 255, 255))
        pen.ellipse([eye - size * 0.6, y - 18 - size * 0.6, eye + size * 0.6, y - 18 + size * 0.6], fill=(40, 40, 60))
    smile, wide = draw.uniform(-4, 14), draw.uniform(18, 28)
    pen.arc([x - wide, y + 30 - abs(smile), x + wide, y + 30 + abs(smile)], 0 if smile > 0 else 180, 180 if smile > 0 else 360, fill=(150, 40, 50), width=7)
    return image.resize((64, 64), Image.LANCZOS)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--count", type=int, default=2000)
    given = parser.parse_args()
    draw = numpy.random.default_rng(0)
    (given.folder / "faces").mkdir(parents=True, exist_ok=True)
    for i in range(given.count):
        face(draw).save(given.folder / "faces" / f"{i:05d}.png")


if __name__ == "__main__":
    main()
