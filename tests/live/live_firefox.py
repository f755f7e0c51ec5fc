"""A real Firefox, driven over its own Marionette protocol; nothing but Firefox is needed."""

import json
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from live_browser import Browser, free_port

_SETTINGS: dict[str, str | int | bool] = {
    "browser.shell.checkDefaultBrowser": False,
    "datareporting.policy.dataSubmissionEnabled": False,
    "browser.download.folderList": 2,
    "browser.download.useDownloadDir": True,
    "browser.download.always_ask_before_handling_new_types": False,
    # Nothing but this machine can be reached, whatever the page asks for.
    "network.proxy.type": 1,
    "network.proxy.http": "127.0.0.1",
    "network.proxy.http_port": 9,
    "network.proxy.ssl": "127.0.0.1",
    "network.proxy.ssl_port": 9,
}


def firefox() -> str | None:
    """Return the path of Firefox, or None if there is none."""
    return shutil.which("firefox-esr") or shutil.which("firefox")


class Firefox(Browser):
    """One window. Of `Browser` it has what needs no protocol of Chromium's."""

    def __init__(self, process: subprocess.Popen[bytes], port: int) -> None:
        self.process = process
        self._number, self._read = 0, b""
        self._socket = _connected(process, port)
        self._message()  # the greeting
        self._command("WebDriver:NewSession", {"capabilities": {}})

    def _message(self) -> Any:
        while b":" not in self._read:
            self._read += self._socket.recv(1 << 16)
        size, _, rest = self._read.partition(b":")
        while len(rest) < int(size):
            rest += self._socket.recv(1 << 16)
        self._read = rest[int(size) :]
        return json.loads(rest[: int(size)])

    def _command(self, name: str, content: dict[str, Any]) -> Any:
        self._number += 1
        sent = json.dumps([0, self._number, name, content]).encode()
        self._socket.sendall(b"%d:%s" % (len(sent), sent))
        _, _, error, value = self._message()
        if error:
            raise RuntimeError(f"{name}: {error['error']}: {error['message'][:300]}")
        return value

    def _call(self, method: str, path: str, content: dict[str, Any] | None = None) -> Any:
        """Do what WebDriver's address asks for, under Marionette's name for it."""
        names = {
            ("POST", "/url"): "WebDriver:Navigate",
            ("GET", "/url"): "WebDriver:GetCurrentURL",
            ("POST", "/execute/sync"): "WebDriver:ExecuteScript",
            ("POST", "/actions"): "WebDriver:PerformActions",
            ("GET", "/screenshot"): "WebDriver:TakeScreenshot",
        }
        value = self._command(names[method, path], {"full": False} if "screenshot" in path else content or {})
        return value.get("value") if isinstance(value, dict) else value

    def click(self, selector: str) -> None:
        self.wait_for_element(selector)
        self.run("document.querySelector(arguments[0]).click()", selector)

    def resize(self, width: int, height: int) -> None:
        """Give the page a size in pixels; Firefox takes no width below 450."""
        for _ in range(2):
            frame = self.run("return [outerWidth - innerWidth, outerHeight - innerHeight]")
            self._command("WebDriver:SetWindowRect", {"width": width + frame[0], "height": height + frame[1]})

    def kill(self) -> None:
        """Kill Firefox, and all of its processes, without a warning."""
        self._socket.close()
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()


def _connected(process: subprocess.Popen[bytes], port: int) -> socket.socket:
    while process.poll() is None:
        with suppress(OSError):
            return socket.create_connection(("127.0.0.1", port))
        time.sleep(0.2)
    raise AssertionError(f"Firefox ended with {process.returncode}")


@contextmanager
def open_firefox(folder: Path) -> Iterator[Firefox]:
    """Yield a Firefox with the profile in `folder`; downloads go there too. It ends with the block."""
    program = firefox()
    assert program is not None
    profile, port = folder / "firefox", free_port()
    profile.mkdir(exist_ok=True)
    settings = {**_SETTINGS, "marionette.port": port, "browser.download.dir": str(folder)}
    lines = (f"user_pref({json.dumps(name)}, {json.dumps(value)});\n" for name, value in settings.items())
    (profile / "user.js").write_text("".join(lines))
    process = subprocess.Popen(
        [program, "--headless", "--marionette", "--no-remote", "--profile", str(profile)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        env={**os.environ, "HOME": str(folder)},
    )
    browser = Firefox(process, port)
    try:
        yield browser
    finally:
        browser.kill()
