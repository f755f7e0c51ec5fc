"""What can be wrong with a server and its surroundings, each with the command that fixes it."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import shutil
import sys
from base64 import urlsafe_b64decode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import TYPE_CHECKING

from fire_toolkit.errors import FireError, ServerError, UsageError
from fire_toolkit.labelstudio.connection import Connection, browser, open_client, read_connection
from fire_toolkit.labelstudio.failures import server_errors

if TYPE_CHECKING:
    import httpx

    from fire_toolkit.campaign.records import Campaign
    from fire_toolkit.labelstudio.api import Api, Json

TESTED_SERVER = "1.23"
TESTED_SDK = "2."
LEAST_FREE_BYTES = 1_000_000_000
MOST_SKEW_S = 60.0
TIMEOUT_S = 20.0
GOOD, NOTE, BAD = "good", "note", "bad"


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at.

    state: `good`; `note`: works, but is worth knowing; `bad`. fix: the command or step that fixes it;
    is_servers: the fault is the server's.
    """

    name: str
    state: str
    words: str
    fix: str = ""
    is_servers: bool = False


def examine(
    root: Path | None,
    *,
    url: str | None = None,
    token_file: Path | None = None,
    environ: Mapping[str, str] | None = None,
    transport: httpx.BaseTransport | None = None,
) -> list[Finding]:
    """Return what was found, in the order in which to fix it.

    Args:
        root: the workspace, or None.
        url, token_file, environ: as in `read_connection`.
        transport: stands in for the network.

    What cannot be looked at because something before it is bad is left out.
    """
    findings = [check_sdk(_installed_sdk()), check_codecs(), check_disk(root or Path.cwd())]
    try:
        connection = read_connection(root, url=url, token_file=token_file, environ=environ)
    except FireError as error:
        fix = "fire-toolkit labelstudio start" if isinstance(error, UsageError) else ""
        return [*findings, Finding("connection", BAD, str(error), fix)]
    return [*findings, check_way(connection), *_examine_server(connection, root, transport)]


def _examine_server(
    connection: Connection, root: Path | None, transport: httpx.BaseTransport | None
) -> Iterator[Finding]:
    try:
        release, answered_at = _ask_version(connection, transport)
    except ServerError as error:
        yield Finding("server", BAD, str(error), _start_or_address(connection), is_servers=True)
        return
    yield check_version(release, connection.url)
    if answered_at is not None:
        yield check_clock(answered_at, datetime.now(UTC))
    try:
        client = open_client(connection, timeout_s=TIMEOUT_S, transport=transport)
        with server_errors(connection):
            client.users.whoami(request_options={"max_retries": 0})
    except ServerError as error:
        yield Finding("token", BAD, str(error), _new_token(connection), is_servers=True)
        return
    yield check_token(connection.token, datetime.now(UTC))
    yield from _examine_projects(connection, root, transport)


def _start_or_address(connection: Connection) -> str:
    if connection.is_local:
        return "fire-toolkit labelstudio start"
    return f"check the address: curl -sS {connection.url}/api/version"


def _new_token(connection: Connection) -> str:
    return (
        f"copy a token from {connection.url}/user/account (legacy ones must be allowed under Organization, "
        "API Tokens Settings) into FIRE_LABEL_STUDIO_TOKEN"
    )


def _ask_version(
    connection: Connection, transport: httpx.BaseTransport | None
) -> tuple[str, datetime | None]:
    """Return the server's version, and when it answered by its own clock."""
    import httpx

    call = f"GET {connection.url}/api/version"
    try:
        with browser(connection, timeout_s=TIMEOUT_S, transport=transport) as client:
            answer = client.get("/api/version")
        release = answer.json()["release"]
    except httpx.HTTPError as error:
        raise ServerError(f"{call}: {type(error).__name__} {error}") from error
    except (ValueError, KeyError, TypeError):
        raise ServerError(f"{call}: {answer.status_code}, and no version: this is not Label Studio") from None
    try:
        return str(release), parsedate_to_datetime(answer.headers["Date"])
    except (KeyError, ValueError, TypeError):
        return str(release), None


