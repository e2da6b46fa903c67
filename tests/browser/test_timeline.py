"""The timeline of a trace: a track per lane, slices and nodes choose each other, bad traces are refused."""
from pathlib import Path

from browser import MODELS, ActionChains, BrowserTest, Keys, json, must, sheaf, unittest

TWO = ("--devices", "cpu:0-1", "--batch", "32")


class TimelineTest(BrowserTest):
    @classmethod
    def setUpClass(cls):
        """One run of two batches on two devices, traced, and its page."""
        super().setUpClass()
        cls.folder = Path(cls.profile)
        cls.plan, cls.trace = cls.folder / "model.plan", cls.folder / "trace.json"
        must(sheaf("compile", MODELS / "resnet18_w8.json", "-o", cls.plan))
        must(sheaf("run", cls.plan, "--devices", "cpu:0-1", "--input", "x=random:64", "--batch-size", "32", "--trace", cls.trace))
        must(sheaf("dump", cls.plan, "--format", "html", *TWO, "--trace", cls.trace, "-o", cls.folder / "page.html"))

    def open_run(self):
        self.open(self.folder / "page.html")

    def slices(self, op=None, layer=None):
        """Indices of slices."""
        return self.js("""data.timeline.begin.map((_, i) => i).filter((i) => (arguments[0] === null || timeline.op(i) === arguments[0]) &&
          (arguments[1] === null || timeline.layer(i) === arguments[1]))""", op, layer)

    def click_slice(self, i):
        canvas = self.find("#timeline canvas")
        # The slice fills a tenth of the width, and is in sight.
        x, y = self.js("""((i) => {
          const {begin, duration} = data.timeline, middle = begin[i] + duration[i] / 2, span = Math.max(10 * duration[i], 0.01);
          [timeline.from, timeline.to] = [middle - span / 2, middle + span / 2];
          timeline.draw();
          const [x, y] = timeline.placeOf(i);
          timeline.box.scrollTop = Math.max(0, y - 60);
          return [x, y];
        })(arguments[0])""", i)
        self.move_to(canvas, x, y).click().perform()


class Tracks(TimelineTest):
    def test_a_track_for_each_lane_and_every_slice(self):
        self.open_run()
        events = json.loads(self.trace.read_text())["traceEvents"]
        names = {e["tid"]: e["args"]["name"] for e in events if e["ph"] == "M" and e["name"] == "thread_name"}
        slices = [e for e in events if e["ph"] == "X"]
        tracks = self.js("data.timeline.tracks.map((track) => track.name)")
        self.assertEqual(set(tracks), {names[e["tid"]] for e in slices})
        self.assertLessEqual({"cpu:0", "cpu:1"}, set(tracks))
        self.assertEqual(self.js("data.timeline.begin.length"), len(slices))
        self.assertEqual(self.find("#timeline-tab").get_attribute("aria-selected"), "true")
        self.assertGreater(self.find("#timeline canvas").rect["height"], 50)
        painted = self.js("""(() => {
          const {width, height} = timeline.canvas, pixels = timeline.canvas.getContext("2d").getImageData(0, 0, width, height).data;
          const colours = new Set();
          for (let i = 0; i < pixels.length; i += 4) if (pixels[i + 3] > 200) colours.add(pixels[i] << 16 | pixels[i + 1] << 8 | pixels[i + 2]);
          return colours.size;
        })()""")
        self.assertGreater(painted, 5)

    def test_rows_don_t_overlap(self):
        self.open_run()
        self.assertEqual(self.js("""timeline.tracks.flatMap((track) => track.rows).filter((row) => row.some((i, at) =>
          at > 0 && data.timeline.begin[row[at - 1]] + data.timeline.duration[row[at - 1]] > data.timeline.begin[i] + 0.001)).length"""), 0)

    def test_zooming_and_panning(self):
        self.open_run()
        span = "timeline.to - timeline.from"
        before = self.js(span)
        self.js("timeline.canvas.focus()")
        self.press("+")
        self.assertLess(self.js(span), before)
        start = self.js("timeline.from")
        ActionChains(self.browser).drag_and_drop_by_offset(self.find("#timeline canvas"), -80, 0).perform()
        self.assertGreater(self.js("timeline.from"), start)
        self.assertEqual(self.facts(), {}, "a drag is no click")
        self.press("0")
        self.assertAlmostEqual(self.js(span), before, delta=before * 1e-6)


