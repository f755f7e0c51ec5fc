"""A real Chromium, driven over the W3C WebDriver protocol by Debian's chromedriver; nothing else needed."""

import base64
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx

ALT, CONTROL, ENTER, SPACE = "\ue00a", "\ue009", "\ue007", " "
_ELEMENT = "element-6066-11e4-a52e-4f735466cecf"  # the key of an element in WebDriver's JSON

# Nothing but this machine can be reached from the browser, whatever the page asks for.
_ARGUMENTS = [
    "--headless=new",
    "--no-sandbox",
    "--disable-dev-shm-usage",
    "--disable-gpu",
    "--mute-audio",
    "--no-first-run",
    "--window-size=1280,1000",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
]


def programs() -> tuple[str, str] | None:
    """Return the paths of chromium and chromedriver, or None if one is not there."""
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    return (chromium, driver) if chromium and driver else None


class Browser:
    """One window."""

    def __init__(self, http: httpx.Client, session: str) -> None:
        self._http = http
        self._session = session

    def _call(self, method: str, path: str, content: dict[str, Any] | None = None) -> Any:
        answer = self._http.request(
            method, f"/session/{self._session}{path}", json=content if method == "POST" else None
        )
        value = answer.json()["value"]
        if not answer.is_success:
            raise RuntimeError(f"{method} {path}: {value.get('error')}: {value.get('message', '')[:300]}")
        return value

    def open(self, url: str) -> None:
        self._call("POST", "/url", {"url": url})

    @property
    def url(self) -> str:
        return str(self._call("GET", "/url"))

    def run(self, script: str, *arguments: object) -> Any:
        """Return what a script in the page returns."""
        return self._call("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def click(self, selector: str) -> None:
        self.wait_for_element(selector)
        self._call("POST", f"/element/{self._find(selector)}/click", {})

    def type(self, selector: str, text: str) -> None:
        self.wait_for_element(selector)
        self._call("POST", f"/element/{self._find(selector)}/value", {"text": text})

    def _find(self, selector: str) -> str:
        found = self._call("POST", "/element", {"using": "css selector", "value": selector})
        return str(found[_ELEMENT])

    def press(self, *keys: str) -> None:
        """Press keys together, as a person does, and let them go."""
        down = [{"type": "keyDown", "value": key} for key in keys]
        up = [{"type": "keyUp", "value": key} for key in reversed(keys)]
        self._call("POST", "/actions", {"actions": [{"type": "key", "id": "keys", "actions": down + up}]})

    @property
    def windows(self) -> list[str]:
        """The names of all tabs, in the order in which they were opened."""
        return [str(name) for name in self._call("GET", "/window/handles")]

    def switch(self, window: str) -> None:
        self._call("POST", "/window", {"handle": window})

    def resize(self, width: int, height: int) -> None:
        """Give the page a size in pixels, without the window's frame."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.cdp("Emulation.setDeviceMetricsOverride", **size)

    def cdp(self, command: str, **parameters: object) -> Any:
        """Return what a command of Chromium's own protocol returns."""
        content = {"cmd": command, "params": parameters}
        return self._call("POST", "/goog/cdp/execute", content)

    def save_downloads(self, folder: Path) -> None:
        """Have the files that a page saves go to `folder`, without a question."""
        self.cdp("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(folder))

    def console(self) -> list[str]:
        """Return what the console said since it was last asked: errors, refusals of a policy."""
        return [str(entry["message"]) for entry in self._call("POST", "/se/log", {"type": "browser"})]

    def screenshot(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(base64.b64decode(self._call("GET", "/screenshot")))

    def fits(self, script: str, sizes: Iterable[tuple[int, int]], picture: Path) -> None:
        """Hold that a script comes to say true at each size; keep a picture of each, named by its width."""
        for width, height in sizes:
            self.resize(width, height)
            self.wait_for(f"all within {width} × {height}", lambda: self.run(script))
            self.screenshot(picture.with_name(f"{picture.name}-{width}.png"))

    def wait_for(self, what: str, condition: Callable[[], Any], *, n_times: int = 300) -> Any:
        """Return the first true value of `condition`; fail with the page's text when it was false so often.

        What is counted are the page's answers and no seconds: a machine that is busy gives them later.
        """
        for _ in range(n_times):
            if found := condition():
                return found
            time.sleep(0.1)
        text = self.run("return document.body ? document.body.innerText.slice(0, 600) : ''")
        raise AssertionError(f"{what}: asked {n_times} times at {self.url}; the page says: {text}")

    def wait_for_element(self, selector: str) -> None:
        self.wait_for(selector, lambda: self.run("return !!document.querySelector(arguments[0])", selector))


@contextmanager
def open_browser(folder: Path, *arguments: str) -> Iterator[Browser]:
    """Yield a browser with an empty profile in `folder`; it and its driver end with the block.

    arguments: of Chromium, after our own.
    """
    found = programs()
    assert found is not None
    chromium, driver = found
    port = free_port()
    with (folder / "chromedriver.log").open("wb") as log:
        process = subprocess.Popen(
            [driver, f"--port={port}", "--allowed-ips=127.0.0.1"],
            stdout=log,
            stderr=log,
            start_new_session=True,
            env={**os.environ, "HOME": str(folder)},
        )
        try:
            with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=None, trust_env=False) as http:
                _await_driver(http, process)
                session = _new_session(http, chromium, folder / "profile", arguments)
                try:
                    yield Browser(http, session)
                finally:
                    http.delete(f"/session/{session}")
        finally:
            process.terminate()
            process.wait()


def _await_driver(http: httpx.Client, process: subprocess.Popen[bytes]) -> None:
    while process.poll() is None:
        with suppress(httpx.TransportError):
            if http.get("/status").json()["value"]["ready"]:
                return
        time.sleep(0.1)
    raise AssertionError(f"chromedriver ended with {process.returncode}")


def _new_session(http: httpx.Client, chromium: str, profile: Path, more: tuple[str, ...]) -> str:
    options = {"binary": chromium, "args": [*_ARGUMENTS, f"--user-data-dir={profile}", *more]}
    wanted = {"alwaysMatch": {"browserName": "chrome", "goog:chromeOptions": options}}
    wanted["alwaysMatch"]["goog:loggingPrefs"] = {"browser": "ALL"}
    answer = http.post("/session", json={"capabilities": wanted}).json()["value"]
    assert "sessionId" in answer, answer
    return str(answer["sessionId"])


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
