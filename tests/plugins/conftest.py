"""Packages with entry points, as an installer leaves them, on the path of this process."""

import contextlib
import importlib
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from fire_toolkit import plugins
from fire_toolkit.agreement.registry import STATISTICS
from fire_toolkit.campaign.carrier import CARRIERS
from fire_toolkit.formats.collections.registry import READERS as COLLECTIONS
from fire_toolkit.formats.runs.reader import READERS as RUNS
from fire_toolkit.measures.registry import MEASURES
from fire_toolkit.pooling.registry import STRATEGIES
from fire_toolkit.resolution.registry import RULES

Install = Callable[..., None]
ROOT = Path(__file__).resolve().parents[2]


@contextlib.contextmanager
def on_the_path(site: Path) -> Iterator[None]:
    """Find the entry points of the packages in a folder, and forget all of them at the end."""
    known = set(sys.modules)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(site))
        plugins._entry_points.cache_clear()
        yield
    plugins._entry_points.cache_clear()
    for registry in (CARRIERS, COLLECTIONS, MEASURES, RULES, RUNS, STATISTICS, STRATEGIES):
        registry._loaded.clear()  # type: ignore[attr-defined]
    for name in set(sys.modules) - known:
        if str(site) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


@pytest.fixture
def install(tmp_path: Path) -> Iterator[Install]:
    """Install a package NAME 1.0 with one module: `group: name` → what of the module is loaded."""
    site = tmp_path / "site"
    site.mkdir()

    def add(name: str, module: str, **points: str) -> None:
        (site / f"{name}.py").write_text(textwrap.dedent(module))
        info = site / f"{name}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        lines = [f"[fire_toolkit.{group}]\n{point}\n" for group, point in points.items()]
        (info / "entry_points.txt").write_text("".join(lines))
        importlib.invalidate_caches()
        plugins._entry_points.cache_clear()

    with on_the_path(site):
        yield add


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that the example package is installed in, by pip, without a network."""
    source = tmp_path_factory.mktemp("source") / "extras"
    shutil.copytree(ROOT / "examples" / "fire_toolkit_extras", source)
    target = tmp_path_factory.mktemp("site")
    options = ["--no-deps", "--no-build-isolation", "--no-index", "--quiet", "--disable-pip-version-check"]
    command = [sys.executable, "-m", "pip", "install", *options, "--target", str(target), str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return target


@pytest.fixture
def extras(installed: Path) -> Iterator[None]:
    """The example package, which this process finds by its entry points."""
    with on_the_path(installed):
        yield
