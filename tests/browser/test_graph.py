"""The graph: folding, searching, what a click shows."""
from browser import BrowserTest, Keys, unittest

TWO = ("--devices", "cpu:0-1", "--batch", "32")
NAMES = """{"sheaf": "1.0", "name": "</script><img src=x onerror='pwned=1'>",
 "inputs": {"x": {"shape": ["batch", 4]}},
 "layers": [{"name": "<b>&amp;'\\"", "type": "Linear", "in_features": 4, "out_features": 4}]}"""


class Folding(BrowserTest):
    def shown(self):
        return len(self.find_all(".node"))

    def test_folded_at_first_unfolds_and_folds(self):
        self.dump("resnet18", *TWO)
        everything = self.js("data.nodes.length")
        first = self.shown()
        self.assertLess(first, everything / 2)
        self.assertGreater(first, 10)
        self.find("#unfold").click()
        self.assertEqual(self.shown(), everything)
        self.assertEqual(self.js("picture.nodes.filter((box) => box.group !== undefined).length"), 0)
        self.find("#fold").click()
        self.assertLess(self.shown(), first)

    def test_a_click_unfolds_one_group_and_its_frame_folds_it(self):
        self.dump("resnet18", *TWO)
        self.find("#fold").click()
        before = self.shown()
        self.find(".node.folded rect.card").click()
        self.assertGreater(self.shown(), before)
        self.assertEqual(len(self.find_all(".group")), 2)  # one on each device
        self.find(".group text").click()
        self.assertEqual((self.shown(), len(self.find_all(".group"))), (before, 0))

    def test_a_training_step_folds_by_phase(self):
        self.dump("resnet18", *TWO, "--program", "train")
        shown = self.js("Object.fromEntries(picture.nodes.map((box) => [foldedLabel(box), box.members.length]))"
                        .replace("foldedLabel(box)", "box.group === undefined ? box.leaf.id : tree.groups.get(box.group).label + ' ' + box.lane"))
        self.assertLess(len(shown), 70)
        self.assertTrue(any(label.startswith("reduce ") and count > 50 for label, count in shown.items()), shown)
        self.assertTrue(any(label.startswith("update ") and count > 50 for label, count in shown.items()), shown)
        # No arrow leads backwards: forward and backward layers aren't in one box.
        self.assertEqual(self.js("picture.edges.filter((edge) => edge.back).length"), 0)
        self.assertEqual(set(self.js("data.nodes.map((node) => node.phase)")), {"forward", "backward", "update"})

    def test_every_model_is_drawn_without_overlaps(self):
        overlaps = """(() => {
          const found = [], boxes = picture.nodes;
          boxes.forEach((a, i) => boxes.slice(i + 1).forEach((b) => {
            if (Math.abs(a.x - b.x) < NODE_WIDTH && Math.abs(a.y - b.y) < NODE_HEIGHT) found.push([a.key, b.key]);
          }));
          for (const box of boxes) {
            const lane = picture.lanes[box.lane];
            if (box.x < lane.x || box.x + NODE_WIDTH > lane.x + lane.width || box.y < HEADER || box.y + NODE_HEIGHT > picture.height)
              found.push([box.key, "outside its lane"]);
          }
          return found;
        })()"""
        for model in ("distributed_model", "resnet18", "word_language_model"):
            for options in ((), ("--devices", "cpu:0,cpu:0,cpu:1", "--batch", "7")):
                with self.subTest(model=model, options=options):
                    self.dump(model, *options)
                    self.assertEqual(self.js(overlaps), [])
                    self.find("#unfold").click()
                    self.assertEqual(self.js(overlaps), [])


