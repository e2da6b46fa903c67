"""Completion of the command line, by the shells themselves."""
import os
import shutil
import subprocess
import unittest

from program import SHEAF, ProgramTest, must, sheaf
from terminals import Shell

ASK_BASH = r"""
source ./sheaf.bash
complete -p sheaf >/dev/null || exit 1
COMP_LINE=$1 COMP_POINT=${#1}
_sheaf
printf '%s\n' "${COMPREPLY[@]}"
"""
# (line, words that are offered, words that aren't); what readline keeps of a word is left out: up to the last = or :
CASES = (
    ("sheaf ", {"compile", "run", "dump", "devices", "help", "completion", "--version"}, {"--format"}),
    ("sheaf co", {"compile", "completion"}, {"run"}),
    ("sheaf dump --f", {"--format"}, {"--devices"}),
    ("sheaf dump --format ", {"text", "mlir", "dot", "svg", "html", "json"}, {"folder"}),
    ("sheaf dump --format h", {"html"}, {"text"}),
    ("sheaf dump --format=h", {"html"}, {"text"}),
    ("sheaf dump ", {"model.json", "a.plan", "folder"}, {"notes.txt"}),
    ("sheaf dump --format text a", {"a.plan"}, {"model.json"}),
    ("sheaf compile ", {"model.json"}, {"a.plan"}),
    ("sheaf compile model.json ", set(), {"model.json", "a.plan"}),
    ("sheaf run ", {"a.plan"}, {"model.json"}),
    ("sheaf run folder/", {"folder/b.plan"}, {"a.plan"}),
    ("sheaf run a.plan --devices ", {"cpu", "cpu:0", "cpu:0-3"}, {"a.plan"}),
    ("sheaf run a.plan --devices cpu:0,cpu", {"cpu:0,cpu:1"}, set()),
    ("sheaf run a.plan --input x=n", {"notes.txt"}, {"a.plan"}),
    ("sheaf run a.plan --input x=", {"random:", "notes.txt"}, set()),
    ("sheaf train a.plan --resume --checkpoint ", {"folder"}, {"a.plan", "notes.txt"}),
    ("sheaf help r", {"run"}, {"compile"}),
    ("sheaf completion ", {"bash", "zsh", "fish"}, {"a.plan"}),
    ("sheaf nothing ", set(), {"a.plan"}),
)


class Completion(ProgramTest):
    def setUp(self):
        super().setUp()
        (self.dir / "folder").mkdir()
        for name in ("model.json", "a.plan", "notes.txt", "folder/b.plan"):
            self.write(name, "")
        (self.dir / "bin").mkdir()
        (self.dir / "bin/sheaf").symlink_to(SHEAF)
        self.environment = {**os.environ, "PATH": f"{self.dir}/bin:{os.environ['PATH']}", "HOME": str(self.dir), "TERM": "xterm",
                            "LC_ALL": "C.UTF-8"}

    def script(self, shell, name):
        if not shutil.which(shell):
            self.skipTest(f"{shell} isn't installed")
        return self.write(name, must(sheaf("completion", shell)).out)

    def execute(self, *command):
        done = subprocess.run(command, cwd=self.dir, env=self.environment, capture_output=True, timeout=60)
        self.assertEqual((done.returncode, done.stderr.decode()), (0, ""))
        return done.stdout.decode()

    def test_bash(self):
        self.script("bash", "sheaf.bash")
        for line, offered, others in CASES:
            with self.subTest(line=line):
                word = line.rpartition(" ")[2]
                kept = max(word.rfind(":"), word.rfind("=")) + 1
                words = set(self.execute("bash", "--norc", "-c", ASK_BASH, "bash", line).split("\n"))
                self.assertLessEqual({w[kept:] if w.startswith(word[:kept]) else w for w in offered}, words)
                self.assertFalse(words & others)

    def test_bash_completes_what_is_typed(self):
        self.script("bash", "sheaf.bash")
        with Shell(["bash", "--norc", "--noprofile", "-i"], {**self.environment, "PS1": "ready "}, self.dir) as shell:
            shell.type("source ./sheaf.bash; PS1=s'et '\n", "set ")
            shell.type("sheaf du\t", "dump ")
            shell.type("--form\t", "--format ")
            shell.type("ht\t", "html ")
            shell.type("model\t", "model.json ")
            shell.type("--devices=cpu:0,cu\t", "da:")

    def test_zsh_completes_what_is_typed(self):
        self.script("zsh", "sheaf.zsh")
        self.execute("zsh", "-n", "sheaf.zsh")
        with Shell(["zsh", "-f", "-i"], {**self.environment, "PS1": "ready "}, self.dir) as shell:
            shell.type("autoload -Uz compinit; compinit -D -u; source ./sheaf.zsh; PS1=s'et '\n", "set ")
            shell.type("sheaf du\t", "dump ")
            shell.type("--form\t", "--format=")
            shell.type("ht\t", "html ")
            shell.type("mod\t", "model.json ")
            shell.type("--devices cpu:0,cu\t", "da:")
            shell.type("\x15sheaf run a\t", ".plan ")
            shell.type("--input x=no\t", "tes.txt")
            shell.type("\x15sheaf help compl\t", "etion ")

    def test_zsh_offers_every_option(self):
        text = self.script("zsh", "sheaf.zsh").read_text()
        self.assertIn("'*--input=[", text)
        self.assertIn(":PLAN:_files -g \"*.plan\"", text)

    def test_fish(self):
        self.script("fish", "sheaf.fish")
        self.execute("fish", "-n", "sheaf.fish")
        for line, offered, others in CASES:
            if line == "sheaf ":  # options are offered once a dash is typed
                offered = offered - {"--version"}
            with self.subTest(line=line):
                said = self.execute("fish", "--no-config", "-c", f"source ./sheaf.fish; complete -C '{line}'")
                words = {entry.split("\t")[0].rstrip("/") for entry in said.splitlines()}
                words |= {word.rpartition("=")[2] for word in words}
                self.assertLessEqual(offered, words)
                if not others & {"model.json", "a.plan", "notes.txt"}:  # fish offers other files too, further down
                    self.assertFalse(words & others)


unittest.main()
