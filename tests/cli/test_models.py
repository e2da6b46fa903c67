"""Model files that are malformed, hostile or wrong: refused with a located message, quickly, and nothing is written."""
import json
import random
import re
import unittest

from program import MODELS, ProgramTest, must, sheaf


def with_layers(*layers, inputs='"x": {"shape": ["batch", 4]}', more=""):
    """A model file with one layer a line, the first on line 5."""
    lines = ",\n".join(layers)
    return f'{{\n"sheaf": "1.0", "name": "m",\n"inputs": {{{inputs}}},\n"layers": [\n{lines}\n]{more}\n}}\n'


LINEAR = '{"name": "fc", "type": "Linear", "in_features": 4, "out_features": 4}'


class Refused(ProgramTest):
    def refuse(self, text, *words, place=None, limit=30):
        self.write("model.json", text)
        done = sheaf("compile", "model.json", "-o", "out.plan", cwd=self.dir, limit=limit)
        self.assert_refused(done, *words)
        # Where: "model.json:5:12: error:", or any line of the file.
        self.assertRegex(done.err, rf"(?m)^model\.json:{place or '[0-9]+'}:[0-9]+: error: ", str(done)[:2000])
        self.assertEqual([p.name for p in self.dir.iterdir()], ["model.json"])
        return done

    def test_not_json(self):
        for text in ("", " ", "nonsense", "[", "{", "{}", "[]", "null", '"sheaf"', "{\"sheaf\": \"1.0\",}", "\0", "\ufeff{}"):
            with self.subTest(text=text):
                self.refuse(text)
        self.refuse(b'{"sheaf": "1.0", "name": "\xff\xfe"}')
        self.refuse('{\n"sheaf": "1.0",\n"name": "m"\n"inputs": {}}', place=4)

    def test_truncated(self):
        text = (MODELS / "tutorial.json").read_text().rstrip()
        for length in range(0, len(text), max(1, len(text) // 40)):
            with self.subTest(length=length):
                self.refuse(text[:length])

    def test_deeply_nested(self):
        self.refuse("[" * 200_000)
        self.refuse('{"a":' * 200_000)
        self.refuse(with_layers('{"type": "Sequential", "layers": [' * 20_000 + LINEAR + "]}" * 20_000))

    def test_versions(self):
        good = with_layers(LINEAR)
        self.refuse(good.replace('"1.0"', '"2.0"'), "2.0", place=2)
        self.refuse(good.replace('"1.0"', "1"), place=2)
        self.refuse(good.replace('"sheaf": "1.0", ', ""), "sheaf")

    def test_duplicate_keys(self):
        self.refuse(with_layers(LINEAR.replace('"name": "fc"', '"name": "fc",\n"name": "fd"')), "name", place=6)

    def test_unknown_names_suggest_the_nearest(self):
        self.refuse(with_layers(LINEAR.replace("Linear", "Liner")), "Liner", "Linear", place=5)
        self.refuse(with_layers(LINEAR.replace("in_features", "in_feature")), "in_feature", "in_features", place=5)
        self.refuse(with_layers(LINEAR, '{"type": "ReLU", "inputs": ["fd"]}'), "fd", "fc", place=6)
        self.refuse(with_layers(LINEAR, more=',\n"outputs": ["fx"]'), "fx", place=7)
        self.refuse(with_layers(LINEAR, more=',\n"layer": []'), "layer", place=7)

    def test_values(self):
        for old, new in (("4, \"out", "0, \"out"), ("4, \"out", "-4, \"out"), ("4, \"out", "4.5, \"out"), ("4, \"out", "\"4\", \"out"),
                         ("4, \"out", "null, \"out"), ("4, \"out", "[4], \"out"), ("4, \"out", "1e999, \"out"),
                         ("4, \"out", "9223372036854775808, \"out"), ("4, \"out", "4611686018427387904, \"out"), ("4, \"out", "5, \"out")):
            with self.subTest(value=new):
                self.refuse(with_layers(LINEAR.replace(old, new, 1)), place=5)

    def test_arguments(self):
        self.refuse(with_layers('{"type": "Linear", "in_features": 4}'), "out_features", place=5)
        self.refuse(with_layers('{"in_features": 4}'), "type", place=5)
        self.refuse(with_layers('{"type": "Softmax", "dim": 7}'), "dim", place=5)
        self.refuse(with_layers('{"type": "ReLU", "device": "gpu"}'), "gpu", place=5)
        self.refuse(with_layers('{"type": "ReLU", "device": "cuda:-1"}'), place=5)
        self.refuse(with_layers('{"type": "GELU", "approximate": "sinh"}'), "sinh", "tanh", place=5)
        self.refuse(with_layers('{"type": "DataParallel"}'), "module", place=5)
        self.refuse(with_layers('{"type": "DataParallel", "module": {"type": "ReLU"}, "device_ids": [0, -1]}'), place=5)
        self.refuse(with_layers('{"type": "DataParallel", "module": {"type": "ReLU"}, "dim": 2}'), "dim", place=5)

    def test_inputs(self):
        self.refuse(with_layers(LINEAR, inputs='"x": {"shape": ["batch", "batch"]}'), "batch", place=3)
        self.refuse(with_layers(LINEAR, inputs='"x": {"shape": ["rows0", 4]}'), "rows0", "letters", place=3)
        self.refuse(with_layers(LINEAR, inputs='"x": {"shape": ["batch", -4]}'), place=3)
        self.refuse(with_layers(LINEAR, inputs='"x": {"shape": ["batch", 4], "dtype": "float8"}'), "float8", place=3)
        self.refuse(with_layers(LINEAR, inputs='"x": {}'), "shape", place=3)
        self.refuse(with_layers(LINEAR, inputs='"x": {"shape": ["batch", 4], "dtype": "int64"}'), place=5)

    def test_shapes_are_checked(self):
        self.refuse(with_layers(LINEAR, '{"type": "Linear", "in_features": 5, "out_features": 1}'), "5", "4", place=6)
        self.refuse(with_layers('{"type": "Conv2d", "in_channels": 4, "out_channels": 4, "kernel_size": 3}'), place=5)
        self.refuse(with_layers('{"type": "Add", "inputs": ["x", "y"]}', inputs='"x": {"shape": ["batch", 4]}, "y": {"shape": ["batch", 3]}'), place=5)
        self.refuse(with_layers('{"type": "Conv2d", "in_channels": 1, "out_channels": 1, "kernel_size": 5}',
                                inputs='"x": {"shape": ["batch", 1, 3, 3]}'), place=5)
        self.refuse(with_layers('{"type": "Reshape", "shape": [3, -1]}', inputs='"x": {"shape": [4]}'), place=5)

    def test_names(self):
        self.refuse(with_layers(LINEAR, LINEAR), "fc", place=6)
        self.refuse(with_layers('{"name": "a..b", "type": "ReLU"}'), place=5)
        self.refuse(with_layers('{"name": "x", "type": "ReLU", "inputs": ["x"]}'), "x", place=5)
        self.refuse(with_layers('{"name": "a", "type": "ReLU", "inputs": ["b"]}', '{"name": "b", "type": "ReLU"}'), "b", place=5)

    def test_modules(self):
        def modules(text):
            return f',\n"modules": {{{text}}}'
        self.refuse(with_layers('{"type": "A"}', more=modules('"A": {"layers": [{"type": "A"}]}')), "A")
        self.refuse(with_layers('{"type": "A"}', more=modules('"A": {"layers": [{"type": "B"}]}, "B": {"layers": [{"type": "A"}]}')), "A")
        self.refuse(with_layers('{"type": "A"}', more=modules('"A": {"params": {"w": null}, "layers": [{"type": "ReLU"}]}')), "w", place=5)
        self.refuse(with_layers('{"type": "A", "v": 1}', more=modules('"A": {"params": {"w": 1}, "layers": [{"type": "ReLU"}]}')), "v", place=5)
        self.refuse(with_layers('{"type": "A"}', more=modules('"A": {"layers": [{"type": "Linear", "in_features": "$w", "out_features": 4}]}')), "w", place=7)
        self.refuse(with_layers('{"type": "A"}', more=modules('"A": {"layers": []}')))

    def test_modules_that_grow_without_bound(self):
        bodies = [f'"M{i}": {{"layers": [{{"type": "M{i + 1}"}}, {{"type": "M{i + 1}"}}]}}' for i in range(60)]
        bodies.append('"M60": {"layers": [{"type": "ReLU"}]}')
        self.refuse(with_layers('{"type": "M0"}', more=',\n"modules": {' + ", ".join(bodies) + "}"))

    def test_sharing(self):
        share = '{{"name": "d", "type": "Linear", "in_features": 4, "out_features": {}, "share": {{"{}": "{}"}}}}'
        self.refuse(with_layers(LINEAR, share.format(4, "weight", "fx.weight")), "fx.weight", place=6)
        self.refuse(with_layers(LINEAR, share.format(4, "wait", "fc.weight")), "wait", place=6)
        self.refuse(with_layers(LINEAR, share.format(5, "weight", "fc.weight")), "fc.weight", place=6)

    def test_training_is_checked_too(self):
        training = ',\n"training": {"targets": {"y": {"shape": ["batch", 4]}}, "loss": {"type": "MSELoss", "inputs": ["fc", "y"]},\n"optimizer": {"type": "SGD", "lr": 0.1}}'
        self.refuse(with_layers(LINEAR, more=training.replace("MSELoss", "MSLoss")), "MSLoss", place=7)
        self.refuse(with_layers(LINEAR, more=training.replace('"SGD"', '"SDG"')), "SDG", place=8)
        self.refuse(with_layers(LINEAR, more=training.replace('"lr"', '"rl"')), "rl", place=8)
        self.write("model.json", with_layers(LINEAR, more=training))
        must(sheaf("compile", "model.json", "-o", "out.plan", cwd=self.dir))

    def test_several_problems_in_one_go(self):
        done = self.refuse(with_layers('{"type": "Liner"}', '{"type": "Linear", "in_features": 4}', '{"type": "Softmax", "dimm": 1}'))
        self.assertEqual({int(n) for n in re.findall(r"(?m)^model\.json:([0-9]+):", done.err)}, {5, 6, 7}, str(done))

    def test_the_message_shows_the_line_with_a_caret(self):
        done = self.refuse(with_layers(LINEAR.replace("Linear", "Liner")), place=5)
        lines = done.err.splitlines()
        column = int(re.match(r"model\.json:5:([0-9]+):", lines[0]).group(1))
        shown = next(i for i, line in enumerate(lines) if '"type": "Liner"' in line and "error" not in line)
        caret = lines[shown + 1].index("^")
        self.assertEqual(lines[shown][caret:caret + 7], '"Liner"', str(done))
        self.assertEqual(column, LINEAR.index('"Linear"') + 1)

    def test_mutated(self):
        """Whatever happens to bytes of a model file, the compiler ends by itself, and well."""
        text = (MODELS / "tutorial.json").read_bytes()
        draw = random.Random("mutations")
        for number in range(60):
            mutated = bytearray(text)
            for _ in range(draw.randint(1, 3)):
                at = draw.randrange(len(mutated))
                mutated[at:at + draw.randint(0, 3)] = bytes(draw.choice(b'{}[]",:0123456789-eE.\\ $ax\xff\0') for _ in range(draw.randint(0, 3)))
            with self.subTest(number=number):
                self.write("model.json", bytes(mutated))
                done = sheaf("compile", "model.json", "-o", "out.plan", cwd=self.dir)
                self.assertIn(done.status, (0, 1), str(done))
                self.assertEqual((self.dir / "out.plan").exists(), done.status == 0)
                (self.dir / "out.plan").unlink(missing_ok=True)


class Accepted(ProgramTest):
    def test_every_model_compiles(self):
        files = sorted(MODELS.glob("*.json"))
        self.assertTrue(files)
        for file in files:
            with self.subTest(model=file.name):
                must(sheaf("compile", file, "-o", "out.plan", cwd=self.dir))
                json.loads((self.dir / "out.plan").read_text())


unittest.main()
