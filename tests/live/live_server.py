"""A real Label Studio for tests: one for the whole run, and what tests need to act as its users."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from fire_toolkit.labelstudio.accounts import Accounts, Annotator
from fire_toolkit.labelstudio.connection import SERVER_FOLDER, Connection, prepare_folder, read_connection
from fire_toolkit.labelstudio.local_server import VERSION, start_server

DATABASE = "label_studio.sqlite3"
BLIND = {"enable_empty_annotation": False, "show_collab_predictions": False}
_CSRF = re.compile(r'name="csrfmiddlewaretoken" value="([^"]+)"')


def installed() -> Path:
    """Return the `label-studio` program, installed at first into a cache that later runs share."""
    given = os.environ.get("FIRE_TOOLKIT_CACHE")
    cache = Path(given).absolute() if given else Path.home() / ".cache" / "fire-toolkit"
    folder = cache / f"label-studio-{VERSION}-py{sys.version_info.major}.{sys.version_info.minor}"
    program, mark = folder / "bin" / "label-studio", folder / "complete.json"
    if not mark.is_file():
        shutil.rmtree(folder, ignore_errors=True)
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        pip = [str(folder / "bin" / "python"), "-m", "pip", "--disable-pip-version-check", "--quiet"]
        subprocess.run([*pip, "install", f"label-studio=={VERSION}"], check=True)
        place = folder / "template"  # asking for the version makes the tables
        environ = {"PATH": os.environ["PATH"], "HOME": str(folder), "LABEL_STUDIO_BASE_DATA_DIR": str(place)}
        command = [str(program), "version", "--data-dir", str(place)]
        subprocess.run(command, env=environ, check=True, capture_output=True)
        (place / DATABASE).replace(folder / f"empty-{DATABASE}")
        mark.write_text("{}")
    return program


def put_empty_database(folder: Path, program: Path) -> None:
    """Put an empty database into a server's folder, unless there is one; to make it takes two minutes."""
    database = folder / "data" / DATABASE
    if not database.exists():
        prepare_folder(folder)
        database.parent.mkdir(mode=0o700, exist_ok=True)
        shutil.copyfile(program.parents[1] / f"empty-{DATABASE}", database)
        database.chmod(0o600)


def clips(number: int) -> list[bytes]:
    """Return clips of the demo, which browsers play."""
    from fire_toolkit.demo.film import encode_clip, render_clip
    from fire_toolkit.demo.world import make_world

    return [encode_clip(render_clip(clip)) for clip in make_world(n_clips=number).clips]


@dataclass(frozen=True)
class LiveServer:
    """A workspace whose server runs; program: the `label-studio` that was started."""

    root: Path
    program: Path
    opened: ExitStack = field(default_factory=ExitStack, repr=False)

    @property
    def folder(self) -> Path:
        return self.root / SERVER_FOLDER

    def start(self, *, public_url: str | None = None) -> Connection:
        """Start it, or find it running."""
        put_empty_database(self.folder, self.program)
        return start_server(self.folder, self.program, public_url=public_url)

    @property
    def connection(self) -> Connection:
        return read_connection(self.root, environ={})

    def accounts(self) -> Accounts:
        return Accounts(self.connection, self.folder)

    def annotator(self, pseudonym: str) -> Annotator:
        """Return an annotator of that pseudonym, made if it is not there."""
        return self.accounts().add([(pseudonym, "")])[0]

    def as_admin(self) -> httpx.Client:
        """Return a client with the administrator's token."""
        return _client(self.connection.url, self.connection.token)

    def as_annotator(self, pseudonym: str) -> httpx.Client:
        """Return a client, closed with the server, with the annotator's own token."""
        person = self.annotator(pseudonym)
        browser = self.logged_in(person.email, person.password)
        token = browser.get("/api/current-user/token").raise_for_status().json()["token"]
        return self.opened.enter_context(_client(self.connection.url, token))

    def logged_in(self, email: str, password: str) -> httpx.Client:
        """Return a client, closed with the server, with the session that the login form gives.

        Raises:
            PermissionError: the server does not let this person in.
        """
        http = httpx.Client(base_url=self.connection.url, timeout=None, trust_env=False)
        browser = self.opened.enter_context(http)
        found = _CSRF.search(browser.get("/user/login/").text)
        assert found is not None
        form = {"email": email, "password": password, "csrfmiddlewaretoken": found[1]}
        answer = browser.post("/user/login/", data=form, headers={"Referer": self.connection.url})
        if answer.status_code != 302:
            raise PermissionError(email)
        return browser

    def project(
        self,
        title: str,
        config: str,
        tasks: Sequence[dict[str, Any]],
        files: Mapping[str, bytes] | None = None,
    ) -> int:
        """Make a blind project with tasks (the `data` of each) and return its number.

        files: of one folder, which the server serves to the project as `/data/local-files/?d=FOLDER/NAME`.
        """
        with self.as_admin() as http:
            content = {"title": title, "label_config": config, **BLIND}
            number = http.post("/api/projects/", json=content).raise_for_status().json()["id"]
            content_of_tasks = [{"data": data} for data in tasks]
            http.post(f"/api/projects/{number}/import", json=content_of_tasks).raise_for_status()
        for name, file in (files or {}).items():
            path = self.root / "media" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(file)
        if files:
            self.add_storage(number, path.parent)
        return int(number)

    def add_storage(self, project: int, folder: Path) -> None:
        """Let a project show the files of a folder below `media`."""
        storage = {"project": project, "path": str(folder), "use_blob_urls": True, "title": folder.name}
        with self.as_admin() as http:
            http.post("/api/storages/localfiles/", json=storage).raise_for_status()

    def answers(self, project: int) -> dict[str, list[dict[str, Any]]]:
        """Return the annotations of each pair_id that has one."""
        with self.as_admin() as http:
            export = http.get(f"/api/projects/{project}/export", params={"exportType": "JSON"})
        return {task["data"]["pair_id"]: task["annotations"] for task in export.raise_for_status().json()}


def _client(url: str, token: str) -> httpx.Client:
    return httpx.Client(
        base_url=url, headers={"Authorization": f"Token {token}"}, timeout=None, trust_env=False
    )