def check_version(release: str, url: str) -> Finding:
    """Return whether a server's version is one that was tested.

    Examples:
        >>> check_version("1.23.2", "http://x").state, check_version("1.30.0", "http://x").state
        ('good', 'note')
        >>> check_version("2.0", "http://x").state
        'bad'
    """
    words = f"Label Studio {release} at {url}"
    if release == TESTED_SERVER or release.startswith(f"{TESTED_SERVER}."):
        return Finding("server", GOOD, words)
    words += f"; tested with {TESTED_SERVER}"
    if release.split(".")[0] == TESTED_SERVER.split(".")[0]:
        return Finding("server", NOTE, words, "try it on a copy first, or `fire-toolkit labelstudio start`")
    return Finding("server", BAD, words, "fire-toolkit labelstudio start", is_servers=True)


def check_clock(server_time: datetime, own_time: datetime) -> Finding:
    """Return whether two clocks agree well enough for tokens that live five minutes.

    Examples:
        >>> check_clock(datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 1, 0, 5, tzinfo=UTC)).words
        'this clock is 300 s ahead of the server'
    """
    skew_s = (own_time - server_time).total_seconds()
    if abs(skew_s) <= MOST_SKEW_S:
        return Finding("clock", GOOD, "agrees with the server's")
    side = "ahead of" if skew_s > 0 else "behind"
    fix = "synchronise the clock: sudo timedatectl set-ntp true"
    return Finding("clock", BAD, f"this clock is {abs(skew_s):.0f} s {side} the server", fix)


def check_token(token: str, now: datetime) -> Finding:
    """Return of which kind an accepted token is, and whether it ends soon.

    Examples:
        >>> check_token("0123456789abcdef0123456789abcdef01234567", datetime.now(UTC)).words
        'legacy, accepted'
    """
    ends_at = _end_of(token)
    if ends_at is None:
        return Finding("token", GOOD, "legacy, accepted")
    words = f"personal, accepted, ends {ends_at:%Y-%m-%d}"
    if (ends_at - now).days < 7:
        return Finding("token", NOTE, words, "make a new one under Account & Settings, Personal Access Token")
    return Finding("token", GOOD, words)


