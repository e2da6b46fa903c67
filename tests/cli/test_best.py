"""What `sheaf train` keeps of the best epoch, when it ends early, its event files for TensorBoard, and weights that fit in part."""
import struct
import unittest

from program import must, sheaf
from tensors import read_safetensors, write_safetensors
from training import CNN, TrainTest


def crc32c(data):
    value = 0xFFFFFFFF
    for byte in data:
        value ^= byte
        for _ in range(8):
            value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)
    return value ^ 0xFFFFFFFF


def varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 0x7F) << shift
        shift, at = shift + 7, at + 1
        if data[at - 1] < 0x80:
            return value, at


def fields(data):
    """Pairs of a field's number and its value, of a message of protocol buffers."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        kind = key & 7
        if kind == 0:
            value, at = varint(data, at)
        else:
            size = {1: 8, 5: 4}.get(kind)
            if size is None:
                size, at = varint(data, at)
            value, at = data[at:at + size], at + size
        yield key >> 3, value


def events(file):
    """(step, tag, value) of each scalar in an event file; each record's two sums are checked."""
    data, at, found, others = file.read_bytes(), 0, [], []
    while at < len(data):
        length, = struct.unpack_from("<Q", data, at)
        record = data[at + 12:at + 12 + length]
        for part, place in ((data[at:at + 8], at + 8), (record, at + 12 + length)):
            sum_ = crc32c(part)
            assert struct.unpack_from("<I", data, place)[0] == ((sum_ >> 15 | sum_ << 17) + 0xA282EAD8) & 0xFFFFFFFF
        at += 16 + length
        event = dict(fields(record))
        if 5 not in event:
            others.append(event)
            continue
        scalar = dict(fields(dict(fields(event[5]))[1]))
        found.append((event[2], scalar[1].decode(), struct.unpack("<f", scalar[2])[0]))
    assert others[0][3] == b"brain.Event:2"
    return found, others


class Best(TrainTest):
    def test_the_best_epoch_is_kept_and_patience_ends_the_run(self):
        lr = ("--lr", "0.3")  # too large: the loss goes up and down
        done = must(self.train("--epochs", 40, *self.evaluate(), *lr, "--patience", 3, "--save-best", self.path("best"), "--save", self.path("last"),
                               "--metrics", self.path("m.jsonl")))
        losses = [line["eval_loss"] for line in self.lines("m.jsonl") if "eval_loss" in line]
        best = losses.index(min(losses))
        self.assertLess(len(losses), 40)
        self.assertEqual(len(losses), best + 1 + 3, losses)
        self.assertRegex(done.out, rf", best eval loss \S+ in epoch {best + 1}, on cpu:0,cpu:1\n\Z")
        self.assertRegex(done.err, r"best +by eval loss; ends after 3 epochs without a better one; kept in ")
        must(self.train("--epochs", best + 1, *self.evaluate(), *lr, "--save", self.path("again")))
        self.assertEqual(read_safetensors(self.path("best"))[0], read_safetensors(self.path("again"))[0])
        self.assertNotEqual(read_safetensors(self.path("best"))[0], read_safetensors(self.path("last"))[0])

        # A run that is stopped in between and goes on ends at the same place.
        more = (*self.evaluate(), *lr, "--patience", 3, "--save-best", self.path("best2"), "--checkpoint", self.path("c"))
        must(self.train("--steps", 13, *more))
        resumed = must(self.train("--epochs", 40, *more, "--resume"))
        self.assertIn(f"in epoch {best + 1}, on", resumed.out)
        self.assertEqual(self.path("best2").read_bytes(), self.path("best").read_bytes())
        again = must(self.train("--epochs", 40, *more, "--resume"))
        self.assertIn(f"in epoch {best + 1}, on", again.out)

    def test_what_best_means(self):
        done = must(self.train("--epochs", 2, *self.evaluate(), "--save-best", self.path("b"), "--best", "accuracy"))
        self.assertRegex(done.out, r"best eval accuracy [01]\.?\d* in epoch [12]")
        for more, status, words in ((["--best", "f1", "--patience", 2, *self.evaluate()], 1, "evaluation tells 'loss', 'accuracy'"), (["--patience", 2], 2, "needs --eval"),
                                    (["--weights-partial"], 2, "needs --weights")):
            refused = self.train("--epochs", 1, *more)
            self.assertEqual(refused.status, status, str(refused))
            self.assertIn(words, refused.err)

    def test_event_files(self):
        must(self.train("--steps", 9, *self.evaluate(), "--tensorboard", self.path("tb"), "--checkpoint", self.path("c"), "--metrics", self.path("m.jsonl")))
        must(self.train("--steps", 14, *self.evaluate(), "--tensorboard", self.path("tb"), "--checkpoint", self.path("c"), "--resume"))
        first, second = sorted(self.path("tb").iterdir())
        self.assertRegex(first.name, r"\Aevents\.out\.tfevents\.\d{10}\.")
        scalars, _ = events(first)
        losses = [(step, value) for step, tag, value in scalars if tag == "train/loss"]
        self.assertEqual(losses, [(line["step"], struct.unpack("<f", struct.pack("<f", line["loss"]))[0]) for line in self.lines("m.jsonl") if "step" in line])
        self.assertEqual([step for step, tag, _ in scalars if tag == "eval/accuracy"], [6, 9])
        scalars, others = events(second)
        self.assertEqual([step for step, tag, _ in scalars if tag == "train/loss"], [10, 11, 12, 13, 14])
        self.assertEqual((others[1][2], dict(fields(others[1][7]))), (10, {1: 1}), "what comes from step 10 on in earlier files is void")


class PartialWeights(TrainTest):
    def test_what_fits_is_taken_and_the_rest_is_listed(self):
        must(self.train("--steps", 4, "--save", self.path("w")))
        weights, _ = read_safetensors(self.path("w"))
        (self.dir / "other.json").write_text(CNN.replace('"out_features": 3', '"out_features": 5'))
        must(sheaf("compile", self.dir / "other.json", "-o", self.dir / "other.plan"))
        given = {name: tensor for name, tensor in weights.items() if name != "net.module.bn.weight"} | {"extra": weights["net.module.bn.bias"]}
        write_safetensors(self.path("p.safetensors"), given)
        tune = lambda *more: self.train("--steps", 1, "--lr", "0", "--weights", self.path("p.safetensors"), *more, plan=self.dir / "other.plan")
        self.assert_refused(tune(), "don't fit model")
        done = must(tune("--weights-partial", "--save", self.path("tuned")))
        self.assertRegex(done.err, r"1 parameter isn't in the file and keeps its initial values\n.*net\.module\.bn\.weight")
        self.assertRegex(done.err, r"2 tensors have another shape than the model's, whose parameters keep their initial values\n.*'net\.module\.fc\.\w+' is ")
        self.assertRegex(done.err, r"1 tensor is none of the model's\n.*extra")
        tuned, _ = read_safetensors(self.path("tuned"))
        self.assertEqual(tuned["net.module.conv.weight"], weights["net.module.conv.weight"])
        self.assertEqual(tuned["net.module.fc.weight"].shape, (5, 36))
        write_safetensors(self.path("p.safetensors"), {"extra": weights["net.module.bn.bias"]})
        self.assert_refused(tune("--weights-partial"), "none of its 1 tensors has the name and shape")


unittest.main()
