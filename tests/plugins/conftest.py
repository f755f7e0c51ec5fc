"""Packages with entry points, as an installer leaves them, on the path of this process."""

from __future__ import annotations

import importlib
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from fire_toolkit import plugins
from fire_toolkit.agreement.registry import STATISTICS
from fire_toolkit.campaign.carrier import CARRIERS
from fire_toolkit.measures.registry import MEASURES
from fire_toolkit.resolution.registry import RULES

Install = Callable[..., None]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Install a package NAME 1.0 with one module: `group: name` → what of the module is loaded."""
    site = tmp_path / "site"
    site.mkdir()
    monkeypatch.syspath_prepend(str(site))
    known = set(sys.modules)

    def add(name: str, module: str, **points: str) -> None:
        (site / f"{name}.py").write_text(textwrap.dedent(module))
        info = site / f"{name}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        lines = [f"[fire_toolkit.{group}]\n{point}\n" for group, point in points.items()]
        (info / "entry_points.txt").write_text("".join(lines))
        importlib.invalidate_caches()
        plugins._entry_points.cache_clear()

    plugins._entry_points.cache_clear()
    yield add
    plugins._entry_points.cache_clear()
    for registry in (CARRIERS, MEASURES, RULES, STATISTICS):
        registry._loaded.clear()
    for name in set(sys.modules) - known:
        if str(site) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]
