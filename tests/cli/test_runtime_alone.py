"""The runtime stands alone: sheaf-run and sheaf link no LLVM or MLIR, which take long to load, and no file of runtime/ includes their headers."""
import os
import re
import subprocess
import unittest
from pathlib import Path

from program import SOURCE

FORBIDDEN = re.compile(r"llvm|mlir|lldELF|clang", re.IGNORECASE)
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"](?:llvm|llvm-c|mlir|mlir-c|lld|clang|ir|passes|codegen|frontend)/')


def tool(*command):
    return subprocess.run(command, check=True, capture_output=True, timeout=60).stdout.decode()


class RuntimeAlone(unittest.TestCase):
    program = os.environ["SHEAF_RUN_PROGRAM"]
    programs = [program, *([os.environ["SHEAF"]] if "SHEAF" in os.environ else [])]  # a build may have no compiler

    def test_they_need_no_llvm_library(self):
        for program in self.programs:
            needed = re.findall(r"\(NEEDED\).*\[(.*)\]", tool("readelf", "--dynamic", program))
            self.assertTrue(needed)
            self.assertEqual([library for library in needed if FORBIDDEN.search(library)], [])
            loaded = [line.split()[0] for line in tool("ldd", program).splitlines()]
            self.assertEqual([library for library in loaded if FORBIDDEN.search(library)], [])

    def test_they_contain_no_llvm_code(self):
        for program in self.programs:
            symbols = tool("nm", "--demangle", "--dynamic", program)
            self.assertEqual([line for line in symbols.splitlines() if re.search(r"\b(llvm|mlir)::", line)], [])

    def test_verbs_without_a_compiler(self):
        for verb in ("run", "train", "eval", "bench", "estimate", "devices"):
            self.assertIn(f"usage: sheaf {verb}", tool(self.program, *([] if verb == "run" else [verb]), "--help"))
        self.assertRegex(tool(self.program, "--version"), r"^sheaf \d+\.\d+\.\d+\n$")

    def test_include_rule(self):
        files = [f for f in (SOURCE / "runtime").rglob("*") if f.suffix in (".h", ".cpp")]
        self.assertGreater(len(files), 10)
        broken = [f"{f.relative_to(SOURCE)}:{i}: {line.strip()}" for f in files
                  for i, line in enumerate(f.read_text().splitlines(), 1) if INCLUDE.match(line)]
        self.assertEqual(broken, [])

    def test_the_rule_would_notice(self):
        self.assertTrue(INCLUDE.match('#include "mlir/IR/Value.h"') and INCLUDE.match("# include <llvm/ADT/StringRef.h>"))
        self.assertFalse(INCLUDE.match('#include "runtime/plan/plan.h"'))


unittest.main()
