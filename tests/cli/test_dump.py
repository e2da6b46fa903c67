"""`sheaf dump` in every format, of models and plans, symbolic and expanded."""
import json
import math
import re
import shutil
import subprocess
import unittest
import xml.etree.ElementTree as ElementTree
from html.parser import HTMLParser
from pathlib import Path

from program import MODELS, SHEAF, ProgramTest, long, must, sheaf

FORMATS = ("text", "mlir", "dot", "svg", "html", "json", "model-explorer", "mlir-generic", "bound")
EXPANDED = ("--devices", "cpu:0-2", "--batch", "30")
BOUND = {  # lines of --format bound, as docs/binding.md has them
    "%": r"^%\d+ .*: \w+\[[\d,]*\]( as [^,]+)? on [a-z]+(:\d+)?, (arena \+ |input |output |variable |constant |at %)\d+",
    "#": r"^#\d+ on [a-z]+(:\d+)?(, replica \d+)?: \w+( \S+)?( of \S+)? \([^)]*\) -> \([^)]*\)",
}
BYTES = {"float32": 4, "int64": 8, "int32": 4, "uint8": 1}


class Everything(ProgramTest):
    few = {MODELS / f"{name}.json" for name in ("digits_cnn", "distributed_model", "tutorial")}

    def test_each_format_of_a_few_models(self):
        self.each_format(sorted(self.few))

    @long
    def test_each_format_of_each_other_model(self):
        self.each_format(sorted(set(MODELS.glob("*.json")) - self.few))

    def each_format(self, models):
        for model in models:
            plan = self.compile(model)
            for source in (model, plan):
                for form in FORMATS:
                    for more in ((), EXPANDED):
                        if form in ("svg", "html") and more == () and source == model:
                            continue  # the slow ones once less
                        if form == "model-explorer" and source == model or form == "mlir-generic" and (more or source == model):
                            continue  # printed from what the other formats show to be the same
                        if form == "bound" and (not more or source == model):
                            continue  # a binding is for devices and a batch
                        with self.subTest(source=source.name, model=model.name, format=form, more=more):
                            text = must(sheaf("dump", source, "--format", form, *more)).out
                            self.assertTrue(text.strip())
                            getattr(self, "check_" + form.replace("-", "_"))(text)

    def check_text(self, text):
        pass

    def check_mlir(self, text):
        optimizer = Path(SHEAF).with_name("sheaf-opt")
        if optimizer.exists():
            done = subprocess.run([optimizer, "-"], input=text.encode(), capture_output=True, timeout=60)
            self.assertEqual(done.returncode, 0, done.stderr.decode())

    def check_mlir_generic(self, text):
        self.check_mlir(text)
        self.assertIn('"func.func"() <{', text)
        for line in text.splitlines():  # no op in a form of its own
            self.assertNotRegex(line, r"^ *(%[\w:, ]+ = )?(nn|dist|func)\.")

    def check_model_explorer(self, text):
        collection = json.loads(text)
        try:
            import jsonschema
        except ImportError:
            pass  # tests/unit/frontend/schema_test.py says so
        else:
            schema = json.loads(Path(__file__).with_name("model_explorer.schema.json").read_text())
            jsonschema.Draft202012Validator(schema).validate(collection)
        nodes = collection["graphs"][0]["nodes"]
        ids = [node["id"] for node in nodes]
        self.assertEqual(len(ids), len(set(ids)))
        for node in nodes:
            for edge in node["incomingEdges"]:
                self.assertIn(edge["sourceNodeId"], ids)

    def check_bound(self, text):
        """Lines are docs/binding.md's; what they name is there; each lane's instances are in one order, each once."""
        head, tensors, instances, rest = text.split("\n\n", 3)
        self.assertRegex(head, r"^bound program infer of \S+ on cpu:0,cpu:1,cpu:2 with batch 30$")
        ids = {"%": [], "#": []}
        for kind, block in (("%", tensors), ("#", instances)):
            for line in block.splitlines():
                self.assertRegex(line, BOUND[kind])
                ids[kind].append(line.split(" ", 1)[0])
        lanes = []
        for line in rest.splitlines():
            self.assertRegex(line, r"^(output \d+|update %|lane |  #)")
            for first, last in re.findall(r" #(\d+)(?:-#(\d+))?", line):
                lanes += range(int(first), int(last or first) + 1)
        for kind in ids:
            self.assertEqual(ids[kind], [f"{kind}{i}" for i in range(len(ids[kind]))])
            self.assertLessEqual(set(re.findall(kind + r"\d+", instances + rest)), set(ids[kind]))
        done = [i for i, line in enumerate(instances.splitlines()) if ", left out" not in line]
        self.assertEqual(sorted(lanes), done)

    def check_dot(self, text):
        dot = shutil.which("dot")
        if dot:
            done = subprocess.run([dot, "-Tplain"], input=text.encode(), capture_output=True, timeout=120)
            self.assertEqual(done.returncode, 0, done.stderr.decode())
        self.assertTrue(text.lstrip().startswith("digraph"))

    def check_svg(self, text):
        self.assertTrue(ElementTree.fromstring(text).tag.endswith("svg"))

    def check_html(self, text):
        class Links(HTMLParser):
            found = []

            def handle_starttag(self, tag, attributes):
                for name, value in attributes:
                    if name in ("src", "href") and value and not value.startswith(("#", "data:")):
                        self.found.append((tag, value))
        links = Links()
        links.feed(text)
        self.assertEqual(links.found, [], "the page needs a network")
        for word in ("fetch(", "XMLHttpRequest", "@import", "import("):
            self.assertNotIn(word, text)

    def check_json(self, text):
        graph = json.loads(text)
        self.assertLessEqual({"nodes", "edges"}, set(graph))
        ids = [node["id"] for node in graph["nodes"]]
        self.assertEqual(len(ids), len(set(ids)))
        for node in graph["nodes"]:
            self.assertLessEqual({"id", "op", "device"}, set(node), node)
            if node["op"] in ("scatter", "replicate", "gather", "transfer"):
                self.assertTrue(node.get("reason"), node)
                self.assertTrue(node.get("layer"), node)
                self.assertIn("bytes_moved", node)
        for edge in graph["edges"]:
            self.assertIn(edge["from"], ids)
            self.assertIn(edge["to"], ids)
            self.assertLessEqual({"shape", "dtype", "bytes"}, set(edge))


