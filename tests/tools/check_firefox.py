#!/usr/bin/env python3
"""check_firefox.py - the live page in Firefox says what the binary says, byte for byte.

    check_firefox.py BINARY

Makes a live page of fable, loads it into firefox-esr without a window, uses it by pointer and keyboard,
and asks the page and the binary the same command lines. This page and others must fit a telephone and
a laptop, and nothing in them may fail. It speaks Marionette: a length, a colon, and JSON.
"""
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time

PORT = 2828
KEYS = "The keys to the cabinet"
CASES = [
    [["run"], KEYS], [["run", "--sites=*", "--json=-"], KEYS], [["run", "--tidy=-"], "caf\u00e9 \u732b \U0001f680"],
    [["run", "--ablate=2.5,1.*", "--json=-"], KEYS], [["run", "--ablate=mean:0.*", "--top=5"], KEYS],
    [["run", "--knockout=-1>0@3.2", "--json=-"], KEYS], [["run", "--mask=none", "--json=-"], KEYS],
    *[[["run", "--attention=" + kind, "--json=-"], "What they said of the dog was that it ran away."]
      for kind in ("window:3", "strided:2", "log", "random:3", "block:2", "hybrid:2:3", "linear")],
    [["run", "--heads=2.2", "--queries=-1", "--explain"], KEYS], [["lens", "--json=-"], KEYS], [["score"], KEYS],
    [["ablate", "--target= are", "--foil= is", "--json=-"], KEYS], [["tokenize"], KEYS],
    [["generate", "-n", "12"], "The old"], [["run", "--heads=9.9"], "x"], [["run"], ""],
]


FABLE = ["-m", "fable"]
PAGES = {
    "live": ["run", *FABLE, "--live", KEYS], "story": ["run", *FABLE, "--live", "--story", "five-heads.json", KEYS],
    "run": ["run", *FABLE, KEYS], "heads": ["heads", *FABLE, KEYS],
    "ablate": ["ablate", *FABLE, "--target", " are", KEYS],
    "atlas": ["heads", *FABLE, "-q", "--items", "agreement.csv"],
}
SIZES = [(390, 844), (768, 1024), (1366, 768)]


