"""`sheaf train` under ReduceLROnPlateau, and with parameter groups: what a run's rates are, also of one that is resumed."""
import json
import unittest

from program import must
from training import CNN, TrainTest

SECTION = json.loads(CNN)


def reduced(values, lr, factor, patience):
    """The rates of the epochs that follow each value, threshold 0 (torch.optim.lr_scheduler.ReduceLROnPlateau)."""
    best, bad, rates = None, 0, []
    for value in values:
        best, bad = (value, 0) if best is None or value < best else (best, bad + 1)
        if bad > patience:
            lr, bad = lr * factor, 0
        rates.append(lr)
    return rates


class Plateau(TrainTest):
    SECTION["training"]["schedule"] = {"type": "ReduceLROnPlateau", "factor": 0.5, "patience": 0, "threshold": 0, "monitor": "eval_loss"}
    SECTION["training"]["optimizer"] = {"type": "SGD", "lr": 0.5, "momentum": 0.9, "weight_decay": 0.01, "parameter_groups": [
        {"parameters": ["*.bias"], "types": ["BatchNorm2d"], "weight_decay": 0}, {"parameters": ["net.conv"], "lr": 0.05}]}
    # A bias of the layer "net.conv" would be in both groups.
    SECTION["modules"]["Net"]["layers"][0]["bias"] = False
    model = json.dumps(SECTION)

    def test_rates_follow_the_evaluations(self):
        done = must(self.train("--epochs", 12, *self.evaluate(), "--metrics", self.path("m.jsonl")))
        epochs = [line for line in self.lines() if "step" not in line]
        rates = [0.5, *reduced([line["eval_loss"] for line in epochs], 0.5, 0.5, 0)]
        self.assertEqual([line["lr"] for line in epochs], rates[:-1])
        self.assertLess(rates[-1], 0.5)
        for words in ("ReduceLROnPlateau(mode=min, factor=0.5", "3 parameters: (weight_decay=0", "1 parameter: (lr=0.05"):
            self.assertIn(words, done.err)
        doubled = must(self.train("--steps", 1, "--lr", 1.0, *self.evaluate()))
        self.assertIn("1 parameter: (lr=0.1", doubled.err)

    def test_resumed_bit_for_bit(self):
        options = [*self.evaluate(), "--seed", 5]
        must(self.train("--steps", 60, "--save", self.path("whole"), "--metrics", self.path("whole.jsonl"), *options))
        for stop in (18, 43):  # at an epoch's end, and within an epoch
            must(self.train("--steps", stop, "--checkpoint", self.path(f"c{stop}"), *options))
            must(self.train("--steps", 60, "--checkpoint", self.path(f"c{stop}"), "--resume", "--save", self.path("parts"), *options))
            self.assertEqual(self.path("parts").read_bytes(), self.path("whole").read_bytes())
        rates = {line["lr"] for line in self.lines("whole.jsonl")}
        self.assertGreater(len(rates), 2, "the rate was reduced more than once")

    def test_needs_evaluations(self):
        done = self.train("--steps", 1)
        self.assertEqual(done.status, 1)
        self.assertIn("follows eval_loss", done.err)
        self.assertIn("--eval", done.err)


if __name__ == "__main__":
    unittest.main()