class Difference(ProgramTest):
    """What changed from one model to another: `sheaf dump --diff OLD NEW`."""

    def setUp(self):
        super().setUp()
        self.model = MODELS / "data_parallel_model.json"
        changed = json.loads(self.model.read_text())
        changed["name"] = "changed"
        del changed["training"]
        changed["layers"].append({"name": "extra", "type": "Tanh"})
        changed["outputs"] = ["extra"]
        self.changed = self.write("changed.json", json.dumps(changed))

    def test_nothing_changed(self):
        plan = self.compile(self.model)
        for more in ((), EXPANDED):
            done = must(sheaf("dump", "--diff", self.model, plan, "--format", "text", "--exit-code", *more))
            self.assertRegex(done.out, r"nodes: all \d+ are the same\n")
            self.assertTrue(json.loads(must(sheaf("dump", "--diff", self.model, plan, "--format", "json", *more)).out)["equal"])

    def test_a_layer_more(self):
        must(sheaf("dump", "--diff", self.model, self.changed, "--format", "text"))
        done = sheaf("dump", "--diff", self.model, self.changed, "--format", "text", "--exit-code")
        self.assertEqual((done.status, done.err), (1, ""), str(done))
        self.assertRegex(done.out, r"(?m)^\+ .*tanh +extra")
        self.assertIn("model: data_parallel_model → changed", done.out)
        difference = json.loads(must(sheaf("dump", "--diff", self.model, self.changed, "--format", "json", *EXPANDED)).out)
        self.assertFalse(difference["equal"])
        added = [node["after"]["op"] for node in difference["nodes"] if node["change"] == "added"]
        self.assertIn("tanh", added)
        counts = [difference[kind] for kind in ("added", "removed", "changed", "same")]
        self.assertEqual(sum(counts), len(difference["nodes"]))
        back = json.loads(must(sheaf("dump", "--diff", self.changed, self.model, "--format", "json", *EXPANDED)).out)
        self.assertEqual((back["added"], back["removed"]), (difference["removed"], difference["added"]))

    def test_pictures(self):
        dot = must(sheaf("dump", "--diff", self.model, self.changed, "--format", "dot")).out
        Everything.check_dot(self, dot)
        self.assertIn("#c9f2d2", dot)
        Everything.check_svg(self, must(sheaf("dump", "--diff", self.model, self.changed, "--format", "svg")).out)

    def test_what_does_not_go_together(self):
        for arguments in (("--diff", self.model, self.changed, "--format", "mlir"), ("--exit-code", self.model),
                          ("--diff", self.model, self.changed, "--format", "model-explorer")):
            self.assert_refused(sheaf("dump", *arguments), "--diff", status=2)
        self.assert_refused(sheaf("dump", "--diff", "absent.json", self.changed), "absent.json")
        self.assert_refused(sheaf("dump", "--diff", self.model, self.changed, "--program", "train"), "train")