class Firefox:
    def __init__(self, profile):
        self.process = subprocess.Popen(
            ["firefox-esr", "--headless", "--marionette", "--remote-allow-system-access", "--no-remote", "--profile", profile],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.buffer, self.n = b"", 0
        for _ in range(1200):
            try:
                self.socket = socket.create_connection(("127.0.0.1", PORT))
                break
            except OSError:
                time.sleep(0.1)
        self.receive()
        self.call("WebDriver:NewSession", {})

    def receive(self):
        while b":" not in self.buffer:
            self.buffer += self.socket.recv(1 << 16)
        size, rest = self.buffer.split(b":", 1)
        while len(rest) < int(size):
            rest += self.socket.recv(1 << 16)
        self.buffer = rest[int(size):]
        return json.loads(rest[:int(size)])

    def call(self, name, parameters):
        self.n += 1
        message = json.dumps([0, self.n, name, parameters]).encode()
        self.socket.sendall(b"%d:%s" % (len(message), message))
        _, _, problem, result = self.receive()
        if problem:
            sys.exit(f"firefox: {problem}")
        return result

    def value(self, expression):
        """The value of an expression of JavaScript, waited for. `page` is the page's own window."""
        script = ("const [done] = arguments, page = window.wrappedJSObject ?? window;"
                  f"Promise.resolve({expression}).then(done, problem => done('problem: ' + problem))")
        return self.call("WebDriver:ExecuteAsyncScript",
                         {"script": script, "args": [], "scriptTimeout": 60000})["value"]

    def of_window(self, script):
        """The value of a script of the browser itself."""
        self.call("Marionette:SetContext", {"value": "chrome"})
        result = self.call("WebDriver:ExecuteScript", {"script": script, "args": []})["value"]
        self.call("Marionette:SetContext", {"value": "content"})
        return result

    def resize(self, width, height):
        """Firefox takes no window that is narrower than 450 pixels, but a page in it."""
        self.of_window("gBrowser.selectedBrowser.style = "
                       f"'min-width:{width}px; max-width:{width}px; min-height:{height}px; max-height:{height}px'")
        self.wait(f"innerWidth === {width} && innerHeight === {height}")

    def press(self, key):
        self.call("WebDriver:PerformActions", {"actions": [{"type": "key", "id": "keyboard", "actions": [
            {"type": "keyDown", "value": key}, {"type": "keyUp", "value": key}]}]})

    def messages(self):
        """Returns and forgets why scripts, styles and requests of pages failed; what failed in Firefox's own scripts is not theirs."""
        return self.of_window("const all = Services.console.getMessageArray().map(m => m.message); Services.console.reset();"
                              """return all.filter(m => m.includes('file:///') && !m.includes('{file: "resource:///'))""")

    def wait(self, expression):
        for _ in range(1200):
            if self.value(f"Boolean({expression})"):
                return
            time.sleep(0.05)
        sys.exit(f"firefox: not within a minute: {expression}")


WORDS = "[...document.querySelectorAll('.stage-word bdi')].map(b => b.textContent).join(' ')"
NUMBER = "document.querySelector('.stage-bar .number').textContent"
LIFE = "document.querySelectorAll('#life-picture svg path').length > 3"
ARROW_LEFT, ARROW_RIGHT = "\ue012", "\ue014"
STAGE = [ # what a person does on the stage, and what must become true
    ["0", f"document.documentElement.classList.contains('on-stage') && {WORDS} === 'The keys to the cabinet'"],
    ["page.attnViewer.set(page.JSON.parse('{\"h\": 21}'))", "document.querySelectorAll('#stage-arcs path').length === 3"],
    ["document.getElementById('stage-head-off').click()", f"{NUMBER} === '24.6 % \u2192 16.0 %'"],
    ["document.getElementById('life-pair').click()", "page.attnLive.isDone() && document.querySelector('#life-picture svg')"],
    ["document.getElementById('life-open').click()", f"page.attnLive.isDone() && {LIFE}"],
    ["document.getElementById('life-words').click()", "document.querySelector('.stage-word').offsetParent !== null"],
    ["document.getElementById('stage-cell-21').focus()", "document.activeElement.id === 'stage-cell-21'"],
    [ARROW_RIGHT, "document.getElementById('stage-name').textContent === 'Head 2.6'"],
    [ARROW_LEFT, "document.getElementById('stage-name').textContent === 'Head 2.5'"],
    ["document.querySelector('.stage-bar').click()", f"{WORDS} === 'The keys to the cabinet are'"],
    ["document.getElementById('stage-workbench').click()", "document.getElementById('panes').offsetParent !== null"],
    ["document.getElementById('live-to-stage').click()", "document.getElementById('panes').offsetParent === null"],
]


def check(firefox, binary, folder):
    subprocess.run([binary, "run", "-m", "fable", "--live", "--html", "page.html", KEYS], cwd=folder, check=True)
    firefox.call("WebDriver:Navigate", {"url": f"file://{folder}/page.html"})
    firefox.wait("page.attnLive && page.attnLive.isReady() && page.attnLive.isDone()")
    for action, outcome in STAGE:
        if action in (ARROW_LEFT, ARROW_RIGHT):
            firefox.press(action)
        else:
            firefox.value(f"({action}, 0)")
        firefox.wait(outcome)
    failed = 0
    for (command, *options), text in CASES:
        args = [command, "-m", "fable", *options, "--", text]
        ran = subprocess.run([binary, *args], cwd=folder, env={"LC_ALL": "C.UTF-8"}, capture_output=True, check=False)
        expected = f"{ran.returncode}\n{ran.stderr.decode()}\n{ran.stdout.decode()}"
        found = firefox.value(f"page.attnLive.ask(page.JSON.parse({json.dumps(json.dumps(args))}))"
                              ".then(r => r.code + '\\n' + r.err + '\\n' + r.out)")
        if found != expected:
            failed += 1
            print(f"attn-cli {' '.join(args)}: {found[:200]!r}, expected {expected[:200]!r}")
    firefox.value("page.attnLive.follow('The dogs in the garden')")
    if firefox.value("document.getElementById('live-tokens').textContent") != "The dogs in the garden":
        failed += 1
        print("the page does not follow its sentence")
    return failed + (not is_quiet(firefox, "live"))


def is_quiet(firefox, name):
    messages = firefox.messages()
    if messages:
        print(f"{name}: {messages}")
    return not messages


def check_sizes(firefox, binary, folder):
    """Each page at each size: nothing is wider than the screen, and nothing fails."""
    failed = 0
    for name, args in PAGES.items():
        subprocess.run([binary, *args, "--html", "page.html"], cwd=folder, check=True, stdout=subprocess.DEVNULL)
        for width, height in SIZES:
            firefox.resize(width, height)
            firefox.call("WebDriver:Navigate", {"url": f"file://{folder}/page.html"})
            firefox.wait("page.attnLive ? page.attnLive.isReady() && page.attnLive.isDone() : document.readyState === 'complete'")
            firefox.value("new Promise(done => setTimeout(done, 200))") # what fails late
            wide = firefox.value("document.documentElement.scrollWidth - innerWidth")
            if wide > 0:
                print(f"{name} at {width} x {height}: {wide} pixels wider than the screen")
            failed += (wide > 0) + (not is_quiet(firefox, f"{name} at {width} x {height}"))
    return failed


def main():
    folder = tempfile.mkdtemp()
    os.mkdir(os.path.join(folder, "profile"))
    for path in ("models/fable", "data/stories/five-heads.json", "data/experiments/agreement.csv"):
        os.symlink(os.path.abspath(path), os.path.join(folder, os.path.basename(path)))
    firefox = Firefox(os.path.join(folder, "profile"))
    try:
        failed = sum(part(firefox, os.path.abspath(sys.argv[1]), folder) for part in (check, check_sizes))
    finally:
        firefox.process.kill()
        firefox.process.wait()
        shutil.rmtree(folder, ignore_errors=True)
    print(f"firefox: {len(CASES) + len(STAGE) + 2 + 2 * len(PAGES) * len(SIZES) - failed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
