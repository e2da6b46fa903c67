"""A difference of two plans as a page."""
import collections

from browser import MODELS, BrowserTest, json, must, sheaf, unittest


class Difference(BrowserTest):
    def open_difference(self, before, after, *options):
        arguments = ("dump", "--diff", before, after, *options)
        must(sheaf(*arguments, "--format", "html", "-o", self.dir / "page.html"))
        self.open(self.dir / "page.html")
        return json.loads(must(sheaf(*arguments, "--format", "json")).out)

    def edited(self, change):
        model = json.loads((MODELS / "resnet18_w8.json").read_text())
        change(model)
        return self.write("edited.json", json.dumps(model))

    def test_counts_are_those_of_the_json(self):
        text = (MODELS / "tutorial.json").read_text()
        model = json.loads(text)
        model["layers"].append({"name": "more", "type": "Linear", "in_features": 2, "out_features": 3})
        model["outputs"] = ["more"]
        after = self.write("after.json", json.dumps(model))
        difference = self.open_difference(MODELS / "tutorial.json", after, "--devices", "cpu:0-1", "--batch", "8")
        counts = collections.Counter(node["change"] for node in difference["nodes"])
        self.assertGreater(counts["added"], 0)
        shown = collections.Counter(self.js("data.nodes.map((node) => node.change)"))
        for change in ("added", "removed", "changed"):
            self.assertEqual(shown[change], counts[change], change)
            self.assertEqual(self.find(f"#filters .{change}").text, f"{counts[change]} {change}")
            self.assertEqual(self.find(f"#filters .{change}").is_enabled(), counts[change] > 0)
        self.find("#unfold").click()
        for change in ("added", "removed", "changed"):
            self.assertEqual(len(self.find_all(f".node.{change}")), counts[change])
        added = self.node(layer="more", op="linear")
        self.click_node(added)
        self.assertEqual(self.facts()["compared"], "only in the second")

    def test_what_differs_and_the_filter(self):
        difference = self.open_difference(MODELS / "resnet18.json", MODELS / "resnet18_w8.json")
        changed = [node for node in difference["nodes"] if node["change"] == "changed"]
        self.assertGreater(len(changed), 10)
        badges = " ".join(badge.text for badge in self.find_all(".node .badge"))
        self.assertIn("~", badges)
        self.find("#filters .changed").click()
        self.assertEqual(self.find("#hits").text, f"1 of {len(changed)}")
        self.find("#filters .changed").click()
        self.assertEqual(self.find("#hits").text, "")
        self.click_node(self.node(layer="net.module.0"))
        self.assertEqual(self.facts()["compared"], "in both, but not alike")
        self.assertIn("→", self.facts()["what differs"])
        opaque = "Number(getComputedStyle(arguments[0]).opacity)"
        same = self.find(".node.same")
        self.assertEqual(self.js(opaque, same), 1)
        self.find("#filters button[aria-pressed]").click()
        self.assertLess(self.js(opaque, same), 0.5)

    def test_equal_plans(self):
        self.open_difference(MODELS / "tutorial.json", MODELS / "tutorial.json")
        self.assertEqual([button.is_enabled() for button in self.find_all("#filters button")][:3], [False] * 3)


unittest.main()
