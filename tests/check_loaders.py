"""Make a release, install it, and read it with other programs: python tests/check_loaders.py ENVIRONMENT.

The environment is made where it is not there. BEIR and cffconvert are installed without what they need:
a loader and the schema of CITATION.cff are taken as files.
"""

import json
import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

from small_release import CORRECTED, make_workspace

TESTS = Path(__file__).resolve().parent


def call(*command: object, **options: object) -> None:
    done = subprocess.run([str(part) for part in command], **options)  # type: ignore[call-overload]
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}: exit {done.returncode}")


def prepared(folder: Path) -> Path:
    """Return the Python of the environment, made where its list of packages is not the one here."""
    python, done = folder / "bin" / "python", folder / "loaders.txt"
    wanted = (TESTS / "loaders.txt").read_text()
    if not done.is_file() or done.read_text() != wanted:
        venv.create(folder, with_pip=True, clear=True)
        pip = (python, "-m", "pip", "--disable-pip-version-check", "--quiet", "install")
        bare = [line for line in wanted.splitlines() if line.endswith("# bare")]
        call(*pip, *(line for line in wanted.splitlines() if line and line[0] != "#" and line not in bare))
        call(*pip, "--no-deps", *(line.partition(" ")[0] for line in bare))
        done.write_text(wanted)
    return python


def main(environment: Path) -> None:
    python = prepared(environment.absolute())
    with tempfile.TemporaryDirectory() as name:
        root = Path(name) / "work"
        root.mkdir()
        os.chdir(root)
        fire = (sys.executable, "-m", "fire_toolkit")
        own = {**os.environ, "PYTHONPATH": str(TESTS.parent)}
        make_workspace(root, lambda *words: call(*fire, *words, env=own, stdout=subprocess.DEVNULL))
        call(*fire, "release", "--version", "1.0", "--include-runs", 1, env=own)
        expected: dict[str, dict[str, int]] = {}
        for (query, doc), relevance in CORRECTED.items():
            expected.setdefault(query, {})[doc] = relevance
        (root / "expected.json").write_text(json.dumps(expected))
        release = root / "releases" / "1.0"
        pip = (python, "-m", "pip", "--disable-pip-version-check", "--quiet", "install")
        call(*pip, "--no-build-isolation", "--no-deps", "--force-reinstall", release)
        call(*fire, "release", "check", release, env=own)
        call(python, TESTS / "python_page.py", env=own)
        call(
            *(python, TESTS / "loaders.py", release, root / "expected.json", root / "runs"),
            env={**os.environ, "HF_HOME": name},
        )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