class Search(BrowserTest):
    def test_words_and_fields(self):
        self.dump("resnet18", *TWO)
        self.assertEqual(self.search("op:gather"), "1 of 1")
        hit = self.find(".node.hit")
        self.assertEqual(hit.find_element("css selector", ".op").text, "gather")
        self.assertEqual(self.search("DEVICE:CPU:1 resnet_block3 0.conv1"), "1 of 1")
        self.assertIn("on cpu:1", self.find(".node.hit").get_attribute("aria-label"))
        every = self.js("data.nodes.filter((node) => (node.reason || '').includes('copy')).length")
        self.assertGreater(every, 0)
        self.assertEqual(self.search("reason:copy"), f"1 of {every}")
        self.assertEqual(self.search("nothing-of-this-name"), "no match")
        self.assertEqual(self.find_all(".node.hit"), [])
        self.assertEqual(self.search("a"), "1 of " + str(len(self.js("hits"))))
        self.find("#search").clear()

    def test_enter_goes_from_hit_to_hit(self):
        self.dump("tutorial", "--devices", "cpu:0-2", "--batch", "30")
        self.assertEqual(self.search("op:linear"), "1 of 3")
        places = []
        for expected in ("2 of 3", "3 of 3", "1 of 3"):
            self.find("#search").send_keys(Keys.ENTER)
            self.assertEqual(self.find("#hits").text, expected)
            places.append(self.find(".node.current").get_attribute("data-id"))
        self.assertEqual(len(set(places)), 3)
        self.find("#search").send_keys(Keys.SHIFT, Keys.ENTER)
        self.assertEqual(self.find("#hits").text, "3 of 3")

    def test_the_address_may_have_a_search(self):
        page = self.dump("tutorial", *TWO)
        self.open(page, "#op:scatter")
        self.assertEqual(self.find("#hits").text, "1 of 1")
        self.open(page, "#%")
        self.assertEqual(self.js("hits.length"), 0)


class Details(BrowserTest):
    def test_a_click_shows_the_reason(self):
        options = ("--devices", "cpu:0-2", "--batch", "10")
        graph = self.dump_json("tutorial", *options)
        scatter, = [node for node in graph["nodes"] if node["op"] == "scatter"]
        self.dump("tutorial", *options)
        self.assertEqual(self.facts(), {})
        self.click_node(scatter)
        facts = self.facts()
        self.assertEqual(facts["why it was inserted"], scatter["reason"])
        self.assertEqual(facts["because of layer"], "model")
        self.assertEqual(facts["device"], scatter["device"])
        self.assertEqual(facts["chunks"], "4, 4, 2")
        self.assertEqual(facts["moved between devices"], f"{scatter['bytes_moved']} B")
        self.assertRegex(facts["in the model file"], r"tutorial\.json:\d+:\d+$")
        users = {edge["to"] for edge in graph["edges"] if edge["from"] == scatter["id"]}
        self.assertEqual(len(facts["gives to"].splitlines()), len([e for e in graph["edges"] if e["from"] == scatter["id"]]))
        self.assertEqual(self.chosen(), [scatter["id"]])
        lit = {element.get_attribute("data-to") for element in self.find_all(".edge.lit")}
        self.assertLessEqual(users, lit)
        self.find("#close").click()
        self.assertEqual((self.facts(), self.chosen()), ({}, []))

    def test_connections_lead_on(self):
        self.dump("resnet18", *TWO)
        gather = self.node(op="gather")
        self.click_node(gather)
        for button in self.find_all("#panel button.link"):
            if "#1 (cpu:1)" in button.text:
                button.click()
                break
        node = self.node(id=self.chosen()[0])
        self.assertEqual((node["op"], node["replica"], node["device"]), ("linear", 1, "cpu:1"))
        self.assertEqual(self.facts()["device"], "cpu:1, replica 1")
        shown = self.js("boxOf(tree.byId.get(arguments[0])).group", node["id"])
        self.assertIsNone(shown, "a node that is gone to has a box of its own")

    def test_layers_computed_in_one_operation(self):
        self.dump("resnet18", *TWO)
        self.click_node(self.node(layer="net.module.2", replica=0))
        self.assertIn("net.module.0", self.facts()["computed with"])

    def test_symbolic_sizes(self):
        self.dump("tutorial")
        self.click_node(self.node(op="scatter"))
        self.assertIn("batch", self.facts()["moved between devices"])

    def test_names_are_data(self):
        model = self.write("strange.json", NAMES)
        self.dump(model, "--devices", "cpu:0", "--batch", "2")
        self.assertEqual(self.js("typeof pwned"), "undefined")
        self.assertEqual(self.find_all("img"), [])
        self.assertEqual(self.find("#title").text, "</script><img src=x onerror='pwned=1'>")
        self.click_node(self.node(op="linear"))
        self.assertEqual(self.facts()["layer"], "<b>&amp;'\"")


unittest.main()
