"""A second build of sheaf's programs, of sources with a patch, made from the objects of a first one.

What a build would do anew is what `ninja -t commands` lists, with the paths of the copy: TableGen, the compilation of the sources
that the patch changes or that hold definitions which TableGen now makes otherwise, archives, links. Objects that would only see
further declarations are taken as they are: that makes one minute of many.
"""
import os
import re
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

SOURCES = ("CMakeLists.txt", "cmake", "codegen", "docs", "frontend", "ir", "models", "passes", "runtime", "tests", "tools")


def execute(command, **options):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
    if done.returncode:
        raise AssertionError(f"{command}\nexit {done.returncode}\n{done.stdout}")
    return done.stdout


def copy_or_link(source, target):
    """Objects and archives become links to the first build's; whatever is made anew is removed first."""
    return (os.link if Path(source).suffix in (".o", ".a", ".pch") else shutil.copy2)(source, target)


class PatchedBuild:
    """`source`, `build`: of the first build, which has to be up to date; `work`: an empty folder. After make() there are
    `work`/source and `work`/build/bin, and `compiled` names the sources that were compiled."""

    def __init__(self, source, build, work, patch):
        self.first_source, self.first_build, self.patch = Path(source), Path(build), Path(patch)
        self.source, self.build = Path(work) / "source", Path(work) / "build"

    def make(self, targets):
        self.copy_sources()
        self.changed = self.apply()
        for name in ("CMakeFiles", "cmake", "codegen", "frontend", "ir", "lib", "passes", "runtime", "tools"):
            if (self.first_build / name).is_dir():
                shutil.copytree(self.first_build / name, self.build / name, copy_function=copy_or_link, symlinks=True)
        (self.build / "bin").mkdir()
        commands = execute(["ninja", "-C", self.first_build, "-t", "commands", *targets]).splitlines()
        tables = [command for command in commands if "-tblgen" in command]
        compilations = [command for command in commands if re.search(r" -c \S+$", command)]
        links = [command for command in commands if re.search(r" -o bin/|/cmake -E rm -f lib/\S+\.a && ", command)]
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            list(pool.map(self.repeat, tables))
            compilations = [command for command in compilations if self.is_affected(Path(command.rsplit(" ", 1)[1]))]
            list(pool.map(self.repeat, compilations))
        for command in links:
            self.repeat(command)
        self.compiled = [os.path.relpath(command.rsplit(" ", 1)[1], self.first_source) for command in compilations]

    def copy_sources(self):
        self.source.mkdir(parents=True)
        for name in SOURCES:
            copy = shutil.copytree if (self.first_source / name).is_dir() else shutil.copy2
            copy(self.first_source / name, self.source / name)

    def apply(self):
        """Applies the patch; returns the names of the files that it changes."""
        # Outside of any repository, for inside `git apply` takes paths from its root and passes over the others.
        outside = {"cwd": self.source, "env": {**os.environ, "GIT_CEILING_DIRECTORIES": str(self.source.parent)}}
        names = [line.split("\t")[2] for line in execute(["git", "apply", "--numstat", self.patch], **outside).splitlines()]
        execute(["git", "apply", self.patch], **outside)
        return names

    def is_affected(self, name):
        """Whether the patch changes the source file `name` of the first build, or definitions that it includes."""
        if not name.is_relative_to(self.first_source) or name.is_relative_to(self.first_build):
            return False
        if str(name.relative_to(self.first_source)) in self.changed:
            return True
        included = re.findall(r'#include "(\S+\.cpp\.inc)"', name.read_text(encoding="utf-8"))
        return any((self.first_build / path).read_bytes() != (self.build / path).read_bytes() for path in included)

    def repeat(self, command):
        """Runs a command of the first build on the copy."""
        mark = "\0"
        command = command.replace(str(self.first_build), mark).replace(str(self.first_source), str(self.source))
        command = command.replace(mark, str(self.build))
        for output in re.findall(r" -o (\S+)", command):
            (self.build / output).unlink(missing_ok=True)
        execute(["bash", "-c", command], cwd=self.build)