class Expanded(ProgramTest):
    def graph(self, model, devices, batch):
        return json.loads(must(sheaf("dump", model, "--format", "json", "--devices", devices, "--batch", batch)).out)

    def test_sizes_of_the_tutorial(self):
        graph = self.graph(MODELS / "tutorial.json", "cpu:0-2", 10)
        nodes = {node["id"]: node for node in graph["nodes"]}
        by_op = lambda op: [n for n in graph["nodes"] if n["op"] == op]
        scatter, = by_op("scatter")
        self.assertEqual(scatter["chunks"], [4, 4, 2])
        # Logically from one device to others: two of the three chunks leave the first device, or all leave the host.
        self.assertIn(scatter["bytes_moved"], ((4 + 2) * 5 * 4, 10 * 5 * 4))
        linear = by_op("linear")
        self.assertEqual([(n["device"], n["replica"], n["layer"]) for n in linear],
                         [("cpu:0", 0, "model.module.fc"), ("cpu:1", 1, "model.module.fc"), ("cpu:2", 2, "model.module.fc")])
        for edge in graph["edges"]:
            self.assertTrue(all(isinstance(n, int) for n in edge["shape"]), edge)
            self.assertEqual(edge["bytes"], math.prod(edge["shape"]) * BYTES[edge["dtype"]])
        into = {n["replica"]: [e["shape"] for e in graph["edges"] if e["to"] == n["id"] and nodes[e["from"]]["op"] == "scatter"] for n in linear}
        self.assertEqual(into, {0: [[4, 5]], 1: [[4, 5]], 2: [[2, 5]]})
        gather, = by_op("gather")
        self.assertEqual((gather["chunks"], gather["device"]), ([4, 4, 2], "cpu:0"))

    def test_host_only_mode_inserts_nothing(self):
        graph = self.graph(MODELS / "tutorial.json", "cpu", 10)
        self.assertFalse([n for n in graph["nodes"] if n["op"] in ("scatter", "replicate", "gather", "transfer")])
        self.assertEqual({n["device"] for n in graph["nodes"]}, {"host"})

    def test_model_parallel_transfer(self):
        graph = self.graph(MODELS / "distributed_model.json", "cpu:0", 8)
        transfer, = [n for n in graph["nodes"] if n["op"] == "transfer" and n["layer"].startswith("rnn")] or [None]
        self.assertIsNotNone(transfer)
        self.assertEqual(transfer["bytes_moved"], 8 * 10 * 4)
        embedding, = [n for n in graph["nodes"] if n["op"] == "embedding"]
        self.assertEqual(embedding["device"], "host")

    def test_model_and_plan_say_the_same(self):
        model = MODELS / "data_parallel_model.json"
        plan = self.compile(model)
        for form in ("json", "text", "dot"):
            self.assertEqual(*[must(sheaf("dump", s, "--format", form, *EXPANDED)).out for s in (model, plan)])

    def test_output_file(self):
        text = must(sheaf("dump", MODELS / "tutorial.json", "--format", "dot")).out
        done = must(sheaf("dump", MODELS / "tutorial.json", "--format", "dot", "-o", "x.dot", cwd=self.dir))
        self.assertEqual((done.out, (self.dir / "x.dot").read_text()), ("", text))


unittest.main()
