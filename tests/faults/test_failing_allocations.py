"""Memory that can't be had, once or for good from one allocation on: every verb ends with status 1 and a word, and leaves no output that
isn't whole; or it does without."""
import unittest

from faults import FaultTest, must


class FailingAllocations(FaultTest):
    def walk(self, command, **for_good):
        done, _ = self.with_fault(command)
        must(done)
        outputs = set(self.content())
        refused, number = 0, 1
        while True:
            for path in self.out.iterdir():
                path.unlink()
            done, reached = self.with_fault(command, FAILING_ALLOCATION=number, **for_good)
            if reached is None:
                break
            with self.subTest(verb=command[1], allocation=number, **for_good):
                self.assertIn(done.status, (0, 1), str(done))
                if done.status == 1:
                    refused += 1
                    self.assertRegex(done.err, r"error: .*(memory|alloc)", str(done))
                    self.assertLessEqual(set(self.content()), {"metrics"}, str(done))
                else:
                    self.assertEqual(set(self.content()), outputs, str(done))
            # Each of the first, then ever fewer: late ones are many and alike.
            number += 1 + number // 2
        self.assertGreater(refused, 5, "the test shows something")

    def test_one(self):
        for command in self.verbs().values():
            self.walk(command)

    def test_one_and_all_that_follow(self):
        for command in self.verbs().values():
            self.walk(command, FAILING_FOR_GOOD=1)


unittest.main()
