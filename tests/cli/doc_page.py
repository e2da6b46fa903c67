"""What a page of the documentation claims, and whether it is so.

A fenced block is checked if the line above it, or its language, says against what:

    ```console                       commands behind `$ `, and what they print, in a folder of the page's own with models/
                                     and examples/ in it; `…` stands for anything within a line, or, alone, for any lines
    <!-- file NAME -->               the block is written to NAME in that folder
    <!-- PATH -->                    the block's lines follow one another in that file of the project; FileCheck's lines
                                     (`// CHECK…`) are passed over
    <!-- printed by `COMMAND` -->    the text from here to `<!-- end -->` is what COMMAND prints
    <!-- with PyTorch -->            what follows, to `<!-- end -->`, is checked where the Python package is (SHEAF_TORCH_PATH, PYTHONPATH)

Each ```mlir block has to be checked in one of these ways. `python3 doc_page.py PAGE…` brings what commands print up to date.
"""
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from program import LIMIT_SECONDS, SHEAF, SOURCE

FENCE = re.compile(r"^```(\w*)$")
MARK = re.compile(r"^<!-- (.+) -->$")
PRINTED = re.compile(r"printed by `(.+)`")
TORCH_PATH = os.environ.get("SHEAF_TORCH_PATH", "")


class Page:
    """A page, checked when it is made: `errors`, and `updated`, its text with what commands print now."""

    def __init__(self, path, root=SOURCE):
        self.path, self.root = Path(path), Path(root)
        self.errors, self.checked, out = [], 0, []
        lines = self.path.read_text(encoding="utf-8").splitlines()
        with tempfile.TemporaryDirectory(prefix="sheaf-page-") as folder:
            self.folder = Path(folder)
            for name in ("models", "examples"):
                (self.folder / name).symlink_to(SOURCE / name)
            at = 0
            while at < len(lines):
                fence, mark = FENCE.match(lines[at]), MARK.match(lines[at])
                end = at
                if mark and mark[1] == "with PyTorch" and not TORCH_PATH:
                    end = self.find(lines, at, "<!-- end -->")
                    out += lines[at:end + 1]
                elif fence:
                    end = self.find(lines, at, "```")
                    above = MARK.match(lines[at - 1]) if at else None
                    out += [lines[at], *self.block(at + 1, fence[1], above and above[1], lines[at + 1:end]), lines[end]]
                elif mark and PRINTED.fullmatch(mark[1]):
                    end = self.find(lines, at, "<!-- end -->")
                    out += [lines[at], *self.printed(at + 1, PRINTED.fullmatch(mark[1])[1], lines[at + 1:end]), lines[end]]
                else:
                    out.append(lines[at])
                at = end + 1
        self.updated = "\n".join(out) + "\n"

    def find(self, lines, begin, last):
        for at in range(begin + 1, len(lines)):
            if lines[at] == last:
                return at
        raise ValueError(f"{self.path}:{begin + 1}: no {last} for this line")

    def wrong(self, line, message):
        self.errors.append(f"{self.path}:{line}: {message}")

    def block(self, line, language, mark, text):
        if language == "console":
            return self.session(line, text)
        if mark and mark.startswith("file "):
            self.checked += 1
            (self.folder / mark[5:]).write_text("\n".join(text) + "\n", encoding="utf-8")
        elif mark and not mark.startswith("printed by"):
            self.excerpt(line, mark, text)
        elif language == "mlir":
            self.wrong(line, "excerpt names no test")
        return text

    def excerpt(self, line, name, text):
        self.checked += 1
        path = self.root / name
        if not path.is_file():
            return self.wrong(line, f"there is no file {name}")
        lines = [part for part in path.read_text(encoding="utf-8").splitlines() if not part.lstrip().startswith("// CHECK")]
        if not any(lines[at:at + len(text)] == text for at in range(len(lines))):
            self.wrong(line, f"excerpt is not in {name}")

    def execute(self, command):
        """Exit status and lines that `command` prints, to stdout or stderr."""
        done = subprocess.run(["bash", "-c", command], cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              timeout=4 * LIMIT_SECONDS, env={**os.environ, "PATH": ":".join(filter(None, [TORCH_PATH, str(Path(SHEAF).parent), os.environ["PATH"]]))})
        return done.returncode, done.stdout.decode(errors="replace").splitlines()

    def printed(self, line, command, text):
        self.checked += 1
        status, lines = self.execute(command)
        if status != 0 or lines != text:
            self.wrong(line, f"this isn't what `{command}` prints (exit status {status})")
        return lines

    def session(self, line, text):
        out, at = [], 0
        while at < len(text):
            self.checked += 1
            begin = at
            if not text[at].startswith("$ "):
                self.wrong(line + at + 1, "a session begins with `$ COMMAND`")
                return text
            while text[at].endswith("\\"):
                at += 1
            at += 1
            end = next((i for i in range(at, len(text)) if text[i].startswith("$ ")), len(text))
            status, lines = self.execute("\n".join(text[begin:at])[2:])
            out += text[begin:at]
            if status not in (0, 1, 2) or (status and not any("error:" in said for said in lines)):
                self.wrong(line + begin + 1, f"exit status {status}:\n" + "\n".join(lines))
            if same(text[at:end], lines):
                out += text[at:end]
            else:
                out += lines
                self.wrong(line + begin + 1, "this is what it prints now:\n" + "\n".join(lines))
            at = end
        return out


def same(expected, lines):
    """Whether `lines` are the ones `expected`, with … for anything and replicas' lines in any order."""
    pattern = "".join(r"(?:.*\n)*?" if line.strip() == "…" else re.escape(line).replace("…", ".*") + r"\n" for line in in_order(expected))
    return re.fullmatch(pattern, "".join(line + "\n" for line in in_order(lines))) is not None


def in_order(lines):
    """`lines` with neighbours that replicas print (they are indented by a tab) sorted."""
    result, at = [], 0
    while at < len(lines):
        end = at
        while end < len(lines) and lines[end].startswith("\t"):
            end += 1
        result += sorted(lines[at:end]) if end > at else [lines[at]]
        at = max(end, at + 1)
    return result


def broken_links(path):
    """Relative links of a page that lead nowhere."""
    text = re.sub(r"^```.*?^```$", "", Path(path).read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    links = re.findall(r"\]\(([^)\s#]+)(?:#[^)]*)?\)", text)
    return [link for link in links if "://" not in link and not (Path(path).parent / link).exists()]


if __name__ == "__main__":
    if not Path(SHEAF).is_file():
        sys.exit(f"{SHEAF} isn't there: the environment variable SHEAF names the program whose output the pages hold")
    for name in sys.argv[1:]:
        page = Page(name)
        if page.updated != page.path.read_text(encoding="utf-8"):
            page.path.write_text(page.updated, encoding="utf-8")
        print("\n".join(page.errors) or f"{name}: as it was")
