"""Plan files that are damaged or hostile: refused with a located message before a device is touched."""
import copy
import hashlib
import json
import random
import unittest

from program import MODELS, ProgramTest, must, sheaf, sheaf_run


def sealed(document):
    """The plan's text with the digest that belongs to it."""
    document = {k: v for k, v in document.items() if k != "sha256"}
    compact = json.dumps(document, separators=(",", ":"), ensure_ascii=False)
    return json.dumps({**document, "sha256": hashlib.sha256(compact.encode()).hexdigest()})


class Refused(ProgramTest):
    def setUp(self):
        super().setUp()
        self.text = self.compile(MODELS / "tutorial.json").read_text()
        self.document = json.loads(self.text)
        (self.dir / "model.plan").unlink()

    def execute(self, text):
        self.write("bad.plan", text)
        return sheaf_run("bad.plan", "--devices", "cpu:0,cpu:1", "--input", "x=random:4", "--output", "out.safetensors", cwd=self.dir)

    def refuse(self, text, *words):
        done = self.execute(text)
        self.assert_refused(done, "bad.plan", *words)
        self.assertEqual([p.name for p in self.dir.iterdir()], ["bad.plan"], str(done))
        return done

    def refuse_dump(self, text):
        self.write("bad.plan", text)
        self.assert_refused(sheaf("dump", "bad.plan", "--format", "json", cwd=self.dir), "bad.plan")

    def change(self, edit, *words):
        """A plan with `edit` applied and a digest that is right."""
        document = copy.deepcopy(self.document)
        edit(document)
        self.refuse(sealed(document), *words)

    def test_resealing_changes_nothing(self):
        """So that what the other tests see refused is refused for the edit."""
        self.write("good.plan", sealed(self.document))
        must(sheaf_run("good.plan", "--devices", "cpu:0", "--input", "x=random:4", cwd=self.dir))

    def test_not_a_plan(self):
        for text in ("", "{}", "[]", "nonsense", '{"format": "other"}', (MODELS / "tutorial.json").read_text(), "\x7fELF"):
            with self.subTest(text=text[:20]):
                self.refuse(text)
        self.refuse("[" * 300_000)
        self.refuse(b"\xff\xfe\x00")

    def test_truncated(self):
        text = self.text.rstrip()
        for length in range(0, len(text), len(text) // 25):
            with self.subTest(length=length):
                self.refuse(text[:length])
                self.refuse_dump(text[:length])

    def test_damage_is_noticed_by_the_digest(self):
        self.refuse(self.text.replace('"tutorial"', '"tutoriel"', 1), "damaged")
        self.refuse_dump(self.text.replace('"tutorial"', '"tutoriel"', 1))

    def test_versions_and_features(self):
        self.change(lambda d: d.update(version="2.0"), "2.0")
        self.change(lambda d: d.update(version="1.99"), "1.99")
        self.change(lambda d: d.update(version="one"))
        self.change(lambda d: d.update(requires=["teleportation"]), "teleportation")

    def test_fields(self):
        for key in self.document:
            if key != "sha256":
                with self.subTest(missing=key):
                    document = {k: v for k, v in self.document.items() if k != key}
                    done = self.execute(sealed(document))
                    self.assertIn(done.status, (0, 1), str(done))  # some fields are optional
                with self.subTest(wrong_type=key):
                    self.change(lambda d: d.update({key: 17}))
        self.change(lambda d: d.update(surprise=1), "surprise")
        self.refuse(self.text.replace("{", '{"name": "again", ', 1), "name")

    def test_structure(self):
        def infer(document):
            return document["programs"]["infer"]

        def step(document, name):
            return next(s for s in infer(document)["steps"] if s["op"] == name)
        edits = {
            "a value beyond the list": lambda d: step(d, "scatter")["inputs"].__setitem__(0, 999),
            "a negative value": lambda d: step(d, "scatter")["inputs"].__setitem__(0, -1),
            "a value of 2^40": lambda d: step(d, "scatter")["inputs"].__setitem__(0, 1 << 40),
            "a value used before it is made": lambda d: infer(d)["steps"].reverse(),
            "a step twice": lambda d: infer(d)["steps"].append(infer(d)["steps"][0]),
            "a step left out": lambda d: infer(d)["steps"].pop(0),
            "an unknown operation": lambda d: step(d, "scatter").update(op="teleport"),
            "an unknown place": lambda d: infer(d)["values"][0].update(place="moon:0"),
            "a device of a huge index": lambda d: infer(d)["values"][0].update(place="device:99999999999"),
            "a region that isn't there": lambda d: step(d, "scatter").update(place="region:7"),
            "a negative size": lambda d: infer(d)["values"][0].update(shape=["batch", "-5"]),
            "an unknown symbol": lambda d: infer(d)["values"][0].update(shape=["rows", "5"]),
            "a huge size": lambda d: infer(d)["values"][0].update(shape=["batch", "9007199254740992"]),
            "a huge coefficient": lambda d: infer(d)["values"][0].update(shape=["4503599627370496*batch", "5"]),
            "another rank": lambda d: infer(d)["values"][0].update(shape=["batch"]),
            "an unknown dtype": lambda d: infer(d)["values"][0].update(dtype="float12"),
            "another dtype": lambda d: infer(d)["values"][0].update(dtype="int64"),
            "a parameter that isn't there": lambda d: d.update(parameters=[]),
            "a name twice": lambda d: infer(d)["values"][1].update(name=infer(d)["values"][0]["name"]),
            "an output that isn't there": lambda d: infer(d)["outputs"][0].update(value=999),
            "no program": lambda d: d["programs"].pop("infer"),
        }
        for what, edit in edits.items():
            with self.subTest(what):
                self.change(edit)

    def test_kernels(self):
        """A model with a generated kernel whose code is damaged, missing or named otherwise."""
        plan = self.compile('{"sheaf": "1.0", "name": "k", "inputs": {"x": {"shape": ["batch", 5]}}, "layers": [{"name": "y", "type": "Tanh"}, {"name": "z", "type": "Softmax", "dim": 1}]}')
        self.document = json.loads(plan.read_text())
        plan.unlink()
        (self.dir / "model.json").unlink()
        self.assertTrue(self.document["kernels"], "this model should need a generated kernel")

        def rename(document):
            document["kernels"][0]["name"] = "elsewhere"
        self.change(rename)
        self.change(lambda d: d.update(kernels=[]))
        self.change(lambda d: d.update(objects=[]))
        for data in ("", "AAAA", "not base64!", "f0VMRgIBAQA="):
            with self.subTest(data=data):
                self.change(lambda d: [o.update(data=data) for o in d["objects"]])

    def test_steps_of_kernels_are_those_that_their_code_was_made_for(self):
        """Generated code looks at no size: a larger range or a smaller operand would have it write past its buffers."""
        plan = self.compile('{"sheaf": "1.0", "name": "k", "inputs": {"x": {"shape": ["batch", 5]}}, "layers": ['
                            '{"name": "y", "type": "Tanh"}, {"name": "z", "type": "Softmax", "dim": 1}]}')
        self.document = json.loads(plan.read_text())
        plan.unlink()
        (self.dir / "model.json").unlink()

        def infer(document):
            return document["programs"]["infer"]

        def kernel_steps(document):
            return [step for step in infer(document)["steps"] if step["op"] == "kernel"]
        steps = kernel_steps(self.document)
        self.assertTrue(steps)
        for i, step in enumerate(steps):
            self.change(lambda d: kernel_steps(d)[i]["attributes"].update(work="1000*batch"), "kernels: ", "was not made for")
            self.change(lambda d: kernel_steps(d)[i]["attributes"].update(grain=step["attributes"]["grain"] + 1), "was not made for")
        self.change(lambda d: [value.update(shape=["batch", "2"]) for value in infer(d)["values"]], "was not made for")
        self.change(lambda d: [value.update(dtype="float16") for value in infer(d)["values"]], "was not made for")
        self.change(lambda d: d["kernels"][0].pop("signatures"), "signatures")
        self.change(lambda d: d["kernels"][0].update(signatures=[]), "was not made for")

    def test_mutated(self):
        """Edits anywhere in the JSON, with a right digest: the reader refuses, or the plan runs; nothing crashes."""
        draw = random.Random("plans")
        document = {**self.document, "objects": self.document["objects"] and []}

        def spots(value, found):
            for key in (value if isinstance(value, dict) else range(len(value))):
                found.append((value, key))
                if isinstance(value[key], (dict, list)):
                    spots(value[key], found)
            return found
        for number in range(80):
            mutated = copy.deepcopy(document)
            holder, key = draw.choice(spots(mutated["programs"], []) + spots(mutated["regions"], []) + spots(mutated["parameters"], []))
            holder[key] = draw.choice([None, -1, 0, 1, 2, 7, 1 << 31, 1 << 62, 0.5, "", "batch", "host", "device:0", "region:0", "x", [], {}, [0], [0, 0], True])
            with self.subTest(number=number, edit=f"{key}: {holder[key]!r}"):
                done = self.execute(sealed(mutated))
                self.assertIn(done.status, (0, 1), str(done))
                if done.status:
                    self.assertIn("error", done.err)


unittest.main()
