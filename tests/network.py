"""Media on the network, answered in this process."""

from collections.abc import Callable
from typing import Any

import httpx
import pytest

from fire_toolkit.labelstudio import showing
from fire_toolkit.media import check, links


def answer_links(patched: pytest.MonkeyPatch, answer: Callable[[httpx.Request], httpx.Response]) -> None:
    """Let `answer` answer whatever is asked of addresses of media."""
    real = links.open_links

    def opened(**options: Any) -> httpx.Client:
        client = real(**options)
        client._transport, client._mounts = httpx.MockTransport(answer), {}
        return client

    for module in (links, check, showing):
        patched.setattr(module, "open_links", opened)
