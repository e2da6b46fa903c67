"""The page without a pointer."""
from browser import BrowserTest, Keys, unittest

TWO = ("--devices", "cpu:0-1", "--batch", "32")


class Keyboard(BrowserTest):
    def focused(self, attribute="id"):
        return self.js("document.activeElement.getAttribute(arguments[0])", attribute)

    def tab_to(self, selector, most=30):
        """Presses Tab until what `selector` names has the focus."""
        for _ in range(most):
            self.press(Keys.TAB)
            if self.js("document.activeElement.matches(arguments[0])", selector):
                return
        self.fail(f"{selector} isn't reached with Tab")

    def test_the_graph_is_one_stop_and_arrows_go_on_from_there(self):
        self.dump("tutorial", *TWO)
        self.tab_to(".node")
        self.assertEqual(self.js("scene.querySelectorAll(\".node[tabindex='0']\").length"), 1)
        first = self.focused("data-id")
        seen = [first]
        for _ in range(5):
            self.press(Keys.ARROW_DOWN)
            seen.append(self.focused("data-id"))
        self.assertEqual(len(set(seen[:3])), 3, seen)
        ys = [self.js("picture.nodes.find((box) => box.key === arguments[0]).y", key) for key in seen]
        self.assertEqual(ys, sorted(ys))
        self.press(Keys.ARROW_RIGHT)
        self.assertNotEqual(self.focused("data-id"), seen[-1])
        self.press(Keys.TAB)
        self.assertFalse(self.js("document.activeElement.matches('.node')"))

    def test_enter_opens_and_escape_returns(self):
        self.dump("tutorial", *TWO)
        self.tab_to(".node")
        node = self.focused("data-id")
        self.press(Keys.ENTER)
        self.assertEqual(self.chosen(), [node])
        self.assertEqual(self.focused(), "close")
        self.tab_to("#panel button.link")
        self.press(Keys.ENTER)
        self.assertNotEqual(self.chosen(), [node])
        self.press(Keys.ESCAPE)
        self.assertEqual(self.facts(), {})
        self.assertTrue(self.js("document.activeElement.matches('.node')"))

    def test_groups_fold_and_unfold(self):
        self.dump("resnet18", *TWO)
        self.find("#fold").click()
        self.js("focusBox(scene.querySelector('.node.folded'))")
        before = len(self.find_all(".node"))
        self.press(Keys.ENTER)
        self.assertGreater(len(self.find_all(".node")), before)
        self.assertTrue(self.js("document.activeElement.matches('.node')"))
        self.press("f")
        self.assertEqual(len(self.find_all(".node")), before)
        self.assertTrue(self.js("document.activeElement.matches('.node.folded')"))

    def test_keys_of_the_page(self):
        self.dump("tutorial", *TWO)
        self.press("/")
        self.assertEqual(self.focused(), "search")
        self.press("op:linear", Keys.ESCAPE)
        self.assertEqual(self.find("#hits").text, "1 of 2")
        self.press("n")
        self.assertEqual(self.find("#hits").text, "2 of 2")
        before = self.js("view.scale")
        self.press("-")
        self.assertLess(self.js("view.scale"), before)
        self.press("0")
        whole = self.js("[view.y + picture.height * view.scale, canvas.getBoundingClientRect().height]")
        self.assertLessEqual(whole[0], whole[1])

    def test_everything_has_a_name(self):
        self.dump("tutorial", *TWO)
        nameless = self.js("""[...document.querySelectorAll("button, input, [tabindex], [role='slider']")].filter((element) =>
          !element.getAttribute("aria-label") && !element.textContent.trim()).map((element) => element.outerHTML)""")
        self.assertEqual(nameless, [])


unittest.main()
