"""The workspace's side of a campaign on a server."""

from pathlib import Path

import pytest
from campaigns import Site


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)
