"""The placement pictures of docs/gallery.md are what dump draws now: the same boxes, nodes and labels in the same order.
(Where they stand and how wide they are is Graphviz's, and depends on its version and fonts.)"""
import os
import re
import subprocess
import unittest
import xml.etree.ElementTree as ElementTree

from program import SHEAF, SOURCE, ProgramTest

GALLERY = SOURCE / "docs/gallery"


def labels(path):
    return [text.strip() for text in ElementTree.parse(path).getroot().itertext() if text.strip()]


class Gallery(ProgramTest):
    def test_pictures(self):
        done = subprocess.run([SOURCE / "tools/gallery.sh", self.dir], env={**os.environ, "SHEAF": SHEAF}, capture_output=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        drawn = {path.name: path for path in self.dir.glob("*.svg")}
        self.assertEqual(sorted(drawn), sorted(path.name for path in GALLERY.glob("*.svg")))
        for name, path in drawn.items():
            self.assertEqual(labels(path), labels(GALLERY / name), f"{name}: draw it again with tools/gallery.sh")

    def test_each_picture_is_on_the_page(self):
        shown = re.findall(r"!\[[^]]*\]\(gallery/(.*?)\)", (SOURCE / "docs/gallery.md").read_text())
        self.assertEqual(sorted(shown), sorted(path.name for path in GALLERY.glob("*.svg")))


unittest.main()
