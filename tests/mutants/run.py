"""Put each fault of mutants.txt into a copy of the package, and see whether the tests nearest to it fail.

    python tests/mutants/run.py [--only WORDS] [--jobs N] [CHECKOUT]

CHECKOUT is the folder whose package and tests are tried, this one by default. A fault whose code is not there
any more is named and not counted; a fault is caught where its tests fail, and missed where they pass.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent.parent
CAUGHT, MISSED, GONE, BROKEN = "caught", "MISSED", "gone", "BROKEN"
FAILED, COULD_NOT_RUN = 1, (2, 3, 4, 5)  # what pytest exits with


class Mutant(NamedTuple):
    """A fault: where `old` stands, `new` is put; tests: the files and folders that must see it."""

    file: str
    tests: tuple[str, ...]
    old: str
    new: str

    def __str__(self) -> str:
        """Return it on one line."""
        return f"{self.file}: {self.old!r} ==> {self.new!r}"


def read_mutants(path: Path) -> Iterator[Mutant]:
    r"""Yield the faults of a file; `\n` in one stands for the end of a line."""
    file, tests = "", ()
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            file, _, named = line[1:].partition("] ")
            tests = tuple(named.split())
        elif line and not line.startswith("#"):
            old, new = (side.replace("\\n", "\n") for side in line.split(" ==> "))
            yield Mutant(file, tests, old, new)


def try_mutant(mutant: Mutant, root: Path, place: Path) -> str:
    """Return what became of a fault in a copy of the package at `place`."""
    path = place / "fire_toolkit" / mutant.file
    if not path.is_file():
        return GONE
    text = path.read_text(encoding="utf-8")
    if text.count(mutant.old) != 1:
        return GONE
    tests = [name for name in mutant.tests if (root / name).exists()]
    tests.append(f"fire_toolkit/{mutant.file}")  # its worked examples
    path.write_text(text.replace(mutant.old, mutant.new), encoding="utf-8")
    try:
        words = ["-m", "pytest", "-x", "-n", "0", "-m", "not slow", "-p", "no:cacheprovider", *tests]
        environ = {**os.environ, "PYTHONPATH": str(place), "PYTHONDONTWRITEBYTECODE": "1", "CI": "true"}
        ended = subprocess.run([sys.executable, *words], cwd=place, env=environ, capture_output=True)
    finally:
        path.write_text(text, encoding="utf-8")
    if ended.returncode == FAILED:
        return CAUGHT
    return MISSED if ended.returncode == 0 else f"{BROKEN} ({ended.stdout.decode()[-300:]})"


def copy_of(root: Path, place: Path) -> Path:
    """Return a checkout of its own whose package can be changed; all else are links to `root`."""
    place.mkdir()
    shutil.copytree(
        root / "fire_toolkit", place / "fire_toolkit", ignore=shutil.ignore_patterns("__pycache__")
    )
    for path in root.iterdir():
        if path.name != "fire_toolkit" and (not path.name.startswith(".") or path.name == ".ci"):
            (place / path.name).symlink_to(path)
    return place


def main() -> None:
    """Try the faults and print what became of each that was not caught, and the share of those that were."""
    asked = argparse.ArgumentParser()
    asked.add_argument("checkout", nargs="?", type=Path, default=ROOT)
    asked.add_argument("--only", default="", help="faults of files with this in their name")
    asked.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    options = asked.parse_args()
    root = options.checkout.resolve()
    mutants = [
        each for each in read_mutants(Path(__file__).with_name("mutants.txt")) if options.only in each.file
    ]
    with tempfile.TemporaryDirectory() as name:
        places = [copy_of(root, Path(name) / str(number)) for number in range(options.jobs)]
        found: dict[Mutant, str] = {}

        def work(number: int) -> None:
            for mutant in mutants[number :: options.jobs]:
                found[mutant] = try_mutant(mutant, root, places[number])
                if found[mutant] != CAUGHT:
                    print(f"{found[mutant]}: {mutant}", flush=True)

        with ThreadPoolExecutor(options.jobs) as threads:
            list(threads.map(work, range(options.jobs)))
    tried = [each for each in found.values() if each != GONE]
    n_caught = tried.count(CAUGHT)
    print(f"{n_caught} of {len(tried)} faults caught ({n_caught / max(len(tried), 1):.1%}), "
          f"{len(mutants) - len(tried)} not there any more")  # fmt: skip
    sys.exit(any(each.startswith(BROKEN) for each in tried))


if __name__ == "__main__":
    main()