def _end_of(token: str) -> datetime | None:
    """Return when a personal token (a JWT) ends; None for a legacy one."""
    parts = token.split(".")
    if len(parts) != 3:
        return None
    try:
        content = json.loads(urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
        return datetime.fromtimestamp(content["exp"], UTC)
    except (ValueError, KeyError, TypeError, OverflowError, OSError):
        return None


def check_way(connection: Connection) -> Finding:
    """Return whether the token travels where others can read it."""
    if connection.is_local or connection.url.startswith("https://"):
        how = "on this machine" if connection.is_local else "encrypted"
        return Finding("connection", GOOD, f"{connection.url}, {how}")
    fix = "serve it over https, and give that address"
    return Finding("connection", NOTE, f"{connection.url}: the token travels unencrypted", fix)


def check_disk(folder: Path) -> Finding:
    """Return whether there is room for answers and a local database."""
    free = shutil.disk_usage(folder).free
    words = f"{free / 1e9:.1f} GB free at {folder}"
    if free >= LEAST_FREE_BYTES:
        return Finding("disk", GOOD, words)
    return Finding("disk", BAD, words, f"free at least 1 GB: du -sh {folder}/* | sort -h")


def _installed_sdk() -> str:
    try:
        return importlib.metadata.version("label-studio-sdk")
    except importlib.metadata.PackageNotFoundError:
        return ""


def check_sdk(version: str) -> Finding:
    """Return whether the label-studio-sdk that is installed (empty: none) is one that was tested.

    Examples:
        >>> check_sdk("2.1.2").state, check_sdk("1.0.1").state, check_sdk("").state
        ('good', 'bad', 'bad')
    """
    fix = f'"{sys.executable}" -m pip install "label-studio-sdk>=2,<3"'
    if version.startswith(TESTED_SDK):
        return Finding("sdk", GOOD, f"label-studio-sdk {version}")
    return Finding("sdk", BAD, f"label-studio-sdk {version or 'is not installed'}; tested with 2", fix)


def check_codecs() -> Finding:
    """Return what there is to look into videos and to transcode them."""
    found = [name for name, there in _codec_tools().items() if there]
    if found:
        return Finding("codecs", GOOD, " and ".join(found))
    fix = f'"{sys.executable}" -m pip install av'
    return Finding(
        "codecs", NOTE, "neither PyAV nor ffmpeg is installed: videos cannot be checked or transcoded", fix
    )


def _codec_tools() -> dict[str, bool]:
    return {"PyAV": importlib.util.find_spec("av") is not None, "ffmpeg": shutil.which("ffmpeg") is not None}


def _examine_projects(
    connection: Connection, root: Path | None, transport: httpx.BaseTransport | None
) -> Iterator[Finding]:
    """Yield whether each project of the workspace's campaign is there and still shows the campaign's page."""
    from fire_toolkit.campaign.records import read_campaign, read_rounds
    from fire_toolkit.labelstudio.api import Api
    from fire_toolkit.labelstudio.projects import check_config, own_projects
    from fire_toolkit.labelstudio.twins import find_doubled

    campaign = read_campaign(root) if root else None
    if campaign is None or root is None:
        return
    changed: list[str] = []
    try:
        api = Api(connection, transport=transport)
        listed = api.projects(with_counts=True)
        projects = [project for queue in own_projects(listed, campaign).values() for project in queue]
        yield from _examine_vanished(root, campaign, api, listed)
        doubled = find_doubled(listed, campaign, read_rounds(root))
        yield from (Finding("projects", BAD, each.words, each.fix, is_servers=True) for each in doubled)
        for project in projects:
            try:
                check_config(campaign, project)
            except FireError as error:
                changed.append(str(error))
    except FireError as error:
        yield Finding("projects", BAD, str(error), "fire-toolkit labelstudio logs", is_servers=True)
        return
    if changed:
        fix = (
            "restore the page: copy `fire-toolkit guideline --part config` into Settings, Labeling Interface"
        )
        yield Finding("projects", BAD, "; ".join(changed), fix, is_servers=True)
    else:
        yield Finding("projects", GOOD, f"{len(projects)} of this campaign, all pages unchanged")


def _examine_vanished(root: Path, campaign: Campaign, api: Api, listed: Sequence[Json]) -> Iterator[Finding]:
    """Yield each project that was pulled before and is gone, or has lost the campaign's mark."""
    from fire_toolkit.campaign.ledger_index import LedgerIndex
    from fire_toolkit.campaign.records import LEDGER_FOLDER, queue_named, read_marks
    from fire_toolkit.labelstudio.projects import project_mark
    from fire_toolkit.labelstudio.vanished import find_vanished

    if not (marks := read_marks(root)):
        return
    index = LedgerIndex(root / LEDGER_FOLDER)
    for each in find_vanished(listed, campaign, index, marks, api.identity()):
        queue = queue_named(each.queue)
        if each.is_unmarked and queue:
            fix = f"set its description under Settings to: {project_mark(campaign, queue, each.part)}"
        elif each.n_answers:
            fix = "its answers still count; to leave them out: fire-toolkit pull --full --accept-loss"
        else:
            fix = "fire-toolkit push (makes it again)"
        yield Finding("projects", BAD, each.words, fix, is_servers=True)


def exit_code(findings: Iterable[Finding]) -> int:
    """Return 0 if nothing is bad, 3 if something bad is the server's fault, else 1."""
    bad = [finding for finding in findings if finding.state == BAD]
    if any(finding.is_servers for finding in bad):
        return ServerError.exit_code
    return FireError.exit_code if bad else 0
