"""Build the wheel, install it beside what it declares and no more, run its demo, and test what that made."""

import os
import subprocess
import sys
import tempfile
import venv
import zipfile
from collections.abc import Iterable, Iterator
from importlib.metadata import Distribution, distribution
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parent.parent
TRAVELS = (
    "fire_toolkit/py.typed",
    "fire_toolkit/guidelines_data/caption-relevance-v1/label_config.xml",
    "fire_toolkit/sample_pool/pool.csv",
    "fire_toolkit/pages/site/file.js",
    "fire_toolkit/pages/site/page.js",
)


def run(*command: str | Path, cwd: Path) -> str:
    done = subprocess.run([str(part) for part in command], cwd=cwd, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{command}: exit {done.returncode}\n{done.stdout}\n{done.stderr}")
    return done.stdout


def declared(requires: Iterable[str], extras: Iterable[str], known: set[str]) -> Iterator[Distribution]:
    """Yield the distributions that are required, and those that they require in turn, each once."""
    for text in requires:
        needed = Requirement(text)
        is_meant = any(
            needed.marker is None or needed.marker.evaluate({"extra": extra}) for extra in ("", *extras)
        )
        if not is_meant or str(needed) in known:
            continue
        known.add(str(needed))
        found = distribution(needed.name)
        if found.version not in needed.specifier:
            sys.exit(f"{needed.name} {found.version} is here, and the wheel asks for {needed}")
        yield found
        yield from declared(found.requires or (), needed.extras, known)


def link(found: Distribution, packages: Path) -> None:
    """Put a distribution that is installed here into another environment, by links to its files."""
    for name in {file.parts[0] for file in found.files or ()} - {"..", "__pycache__"}:
        if not (packages / name).exists():
            (packages / name).symlink_to(Path(str(found.locate_file(name))).resolve())


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder, ROOT, cwd=ROOT)
        (wheel,) = folder.glob("*.whl")
        absent = set(TRAVELS) - set(zipfile.ZipFile(wheel).namelist())
        if absent:
            sys.exit(f"{wheel.name} lacks {', '.join(sorted(absent))}")
        venv.create(folder / "venv", with_pip=False)
        python = folder / "venv" / "bin" / "python"
        pip = (sys.executable, "-m", "pip", "--python", python, "--disable-pip-version-check", "--quiet")
        run(*pip, "install", "--no-compile", "--no-deps", "--no-index", wheel, cwd=folder)
        (own,) = (folder / "venv").rglob("fire_toolkit-*.dist-info")
        # pip would unpack half a gigabyte that is here already.
        for found in declared(Distribution.at(own).requires or (), (), set()):
            link(found, own.parent)
        printed = run(folder / "venv" / "bin" / "fire-toolkit", "demo", "--out", "demo", cwd=folder)
        (folder / "printed.txt").write_text(printed, encoding="utf-8")
        os.environ["FIRE_MADE_DEMO"] = str(folder / "demo")
        print(run(sys.executable, "-m", "pytest", ROOT / "tests" / "made_demo.py", cwd=ROOT).strip())
        n_linked = len(list(own.parent.iterdir())) - 2  # beside the package and what pip says of it
        print(f"{wheel.name}: its demo ran beside {n_linked} files and folders of what it declares")


if __name__ == "__main__":
    main()
