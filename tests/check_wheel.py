"""Build the wheel, install it into an empty environment, run its demo, and test what that made."""

import os
import subprocess
import sys
import tempfile
import venv
import zipfile
from pathlib import Path

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
        # Python compiles what the demo imports; pip would compile all that is installed.
        run(*pip, "install", "--no-compile", "-c", ROOT / "constraints.txt", wheel, cwd=folder)
        printed = run(folder / "venv" / "bin" / "fire-toolkit", "demo", "--out", "demo", cwd=folder)
        (folder / "printed.txt").write_text(printed, encoding="utf-8")
        os.environ["FIRE_MADE_DEMO"] = str(folder / "demo")
        print(run(sys.executable, "-m", "pytest", ROOT / "tests" / "made_demo.py", cwd=ROOT).strip())
        print(f"{wheel.name}: installed into an empty environment, and its demo ran")


if __name__ == "__main__":
    main()
