"""`sheaf dump` in every format, of models and plans, symbolic and expanded."""
import json
import math
import shutil
import subprocess
import unittest
import xml.etree.ElementTree as ElementTree
from html.parser import HTMLParser
from pathlib import Path

from program import MODELS, SHEAF, ProgramTest, must, sheaf

FORMATS = ("text", "mlir", "dot", "svg", "html", "json")
EXPANDED = ("--devices", "cpu:0-2", "--batch", "30")
BYTES = {"float32": 4, "int64": 8, "int32": 4, "uint8": 1}


class Everything(ProgramTest):
    def test_each_format_of_each_model(self):
        for model in sorted(MODELS.glob("*.json")):
            plan = self.compile(model)
            for source in (model, plan):
                for form in FORMATS:
                    for more in ((), EXPANDED):
                        if form in ("svg", "html") and more == () and source == model:
                            continue  # the slow ones once less
                        with self.subTest(source=source.name, model=model.name, format=form, more=more):
                            text = must(sheaf("dump", source, "--format", form, *more)).out
                            self.assertTrue(text.strip())
                            getattr(self, "check_" + form)(text)

    def check_text(self, text):
        pass

    def check_mlir(self, text):
        optimizer = Path(SHEAF).with_name("sheaf-opt")
        if optimizer.exists():
            done = subprocess.run([optimizer, "-"], input=text.encode(), capture_output=True, timeout=60)
            self.assertEqual(done.returncode, 0, done.stderr.decode())

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
