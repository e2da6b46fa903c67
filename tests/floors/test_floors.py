"""Who may include whom: folders form no circle, a floor of the runtime uses those that runtime/CMakeLists.txt gives it, and
of the other top-level folders each uses those below it."""
import re
import sys
import unittest
from collections import defaultdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "cli"))
from program import SOURCE  # noqa: E402

# Top-level folders, each with those that it may include from.
BELOW = {
    "runtime": {"runtime"},
    "frontend": {"frontend", "runtime"},
    "ir": {"ir", "runtime"},
    "passes": {"passes", "ir", "runtime"},
    "codegen": {"codegen", "ir", "runtime"},
    "tools": {"tools", "codegen", "passes", "ir", "frontend", "runtime"},
    "bench": {"bench", "tools", "codegen", "passes", "ir", "frontend", "runtime"},
}
# Public headers, each with the folder that has its sources: who includes the one uses the other.
PUBLIC = {"sheaf/tensor.h": "runtime/data", "sheaf/files.h": "runtime/data", "sheaf/profile.h": "runtime/trace",
          "sheaf/trace.h": "runtime/trace", "sheaf/plan.h": "runtime/session", "sheaf/devices.h": "runtime/session",
          "sheaf/tune.h": "runtime/bind", "sheaf/options.h": "runtime/session", "sheaf/session.h": "runtime/session", "sheaf/model.h": "runtime/session",
          "sheaf/trainer.h": "runtime/training", "sheaf/gradients.h": "runtime/training", "sheaf/metrics.h": "runtime/training",
          "sheaf/inspect.h": "tools/api", "sheaf/compiler.h": "tools/driver"}
IMPORT = {"ir", "runtime", "frontend"}  # frontend/import makes IR
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)
FLOOR = re.compile(r"^sheaf_floor\(([^)]*)\)", re.MULTILINE)


def includes(text):
    return INCLUDE.findall(text)


def edges(root):
    """(file, included file), both relative to the root, for each include of a file of the project."""
    for top in [*BELOW, "sheaf"]:
        for file in sorted((root / top).rglob("*")):
            if file.suffix not in (".h", ".cpp", ".cu", ".cuh", ".inc"):
                continue
            for name in includes(file.read_text(encoding="utf-8")):
                for found in (root / name, file.parent / name):
                    if found.is_file() and root in found.resolve().parents:
                        yield file.relative_to(root), found.resolve().relative_to(root)
                        break


def floors(text):
    """Of each floor: itself and all below it, as its sheaf_floor() line says."""
    below = {}
    for line in FLOOR.findall(text):
        name, *rest = line.split("PRIVATE")[0].split()
        below[name] = {name}.union(*(below[other] for other in rest))
    return below


def folder(file):
    return Path(PUBLIC.get(str(file), file.parent))


def circle(graph):
    """A list of folders that include one another in turn; empty if there is none."""
    done, path = set(), []

    def visit(folder):
        if folder in path:
            return path[path.index(folder):] + [folder]
        if folder in done:
            return []
        path.append(folder)
        for other in sorted(graph[folder]):
            if found := visit(other):
                return found
        path.pop()
        done.add(folder)
        return []

    for folder in sorted(graph):
        if found := visit(folder):
            return found
    return []


class Floors(unittest.TestCase):
    root = SOURCE.resolve()

    def test_no_folder_includes_upwards(self):
        below = floors((self.root / "runtime" / "CMakeLists.txt").read_text(encoding="utf-8"))
        self.assertGreater(len(below), 10)
        wrong = []
        for file, included in edges(self.root):
            top, other = folder(file).parts[0], folder(included).parts[0]
            allowed = BELOW[top] | (IMPORT if file.parts[:2] == ("frontend", "import") else set())
            if other not in allowed:
                wrong.append(f"{file} includes {included}: {top}/ stands below {other}/")
            elif top == other == "runtime" and folder(included).parts[1] not in below[folder(file).parts[1]]:
                wrong.append(f"{file} includes {included}: runtime/CMakeLists.txt gives no floor {folder(included).parts[1]} to "
                             f"{folder(file).parts[1]}")
        self.assertEqual(wrong, [])

    def test_each_folder_of_the_runtime_is_a_floor(self):
        below = floors((self.root / "runtime" / "CMakeLists.txt").read_text(encoding="utf-8"))
        self.assertEqual({f.name for f in (self.root / "runtime").iterdir() if f.is_dir()}, set(below))
        self.assertEqual([f.name for f in (self.root / "runtime").iterdir() if f.suffix in (".h", ".cpp")], [])

    def test_folders_form_no_circle(self):
        graph = defaultdict(set)
        for file, included in edges(self.root):
            if folder(file) != folder(included):
                graph[str(folder(file))].add(str(folder(included)))
        self.assertGreater(len(graph), 20)
        self.assertEqual(circle(dict(sorted(graph.items())) | {k: set() for v in graph.values() for k in v if k not in graph}), [])

    def test_each_public_header_has_its_folder(self):
        self.assertEqual({f"sheaf/{file.name}" for file in (self.root / "sheaf").iterdir()}, set(PUBLIC))

    def test_the_python_extension_is_over_the_public_headers_alone(self):
        public = {f"sheaf/{file.name}" for file in (self.root / "sheaf").iterdir()} | {
            f"runtime/base/{name}.h" for name in ("dtype", "error", "extent")}  # cmake/SheafInstall.cmake
        files = sorted((self.root / "python/extension").iterdir())
        self.assertGreater(len(files), 5)
        for file in files:
            own = {f"python/extension/{other.name}" for other in files}
            self.assertEqual(set(includes(file.read_text(encoding="utf-8"))) - public - own, set(), file.name)

    def test_files_with_unit_tests_are_told_from_fixtures_by_name(self):
        tests = re.compile(r"^(TEST|TEST_F|TEST_P|TYPED_TEST)\(", re.MULTILINE)
        files = sorted((self.root / "tests").rglob("*.cpp"))
        self.assertGreater(len(files), 100)
        for file in files:
            has_tests = tests.search(file.read_text(encoding="utf-8")) is not None
            self.assertEqual(has_tests, file.name.endswith("_test.cpp"), file)

    def test_unit_tests_stand_as_what_they_test_does(self):
        stand_ins = {"ptx", "sim", "allocation"}  # the PTX emulator and the virtual GPU; all of the runtime out of memory
        unit = self.root / "tests" / "unit"
        folders = {test.parent.relative_to(unit) for test in unit.rglob("*_test.*")}
        self.assertGreater(len(folders), 20)
        self.assertEqual([str(f) for f in sorted(folders) if f.parts[0] not in stand_ins and not (self.root / f).is_dir()], [])

    def test_the_rules_would_notice(self):
        self.assertEqual(circle({"a": {"b"}, "b": {"c"}, "c": {"a"}}), ["a", "b", "c", "a"])
        self.assertEqual(circle({"a": {"b", "c"}, "b": {"c"}, "c": set()}), [])
        self.assertEqual(floors("sheaf_floor(base)\nsheaf_floor(plan base PRIVATE x)\nsheaf_floor(bind plan)\n")["bind"],
                         {"bind", "plan", "base"})
        self.assertEqual(includes('#include <vector>\n  # include "runtime/plan/plan.h"\n// #include "x.h"\n'), ["runtime/plan/plan.h"])


unittest.main()
