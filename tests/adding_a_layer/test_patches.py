"""The patches of docs/adding-a-layer.md and docs/operations.md apply to the sources as they are, each by itself and all together, and
edit few files of the product. What they build, test_adding_a_layer.py tests."""
import os
import tempfile
import unittest
from pathlib import Path

from patched_build import PatchedBuild, changed_by, execute, worked_examples

SOURCE = Path(os.environ["SHEAF_SOURCE_DIR"])
LAYER, POOL, MOVEMENT = PATCHES = worked_examples(SOURCE)


class Patches(unittest.TestCase):
    def test_each_applies_by_itself(self):
        for patch in PATCHES:
            with self.subTest(patch=patch.name):
                execute(["git", "apply", "--check", patch], cwd=SOURCE,
                        env={**os.environ, "GIT_CEILING_DIRECTORIES": str(SOURCE.parent)})

    def test_all_apply_together(self):
        with tempfile.TemporaryDirectory() as work:
            made = PatchedBuild(SOURCE, Path(work) / "none", work, PATCHES)
            made.copy_sources()
            for patch in PATCHES:
                made.apply(patch)

    def test_how_many_files_are_edited_by_hand(self):
        """What an operation is has a home: this many files of the product know it, and no more."""
        for patch, most in ((LAYER, 2), (POOL, 9), (MOVEMENT, 12)):
            product = [n for n in changed_by(patch) if not n.startswith(("tests/", "docs/")) and n != "frontend/model.schema.json"]
            self.assertLessEqual(len(product), most, product)


unittest.main()
