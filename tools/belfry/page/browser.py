# SPDX-FileCopyrightText: The belfry authors
# SPDX-License-Identifier: Apache-2.0
"""A headless Chromium, driven by the DevTools protocol over two pipes."""

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

SECONDS = 60  # For an answer, on a busy machine.


class Browser:
    """One page at a time. `complaints` has errors of scripts, and addresses that were asked for."""

    def __init__(self, program="chromium"):
        self.profile = tempfile.mkdtemp(prefix="belfry_page_")
        read, their_write = os.pipe()
        their_read, self.write_end = os.pipe()
        self.process = subprocess.Popen(
            ["bash", "-c", f'exec "$@" 3<&{their_read} 4>&{their_write}', "-", program,
             "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
             "--hide-scrollbars",
             "--no-first-run", f"--user-data-dir={self.profile}", "--remote-debugging-pipe"],
            pass_fds=(their_read, their_write), stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        os.close(their_read)
        os.close(their_write)
        self.read_end, self.buffer, self.number = read, b"", 0
        self.session, self.events, self.complaints = None, [], []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target,
                                 flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def close(self):
        self.process.terminate()
        self.process.wait()
        shutil.rmtree(self.profile, ignore_errors=True)

    def message(self, deadline):
        while b"\0" not in self.buffer:
            ready, _, _ = select.select([self.read_end], [], [], max(deadline - time.time(), 0))
            piece = os.read(self.read_end, 1 << 16) if ready else b""
            if not piece:
                raise RuntimeError("the browser does not answer")
            self.buffer += piece
        text, _, self.buffer = self.buffer.partition(b"\0")
        return json.loads(text)

    def call(self, method, **parameters):
        """Sends a command, and returns its result."""
        self.number += 1
        command = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            command["sessionId"] = self.session
        os.write(self.write_end, json.dumps(command).encode() + b"\0")
        deadline = time.time() + SECONDS
        while True:
            answer = self.message(deadline)
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self.note(answer)

    def note(self, event):
        """Keeps what a page must not do."""
        method, about = event.get("method"), event.get("params", {})
        if method == "Runtime.exceptionThrown":
            self.complaints.append(json.dumps(about["exceptionDetails"])[:500])
        if method == "Log.entryAdded" and about["entry"]["level"] in ("error", "warning"):
            self.complaints.append(about["entry"]["text"])
        if method == "Runtime.consoleAPICalled" and about["type"] in ("error", "warning"):
            self.complaints.append(json.dumps(about["args"]))
        if method == "Page.javascriptDialogOpening":
            self.complaints.append("a dialog opened")
        if method == "Network.requestWillBeSent":
            url = about["request"]["url"]
            if not url.startswith(("file:", "data:")):
                self.complaints.append(f"asked for {url}")

    def open(self, path, anchor="", size=(1280, 720), dark=False):
        """Opens a file. Returns the seconds until the page is drawn."""
        self.call("Emulation.setDeviceMetricsOverride", width=size[0], height=size[1],
                  deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        self.call("Page.navigate", url="about:blank")
        begin = time.time()
        self.call("Page.navigate", url=f"file://{path}{anchor}")
        while self.value("document.documentElement?.dataset.ready") != "yes":
            if time.time() > begin + SECONDS:
                raise RuntimeError(f"{path} is not ready: {self.complaints}")
        self.settle()
        return time.time() - begin

    def settle(self):
        """Waits until two frames are drawn."""
        self.value("new Promise((done) => requestAnimationFrame(() => "
                   "requestAnimationFrame(() => done(1))))")

    def value(self, expression):
        """Returns the value of an expression of JavaScript, of a promise when it is kept."""
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True,
                           awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(json.dumps(result["exceptionDetails"])[:500])
        return result["result"].get("value")

    def press(self, *keys):
        """Presses keys, by their names in events."""
        for key in keys:
            text = {"text": key} if len(key) == 1 else {}
            self.call("Input.dispatchKeyEvent", type="keyDown", key=key, **text)
            self.call("Input.dispatchKeyEvent", type="keyUp", key=key)
        self.settle()

    def picture(self, path):
        """Writes a screenshot."""
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))
