"""A second build of sheaf's programs, of sources with patches, made from the objects of a first one.

What a build would do anew is what `ninja -t commands` lists, with the paths of the copy: TableGen, kernels, the compilation of the
sources that the patches add or change, whose headers they change, or that hold definitions which TableGen now makes otherwise,
archives, links. Objects that would only see further declarations of TableGen's are taken as they are.
"""
import os
import re
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

SOURCES = ("CMakeLists.txt", "cmake", "codegen", "docs", "frontend", "ir", "models", "passes", "runtime", "sheaf", "tests", "tools")


def worked_examples(source):
    """The patches of docs/adding-a-layer.md and docs/operations.md: a layer, a pool and a movement."""
    return [source / f"docs/adding-a-{what}.patch" for what in ("layer", "pool", "movement")]


def execute(command, **options):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
    if done.returncode:
        raise AssertionError(f"{command}\nexit {done.returncode}\n{done.stdout}")
    return done.stdout


def copy_or_link(source, target):
    """Objects and archives become links to the first build's; whatever is made anew is removed first."""
    return (os.link if Path(source).suffix in (".o", ".a", ".pch") else shutil.copy2)(source, target)


def changed_by(patch):
    """The names of the files that a patch changes or adds."""
    return [line.split("\t")[2] for line in execute(["git", "apply", "--numstat", patch], cwd="/").splitlines()]


def source_of(command):
    return Path(command.rsplit(" ", 1)[1])


def output_of(command):
    return re.search(r" -o (\S+)", command).group(1)


