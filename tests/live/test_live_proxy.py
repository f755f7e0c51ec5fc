"""A campaign behind a real proxy with TLS: somebody elsewhere logs in, sees a clip and answers."""

import os
import shutil
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import pytest
from live_browser import CONTROL, ENTER, free_port, open_browser
from live_server import LiveServer, clips
from test_live_browser import SUBMIT, VIDEO, is_disabled, log_in, plays, text
from test_live_campaign import Site

from fire_toolkit.labelstudio.local_server import stop_server

DEPLOY = Path(__file__).resolve().parents[2] / "docs" / "deploy"
NAME = "labels.example.org"
ESCAPE = "\ue00c"
DIALOG = "return !!document.querySelector('.lsf-modal, .ls-modal, .ant-modal-wrap, [role=dialog]')"
FEATURES = f"--host-resolver-rules=MAP {NAME} 127.0.0.1, MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"


def needed(program: str) -> str:
    found = shutil.which(program) or shutil.which(program, path="/usr/sbin")
    if found is None:
        words = f"no {program}: apt-get install {program}"
        if os.environ.get("CI") == "true":
            pytest.fail(words)
        pytest.skip(words)
    return found


def certificate(folder: Path) -> tuple[Path, Path]:
    """Return a certificate for the name, signed by itself, and its key."""
    made, key = folder / "fullchain.pem", folder / "privkey.pem"
    words = f"req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN={NAME} -addext subjectAltName=DNS:{NAME}"
    files = ["-keyout", str(key), "-out", str(made)]
    subprocess.run([needed("openssl"), *words.split(), *files], check=True, capture_output=True)
    return made, key


def caddy(folder: Path, ports: dict[str, int]) -> list[str]:
    """Return the command of a Caddy with our Caddyfile, on free ports of the loopback."""
    made, key = certificate(folder)
    options = f"admin off\nauto_https disable_redirects\ndefault_bind 127.0.0.1\nhttps_port {ports['https']}"
    own = f"{{$FIRE_HOST}} {{\n\ttls {made} {key}"
    site = (DEPLOY / "Caddyfile").read_text().replace("{$FIRE_HOST} {", own)
    (folder / "Caddyfile").write_text(f"{{\n{options}\nhttp_port {free_port()}\n}}\n{site}")
    return [needed("caddy"), "run", "--adapter", "caddyfile", "--config", str(folder / "Caddyfile")]


