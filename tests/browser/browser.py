"""Pages of `sheaf dump --format html` in a headless Chromium: opened, looked at, clicked.

Each test fails if its page logged anything on the console or asked for anything on the network.
"""
import json
import shutil
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "cli"))
from program import LIMIT_SECONDS, MODELS, ProgramTest, must, sheaf  # noqa: E402

try:
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys
except ImportError:
    webdriver = None

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
if webdriver is None or not CHROMIUM or not DRIVER:
    print("skipped: these tests need chromium, chromium-driver and python3-selenium (tools/setup.sh)")
    sys.exit(77)

SIZE = (1400, 950)
ARGUMENTS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
             "--disable-background-networking", "--no-first-run", f"--window-size={SIZE[0]},{SIZE[1]}")


def start_browser(profile):
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for argument in (*ARGUMENTS, f"--user-data-dir={profile}"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    browser = webdriver.Chrome(service=Service(DRIVER), options=options)
    browser.set_page_load_timeout(LIMIT_SECONDS)
    browser.set_script_timeout(LIMIT_SECONDS)
    return browser


class BrowserTest(ProgramTest):
    """One browser for the class, one page after another in it."""

    @classmethod
    def setUpClass(cls):
        cls.profile = tempfile.mkdtemp(prefix="sheaf-browser-")
        cls.addClassCleanup(shutil.rmtree, cls.profile, True)
        cls.browser = start_browser(cls.profile)
        cls.addClassCleanup(cls.browser.quit)

    def setUp(self):
        super().setUp()
        self.page = None

    def tearDown(self):
        self.leave_page()

    def leave_page(self):
        """Checks what the page did until now; the browser's own start page isn't ours."""
        logged = self.browser.get_log("browser")
        events = [json.loads(entry["message"])["message"] for entry in self.browser.get_log("performance")]
        asked = [event["params"]["request"]["url"] for event in events if event["method"] == "Network.requestWillBeSent"]
        if self.page is None:
            return
        self.assertEqual(logged, [], "the page logged something on the console")
        self.assertEqual({url.partition("#")[0] for url in asked}, {self.page.as_uri()}, "the page used the network")

    def dump(self, model, *options, name="page.html"):
        """Dumps a model of models/ or a file, and opens the page."""
        source = model if isinstance(model, Path) else MODELS / (model + ".json")
        must(sheaf("dump", source, "--format", "html", "-o", self.dir / name, *options))
        return self.open(self.dir / name)

    def dump_json(self, model, *options):
        source = model if isinstance(model, Path) else MODELS / (model + ".json")
        return json.loads(must(sheaf("dump", source, "--format", "json", *options)).out)

    def open(self, page, fragment=""):
        self.leave_page()
        self.page = None
        self.browser.get("about:blank")  # or another fragment of the same page wouldn't load it anew
        self.leave_page()
        self.browser.get(page.as_uri() + fragment)
        self.page = page
        return page

    def js(self, expression, *arguments):
        return self.browser.execute_script("return " + expression, *arguments)

    def find(self, selector):
        return self.browser.find_element(By.CSS_SELECTOR, selector)

    def find_all(self, selector):
        return self.browser.find_elements(By.CSS_SELECTOR, selector)

    def node(self, **fields):
        """The one node of the page's graph with these fields (op, layer, replica, …)."""
        nodes = [n for n in self.js("data.nodes") if all(n.get(k) == v for k, v in fields.items())]
        self.assertEqual(len(nodes), 1, fields)
        return nodes[0]

    def click_node(self, node):
        """Clicks a node's box with the pointer, once it is in sight."""
        self.browser.execute_script("tree.reveal(arguments[0]); show(); centre(boxOf(tree.byId.get(arguments[0])));", node["id"])
        self.find(f".node[data-id='{node['id']}'] rect.card").click()

    def move_to(self, element, x, y):
        """An action that moves the pointer to a place of an element, counted from its top left."""
        box = element.rect
        left, top = self.js("(({left, top}) => [left, top])(arguments[0].getBoundingClientRect())", element)
        self.assertGreater(box["width"], 0)
        actions = ActionChains(self.browser)
        actions.w3c_actions.pointer_action.move_to_location(round(left + x), round(top + y))
        return actions

    def press(self, *keys):
        ActionChains(self.browser).send_keys(*keys).perform()

    def facts(self):
        """What the panel says: {term: text}; empty where it is closed."""
        if self.js("panel.hidden"):
            return {}
        return dict(zip(self.js("[...panel.querySelectorAll('dt')].map((e) => e.textContent)"),
                        self.js("[...panel.querySelectorAll('dd')].map((e) => e.innerText)")))

    def chosen(self):
        return self.js("[...chosen]")

    def search(self, text):
        box = self.find("#search")
        box.clear()
        box.send_keys(text)
        return self.find("#hits").text


__all__ = ["ActionChains", "BrowserTest", "By", "Keys", "MODELS", "json", "must", "sheaf", "unittest"]
