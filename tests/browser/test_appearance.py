"""Light and dark: legible in both, chosen by the system or by the reader."""
from browser import BrowserTest, unittest

TWO = ("--devices", "cpu:0-1", "--batch", "32")

# Text of the graph, the panel and the charts against what it stands on; WCAG 2's contrast ratio.
CONTRASTS = """
const channel = (c) => { c /= 255; return c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4; };
const luminance = (colour) => {
  const [r, g, b] = colour.match(/[\\d.]+/g).map(Number);
  return 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
};
const ratio = (a, b) => { const [x, y] = [luminance(a), luminance(b)].sort((p, q) => q - p); return (x + 0.05) / (y + 0.05); };
const page = getComputedStyle(document.body).backgroundColor;
const found = [];
for (const node of document.querySelectorAll(".node"))
  for (const text of node.querySelectorAll("text"))
    found.push([node.getAttribute("aria-label"), ratio(getComputedStyle(text).fill, getComputedStyle(node.querySelector(".card")).fill)]);
for (const text of document.querySelectorAll(".device > text, .size"))
  found.push([text.textContent, ratio(getComputedStyle(text).fill, getComputedStyle(document.querySelector(".device > rect")).fill)]);
for (const text of document.querySelectorAll("h1, header p, #legend span, dt, dd, .note, button"))
  found.push([text.textContent, ratio(getComputedStyle(text).color, page)]);
for (const text of document.querySelectorAll(".memory text"))
  found.push([text.textContent, ratio(getComputedStyle(text).fill, page)]);
return found;
"""


class Schemes(BrowserTest):
    def prefer(self, scheme):
        self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]})

    def brightness(self):
        return sum(self.js("getComputedStyle(document.body).backgroundColor.match(/[\\d.]+/g).map(Number)")[:3]) / 3

    def test_the_system_decides_until_the_reader_does(self):
        self.addCleanup(self.prefer, "light")
        self.prefer("dark")
        self.dump("tutorial", *TWO)
        self.assertLess(self.brightness(), 80)
        self.find("#theme").click()
        self.assertGreater(self.brightness(), 200)
        self.find("#theme").click()
        self.assertLess(self.brightness(), 80)
        self.prefer("light")
        self.dump("tutorial", *TWO)
        self.assertGreater(self.brightness(), 200)

    def test_text_stands_out_in_both(self):
        self.addCleanup(self.prefer, "light")
        for scheme in ("light", "dark"):
            self.prefer(scheme)
            self.dump("resnet18", *TWO, "--program", "train")
            self.click_node(self.node(op="gather"))
            found = self.browser.execute_script(CONTRASTS)
            self.assertGreater(len(found), 100)
            self.assertEqual([one for one in found if one[1] < 4.5], [], scheme)

    def test_large_models_open_quickly(self):
        # Far above what it takes (tenths of a second): an accident such as quadratic layout shows.
        for more in ((), ("--program", "train")):
            self.dump("resnet18", "--devices", "cpu:0-3", "--batch", "64", *more)
            self.assertLess(self.js("(() => { const from = performance.now(); tree.unfoldAll(); show(); return performance.now() - from; })()"), 20000)

    def test_narrow_windows(self):
        size = self.browser.get_window_size()
        self.addCleanup(self.browser.set_window_size, size["width"], size["height"])
        self.browser.set_window_size(520, 800)
        self.dump("tutorial", *TWO)
        self.click_node(self.node(op="gather"))
        self.assertLessEqual(self.js("document.documentElement.scrollWidth"), self.js("innerWidth"))
        self.assertGreater(self.find("#canvas").rect["height"], 150)


unittest.main()
