#!/usr/bin/env python3
"""Makes words of a text into numbers: FOLDER/train.npy, FOLDER/valid.npy (the last tenth) and FOLDER/words.txt, a word a line.

    make_text.py FOLDER [--text FILE…] [--vocabulary 2000]        needs numpy

Without --text, the text is Python's language reference, which comes with every Python. Words that aren't among the most frequent are <unk>.
"""
import argparse
import collections
import re
from pathlib import Path

import numpy


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--text", type=Path, nargs="+")
    parser.add_argument("--vocabulary", type=int, default=2000)
    given = parser.parse_args()
    if given.text:
        text = "\n".join(file.read_text(encoding="utf-8") for file in given.text)
    else:
        from pydoc_data.topics import topics
        text = "\n".join(topics.values())

    words = re.findall(r"\w+|[.,;:?!]", text.lower())
    known = ["<unk>"] + [word for word, _ in collections.Counter(words).most_common(given.vocabulary - 1)]
    numbers = {word: number for number, word in enumerate(known)}
    tokens = numpy.array([numbers.get(word, 0) for word in words], "int64")
    given.folder.mkdir(parents=True, exist_ok=True)
    (given.folder / "words.txt").write_text("".join(word + "\n" for word in known), encoding="utf-8")
    cut = len(tokens) * 9 // 10
    numpy.save(given.folder / "train.npy", tokens[:cut])
    numpy.save(given.folder / "valid.npy", tokens[cut:])
    print(f"{cut:,} words to train on, {len(tokens) - cut:,} to validate, {len(known):,} different")


if __name__ == "__main__":
    main()
