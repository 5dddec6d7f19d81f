# SPDX-License-Identifier: MIT
"""browser.py - Debian's Chromium without a window, by its DevTools protocol over two pipes"""
import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

PATIENCE = 120  # seconds, for what hangs alone


class Browser:
    """One page at a time; what it asks the network for, logs and throws is kept."""

    def __init__(self, program="chromium"):
        self.home = tempfile.mkdtemp(prefix="stepjail-chromium-")
        there, self.write = os.pipe()
        self.read, here = os.pipe()
        words = [program, "--headless", "--remote-debugging-pipe", "--no-first-run", "--disable-gpu", "--no-sandbox",
                 "--disable-background-networking", "--disable-dev-shm-usage", f"--user-data-dir={self.home}",
                 "--proxy-server=127.0.0.1:9", "about:blank"]

        def pipes():  # in the child: fds 3 and 4 are the protocol's
            low = os.dup(there), os.dup(here)
            os.dup2(low[0], 3)
            os.dup2(low[1], 4)
        self.process = subprocess.Popen(words, preexec_fn=pipes, close_fds=False, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env={"HOME": self.home, **{
                                            name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}})
        os.close(there)
        os.close(here)
        self.number, self.answers, self.events, self.buffer = 0, {}, [], b""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = None
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network", "Security", "Audits", "Accessibility"):
            self.call(domain + ".enable")

    def close(self):
        os.close(self.write)
        try:
            self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.read)
        shutil.rmtree(self.home, ignore_errors=True)

    def take(self, end):
        while b"\0" not in self.buffer:
            if not select.select([self.read], [], [], max(0, end - time.monotonic()))[0]:
                raise TimeoutError("the browser says nothing")
            got = os.read(self.read, 1 << 20)
            if not got:
                raise EOFError("the browser is gone")
            self.buffer += got
        one, self.buffer = self.buffer.split(b"\0", 1)
        message = json.loads(one)
        if "id" in message:
            self.answers[message["id"]] = message
        else:
            self.events.append(message)

    def call(self, method, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if getattr(self, "session", None):
            message["sessionId"] = self.session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.write, data):]
        end = time.monotonic() + PATIENCE
        while self.number not in self.answers:
            self.take(end)
        answer = self.answers.pop(self.number)
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']}")
        return answer["result"]

    def wait_for(self, method):
        end = time.monotonic() + PATIENCE
        while not any(event["method"] == method for event in self.events):
            self.take(end)

    def open(self, path, width=1280, height=900, scheme="light", media=""):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
                  mobile=width < 600)
        self.call("Emulation.setEmulatedMedia", media=media, features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.events.clear()
        self.call("Page.navigate", url="file://" + os.path.abspath(path))
        self.wait_for("Page.loadEventFired")

    def value(self, expression):
        """What a line of JavaScript of the test's comes to; the page has none."""
        return self.call("Runtime.evaluate", expression=expression, returnByValue=True)["result"].get("value")

    def heard(self, *methods):
        return [event["params"] for event in self.events if event["method"] in methods]

    def requests(self):
        """All that was asked for but the page itself."""
        return [one["request"]["url"][:100] for one in self.heard("Network.requestWillBeSent")
                if one.get("type") != "Document"]

    def complaints(self):
        return self.heard("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded", "Audits.issueAdded",
                          "Page.javascriptDialogOpening", "Network.loadingFailed")

    def key(self, name):
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=name, code=name, windowsVirtualKeyCode=9)

    def screenshot(self, path, whole=True):
        data = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))

    def pdf(self, path):
        data = self.call("Page.printToPDF", paperWidth=8.27, paperHeight=11.69, preferCSSPageSize=True,
                         printBackground=True)["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))