def nginx(folder: Path, ports: dict[str, int]) -> list[str]:
    """Return the command of an nginx with our file, on free ports of the loopback."""
    made, key = certificate(folder)
    site = (DEPLOY / "nginx.conf").read_text()
    for old, new in {
        "listen 80;": f"listen 127.0.0.1:{free_port()};",
        "listen 443 ssl;": f"listen 127.0.0.1:{ports['https']} ssl;",
        f"/etc/letsencrypt/live/{NAME}/fullchain.pem": str(made),
        f"/etc/letsencrypt/live/{NAME}/privkey.pem": str(key),
        "127.0.0.1:8080": f"127.0.0.1:{ports['server']}",
        "127.0.0.1:8790": f"127.0.0.1:{ports['media']}",
    }.items():
        assert old in site
        site = site.replace(old, new)
    temporary = "".join(
        f"{kind}_temp_path {folder}/{kind};\n"
        for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    (folder / "nginx.conf").write_text(
        f"pid {folder}/pid;\ndaemon off;\nevents {{}}\nhttp {{\naccess_log off;\n{temporary}{site}\n}}\n"
    )
    return [needed("nginx"), "-e", str(folder / "log"), "-c", str(folder / "nginx.conf")]


@pytest.fixture(params=[caddy, nginx], ids=["caddy", "nginx"])
def site(
    request: pytest.FixtureRequest, live_program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[Site, str, Path]]:
    """A workspace whose server runs behind the proxy, the address of both, and the proxy's certificate."""
    make: Callable[[Path, dict[str, int]], list[str]] = request.param
    ports = {name: free_port() for name in ("https", "server", "media")}
    folder = tmp_path / "proxy"
    folder.mkdir()
    command = make(folder, ports)
    url = f"https://{NAME}:{ports['https']}"
    root = tmp_path / "workspace"
    root.mkdir()
    monkeypatch.chdir(root)
    monkeypatch.setenv("SSL_CERT_FILE", str(folder / "fullchain.pem"))
    server = LiveServer(root, live_program)
    found = Site(server, root, "")
    found.run("init", ".")
    environ = {
        "FIRE_HOST": NAME,
        "FIRE_LABEL_STUDIO": f"127.0.0.1:{ports['server']}",
        "FIRE_MEDIA": f"127.0.0.1:{ports['media']}",
        "HOME": str(folder),
        "PATH": "/usr/sbin:/usr/bin:/bin",
    }
    log = os.open(folder / "output", os.O_WRONLY | os.O_CREAT)
    monkeypatch.setattr("fire_toolkit.labelstudio.local_server.FIRST_PORT", ports["server"])
    server.start(public_url=url)
    process = subprocess.Popen(command, env=environ, stdout=log, stderr=log)
    serving: subprocess.Popen[bytes] | None = None
    try:
        make_items(found)
        serve = ["media", "serve", "--port", str(ports["media"]), "--write-items", "served.tsv"]
        serving = subprocess.Popen(
            [sys.executable, "-m", "fire_toolkit", *serve], cwd=root, stdout=log, stderr=log
        )
        await_up(url, folder / "fullchain.pem", root / "served.tsv", process, folder / "output")
        yield found, url, folder / "fullchain.pem"
    finally:
        for each in filter(None, (serving, process)):
            each.terminate()
            each.wait()
        server.opened.close()
        stop_server(server.folder)
        os.close(log)


def make_items(site: Site) -> None:
    names = [f"clips/v{number}.webm" for number in range(2)]
    (site.root / "clips").mkdir()
    for name, clip in zip(names, clips(2), strict=True):
        (site.root / name).write_bytes(clip)
    site.write("collection/items.tsv", "doc_id media_url", *((f"v{n}", name) for n, name in enumerate(names)))


def resolved_here(url: str, trusted: Path) -> httpx.Client:
    """Return a client for which the proxy's name is this machine's."""
    context = ssl.create_default_context(cafile=str(trusted))
    return httpx.Client(base_url=url, verify=context, timeout=None, trust_env=False)


def await_up(url: str, trusted: Path, items: Path, process: subprocess.Popen[bytes], log: Path) -> None:
    with resolved_here(url, trusted) as http:
        while process.poll() is None:
            with suppress(httpx.TransportError):
                if http.get("/health").status_code == 200 and items.is_file():
                    return
            time.sleep(0.1)
    pytest.fail(f"the proxy ended: {log.read_text()}")


@pytest.fixture(autouse=True)
def name_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the proxy's name be found here, as a domain's records do."""
    known = socket.getaddrinfo

    def found(host: Any, *arguments: Any, **options: Any) -> Any:
        return known("127.0.0.1" if host in (NAME, NAME.encode()) else host, *arguments, **options)

    monkeypatch.setattr(socket, "getaddrinfo", found)


def test_somebody_elsewhere_logs_in_sees_a_clip_and_answers(
    chromium: None, site: tuple[Site, str, Path], artefacts: Path, tmp_path: Path
) -> None:
    workspace, url, trusted = site
    assert workspace.server.connection.public_url == url
    added = workspace.run("annotators", "add", "A01")
    assert f"{url}/user/login/" in added.stderr
    addresses = list(workspace.table("served.tsv")["media_url"])
    assert all(address.startswith(f"{url}/media/m/") for address in addresses)
    workspace.write("pool/pool.csv", "query_id doc_id", ("q0", "v0"), ("q0", "v1"))
    workspace.write("collection/queries.tsv", "query_id text", ("q0", "a red square"))
    workspace.run("tasks", "--overlap", "0")
    pushed = workspace.run("push", "--annotator", "A01")
    page = next(iter(workspace.counts("push")["pages"].values()))
    assert page.startswith(f"{url}/projects/")
    assert page in pushed.stderr

    with resolved_here(url, trusted) as nobody:
        assert nobody.get(addresses[0]).status_code == 401  # media are for people with an account

    person = workspace.server.annotator("A01")
    with open_browser(tmp_path, FEATURES, "--ignore-certificate-errors") as browser:
        log_in(browser, url, person.email, person.password)
        browser.open(page)
        browser.wait_for("the caption", lambda: "a red square" in text(browser), n_times=600)
        browser.wait_for("the video's data", lambda: (browser.run(VIDEO, "readyState") or 0) >= 3)
        browser.screenshot(artefacts / "instructions.png")
        browser.press(ESCAPE)  # the instructions
        browser.wait_for("the page below them", lambda: not browser.run(DIALOG))
        plays(browser)
        browser.press("1")
        browser.wait_for("an answer can be sent", lambda: not is_disabled(browser, SUBMIT))
        browser.screenshot(artefacts / "behind-a-proxy.png")
        browser.press(CONTROL, ENTER)
        browser.wait_for("the next task", lambda: is_disabled(browser, SUBMIT))
    assert workspace.counts("pull")["new"] == 1
