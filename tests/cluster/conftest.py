"""The stage against a real Dask cluster; it runs where FIRE_CLUSTER=1 is set."""

import os
from pathlib import Path

import pytest

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if os.environ.get("FIRE_CLUSTER") == "1":
        return
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.skip(reason="needs a Dask cluster: `make cluster`"))
