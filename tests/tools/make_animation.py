#!/usr/bin/env python3
"""make_animation.py - films README's picture: the stage of data/pictures/live.html in Chromium. The pointer goes to
head 2.5, which is switched off, and so is 1.1: the next word changes from `are` to `is`, and is written.

    tests/tools/make_animation.py        writes data/pictures/live.webp; live-still.png: three frames, as on telephones; and
                                         atlas.png: the atlas of the gallery, as build/release/attn-cli writes it

Needs chromium, and img2webp of Debian's package webp. The page's story is hidden, and nothing that the page computes
is changed.
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
WIDTH, HEIGHT, SCALE = 1366, 600, 1.2
TELEPHONE = 390, 800
STYLE = """
#stage-story, #stage-text, #live-status { display: none !important }
#live-stage { height: calc(100vh - 1.4rem) !important }
#stage-undo { min-height: 2.8rem }
#stage-bars li:nth-child(n + 5) { display: none } /* the picture is low */
#pointer { position: fixed; z-index: 99; width: 20px; height: 20px; pointer-events: none }
"""
BESIDE = """<body style="margin:0;display:flex;gap:18px;padding:6px;background:#fff">{}</body>"""
FRAME = '<img style="width:318px;border:1px solid #c4cbd3;border-radius:12px" src="data:image/png;base64,{}">'
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

    def click(self, selector, ms):
        """Moves to what is pressed, and shoots while the page moves, for MS."""
        self.move_to(selector)
        self.browser.run(f"document.querySelector('{selector}').click()")
        for _ in range(4):
            time.sleep(ms / 4000)
            self.shoot(ms // 4)
        time.sleep(0.4)
        self.browser.wait(IS_READY)


ADDRESS = "#stage=1&h=2.5&text=The%20keys%20to%20the%20cabinet"


def open_stage(browser, width, height, scale):
    """The stage of the page, with a pointer."""
    browser.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale, mobile=False)
    browser.send("Page.navigate", url="about:blank")
    browser.send("Page.navigate", url=(PICTURES / "live.html").as_uri() + ADDRESS)
    browser.wait(IS_READY)
    browser.run(f"document.head.append(Object.assign(document.createElement('style'), {{textContent: {json.dumps(STYLE)}}}))")
    browser.run("document.querySelector('#live-stage').classList.remove('told')")
    browser.run(f"document.body.append(Object.assign(document.createElement('div'), {{id: 'pointer', innerHTML: {json.dumps(POINTER)}}}))")
    time.sleep(0.6)


def film(browser, folder):
    open_stage(browser, WIDTH, HEIGHT, SCALE)
    made = Film(browser, folder)
    made.point(*made.at)
    made.shoot(2200)
    for head in (21, 9): # 2.5 and 1.1
        made.click(f"#stage-cell-{head}", 400)
        made.click("#stage-head-off", 400)
        made.shoot(2600)
    browser.run("[...document.querySelectorAll('.stage-bar')].find(bar => bar.firstChild.textContent === 'is').id = 'next'")
    made.click("#next", 400)
    made.shoot(2200)
    arguments = [str(item) for path, ms in made.frames for item in ("-d", ms, path)]
    subprocess.run(["img2webp", "-loop", "0", "-lossless", "-m", "6", *arguments, "-o", PICTURES / "live.webp"],
                   check=True, stdout=subprocess.DEVNULL)
    print(f"make_animation.py: {len(made.frames)} frames, {(PICTURES / 'live.webp').stat().st_size} bytes")


def still(browser, folder):
    """Three frames beside each other: what is there, without head 2.5, and without 1.1 either."""
    open_stage(browser, *TELEPHONE, 2)
    browser.run("document.querySelector('#pointer').remove()")
    made = Film(browser, folder)
    frames = [made.shoot(0)]
    for head in (21, 9):
        browser.run(f"document.querySelector('#stage-cell-{head}').click()")
        time.sleep(0.2)
        browser.run("document.querySelector('#stage-head-off').click()")
        time.sleep(0.8)
        browser.wait(IS_READY)
        frames.append(made.shoot(0))
    page = folder / "still.html"
    page.write_text(BESIDE.format("".join(FRAME.format(base64.b64encode(path.read_bytes()).decode()) for path in frames)))
    browser.send("Emulation.setDeviceMetricsOverride", width=1008, height=668, deviceScaleFactor=1.5, mobile=False)
    browser.send("Page.navigate", url=page.as_uri())
    browser.wait("document.images.length === 3 && [...document.images].every(i => i.complete)")
    browser.screenshot(PICTURES / "live-still.png")


def atlas(browser, folder):
    """The page of the gallery's command, as it opens."""
    page = folder / "atlas.html"
    subprocess.run([ROOT / "build/release/attn-cli", "heads", "-q", "--items", "data/experiments/agreement.csv", "--html", page],
                   cwd=ROOT, check=True)
    browser.send("Emulation.setDeviceMetricsOverride", width=1100, height=560, deviceScaleFactor=1.25, mobile=False)
    browser.send("Page.navigate", url=page.as_uri())
    browser.wait("document.readyState === 'complete' && document.querySelector('#atlas svg')")
    time.sleep(0.6)
    browser.screenshot(PICTURES / "atlas.png")


def main():
    folder = pathlib.Path(tempfile.mkdtemp())
    browser = Browser()
    browser.send("Page.enable")
    browser.send("Page.setBypassCSP", enabled=True)
    film(browser, folder)
    still(browser, folder)
    atlas(browser, folder)
    browser.process.kill()


if __name__ == "__main__":
    main()
