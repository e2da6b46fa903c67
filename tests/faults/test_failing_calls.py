"""Each call of the C library that reads, writes, flushes, closes or names a file fails in turn, or does a part of what was asked, as on a
full, broken or remote disk: the program says why and of which file, or goes on. Nothing half-written is left, what was there is
kept, and a training run goes on from its checkpoints as if nothing had been."""
import errno
import os
import re
import shutil
import unittest

from faults import FaultTest, execute, must

CODES = (errno.EIO, errno.ENOSPC, errno.EINTR, errno.EACCES)


class FailingCalls(FaultTest):
    def each(self, command, check, codes=CODES, step=1):
        """Runs the command once for each call, with errors in turn, until it doesn't come so far."""
        number, failed = 1, 0
        while True:
            code = codes[number // step % len(codes)]
            done, call = self.with_fault(command, FAILING_CALL=number, FAILING_ERRNO=code)
            if call is None:
                self.assertEqual(done.status, 0, str(done))
                break
            with self.subTest(number=number, call=call, error=errno.errorcode.get(code, "a part")):
                self.assertIn(done.status, (0, 1), str(done))
                if done.status == 1:
                    failed += 1
                    # The compiler's own files have no names; lld takes a file whose state can't be told for one that isn't there.
                    inside = "error: linking " in done.err or "the linker's" in done.err or "error: the compiler gave up" in done.err or \
                        "error: '/proc/self/fd/" in done.err
                    self.assertRegex(done.err, "error: " if inside else r"(^|\n)\S+: error: ", str(done))
                    self.assertIn("ld.lld" if "ld.lld" in done.err else os.strerror(code), done.err, str(done))
                check(done)
            number += step
        return failed

    def clear(self):
        for path in self.out.iterdir():
            path.unlink()

    def outputs_are_whole_or_not_there(self, whole):
        def check(done):
            now = self.content()
            if done.status == 0:
                self.assertEqual(set(now), set(whole), str(done))
            for name, content in now.items():
                if name in ("metrics", "times"):  # with times in them; lines of metrics appear as the run goes
                    self.assertTrue(content.endswith(b"\n") or not content, str(done))
                else:
                    self.assertEqual(content, whole[name], str(done))
            self.clear()
        return check

    def test_each_verb(self):
        for name, command in self.verbs().items():
            with self.subTest(verb=name):
                must(self.with_fault(command)[0])
                whole = self.content()
                self.clear()
                check = self.outputs_are_whole_or_not_there(whole)
                step = 3 if name == "train" else 1
                self.assertGreater(self.each(command, check, step=step), 2)
                self.assertEqual(self.each(command, check, codes=(0,), step=3 * step), 0, "a part is no error")
                self.clear()

    def test_an_output_that_is_there_is_replaced_or_kept(self):
        output, old = self.out / "outputs", b"what was there"
        command = self.verbs()["run"]
        must(self.with_fault(command)[0])
        whole = output.read_bytes()
        def check(done):
            self.assertEqual(list(self.content()), ["outputs"], str(done))
            self.assertEqual(output.read_bytes(), old if done.status else whole, str(done))
            output.write_bytes(old)
        output.write_bytes(old)
        self.each(command, check)

    def test_kernels_are_kept_whole_or_not(self):
        """A compilation that can't keep its kernels is as good, and so is the next one."""
        command = self.verbs()["compile"]
        must(self.with_fault(command)[0])
        whole = self.content()
        rest = self.outputs_are_whole_or_not_there(whole)
        def check(done):
            rest(done)
            must(self.with_fault(command)[0])
            self.assertEqual(self.content(), whole, str(done))
            self.clear()
            shutil.rmtree(self.cache)
        self.clear()
        shutil.rmtree(self.cache)
        self.each(command, check, step=2)

    def test_checkpoints(self):
        def command(folder, *more):
            return self.command("--steps", 8, "--seed", 5, "--checkpoint", folder / "c", "--checkpoint-every", 3, "--save", folder / "w", "--metrics", folder / "m", *more, devices="cpu:0")
        folder = self.path("whole")
        folder.mkdir()
        must(execute(command(folder), cwd=self.shared))
        whole = (folder / "w").read_bytes()
        def check(done):
            for name in self.content():
                self.assertTrue(name in ("m", "w") or re.fullmatch(r"c/checkpoint-\d+\.safetensors", name), f"{name}\n{done}")
            resumed = must(execute(command(self.out, "--resume"), cwd=self.shared))
            self.assertNotIn("passed over", resumed.err)
            self.assertEqual((self.out / "w").read_bytes(), whole, f"{done}\n{resumed}")
            shutil.rmtree(self.out)
            self.out.mkdir()
        self.assertGreater(self.each(command(self.out), check, step=7), 0)


unittest.main()
