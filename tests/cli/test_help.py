"""Help: every verb is explained with an example that works, in the terminal, as Markdown and as a manual page."""
import os
import re
import shutil
import subprocess
import unittest

from program import SHEAF, SOURCE, ProgramTest, must, sheaf

VERBS = [line.split()[0] for line in must(sheaf("help")).out.split("verbs:\n")[1].split("\n\n")[0].splitlines()]
OPTION = re.compile(r"^  (-\S+|[A-Z]\S+)", re.MULTILINE)


def examples(verb):
    """The example commands of a verb, a list for each example."""
    blocks = re.findall(r"^Example: .*\n\n```\n(.*?)```$", must(sheaf("help", verb, "--markdown")).out, re.MULTILINE | re.DOTALL)
    return [block.splitlines() for block in blocks]


class Text(ProgramTest):
    def test_verbs_are_listed_in_several_ways(self):
        listed = must(sheaf("help"))
        self.assertLessEqual({"compile", "run", "train", "dump", "devices", "help", "completion"}, set(VERBS))
        for way in ("--help", "-h"):
            self.assertEqual(must(sheaf(way)).out, listed.out)
        bare = sheaf()
        self.assertEqual((bare.status, bare.out, bare.err), (2, "", listed.out))

    def test_a_verb_explains_itself_in_two_ways(self):
        for verb in VERBS:
            text = must(sheaf("help", verb)).out
            self.assertEqual(must(sheaf(verb, "--help")).out, text)
            self.assertTrue(text.startswith(f"usage: sheaf {verb}"), text)
            self.assertRegex(text, r"\nexamples?:\n  # .*\n  sheaf ")
            for line in text.split("\nexample")[0].splitlines():
                self.assertLessEqual(len(line), 100, line)

    def test_markdown_and_manual_page_have_each_option(self):
        manual = must(sheaf("help", "--man")).out.replace("\\-", "-")
        self.assertTrue(manual.isascii())
        for verb in VERBS:
            options = OPTION.findall(must(sheaf("help", verb)).out)
            table = must(sheaf("help", verb, "--markdown")).out
            section = manual.split(f".SS sheaf {verb}\n")[1].split("\n.S")[0]
            for option in options:
                self.assertRegex(table, rf"\| `{re.escape(option)}[` ]")
                self.assertRegex(section, rf"\.TP\n\\f[BI]{re.escape(option)}\\fR")
            for example in examples(verb):
                for command in example:
                    self.assertIn("\n" + command + "\n", section)

    def test_each_verb_is_on_the_page_of_commands(self):
        page = (SOURCE / "docs/commands.md").read_text(encoding="utf-8")
        self.assertEqual(re.findall(r"^<!-- printed by `sheaf help (\S+) --markdown` -->$", page, re.MULTILINE), VERBS)

    def test_help_knows_what_it_cannot_do(self):
        self.assert_refused(sheaf("help", "trian"), "did you mean 'train'?", status=2)
        self.assert_refused(sheaf("help", "--markdown"), "of which verb", status=2)
        self.assert_refused(sheaf("help", "run", "--man"), "give it alone", status=2)


class Examples(ProgramTest):
    """Each verb's examples, as they stand, in a folder with models/ in it."""


def runs(verb):
    def test(self):
        (self.dir / "bin").mkdir()
        (self.dir / "bin/sheaf").symlink_to(SHEAF)
        environment = {**os.environ, "PATH": f"{self.dir}/bin:{os.environ['PATH']}"}
        self.assertTrue(examples(verb))
        for number, commands in enumerate(examples(verb)):
            folder = self.dir / str(number)
            folder.mkdir()
            (folder / "models").symlink_to(SOURCE / "models")
            done = subprocess.run(["bash", "-e", "-c", "\n".join(commands)], cwd=folder, env=environment, capture_output=True, timeout=120)
            self.assertEqual(done.returncode, 0, f"{commands}\n{done.stdout.decode()}{done.stderr.decode()}")
            self.assertNotIn("error:", done.stderr.decode())
    return test


for name in set(VERBS) - {"import"}:  # python/tests/test_import_command.py runs those
    setattr(Examples, f"test_{name}", runs(name))


class ManualPage(ProgramTest):
    def check(self, program, *command):
        if not shutil.which(program):
            self.skipTest(f"{program} isn't installed")
        page = self.write("sheaf.1", must(sheaf("help", "--man")).out)
        done = subprocess.run([program, *command, page], cwd=self.dir, capture_output=True, timeout=60,
                              env={**os.environ, "LC_ALL": "C.UTF-8", "MANPAGER": "cat", "MANWIDTH": "100"})
        self.assertEqual((done.returncode, done.stderr.decode()), (0, ""))
        return done.stdout.decode()

    def test_man(self):
        text = self.check("man", "--warnings", "-l")
        self.assertIn("--devices LIST", re.sub("\x1b\\[[0-9;]*m|.\b", "", text))

    def test_groff(self):
        self.check("groff", "-man", "-Tutf8", "-ww")

    def test_mandoc(self):
        self.assertEqual(self.check("mandoc", "-Tlint", "-Werror"), "")


class DidYouMean(ProgramTest):
    """An unknown name is answered with the known one that it resembles."""

    def test_command_line(self):
        plan = self.compile(SOURCE / "models/tutorial.json")
        run = ("run", plan, "--devices", "cpu:0")
        for status, meant, arguments in (
                (2, "compile", ("compil",)),
                (2, "dump", ("dmup",)),
                (2, "--version", ("--vresion",)),
                (2, "--devices", ("run", plan, "--device", "cpu:0")),
                (2, "--help", ("devices", "--hepl")),
                (2, "json", ("dump", plan, "--format", "jsn")),
                (2, "train", ("dump", plan, "--program", "trian")),
                (2, "bash", ("completion", "bahs")),
                (2, "cpu", ("run", plan, "--devices", "cpy:0", "--input", "x=random:4")),
                (2, "random:4", (*run, "--input", "x=randm:4")),
                (1, "x", (*run, "--input", "X=random:4"))):
            with self.subTest(arguments=arguments):
                self.assert_refused(sheaf(*arguments, cwd=self.dir), f"did you mean '{meant}'?", status=status)

    def test_model_file(self):
        for meant, was, wrong in (("Linear", '"Linear"', '"Linaer"'), ("in_features", "in_features", "in_featurs"),
                                  ("layers", '"layers": [\n    {"name": "model"', '"layer": [\n    {"name": "model"'),
                                  ("float32", "float32", "flaot32"), ("model", '["model", "x"]', '["modle", "x"]'),
                                  ("cuda:0", '"type": "Linear"', '"device": "cuda0", "type": "Linear"')):
            with self.subTest(wrong=wrong):
                text = (SOURCE / "models/tutorial.json").read_text()
                self.assertIn(was, text)
                model = self.write("model.json", text.replace(was, wrong))
                done = sheaf("compile", model, "-o", self.dir / "x.plan")
                self.assert_refused(done, f"did you mean '{meant}'?")

    def test_names_in_files(self):
        plan = self.compile(SOURCE / "models/tutorial.json")
        must(sheaf("run", plan, "--devices", "cpu:0", "--input", "x=random:4", "--output", "out.safetensors", cwd=self.dir))
        run = ("run", plan, "--devices", "cpu:0", "--input")
        self.assert_refused(sheaf(*run, "x=out.safetensors:outsied", cwd=self.dir), "did you mean 'outside'?")


unittest.main()
