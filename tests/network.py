"""A Label Studio and media on the network, answered in this process."""

import dataclasses
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from fake_api import TOKEN, URL, FakeServer

from fire_toolkit.cli import campaigns
from fire_toolkit.labelstudio import api
from fire_toolkit.media.links import Links


def answer_links(patched: pytest.MonkeyPatch, answer: Callable[[httpx.Request], httpx.Response]) -> None:
    """Let `answer` answer whatever is asked of addresses of media."""
    real = Links.__init__

    def made(links: Links, *given: Any, **options: Any) -> None:
        real(links, *given, **options)
        links._client._transport, links._client._mounts = httpx.MockTransport(answer), {}

    patched.setattr(Links, "__init__", made)


def connect(patched: pytest.MonkeyPatch, server: FakeServer) -> None:
    """Connect all commands to a Label Studio in this process."""
    read = campaigns.read_connection

    def reached(*place: Any) -> Any:
        return dataclasses.replace(read(*place), transport=server.transport())

    patched.setattr(campaigns, "read_connection", reached)
    answer_links(patched, server.media)
    patched.setattr(api.Api, "pause", lambda self, seconds: None)
    patched.setenv("FIRE_LABEL_STUDIO_URL", URL)
    patched.setenv("FIRE_LABEL_STUDIO_TOKEN", TOKEN)
