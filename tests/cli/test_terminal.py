"""Colours appear on a terminal and nowhere else."""
import os
import re
import subprocess
import unittest

from program import SHEAF, SOURCE, ProgramTest
from terminals import run_in_terminal

ESCAPE = "\x1b["
PLAIN = {"TERM": "xterm-256color", "NO_COLOR": "", "FORCE_COLOR": ""}


class Colours(ProgramTest):
    def setUp(self):
        super().setUp()
        text = (SOURCE / "models/tutorial.json").read_text().replace('"Linear"', '"Linaer"')
        self.wrong = [SHEAF, "compile", str(self.write("model.json", text)), "-o", "x.plan"]

    def shown(self, command, streams=(0, 1, 2), **environment):
        return run_in_terminal(command, {**PLAIN, **environment}, self.dir, streams)

    def piped(self, command, **environment):
        done = subprocess.run(command, cwd=self.dir, capture_output=True, timeout=60, env={**os.environ, **PLAIN, **environment})
        return done.stdout.decode() + done.stderr.decode()

    def test_diagnostics(self):
        status, shown = self.shown(self.wrong)
        self.assertEqual(status, 1)
        self.assertIn("\x1b[1;31merror:\x1b[0m unknown layer type 'Linaer'", shown)
        self.assertIn("\x1b[1;32m^\x1b[0m", shown)
        self.assertIn("\x1b[1;36mnote:\x1b[0m ", self.shown([SHEAF, "run"])[1])

    def test_help(self):
        self.assertIn("\x1b[1musage:\x1b[0m", self.shown([SHEAF, "help", "dump"])[1])

    def test_headings_of_tables(self):
        table = [SHEAF, "dump", str(SOURCE / "models/tutorial.json"), "--format", "text"]
        self.assertRegex(self.shown(table)[1], "\x1b\\[1mdevice .*moved\x1b\\[0m")

    def test_the_stream_that_is_written_to_decides(self):
        self.assertNotIn(ESCAPE, self.shown([SHEAF, "help", "dump"], streams=(0, 2))[1])
        self.assertIn(ESCAPE, self.shown(self.wrong, streams=(2,))[1])
        help_to_pipe = subprocess.run([SHEAF, "help", "dump"], capture_output=True, timeout=60, env={**os.environ, **PLAIN})
        self.assertNotIn(b"\x1b", help_to_pipe.stdout)

    def test_a_pipe_gets_no_escapes(self):
        for command in (self.wrong, [SHEAF, "run"], [SHEAF, "help", "dump"], [SHEAF, "devices"],
                        [SHEAF, "dump", str(SOURCE / "models/tutorial.json"), "--format", "text"]):
            text = self.piped(command)
            self.assertTrue(text)
            self.assertNotIn("\x1b", text)

    def test_the_environment_declines(self):
        for environment in ({"NO_COLOR": "1"}, {"TERM": "dumb"}, {"NO_COLOR": "1", "FORCE_COLOR": "1"}):
            self.assertNotIn(ESCAPE, self.shown(self.wrong, **environment)[1], environment)

    def test_the_environment_asks(self):
        self.assertIn(ESCAPE, self.piped(self.wrong, FORCE_COLOR="1"))
        self.assertNotIn(ESCAPE, self.piped(self.wrong, FORCE_COLOR="0"))

    def test_colours_are_all_that_differs(self):
        status, shown = self.shown(self.wrong)
        self.assertEqual(re.sub(r"\x1b\[[0-9;]*m", "", shown).replace("\r\n", "\n"), self.piped(self.wrong))


unittest.main()
