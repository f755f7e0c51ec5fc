"""What every test of the page ends with."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from page_site import OPENED


@pytest.fixture(autouse=True)
def _close_sessions() -> Iterator[None]:
    yield
    while OPENED:
        OPENED.pop().close()
