"""The few calls that are made without the SDK, whose import takes seconds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fire_toolkit.errors import ServerError
from fire_toolkit.labelstudio.connection import Connection, browser
from fire_toolkit.labelstudio.failures import without_token

if TYPE_CHECKING:
    import httpx

_TIMEOUT_S = 20.0
_GLANCE_S = 3.0
COUNTS = "task_number,total_annotations_number,skipped_annotations_number"


class LocalApi:
    """Calls to our own server, with its legacy token."""

    def __init__(self, connection: Connection, *, transport: httpx.BaseTransport | None = None) -> None:
        self._connection = connection
        self._transport = transport

    def is_up(self) -> bool:
        """Whether the server says that it is healthy."""
        return self._get("/health", with_token=False) == {"status": "UP"}

    def accepts_us(self, email: str) -> bool | None:
        """Whether the server knows our token as `email`'s; None if it does not answer."""
        who = self._get("/api/current-user/whoami", with_token=True)
        return who.get("email") == email if isinstance(who, dict) else None

    def version(self) -> str:
        """Return the server's version; empty if it does not say."""
        found = self._get("/api/version", with_token=False)
        return str(found.get("release", "")) if isinstance(found, dict) else ""

    def _get(self, path: str, *, with_token: bool) -> object:
        """Return a JSON answer, or None if there is none."""
        import httpx

        try:
            with self._client() as client:
                return client.get(path, headers=self._headers() if with_token else {}).json()
        except (httpx.HTTPError, ValueError):
            return None

    def allow_tokens(self) -> None:
        """Allow both kinds of API tokens.

        Raises:
            ServerError: the server refuses.
        """
        self._post("/api/jwt/settings", {"legacy_api_tokens_enabled": True, "api_tokens_enabled": True})

    def _post(self, path: str, content: dict[str, Any]) -> None:
        import httpx

        call = f"POST {self._connection.url}{path}"
        try:
            with self._client() as client:
                answer = client.post(path, json=content, headers=self._headers())
        except httpx.HTTPError as error:
            raise ServerError(f"{call}: {type(error).__name__}; start the server again") from error
        if not answer.is_success:
            words = without_token(answer.text[:200], self._connection.token)
            raise ServerError(f"{call}: {answer.status_code}: {words}")

    def _headers(self) -> dict[str, str]:
        return {"Authorization": f"Token {self._connection.token}"}

    def _client(self) -> httpx.Client:
        return browser(self._connection, timeout_s=_TIMEOUT_S, transport=self._transport)


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
