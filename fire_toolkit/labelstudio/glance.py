"""The one call that is made without the SDK, whose import takes seconds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fire_toolkit.errors import ServerError
from fire_toolkit.labelstudio.connection import Connection, browser

if TYPE_CHECKING:
    import httpx

_GLANCE_S = 3.0
COUNTS = "task_number,total_annotations_number,skipped_annotations_number"


def glance_at_projects(
    connection: Connection, *, transport: httpx.BaseTransport | None = None
) -> list[dict[str, Any]]:
    """Return the server's projects with their counts, or give up after some seconds.

    Raises:
        ServerError: no answer in time, or none that is Label Studio's.
    """
    import httpx

    with browser(connection, timeout_s=_GLANCE_S, transport=transport) as client:
        try:
            headers = {"Authorization": _authorization(client, connection.token)}
            params = {"include": f"id,title,description,{COUNTS}", "page_size": "1000", "ordering": "id"}
            answer = client.get("/api/projects/", params=params, headers=headers).raise_for_status()
            found = answer.json()["results"]
        except httpx.HTTPStatusError as error:
            raise ServerError(f"{connection.url}: answers {error.response.status_code}") from error
        except (httpx.HTTPError, ValueError, KeyError, TypeError) as error:
            raise ServerError(f"{connection.url}: {type(error).__name__}") from error
    return [project for project in found if isinstance(project, dict)]


def _authorization(client: httpx.Client, token: str) -> str:
    """Return what a request carries: a legacy token itself, or what a personal one is exchanged for."""
    if token.count(".") != 2:
        return f"Token {token}"
    answer = client.post("/api/token/refresh/", json={"refresh": token}).raise_for_status()
    return f"Bearer {answer.json()['access']}"