class Choosing(TimelineTest):
    def test_a_slice_chooses_its_node(self):
        self.open_run()
        i = self.slices(layer="net.module.resnet_block3.1.conv2")[-1]
        self.click_slice(i)
        facts = self.facts()
        replica = self.js("data.timeline.replica[arguments[0]]", i)
        self.assertEqual(facts["layer"], "net.module.resnet_block3.1.conv2")
        self.assertIn(f"replica {replica}", facts["on"])
        self.assertIn(("net.module.resnet_block3.1.conv2", replica), [(n["layer"], n.get("replica")) for n in map(self.by_id, self.chosen())])
        self.assertEqual(len(self.find_all(".node.chosen")), 1)
        self.assertIn("s", facts["took"])
        self.find("#panel button.link").click()
        self.assertEqual(self.facts()["layer"], "net.module.resnet_block3.1.conv2")
        self.assertIn("slices", self.facts()["in the trace"])

    def by_id(self, id):
        return self.node(id=id)

    def test_a_movement_shows_why(self):
        # The replicas of this model write their results where the gathered whole is: no slice tells of the gather.
        trace = self.write("gather.json", json.dumps([{"ph": "X", "name": "net", "cat": "gather", "ts": 0, "dur": 4, "tid": 1,
                                                       "args": {"op": "gather", "layer": "net"}}]))
        self.dump("resnet18_w8", *TWO, "--trace", trace)
        self.click_slice(self.slices(op="gather")[0])
        gather = self.node(op="gather")
        self.assertEqual(self.chosen(), [gather["id"]])
        self.assertEqual(self.facts()["why it was inserted"], gather["reason"])

    def test_a_node_lights_its_slices(self):
        self.open_run()
        node = self.node(layer="net.module.resnet_block1.0.conv1", replica=1)
        self.click_node(node)
        lit = self.js("data.timeline.begin.map((_, i) => i).filter((i) => timeline.does(i))")
        self.assertEqual(len(lit), 2, "two batches")
        self.assertEqual({self.js("data.timeline.replica[arguments[0]]", i) for i in lit}, {1})
        self.press(Keys.ESCAPE)
        self.assertIsNone(self.js("timeline.work"))

    def test_a_node_of_the_backward_part_lights_its_own(self):
        trace = self.write("train.json", json.dumps([
            {"ph": "X", "name": "net.module.0", "ts": ts, "dur": 1, "tid": 1, "args": {"op": op, "layer": "net.module.0", "replica": 0}}
            for ts, op in enumerate(("conv", "conv_backward_weight", "conv", "conv_backward_weight"))]))
        self.dump("resnet18_w8", *TWO, "--program", "train", "--trace", trace)
        for op, expected in (("conv2d", "conv"), ("conv_backward_weight", "conv_backward_weight")):
            self.click_node(self.node(layer="net.module.0", op=op, replica=0))
            lit = self.js("data.timeline.begin.map((_, i) => i).filter((i) => timeline.does(i)).map((i) => timeline.op(i))")
            self.assertEqual(lit, [expected] * 2)

    def test_keys_go_from_slice_to_slice(self):
        self.open_run()
        self.js("timeline.canvas.focus()")
        self.press(Keys.ARROW_RIGHT)
        first = self.js("timeline.chosen")
        self.assertGreaterEqual(first, 0)
        for _ in range(30):
            self.press(Keys.ARROW_DOWN)
        self.assertEqual(self.js("data.timeline.track[timeline.chosen]"), self.js("data.timeline.tracks.length - 1"))
        self.press(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT, Keys.ENTER)
        self.assertIn("took", self.facts())
        self.assertEqual(self.js("document.activeElement.id"), "close")

    def test_a_trace_of_something_else_is_shown_all_the_same(self):
        trace = self.write("other.json", json.dumps([{"ph": "X", "name": "</script><b>", "ts": 1.5, "dur": 2, "pid": 1, "tid": 1,
                                                      "args": {"x": [1]}}]))
        self.dump("tutorial", *TWO, "--trace", trace)
        self.click_slice(0)
        self.assertEqual(self.find("#panel h2").text, "</script><b>")
        self.assertEqual(self.chosen(), [])


class Refusals(BrowserTest):
    def test_bad_traces_leave_no_page(self):
        for text, *words in (("", ":1:", "error"), ("{\"traceEvents\": [\n  7]}", ":2:3: error: event 0"), ("[]", "no slice"),
                             ("[{\"ph\": \"X\", \"name\": \"a\", \"ts\": 1}]", "'dur'"), ("{\"nodes\": []}", "this is no trace")):
            with self.subTest(text=text):
                trace = self.write("bad.json", text)
                done = sheaf("dump", MODELS / "tutorial.json", "--format", "html", "--trace", trace, "-o", self.dir / "page.html")
                self.assert_refused(done, *words)
                self.assertFalse((self.dir / "page.html").exists())
        self.assert_refused(sheaf("dump", MODELS / "tutorial.json", "--format", "html", "--trace", self.dir / "none.json"), "none.json")

    def test_only_the_page_has_a_timeline(self):
        self.assert_refused(sheaf("dump", MODELS / "tutorial.json", "--format", "text", "--trace", "x"), "--format html", status=2)


unittest.main()