class PatchedBuild:
    """`source`, `build`: of the first build, which has to be up to date; `work`: an empty folder. After make() there are
    `work`/source and `work`/build/bin, and `compiled` names the sources that were compiled."""

    def __init__(self, source, build, work, patches):
        self.first_source, self.first_build, self.patches = Path(source), Path(build), patches
        self.source, self.build = Path(work) / "source", Path(work) / "build"

    def make(self, targets):
        self.copy_sources()
        self.changed = {name for patch in self.patches for name in self.apply(patch)}
        for name in ("CMakeFiles", "cmake", "codegen", "frontend", "ir", "lib", "passes", "runtime", "tools"):
            if (self.first_build / name).is_dir():
                shutil.copytree(self.first_build / name, self.build / name, copy_function=copy_or_link, symlinks=True)
        (self.build / "bin").mkdir()
        commands = execute(["ninja", "-C", self.first_build, "-t", "commands", *targets]).splitlines()
        tables = [command for command in commands if "-tblgen" in command]
        kernels = [command for command in commands if re.search(r" -ptx ", command) and self.is_changed(source_of(command))]
        embedding = [command for command in commands if "EmbedPtx.cmake" in command and kernels]
        compilations = [command for command in commands if re.search(r" -c \S+$", command)]
        links = [command for command in commands if re.search(r" -o bin/|/cmake -E rm -f lib/\S+\.a && ", command)]
        self.move_unity_files()
        compilations, links = self.with_new_sources(compilations, links)
        self.headers = self.dependencies()
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            list(pool.map(self.repeat, tables + kernels))
            list(map(self.repeat, embedding))
            compilations = [command for command in compilations if self.is_affected(command)]
            list(pool.map(self.repeat, compilations))
        for command in links:
            self.repeat(command)
        self.compiled = [os.path.relpath(name, self.first_source) for command in compilations for name in self.sources_of(command)]

    def copy_sources(self):
        self.source.mkdir(parents=True)
        for name in SOURCES:
            copy = shutil.copytree if (self.first_source / name).is_dir() else shutil.copy2
            copy(self.first_source / name, self.source / name)

    def apply(self, patch):
        # Outside of any repository, for inside `git apply` takes paths from its root and passes over the others.
        outside = {"cwd": self.source, "env": {**os.environ, "GIT_CEILING_DIRECTORIES": str(self.source.parent)}}
        execute(["git", "apply", patch], **outside)
        return changed_by(patch)

    def copied(self, name):
        """Where a file of the first build lies in the copy."""
        if name.is_relative_to(self.first_build):
            return self.build / name.relative_to(self.first_build)
        return self.source / name.relative_to(self.first_source)

    def moved(self, text):
        """With the paths of the copy."""
        mark = "\0"
        return text.replace(str(self.first_build), mark).replace(str(self.first_source), str(self.source)).replace(mark, str(self.build))

    def move_unity_files(self):
        """What CMake wrote to compile several sources at a time names those of the copy."""
        for unity in self.build.rglob("Unity/unity_*.cxx"):
            unity.write_text(self.moved(unity.read_text()))

    def sources_of(self, compilation):
        """The sources that it compiles, as the first build's."""
        name = source_of(compilation)
        if not name.name.startswith("unity_"):
            return [name]
        included = map(Path, re.findall(r'#include "(.*)"', self.copied(name).read_text()))
        return [self.first_build / path.relative_to(self.build) if path.is_relative_to(self.build) else
                self.first_source / path.relative_to(self.source) for path in included]

    def with_new_sources(self, compilations, links):
        """A source that a patch adds is compiled and linked as its neighbour in the same folder is, or together with it."""
        for name in sorted(self.changed):
            if not name.endswith(".cpp") or (self.first_source / name).exists():
                continue
            folder = (self.first_source / name).parent
            near = [c for c in compilations if any(source.parent == folder for source in self.sources_of(c))]
            if not near:  # of a target that isn't asked for
                continue
            if source_of(near[0]).name.startswith("unity_"):
                with self.copied(source_of(near[0])).open("a") as unity:
                    unity.write(f'#include "{self.source / name}"\n')
                continue
            old = output_of(near[0])
            new = old.replace(source_of(near[0]).name, Path(name).name)
            compilations = compilations + [near[0].replace(old, new).replace(str(source_of(near[0])), str(self.first_source / name))]
            links = [link.replace(f" {old} ", f" {old} {new} ") for link in links]
        return compilations, links

    def dependencies(self):
        """Of each object of the first build, the headers that the patches change."""
        found, objects = {}, None
        for line in execute(["ninja", "-C", self.first_build, "-t", "deps"]).splitlines():
            if line.startswith(" "):
                header = Path(os.path.normpath(self.first_build / line.strip()))
                if self.is_changed(header):
                    objects.append(header)
            elif line:
                objects = found.setdefault(line.split(":")[0], [])
        return found

    def is_changed(self, name):
        return name.is_relative_to(self.first_source) and str(name.relative_to(self.first_source)) in self.changed

    def is_affected(self, compilation):
        """Whether the patches change the source of a compilation, its headers, or definitions that it includes."""
        return bool(self.headers.get(output_of(compilation))) or any(map(self.is_source_affected, self.sources_of(compilation)))

    def is_source_affected(self, name):
        if self.is_changed(name):
            return True
        if name.suffix != ".cpp" or not name.is_relative_to(self.first_source):
            return False
        if name.is_relative_to(self.first_build):  # made by the build: the kernels' texts
            return self.copied(name).exists() and name.read_bytes() != self.copied(name).read_bytes()
        included = re.findall(r'#include "(\S+\.cpp\.inc)"', name.read_text(encoding="utf-8"))
        return any((self.first_build / path).read_bytes() != (self.build / path).read_bytes() for path in included)

    def repeat(self, command):
        """Runs a command of the first build on the copy, without optimising: what it makes runs for seconds."""
        # The precompiled headers are the first build's, made with -O3, which a compiler without this option would mind.
        unoptimised = " -O0 -Xclang -fno-validate-pch " if "-include-pch" in command else " -O0 "
        command = self.moved(command).replace(" -O3 ", unoptimised)
        for output in re.findall(r" -o (\S+)", command):
            (self.build / output).unlink(missing_ok=True)
        execute(["bash", "-c", command], cwd=self.build)
