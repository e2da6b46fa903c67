"""The documentation says what is: excerpts, option tables, commands with what they print (doc_page.py)."""
import unittest

from doc_page import Page, broken_links
from program import SOURCE, ProgramTest

PAGES = [SOURCE / "README.md", SOURCE / "models/README.md", *sorted((SOURCE / "docs").rglob("*.md"))]


class Pages(unittest.TestCase):
    """Each page of docs/."""


def holds(path):
    def test(self):
        page = Page(path)
        self.assertEqual(page.errors, [], "\n" + "\n".join(page.errors))
        self.assertEqual(page.updated, path.read_text(encoding="utf-8"))
        self.assertEqual(broken_links(path), [])
    return test


for page_path in PAGES:
    name = str(page_path.relative_to(SOURCE)).removesuffix(".md").replace("/", "_").replace("-", "_")
    setattr(Pages, "test_" + name, holds(page_path))


class Checker(ProgramTest):
    """A page that is wrong is found."""

    def errors(self, text):
        return [error.removeprefix(str(self.dir) + "/") for error in Page(self.write("page.md", text), SOURCE).errors]

    def test_an_excerpt_that_no_test_has(self):
        self.assertEqual(self.errors("<!-- tests/lit/nn/elementwise.mlir -->\n```mlir\n  %0 = nn.add %x, %column\n```\n"),
                         ["page.md:2: excerpt is not in tests/lit/nn/elementwise.mlir"])
        self.assertEqual(self.errors("<!-- tests/lit/no.mlir -->\n```mlir\n```\n"), ["page.md:2: there is no file tests/lit/no.mlir"])
        self.assertEqual(self.errors("```mlir\n  %0 = nn.add\n```\n"), ["page.md:1: excerpt names no test"])

    def test_what_a_command_does_not_print(self):
        self.assertEqual(self.errors("```console\n$ echo one; echo two\none\n```\n"),
                         ["page.md:2: this is what it prints now:\none\ntwo"])
        self.assertIn("exit status 2", self.errors("```console\n$ exit 2\n```\n")[0])
        self.assertEqual(self.errors("```console\n$ printf '\\tb\\n\\ta\\nc 1.5 s\\n'\n\ta\n\tb\nc … s\n```\n"), [])
        self.assertIn("`sheaf help run", self.errors("<!-- printed by `sheaf help run --markdown` -->\nnothing\n<!-- end -->\n")[0])

    def test_files_are_there_for_commands(self):
        self.assertEqual(self.errors("<!-- file a.txt -->\n```\nhello\n```\n```console\n$ cat a.txt\nhello\n```\n"), [])

    def test_a_link_to_nowhere(self):
        self.assertEqual(broken_links(self.write("page.md", "[a](page.md#here) [b](absent.md) [c](https://x.org/y)\n")), ["absent.md"])


unittest.main()
