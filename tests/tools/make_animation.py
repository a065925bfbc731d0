#!/usr/bin/env python3
"""make_animation.py - films README's picture: data/pictures/live.html in Chromium. A sentence is typed, and heads
2.5 and 1.1 are switched off: the next word changes from `are` to `is`.

    tests/tools/make_animation.py        writes data/pictures/live.webp and live-still.png

Needs chromium, and img2webp of Debian's package webp. The page's toolbars are hidden, its story too, so
that text, matrix, heads and next words fit one picture. Nothing that the page computes is changed.
"""
import base64
import json
import os
import pathlib
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
PICTURES = ROOT / "data/pictures"
WIDTH, HEIGHT, SCALE = 1012, 436, 1.5
STYLE = """
#top, #live-story, #live-tools, #live-questions, #bar, #live-status, #live-next label, #live-add, #readout, #detail,
#sorting, #view-tools, #live-how, #legend { display: none !important }
body { padding-top: 0 !important; margin-top: -8px !important }
#one { position: absolute; left: 22px; top: 78px; width: 580px }
#heads { position: absolute; left: 606px; top: 226px; width: 384px }
#live-undo { position: absolute; left: 370px; top: 130px; width: 200px }
#pointer { position: fixed; z-index: 99; width: 20px; height: 20px; pointer-events: none }
"""
POINTER = ('<svg viewBox="0 0 20 20"><path d="M3 1v15l4-4 3 7 3-1-3-7h6z" fill="#fff" stroke="#000" '
           'stroke-width="1.3"/></svg>')
IS_READY = "globalThis.attnLive && attnLive.isReady() && attnLive.isDone()"


class Browser:
    """Chromium over two pipes, by the DevTools protocol."""

    def __init__(self):
        to_browser, self.commands = os.pipe()
        self.answers, from_browser = os.pipe()

        def connect():
            os.dup2(to_browser, 13)
            os.dup2(from_browser, 14)
            os.dup2(13, 3)
            os.dup2(14, 4)

        self.process = subprocess.Popen(
            ["chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--remote-debugging-pipe",
             "--user-data-dir=" + tempfile.mkdtemp(), "about:blank"],
            preexec_fn=connect, close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.read, self.n_sent, self.session = b"", 0, None
        targets = self.send("Target.getTargets")["targetInfos"]
        page = next(target for target in targets if target["type"] == "page")
        self.session = self.send("Target.attachToTarget", targetId=page["targetId"], flatten=True)["sessionId"]

    def send(self, method, **params):
        self.n_sent += 1
        message = {"id": self.n_sent, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.commands, json.dumps(message).encode() + b"\0")
        while True:
            while b"\0" not in self.read:
                self.read += os.read(self.answers, 1 << 20)
            line, self.read = self.read.split(b"\0", 1)
            answer = json.loads(line)
            if answer.get("id") == self.n_sent:
                return answer["result"]

    def run(self, code):
        return self.send("Runtime.evaluate", expression=code, awaitPromise=True, returnByValue=True)["result"].get("value")

    def wait(self, code):
        for _ in range(400):
            if self.run(f"!!({code})"):
                return
            time.sleep(0.05)
        raise SystemExit(f"make_animation.py: this never became true: {code}")

    def screenshot(self, path):
        picture = self.send("Page.captureScreenshot", format="png")
        path.write_bytes(base64.b64decode(picture["data"]))


class Film:
    def __init__(self, browser, folder):
        self.browser, self.folder, self.frames = browser, folder, []
        self.at = [760, 400]

    def shoot(self, ms):
        path = self.folder / f"{len(self.frames):03}.png"
        self.browser.screenshot(path)
        self.frames.append((path, ms))
        return path

    def point(self, x, y):
        self.browser.run(f"document.querySelector('#pointer').style.cssText = 'left:{x}px;top:{y}px'")
        self.at = [x, y]

    def move_to(self, selector, n_step=6):
        box = self.browser.run(f"(b => [b.x + b.width / 2, b.y + b.height / 2])(document.querySelector('{selector}').getBoundingClientRect())")
        begin = self.at
        for i in range(1, n_step + 1):
            self.point(*(a + (b - a) * i / n_step for a, b in zip(begin, box)))
            self.shoot(60)

    def click(self, selector):
        self.move_to(selector)
        self.browser.run(f"document.querySelector('{selector}').click()")
        time.sleep(0.4)
        self.browser.wait(IS_READY)

    def type(self, words):
        for word in words:
            self.browser.send("Input.insertText", text=word)
            time.sleep(0.5)
            self.browser.wait(IS_READY)
            self.shoot(420)


def main():
    folder = pathlib.Path(tempfile.mkdtemp())
    browser = Browser()
    browser.send("Page.enable")
    browser.send("Emulation.setDeviceMetricsOverride", width=WIDTH, height=HEIGHT, deviceScaleFactor=SCALE, mobile=False)
    browser.send("Page.setBypassCSP", enabled=True)
    browser.send("Page.navigate", url=(PICTURES / "live.html").as_uri() + "#v=matrix&h=2.5&text=The%20keys%20to%20the%20cabinet")
    browser.wait(IS_READY)
    browser.run(f"document.head.append(Object.assign(document.createElement('style'), {{textContent: {json.dumps(STYLE)}}}))")
    browser.run(f"document.body.append(Object.assign(document.createElement('div'), {{id: 'pointer', innerHTML: {json.dumps(POINTER)}}}))")
    film = Film(browser, folder)
    film.point(*film.at)
    film.shoot(1000) # what a viewer without animation shows
    browser.run("document.querySelector('#live-text').focus(), document.querySelector('#live-text').select()")
    film.type(["The", " keys", " to", " the", " cabinet"])
    film.shoot(1200)
    film.click("#live-off")
    film.shoot(1500)
    film.click("#thumb-9")
    film.shoot(700)
    film.click("#live-off")
    still = film.shoot(3000)
    film.click("#live-restore")
    film.shoot(1800)
    arguments = [str(item) for path, ms in film.frames for item in ("-d", ms, path)]
    subprocess.run(["img2webp", "-loop", "0", "-lossless", "-m", "6", *arguments, "-o", PICTURES / "live.webp"],
                   check=True, stdout=subprocess.DEVNULL)
    (PICTURES / "live-still.png").write_bytes(still.read_bytes())
    print(f"make_animation.py: {len(film.frames)} frames, {(PICTURES / 'live.webp').stat().st_size} bytes")
    browser.process.kill()


main()
