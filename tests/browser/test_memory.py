"""Memory over time: the chart shows what `sheaf estimate` says."""
from browser import MODELS, BrowserTest, Keys, json, must, sheaf, unittest

TWO = ("--devices", "cpu:0-1", "--batch", "32")


class Memory(BrowserTest):
    def estimate(self, model, *options):
        plan = self.compile(MODELS / f"{model}.json")
        return json.loads(must(sheaf("estimate", plan, "--json", *options)).out)

    def charts(self):
        """By lane: its chart."""
        return {chart.get_attribute("data-lane"): chart for chart in self.find_all(".lane-memory")}

    def test_the_peak_is_the_estimates(self):
        for program in ("infer", "train"):
            with self.subTest(program=program):
                options = (*TWO, "--program", program)
                devices = {d["device"]: d for d in self.estimate("resnet18_w8", *options)["devices"] if d["arena_bound_bytes"] > 0}
                self.dump("resnet18_w8", *options)
                charts = self.charts()
                self.assertEqual(set(charts), set(devices))
                for lane, chart in charts.items():
                    self.assertEqual(int(chart.get_attribute("data-peak")), devices[lane]["arena_bound_bytes"])
                for lane in self.js("data.memory"):
                    self.assertEqual(max(lane["live"]), lane["peak"])
                    self.assertEqual(lane["live"][lane["peak_position"]], lane["peak"])
                    self.assertEqual(len(lane["live"]), len(lane["operations"]) + 1)

    def test_the_curve_is_drawn_to_scale(self):
        self.dump("resnet18_w8", *TWO)
        self.assertEqual(set(self.charts()), {"cpu:0", "cpu:1"})
        for lane, chart in self.charts().items():
            circle = chart.find_element("css selector", "circle.peak")
            box = self.js("(({x, y, width, height}) => [x, y, width, height])(arguments[0].getBBox())",
                          chart.find_element("css selector", ".area"))
            self.assertAlmostEqual(float(circle.get_attribute("cy")), box[1], delta=1, msg=lane)
            self.assertTrue(box[0] <= float(circle.get_attribute("cx")) <= box[0] + box[2])

    def test_hovering_tells_what_is_live(self):
        self.dump("resnet18_w8", *TWO)
        chart = self.charts()["cpu:1"]
        peak = int(chart.get_attribute("data-peak-position"))
        x, y = self.js("""((lane) => { const plot = lane.group.querySelector(".plot");
          return [memory.x(lane, lane.peak_position) / 2 + memory.x(lane, lane.peak_position + 1) / 2 - lane.group.getBBox().x,
                  Number(plot.getAttribute("y")) + 30 - lane.group.getBBox().y]; })(memory.lanes.find((lane) => lane.lane === "cpu:1"))""")
        self.js("arguments[0].scrollIntoView()", chart)
        self.move_to(chart, x, y).perform()
        tip = self.find("#memory .tip").text.splitlines()
        lane, = [lane for lane in self.js("data.memory") if lane["lane"] == "cpu:1"]
        self.assertTrue(tip[0].startswith(f"{peak + 1} of {len(lane['live'])}: {lane['operations'][peak]['op']}"), tip)
        self.assertIn("live", tip[1])
        live = sorted((t["bytes"] for t in lane["tensors"] if t["begin"] <= peak < t["end"]), reverse=True)
        self.assertEqual(min(len(live), 5), len([line for line in tip[2:] if not line.startswith("and ")]))

    def test_a_click_opens_the_moment_and_chooses_the_layer(self):
        self.dump("resnet18_w8", *TWO)
        lane, = [lane for lane in self.js("data.memory") if lane["lane"] == "cpu:1"]
        position = next(p for p, op in enumerate(lane["operations"]) if op["layer"] == "net.module.resnet_block2.0.conv1")
        chart = self.charts()["cpu:1"]
        self.js("arguments[0].focus()", chart)
        self.press(Keys.HOME, *[Keys.ARROW_RIGHT] * position)
        self.assertEqual(chart.get_attribute("aria-valuenow"), str(position))
        self.assertIn("net.module.resnet_block2.0.conv1", chart.get_attribute("aria-valuetext"))
        self.press(Keys.ENTER)
        facts = self.facts()
        self.assertIn("net.module.resnet_block2.0.conv1", facts["at"])
        nodes = [self.node(id=id) for id in self.chosen()]
        self.assertIn(("net.module.resnet_block2.0.conv1", 1), [(n["layer"], n["replica"]) for n in nodes])
        self.assertEqual({n["replica"] for n in nodes}, {1})
        self.assertGreaterEqual(len(self.find_all(".lit-positions rect")), 1)
        self.press(Keys.ESCAPE)
        self.assertEqual(self.find_all(".lit-positions rect"), [])

    def test_a_node_lights_its_operations(self):
        self.dump("resnet18_w8", *TWO)
        self.click_node(self.node(layer="net.module.resnet_block1.0.conv1", replica=0))
        charts = self.charts()
        self.assertGreaterEqual(len(charts["cpu:0"].find_elements("css selector", ".lit-positions rect")), 1)
        self.assertEqual(charts["cpu:1"].find_elements("css selector", ".lit-positions rect"), [])

    def test_without_devices_there_is_no_chart(self):
        self.dump("tutorial")
        self.assertFalse(self.find("#dock").is_displayed())

    def test_where_nothing_is_planned_the_page_says_so(self):
        self.dump("tutorial", *TWO)  # a linear layer from an input to an output
        self.assertEqual([lane["peak"] for lane in self.js("data.memory")], [0, 0, 0])
        self.assertIn("No lane has memory of its own", self.find("#memory").text)

    def test_the_drawer_folds_and_grows(self):
        self.dump("resnet18_w8", *TWO)
        height = self.find("#dock").rect["height"]
        self.js("document.getElementById('grip').focus()")
        self.press(Keys.ARROW_UP)
        self.assertGreater(self.find("#dock").rect["height"], height)
        self.find("#fold-dock").click()
        self.assertLess(self.find("#dock").rect["height"], 60)


unittest.main()
