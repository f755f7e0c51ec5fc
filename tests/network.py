"""A Label Studio and media on the network, answered in this process."""

import dataclasses
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from fake_api import TOKEN, URL, FakeServer

from fire_toolkit.cli import campaigns
from fire_toolkit.labelstudio import api, doctor
from fire_toolkit.media import links


def answer_links(patched: pytest.MonkeyPatch, answer: Callable[[httpx.Request], httpx.Response]) -> None:
    """Let `answer` answer whatever is asked of addresses of media."""
    real = links.open_links

    def opened(**options: Any) -> httpx.Client:
        client = real(**options)
        client._transport, client._mounts = httpx.MockTransport(answer), {}
        return client

    for module in (links, doctor):
        patched.setattr(module, "open_links", opened)


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
